"""CTranslate2 gives what it is given the same probabilities as the model itself, and writes the same texts."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch

from allyouneed.checkpoints.conversion import convert
from allyouneed.checkpoints.ctranslate2 import TOKENIZER, save_ctranslate2
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.checkpoints.native import save_model
from allyouneed.errors import UsageError
from allyouneed.models.recurrent import Recurrent, RecurrentConfig
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.pipeline import LanguageModel, Translator
from allyouneed.text.tokenizer import Tokenizer

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")

TEXTS = ["The mouse ate the cheese.", "The cat sat on the mat, and the dog slept.", "cheese"]
MARKS = [["<pad>"], ["<s>"], ["<unk>"]]  # what no text holds
SMALL: dict[str, Any] = {"d_model": 32, "n_heads": 4, "d_ff": 48, "max_length": 64}
BOTH: dict[str, dict[str, Any]] = {
    "2017": {},
    "pre": {"norm_placement": "pre", "final_norm": True, "positions": "sinusoidal-halves"},
    "learned": {
        "norm_placement": "pre",
        "positions": "learned",
        "position_offset": 2,
        "embedding_norm": True,
        "embedding_scale": False,
        "activation": "gelu",
        "output_bias": True,
    },
    "apart": {"tied_embeddings": False, "shared_embeddings": False, "activation": "gelu-tanh", "bias": False},
}
MODERN: dict[str, Any] = {
    "norm": "rms",
    "norm_placement": "pre",
    "final_norm": True,
    "positions": "rotary",
    "activation": "silu",
    "gated": True,
    "bias": False,
    "embedding_scale": False,
    "norm_epsilon": 1e-6,
}
DECODERS: dict[str, dict[str, Any]] = {
    "llama": {**MODERN, "n_kv_heads": 2, "rotary_base": 5_000.0, "tied_embeddings": False},
    "pairs": {**MODERN, "rotary_layout": "pairs", "rotary_share": 0.5, "qkv_bias": True},
    "learned": {"norm_placement": "pre", "final_norm": True, "positions": "learned", "activation": "gelu"},
}


def made(tokenizer: Tokenizer, *, unused: int = 0, **fields: Any) -> Transformer:
    """A model whose every weight matters: biases and scales of norms are not what they are at first."""
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(vocab_size=tokenizer.vocab_size + unused, **SMALL, **fields)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def pieces(folder: Path, texts: list[str]) -> list[list[str]]:
    """The tokens that the engine is given, by the tokenizer in its folder alone."""
    core = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
    return [found.tokens for found in core.encode_batch(texts, add_special_tokens=False)]


@pytest.mark.parametrize("kind", BOTH)
def test_translations_and_their_probabilities(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = made(tokenizer, n_encoder_layers=2, n_decoder_layers=2, **BOTH[kind])
    save_ctranslate2(tmp_path / "engine", model, tokenizer)
    engine, pipe = ctranslate2.Translator(str(tmp_path / "engine")), Translator(model, tokenizer, name="both")
    rows = pieces(tmp_path / "engine", TEXTS)
    for theirs, ours in zip(engine.score_batch(rows, rows[::-1]), pipe.score(TEXTS, TEXTS[::-1]), strict=True):
        assert theirs.log_probs == pytest.approx(ours.logprobs, abs=1e-4)
    written = engine.translate_batch(rows, beam_size=1, max_decoding_length=20, suppress_sequences=MARKS)
    ours = pipe.generate(TEXTS, beam=1, max_tokens=20)
    core = tokenizers.Tokenizer.from_file(str(tmp_path / "engine" / TOKENIZER))
    for one, found in zip(ours, written, strict=True):
        ids = [core.token_to_id(piece) for piece in found.hypotheses[0]]
        assert tokenizer.pieces([token for token in ids if token is not None]) == one.tokens


@pytest.mark.parametrize("kind", DECODERS)
def test_texts_that_go_on_and_their_probabilities(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    reads = tokenizer.for_line("decoder")
    model = made(tokenizer, n_encoder_layers=0, n_decoder_layers=2, **DECODERS[kind])
    save_ctranslate2(tmp_path / "engine", model, reads)
    engine, pipe = ctranslate2.Generator(str(tmp_path / "engine")), LanguageModel(model, reads, name="writes")
    rows = [["<s>", *row] for row in pieces(tmp_path / "engine", TEXTS)]
    for theirs, ours in zip(engine.score_batch(rows), pipe.score(TEXTS), strict=True):
        assert theirs.log_probs == pytest.approx(ours.logprobs, abs=1e-4)
    for row, ours in zip(rows, pipe.generate(TEXTS, beam=1, max_tokens=12), strict=True):
        [found] = engine.generate_batch(
            [row], beam_size=1, max_length=12, include_prompt_in_result=False, suppress_sequences=MARKS
        )
        assert reads.pieces(found.sequences_ids[0][: len(ours.tokens)]) == ours.tokens


def test_embeddings_without_a_piece_have_names_of_their_own(tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_ctranslate2(tmp_path / "engine", made(tokenizer, unused=2, n_encoder_layers=1, n_decoder_layers=1), tokenizer)
    names = json.loads((tmp_path / "engine" / "shared_vocabulary.json").read_text("utf-8"))
    assert names[-2:] == ["<unused 320>", "<unused 321>"]
    assert len(names) == len(set(names)) == 322


def test_what_it_cannot_hold_is_refused_with_all_reasons(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = made(tokenizer, n_encoder_layers=0, n_decoder_layers=1, positions="t5", window=4, n_experts=2)
    with pytest.raises(Refused) as refusal:
        save_ctranslate2(tmp_path / "engine", model, tokenizer.for_line("decoder"))
    assert refusal.value.reasons == ('positions "t5"', "a mixture of experts", "a window")
    assert not (tmp_path / "engine").exists()


def test_other_models_are_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = Recurrent(RecurrentConfig(vocab_size=tokenizer.vocab_size, d_embedding=8, d_hidden=8))
    with pytest.raises(Refused, match=r"^CTranslate2 cannot hold this model: it is no Transformer\.$"):
        save_ctranslate2(tmp_path / "engine", model, tokenizer)


def test_convert_writes_it_and_says_what_is_missing(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(tmp_path / "model", made(tokenizer, n_encoder_layers=1, n_decoder_layers=1), tokenizer)
    convert(tmp_path / "model", tmp_path / "engine", "ctranslate2")
    assert ctranslate2.contains_model(str(tmp_path / "engine"))
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UsageError, match=r"This format needs ctranslate2: pip install .*export"):
        convert(tmp_path / "model", tmp_path / "other", "ctranslate2")
    assert not (tmp_path / "other").exists()
