"""Speed and memory of a language model that writes: the shape of SmolLM2-135M, the same weights in every library.

Libraries are imported where they are used: the process of a peer holds nothing that the peer does not need.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llamacpp
import workload
from allyouneed.measure import turns
from workload import BOS, EOS, UNK, Texts

if TYPE_CHECKING:
    from allyouneed.models.transformer import Transformer
    from allyouneed.parts.packed import Precision

SETTINGS = ((32, 1), (512, 1), (32, 8), (512, 8))  # tokens of the prompt, texts at a time
LENGTH = 32  # tokens written

Generate = Callable[[Texts, int], Texts]  # goes on from these texts with that many tokens


@dataclass(frozen=True)
class Decoder:
    """The numbers of a modern decoder."""

    vocab_size: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_ff: int
    n_decoder_layers: int
    rotary_base: float = 100_000.0
    max_length: int = 2048


DECODERS = {
    "SmolLM2-135M": Decoder(49_152, d_model=576, n_heads=9, n_kv_heads=3, d_ff=1536, n_decoder_layers=30),
    "tiny": Decoder(300, d_model=32, n_heads=4, n_kv_heads=2, d_ff=64, n_decoder_layers=2),  # to try the benchmark
}


@dataclass(frozen=True)
class Work:
    """Which shape, and the folder that holds its weights in each library's form; the peers leave their texts there."""

    shape: str
    folder: Path

    def make(self) -> None:
        """Draws the weights and writes them for every library."""
        import torch
        from safetensors.torch import save_file

        from llama import to_ctranslate2, to_llama

        torch.manual_seed(7)
        model = self.model()
        save_file(model.state_dict(), self.folder / "ours.safetensors")
        theirs = to_llama(model)
        theirs.save_pretrained(self.folder / "huggingface")
        to_ctranslate2(theirs, self.folder / "ctranslate2")
        for kind in llamacpp.KINDS if llamacpp.installed() else ():
            llamacpp.to_gguf(model, self.folder / f"{kind}.gguf", kind)

    def model(self) -> Transformer:
        """A fresh decoder."""
        from allyouneed.models.transformer import Transformer
        from llama import modern

        return Transformer(modern(**asdict(DECODERS[self.shape]))).eval()

    def prompts(self, length: int, count: int) -> Texts:
        """Random prompts; none holds a special token."""
        draw = random.Random(length)
        return [[draw.randrange(UNK + 1, DECODERS[self.shape].vocab_size) for _ in range(length)] for _ in range(count)]

    def texts(self, peer: str) -> Path:
        """Where a peer's texts lie: those of each setting."""
        return self.folder / f"{peer}.json"


def in_turn(work: Work, peer: str, generate: Generate) -> turns.Pass:
    """A pass over all settings: seconds until the first token, and until the last one, of each. The texts of the first
    pass are kept for comparison.
    """
    given = [work.prompts(*setting) for setting in SETTINGS]
    work.texts(peer).write_text(json.dumps([generate(prompts, LENGTH) for prompts in given]), "utf-8")

    def seconds(prompts: Texts) -> list[float]:
        return turns.timed([lambda: generate(prompts, 1), lambda: generate(prompts, LENGTH)])

    return lambda: [second for prompts in given for second in seconds(prompts)]


def allyouneed(work: Work, peer: str, precision: Precision) -> turns.Pass:
    """Our sampler at temperature 0 over our model, made ready for writing as `generate` makes it."""
    import torch
    from safetensors.torch import load_file

    from allyouneed.decoding.sampling import InStep, Sampler, Sampling
    from allyouneed.models.stepper import Stepper

    model = work.model()
    model.load_state_dict(load_file(work.folder / "ours.safetensors"), assign=True)
    stepper = Stepper(model, precision=precision)

    @torch.inference_mode()
    def generate(prompts: Texts, length: int) -> Texts:
        tokens = torch.tensor(prompts)
        drawn = Sampler(
            InStep(*stepper.read(tokens, stepper.start(sentences=len(prompts))), stepper.step),
            seeds=[0] * len(prompts),
            max_tokens=[length] * len(prompts),
            sampling=Sampling(temperature=0),
        )
        texts: Texts = [[] for _ in prompts]
        for draws in drawn:
            for draw in draws:
                texts[draw.text].append(draw.token)
        return texts

    return in_turn(work, peer, generate)


