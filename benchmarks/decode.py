"""Decoding speed and memory: the same weights in ours and other libraries' beam search, every text 25 tokens long.

Libraries are imported where they are used: the process of a peer holds nothing that the peer does not need.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import workload
from allyouneed.measure import turns
from workload import BOS, EOS, PAD, SHAPES, UNK, Texts

if TYPE_CHECKING:
    from allyouneed.models.transformer import Transformer
    from allyouneed.parts.packed import Precision

SETTINGS = ((4, 1), (4, 8), (4, 32), (1, 1), (1, 32))  # beam, sentences at a time
LENGTH = 25
MAX_LENGTH = 512

Translate = Callable[[int], Texts]  # translates with a beam of this size


@dataclass(frozen=True)
class Work:
    """Which shape, and the folder that holds its weights in each library's form; the peers leave their texts there."""

    shape: str
    folder: Path

    def make(self) -> None:
        """Draws the weights and writes them for every library."""
        import torch
        from safetensors.torch import save_file

        from marian import to_ctranslate2, to_marian

        torch.manual_seed(7)
        model = self.model()
        with torch.no_grad():
            # Fresh weights would write one token over and over: the last token gets more say, choices get sharper.
            model.target_embedding.weight.mul_(3)
            output = model.output.weight.mul_(4)
            # No text may end early: the last norm lifts one feature, and only the special tokens listen to it.
            layers = len(model.decoder)
            model.get_parameter(f"decoder.{layers - 1}.residuals.2.norm.bias")[0] = 6
            output[:, 0] = 0
            output[: UNK + 1] = 0
            output[: UNK + 1, 0] = -20
        marian = to_marian(model, SHAPES[self.shape])
        save_file(model.state_dict(), self.folder / "ours.safetensors")
        theirs = {name: tensor.contiguous() for name, tensor in marian.state_dict().items()}
        save_file(theirs, self.folder / "marian.safetensors")
        to_ctranslate2(marian, self.folder / "ctranslate2")

    def model(self) -> Transformer:
        """A fresh Transformer. Untied: a tied random one would say the same token over and over."""
        from allyouneed.models.transformer import Transformer, TransformerConfig

        shape = SHAPES[self.shape]
        config = TransformerConfig(
            vocab_size=shape.vocab_size,
            d_model=shape.d_model,
            n_heads=shape.n_heads,
            d_ff=shape.d_ff,
            n_encoder_layers=shape.n_layers,
            n_decoder_layers=shape.n_layers,
            tied_embeddings=False,
            max_length=MAX_LENGTH,
        )
        return Transformer(config).eval()

    def texts(self, peer: str) -> Path:
        """Where a peer's texts lie: those of each setting."""
        return self.folder / f"{peer}.json"


def in_turn(work: Work, peer: str, translate: Callable[[int, list[list[int]]], Texts]) -> turns.Pass:
    """A pass over all settings; the texts of the first one are kept for comparison. One sentence alone is repeated."""
    shape = SHAPES[work.shape]
    given = [(beam, workload.sources_to_translate(shape, count)) for beam, count in SETTINGS]
    work.texts(peer).write_text(json.dumps([translate(beam, sources) for beam, sources in given]), "utf-8")

    def seconds(beam: int, sources: list[list[int]]) -> float:
        repeats = 3 if len(sources) == 1 else 1
        translate(beam, sources)  # unmeasured: the turns of the others have emptied the caches
        return sum(turns.timed([lambda: translate(beam, sources)] * repeats)) / repeats

    return lambda: [seconds(beam, sources) for beam, sources in given]


