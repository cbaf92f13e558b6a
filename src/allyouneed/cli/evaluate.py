"""`allyouneed evaluate`."""

import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allyouneed.cli.options import Columns, Json, Precision
from allyouneed.cli.progress import progress
from allyouneed.cli.streams import write, write_json
from allyouneed.errors import InputError, UsageError

if TYPE_CHECKING:
    from allyouneed.pipeline import Translator
    from allyouneed.text.corpus import Pair


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help='A shipped model ("zoo:en-fr") or a folder.')],
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="A .tsv, or two aligned files; else the recipe's validation text."),
    ] = None,
    columns: Columns = None,
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses followed at a time; 1 is greedy.")] = 4,
    precision: Precision = "float32",
    as_json: Json = False,
) -> None:
    """Measure a model: BLEU, chrF and perplexity.

    BLEU and chrF are those of whole, detokenised text, by sacreBLEU.

    For example:
      allyouneed evaluate zoo:en-fr test.tsv
    """
    from allyouneed.pipeline import load
    from allyouneed.text.corpus import Skipped

    pipe = load(model, precision=precision)
    skipped = Skipped()
    pairs = pairs_of(pipe, data or [], columns, skipped)
    facts = {"model": model, "beam": beam, **measure(pipe, pairs, beam), "skipped": skipped.count}
    if as_json:
        write_json(facts)
    else:
        write(*report(facts), *([str(skipped)] if skipped.count else []))


def pairs_of(pipe: "Translator", data: list[str], columns: tuple[int, int] | None, skipped: Any) -> list["Pair"]:
    """The pairs of the files, or of the validation text that the model's recipe names."""
    from allyouneed.tasks.translation import Sources
    from allyouneed.text.corpus import read_pairs
    from allyouneed.training.recipe import parse_recipe

    if len(data) > 2:
        raise UsageError(f"evaluate takes one .tsv or two aligned files, not {len(data)}.")
    if data:
        target = data[1] if len(data) == 2 else None
        return list(read_pairs(data[0], target, columns=columns or usual_columns(pipe), skipped=skipped))
    if pipe.recipe is None:
        raise UsageError(f"{pipe.name} has no recipe that names a validation text: name a .tsv or two aligned files.")
    recipe = parse_recipe(tomllib.loads(pipe.recipe), f"The recipe of {pipe.name}")
    return list(Sources(recipe.data.dev, Path(recipe.data.root), recipe.seed).read(skipped))


def usual_columns(pipe: "Translator") -> tuple[int, int]:
    """The columns of the first table that the model was trained on."""
    for table in tomllib.loads(pipe.recipe or "").get("data", {}).get("train", []):
        if "source" in table and "target" not in table and "columns" in table:
            source, target = table["columns"]
            return source, target
    return 0, 1


def measure(pipe: "Translator", pairs: Sequence["Pair"], beam: int) -> dict[str, Any]:
    """All measures by name."""
    from math import exp, fsum

    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    from allyouneed.pipeline import TooLongError

    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    try:
        with progress("scoring", len(pairs)) as tell:
            scores = pipe.score(sources, targets, on_progress=tell)
        began = time.monotonic()
        with progress("translating", len(pairs)) as tell:
            outputs = [one.text for one in pipe.translate(sources, beam=beam, on_progress=tell)]
        seconds = time.monotonic() - began
    except TooLongError as error:
        pair = pairs[error.index]
        raise InputError(f"{pair.file}, line {pair.line:,}: a side {error.excess}.") from error
    bleu, chrf = BLEU(), CHRF()
    tokens = sum(len(score.logprobs) for score in scores)
    loss = -fsum(score.total for score in scores) / tokens
    return {
        "bleu": bleu.corpus_score(outputs, [targets]).score,
        "bleu_signature": str(bleu.get_signature()),
        "chrf": chrf.corpus_score(outputs, [targets]).score,
        "chrf_signature": str(chrf.get_signature()),
        "loss": loss,
        "perplexity": exp(loss),
        "sentences": len(pairs),
        "target_tokens": tokens,
        "seconds": seconds,
    }


def report(facts: dict[str, Any]) -> list[str]:
    """The measures as lines."""
    return [
        f"BLEU        {facts['bleu']:.2f}  ({facts['bleu_signature']})",
        f"chrF        {facts['chrf']:.2f}  ({facts['chrf_signature']})",
        f"perplexity  {facts['perplexity']:.3f} a token  ({facts['loss']:.4f} nats, {facts['target_tokens']:,} tokens)",
        f"sentences   {facts['sentences']:,}, translated in {facts['seconds']:.1f} s with beam {facts['beam']}",
    ]