def huggingface(work: Work, peer: str, cache: str) -> turns.Pass:
    """`generate` of LlamaForCausalLM with one kind of cache."""
    import torch
    from transformers import GenerationConfig, LlamaForCausalLM

    model: Any = LlamaForCausalLM.from_pretrained(work.folder / "huggingface", attn_implementation="sdpa").eval()

    @torch.inference_mode()
    def generate(prompts: Texts, length: int) -> Texts:
        tokens = torch.tensor(prompts)
        how = GenerationConfig(
            do_sample=False,
            max_new_tokens=length,
            eos_token_id=None,
            pad_token_id=EOS,
            bos_token_id=BOS,
            cache_implementation=cache,
        )
        found = model.generate(input_ids=tokens, attention_mask=torch.ones_like(tokens), generation_config=how)
        return found[:, tokens.shape[1] :].tolist()

    return in_turn(work, peer, generate)


def ctranslate2(work: Work, peer: str, compute_type: str) -> turns.Pass:
    """CTranslate2's generator."""
    from ctranslate2 import Generator

    generator: Any = Generator(
        str(work.folder / "ctranslate2"), device="cpu", compute_type=compute_type, intra_threads=turns.THREADS
    )

    def generate(prompts: Texts, length: int) -> Texts:
        results = generator.generate_batch(
            [[str(token) for token in prompt] for prompt in prompts],
            max_length=length,
            min_length=length,
            max_batch_size=len(prompts),
            include_prompt_in_result=False,
        )
        return [result.sequences_ids[0] for result in results]

    return in_turn(work, peer, generate)


def llama_cpp(work: Work, peer: str, kind: llamacpp.Kind) -> turns.Pass:
    """llama.cpp's decoding of a batch."""
    longest = max(length for length, _ in SETTINGS) + LENGTH
    writer = llamacpp.Writer(work.folder / f"{kind}.gguf", texts=max(count for _, count in SETTINGS), longest=longest)
    return in_turn(work, peer, writer)


PEERS: dict[str, tuple[Callable[..., turns.Pass], tuple[Any, ...]]] = {
    "allyouneed float32": (allyouneed, ("float32",)),
    "allyouneed int8": (allyouneed, ("int8",)),
    "Hugging Face, dynamic cache": (huggingface, ("dynamic",)),
    "Hugging Face, static cache": (huggingface, ("static",)),
    "CTranslate2 float32": (ctranslate2, ("float32",)),
    "CTranslate2 int8": (ctranslate2, ("int8",)),
    **({f"llama.cpp {kind.lower()}": (llama_cpp, (kind,)) for kind in llamacpp.KINDS} if llamacpp.installed() else {}),
}
REFERENCE = "Hugging Face, dynamic cache"


def measure(shape: str, *, rounds: int) -> dict[str, Any]:
    """Rows of the table: tokens a second at each setting, of prompts read and of texts written, peak memory, and how
    many texts equal the reference's.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Work(shape, Path(folder))
        work.make()
        peers = {name: (prepare, (work, name, *more)) for name, (prepare, more) in PEERS.items()}
        measured = [peer for peer in turns.measure(peers, rounds=rounds) if not peer.failure]
        texts = {peer.name: json.loads(work.texts(peer.name).read_text("utf-8")) for peer in measured}
    rows = {
        peer.name: {
            "read": [length * count / peer.median(2 * i) for i, (length, count) in enumerate(SETTINGS)],
            "written": [
                (LENGTH - 1) * count / (peer.median(2 * i + 1) - peer.median(2 * i))
                for i, (_, count) in enumerate(SETTINGS)
            ],
            "peak_mb": peer.peak_mb,
            "others": peer.disturbance,
            "same": workload.equal_texts(texts[peer.name], texts.get(REFERENCE, [])),
        }
        for peer in measured
    }
    return {"shape": shape, "rows": rows}
