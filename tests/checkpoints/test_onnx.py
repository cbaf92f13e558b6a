"""onnxruntime computes from the graphs what the models compute: the same logits, with and without what was before."""

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from allyouneed.checkpoints.conversion import convert
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.checkpoints.native import save_model
from allyouneed.checkpoints.onnx import ALONE, DECODER, ENCODER, save_onnx
from allyouneed.errors import InputError, UsageError
from allyouneed.models.recurrent import Recurrent, RecurrentConfig
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.pipeline import load
from allyouneed.text.tokenizer import Tokenizer

onnx = pytest.importorskip("onnx", reason="the extra `export` is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

SMALL: dict[str, Any] = {"d_model": 32, "n_heads": 4, "d_ff": 48, "max_length": 24}
PRE: dict[str, Any] = {"norm_placement": "pre", "final_norm": True}
MODERN: dict[str, Any] = {
    **PRE,
    "norm": "rms",
    "positions": "rotary",
    "activation": "silu",
    "gated": True,
    "bias": False,
    "embedding_scale": False,
}
BERT: dict[str, Any] = {
    "positions": "learned",
    "position_offset": 2,
    "embedding_norm": True,
    "embedding_scale": False,
    "activation": "gelu",
    "n_segments": 2,
    "output_transform": True,
    "output_bias": True,
    "pooler": True,
}
ENCODERS: dict[str, dict[str, Any]] = {
    "2017": {},
    "bert": BERT,
    "rotary": {**PRE, "positions": "rotary", "n_kv_heads": 2},
    "t5": {**PRE, "norm": "rms", "positions": "t5", "relative_buckets": 8, "relative_distance": 6, "output_scale": 0.5},
    "universal": {"positions": "coordinates", "shared_depth": True},
}
DECODERS: dict[str, dict[str, Any]] = {
    "llama": {**MODERN, "n_kv_heads": 2, "rotary_base": 5_000.0, "tied_embeddings": False},
    "pairs": {**MODERN, "rotary_layout": "pairs", "rotary_share": 0.5, "qkv_bias": True, "query_key_norm": True},
    "yarn": {**MODERN, "rotary_scaling": "yarn", "rotary_factor": 4.0, "rotary_trained_length": 8},
    "neox": {**PRE, "positions": "rotary", "rotary_share": 0.25, "parallel_residual": True, "activation": "gelu-tanh"},
    "gpt2": {**PRE, "positions": "learned", "activation": "gelu", "attention_scale": 0.3},
    "bloom": {**PRE, "positions": "alibi", "embedding_norm": True},
    "windows": {**MODERN, "window": 3, "window_layers": (1,)},
    "window": {**PRE, "positions": "sinusoidal-halves", "window": 3},
    "plain": {"positions": "none"},
}
BOTH: dict[str, dict[str, Any]] = {
    "2017": {},
    "grouped": {**PRE, "n_kv_heads": 2, "positions": "learned", "output_bias": True},
    "apart": {"tied_embeddings": False, "shared_embeddings": False, "d_head": 6},
    "t5": {**PRE, "norm": "rms", "positions": "t5", "relative_buckets": 8, "relative_distance": 6, "gated": True},
}


def made(tokenizer: Tokenizer, encoders: int, decoders: int, **fields: Any) -> Transformer:
    """A model whose every weight matters: biases and scales of norms are not what they are at first."""
    torch.manual_seed(3)
    config = TransformerConfig(
        tokenizer.vocab_size, n_encoder_layers=encoders, n_decoder_layers=decoders, **SMALL | fields
    )
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def opened(path: Path) -> Any:
    """A session of a file that obeys the standard, and whose operations have names (older runtimes ask for them)."""
    onnx.checker.check_model(str(path), full_check=True)
    names = [node.name for node in onnx.load(str(path), load_external_data=False).graph.node]
    assert len(set(names)) == len(names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


Values = dict[str, Tensor]


def run(session: Any, past: Values | None = None, **inputs: Tensor) -> Values:
    """All outputs, by name. Where nothing was before, the past is what no model may look at."""
    rows = len(inputs["input_ids"])
    for one in session.get_inputs():
        if one.name.startswith("past") and past is None:
            length = 1 if "use_cache_branch" in inputs else 0
            inputs[one.name] = torch.full((rows, one.shape[1], length, one.shape[3]), 7.0)
    values = session.run(None, {name: tensor.numpy() for name, tensor in (inputs | (past or {})).items()})
    return {one.name: torch.from_numpy(value) for one, value in zip(session.get_outputs(), values, strict=True)}


def kept(outputs: Values) -> Values:
    """What a pass leaves for the next one."""
    return {name.replace("present", "past_key_values"): x for name, x in outputs.items() if name.startswith("present")}


def some(tokenizer: Tokenizer, *shape: int) -> Tensor:
    return torch.randint(4, tokenizer.vocab_size, shape, generator=torch.Generator().manual_seed(1))


def padded(rows: int, length: int) -> Tensor:
    """[B, T]: the first text is padded on the left, the second on the right, the others are whole."""
    keep = torch.ones(rows, length, dtype=torch.bool)
    keep[0, :3] = False
    keep[1, -2:] = False
    return keep


def same(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ENCODERS)
@torch.no_grad()
def test_encoders(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = made(tokenizer, 2, 0, **ENCODERS[kind])
    save_onnx(tmp_path / "graph", model, tokenizer.for_line("encoder"))
    session = opened(tmp_path / "graph" / ALONE)
    for tokens, keep in ((some(tokenizer, 3, 9), padded(3, 9)), (some(tokenizer, 1, 24), torch.ones(1, 24).bool())):
        segments = (torch.arange(tokens.shape[1]) > 4).long().expand_as(tokens) if model.config.n_segments else None
        kinds: Values = {} if segments is None else {"token_type_ids": segments}
        found = run(session, None, input_ids=tokens, attention_mask=keep.long(), **kinds)
        memory = model.encode(tokens, keep, segments)
        same(found["last_hidden_state"][keep], memory.states[keep])
        same(found["logits"][keep], model(tokens, keep=keep, segments=segments)[keep])
        if model.pooler is not None:
            same(found["pooler_output"], model.pool(memory))


@pytest.mark.parametrize("kind", DECODERS)
@torch.no_grad()
def test_decoders(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = made(tokenizer, 0, 2, **DECODERS[kind])
    save_onnx(tmp_path / "graph", model, tokenizer.for_line("decoder"))
    session = opened(tmp_path / "graph" / ALONE)
    for tokens, keep in ((some(tokenizer, 3, 9), padded(3, 9)), (some(tokenizer, 1, 24), torch.ones(1, 24).bool())):
        expected, mask = model(tokens, keep=keep), keep.long()
        same(run(session, input_ids=tokens, attention_mask=mask)["logits"][keep], expected[keep])
        past, start = None, 0
        for end in (4, 5, 9):  # some tokens, one, and some more
            found = run(session, past, input_ids=tokens[:, start:end], attention_mask=mask[:, :end])
            same(found["logits"][keep[:, start:end]], expected[:, start:end][keep[:, start:end]])
            past, start = kept(found), end


@pytest.mark.parametrize("kind", BOTH)
@torch.no_grad()
def test_both(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = made(tokenizer, 2, 2, **BOTH[kind])
    save_onnx(tmp_path / "graph", model, tokenizer)
    encoder, decoder = opened(tmp_path / "graph" / ENCODER), opened(tmp_path / "graph" / DECODER)
    for source, keep in ((some(tokenizer, 3, 9), padded(3, 9)), (some(tokenizer, 1, 24), torch.ones(1, 24).bool())):
        target = some(tokenizer, len(source), 7)
        expected, mask = model(source, target, keep), keep.long()
        states = run(encoder, input_ids=source, attention_mask=mask)["last_hidden_state"]
        same(states[keep], model.encode(source, keep).states[keep])
        read = {"encoder_hidden_states": states, "encoder_attention_mask": mask}
        whole = run(decoder, None, input_ids=target, use_cache_branch=torch.tensor([False]), **read)
        same(whole["logits"], expected)
        past, start = None, 0
        for end in (3, 4, 7):
            branch = torch.tensor([past is not None])
            found = run(decoder, past, input_ids=target[:, start:end], use_cache_branch=branch, **read)
            same(found["logits"], expected[:, start:end])
            past, start = kept(found), end
            read["encoder_hidden_states"] = torch.full_like(states, 7.0)  # it is read once


SENTENCES = [
    "The mouse ate the cheese.",
    "Yesterday the old woman opened the window, and the cats slept in the garden.",
]


def scripted(folder: Path, text: str) -> str:
    """What the script of a folder says where there is neither torch nor this package."""
    code = (
        "import runpy, sys; sys.modules.update(torch=None, allyouneed=None, transformers=None);"
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-X", "utf8", "-c", code, str(folder / "run.py"), text]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def shipped(name: str, tmp_path: Path) -> tuple[Any, Path]:
    """A model that ships, and a folder with its graphs."""
    pipe = load(f"zoo:{name}")
    save_onnx(tmp_path / name, pipe.model, pipe.tokenizer)
    return pipe, tmp_path / name


def test_a_text_goes_on_as_ours_does(tmp_path: Path) -> None:
    pipe, folder = shipped("lm-en", tmp_path)
    for text in ("The mouse ate", "Yesterday the old woman opened the window, and"):
        [ours] = pipe.generate([text], beam=1, max_tokens=40)
        assert scripted(folder, text) == f"{text}{ours.text}\n"


def test_a_translation_is_ours(tmp_path: Path) -> None:
    pipe, folder = shipped("en-fr", tmp_path)
    for text in ("The mouse ate the cheese.", "Yesterday the old woman opened the window, and the cats slept."):
        assert scripted(folder, text) == pipe.translate([text], beam=1)[0].text + "\n"


def test_a_gap_is_filled_as_ours_is(tmp_path: Path) -> None:
    pipe, folder = shipped("mlm-en", tmp_path)
    for text in ("The cat is sleeping in the ___.", "Open the ___ before you close it."):
        [[guesses]] = [filling.guesses for filling in pipe.fill([text], k=5)]
        lines = [line.split(" ", 1) for line in scripted(folder, text).splitlines()]
        assert [piece for _, piece in lines] == [guess.token for guess in guesses]
        assert [float(chance) for chance, _ in lines] == pytest.approx([one.probability for one in guesses], abs=1e-3)


def test_the_card_says_what_goes_in_and_out(tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_onnx(tmp_path / "writes", made(tokenizer, 0, 2, **DECODERS["llama"]), tokenizer.for_line("decoder"))
    card = (tmp_path / "writes" / "README.md").read_text("utf-8")
    assert card.startswith("# writes\n")
    for row in (
        "| in | `attention_mask` | int64 | [batch_size, past_sequence_length + sequence_length] |",
        "| in | `past_key_values.N.key` | float32 | [batch_size, 2, past_sequence_length, 8] |",
        f"| out | `logits` | float32 | [batch_size, sequence_length, {tokenizer.vocab_size}] |",
        '- `config.json` is that of the model type "llama".',
    ):
        assert card.count(row) == 1
    values = json.loads((tmp_path / "writes" / "config.json").read_text("utf-8"))
    assert (values["model_type"], values["eos_token_id"], values["num_key_value_heads"]) == ("llama", 2, 2)


def test_a_model_of_no_family_has_a_config_without_one(tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_onnx(tmp_path / "reads", made(tokenizer, 1, 0), tokenizer.for_line("encoder"))
    assert "No family of the Hugging Face layout" in (tmp_path / "reads" / "README.md").read_text("utf-8")
    values = json.loads((tmp_path / "reads" / "config.json").read_text("utf-8"))
    assert values == {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "vocab_size": tokenizer.vocab_size}


@torch.no_grad()
def test_a_model_beyond_the_format_has_its_weights_beside_it(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokens = made(tokenizer, 0, 1), some(tokenizer, 1, 5)
    monkeypatch.setattr("allyouneed.checkpoints.onnx.graph.LARGEST", 10_000)
    save_onnx(tmp_path / "large", model, tokenizer.for_line("decoder"))
    file, weights = tmp_path / "large" / ALONE, tmp_path / "large" / f"{ALONE}_data"
    assert file.stat().st_size < 20_000 < weights.stat().st_size
    same(run(opened(file), input_ids=tokens, attention_mask=torch.ones_like(tokens))["logits"], model(tokens))


def test_what_cannot_be_written_is_refused_with_all_reasons(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = made(tokenizer, 0, 2, positions="shaw", n_experts=2, shared_depth=True, halting=True)
    with pytest.raises(Refused, match=r"^This model cannot be written as an ONNX graph: ") as refusal:
        save_onnx(tmp_path / "graph", model, tokenizer.for_line("decoder"))
    assert refusal.value.reasons == ('positions "shaw"', "a mixture of experts", "halting")
    with pytest.raises(Refused) as refusal:
        save_onnx(tmp_path / "graph", made(tokenizer, 1, 0, reach="window", global_tokens=1), tokenizer)
    assert refusal.value.reasons == ('reach "window"',)
    recurrent = Recurrent(RecurrentConfig(vocab_size=tokenizer.vocab_size, d_embedding=8, d_hidden=8))
    with pytest.raises(Refused, match=r"^This model cannot be written as an ONNX graph: it is no Transformer\.$"):
        save_onnx(tmp_path / "graph", recurrent, tokenizer)
    assert not (tmp_path / "graph").exists()


def test_a_tokenizer_of_another_model_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = Transformer(TransformerConfig(300, n_encoder_layers=1, n_decoder_layers=1, **SMALL))
    with pytest.raises(InputError, match="the tokenizer has 320 pieces, but the model has only 300 embeddings"):
        save_onnx(tmp_path / "graph", model, tokenizer)


def test_a_full_disk_leaves_nothing_behind(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = list[str]()

    def save(self: Any, path: Path) -> None:
        path.write_bytes(b"a graph")
        written.append(path.name)
        if path.name == DECODER:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("allyouneed.checkpoints.onnx.graph.Graph.save", save)
    with pytest.raises(InputError, match="no space is left on the disk; nothing there was changed"):
        save_onnx(tmp_path / "graph", made(tokenizer, 1, 1), tokenizer)
    assert written == [ENCODER, DECODER]
    assert list(tmp_path.iterdir()) == []


def test_convert_writes_it_and_says_what_is_missing(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(tmp_path / "model", made(tokenizer, 1, 1), tokenizer)
    convert(tmp_path / "model", tmp_path / "graph", "onnx")
    files = {ENCODER, DECODER, "config.json", "tokenizer.json", "tokenizer_config.json", "run.py", "README.md"}
    assert {path.name for path in (tmp_path / "graph").iterdir()} == files
    monkeypatch.setitem(sys.modules, "onnx", None)
    for module in ("card", "graph", "layers", "stacks"):
        monkeypatch.delitem(sys.modules, f"allyouneed.checkpoints.onnx.{module}")
    with pytest.raises(UsageError, match=r"^This format needs onnx: pip install \"allyouneed\[export\]\"\.$"):
        convert(tmp_path / "model", tmp_path / "other", "onnx")
    assert not (tmp_path / "other").exists()