def allyouneed(work: Work, peer: str, precision: Precision) -> turns.Pass:
    """Our search over our model, made ready for writing as translators make it."""
    import torch
    from safetensors.torch import load_file

    from allyouneed.decoding.search import beam_search
    from allyouneed.models.stepper import Stepper

    model = work.model()
    model.load_state_dict(load_file(work.folder / "ours.safetensors"))
    stepper = Stepper(model, precision=precision)

    @torch.inference_mode()
    def translate(beam: int, sources: list[list[int]]) -> Texts:
        source = workload.pad_rows([[*row, EOS] for row in sources])
        keep = source != PAD
        state = stepper.start(model.encode(source, None if bool(keep.all()) else keep))
        special = (PAD, BOS, UNK)
        found = beam_search(state, stepper.step, bos=BOS, eos=EOS, max_tokens=LENGTH, beam=beam, forbidden=special)
        return [hypotheses[0].tokens for hypotheses in found]

    return in_turn(work, peer, translate)


def huggingface(work: Work, peer: str) -> turns.Pass:
    """`generate` of MarianMTModel."""
    import torch
    from safetensors.torch import load_file
    from transformers import GenerationConfig, MarianMTModel

    from marian import marian_config

    config = marian_config(SHAPES[work.shape], tied=False, dropout=0.0, max_length=MAX_LENGTH)
    model: Any = MarianMTModel._from_config(config, attn_implementation="sdpa")  # pyright: ignore[reportPrivateUsage]  # its public way loads a file
    model.load_state_dict(load_file(work.folder / "marian.safetensors"))
    model.eval()

    @torch.inference_mode()
    def translate(beam: int, sources: list[list[int]]) -> Texts:
        source = workload.pad_rows([[*row, EOS] for row in sources])
        how = GenerationConfig(
            num_beams=beam,
            do_sample=False,
            max_new_tokens=LENGTH,
            eos_token_id=EOS,
            pad_token_id=PAD,
            decoder_start_token_id=BOS,
        )
        keep = (source != PAD).long()
        return model.generate(input_ids=source, attention_mask=keep, generation_config=how)[:, 1:].tolist()

    return in_turn(work, peer, translate)


def ctranslate2(work: Work, peer: str, compute_type: str, threads: int) -> turns.Pass:
    """CTranslate2's translator."""
    from ctranslate2 import Translator

    translator: Any = Translator(
        str(work.folder / "ctranslate2"), device="cpu", compute_type=compute_type, intra_threads=threads
    )

    def translate(beam: int, sources: list[list[int]]) -> Texts:
        rows = [[str(token) for token in [*row, EOS]] for row in sources]
        results = translator.translate_batch(
            rows, beam_size=beam, max_decoding_length=LENGTH, min_decoding_length=LENGTH, max_batch_size=len(rows)
        )
        return [[int(name) for name in result.hypotheses[0]] for result in results]

    return in_turn(work, peer, translate)


PEERS: dict[str, tuple[Callable[..., turns.Pass], tuple[Any, ...]]] = {
    "allyouneed float32": (allyouneed, ("float32",)),
    "allyouneed int8": (allyouneed, ("int8",)),
    "Hugging Face generate": (huggingface, ()),
    "CTranslate2 float32": (ctranslate2, ("float32", turns.THREADS)),
    "CTranslate2 int8": (ctranslate2, ("int8", turns.THREADS)),
    "CTranslate2 int8, one thread": (ctranslate2, ("int8", 1)),
}
REFERENCE = "Hugging Face generate"


def measure(shape: str, *, rounds: int) -> dict[str, Any]:
    """Rows of the table: tokens a second at each setting, peak memory, and how many texts equal the reference's."""
    with tempfile.TemporaryDirectory() as folder:
        work = Work(shape, Path(folder))
        work.make()
        peers = {name: (prepare, (work, name, *more)) for name, (prepare, more) in PEERS.items()}
        measured = [peer for peer in turns.measure(peers, rounds=rounds) if not peer.failure]
        texts = {peer.name: json.loads(work.texts(peer.name).read_text("utf-8")) for peer in measured}
    rows = {
        peer.name: {
            "tokens_per_second": [count * LENGTH / peer.median(i) for i, (_, count) in enumerate(SETTINGS)],
            "peak_mb": peer.peak_mb,
            "others": peer.disturbance,
            "same": workload.equal_texts(texts[peer.name], texts.get(REFERENCE, [])),
        }
        for peer in measured
    }
    return {"shape": shape, "rows": rows}
