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
    from allyouneed.pipeline import LanguageModel, MaskedModel, Pipeline, Translator
    from allyouneed.text.corpus import Columns as CorpusColumns
    from allyouneed.text.corpus import Pair
    from allyouneed.training.recipe import Recipe

ROW = 1024  # tokens that a model of text sees at a time, at most, where no recipe says how long its rows were
BATCH = 4096  # tokens worked on at a time


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help='A shipped model ("zoo:en-fr") or a folder.')],
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA",
            help="A .tsv or .jsonl, two aligned files, text, or trees; else the recipe's validation text.",
        ),
    ] = None,
    columns: Columns = None,
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses followed at a time; 1 is greedy.")] = 4,
    precision: Precision = "float32",
    as_json: Json = False,
) -> None:
    """Measure a model: BLEU, chrF and perplexity.

    A model of text has perplexity alone; its text has empty lines between documents. BLEU and chrF are those of whole,
    detokenised text, by sacreBLEU. A parser has the F1 of its brackets, as EVALB counts them, on bracketed files.

    For example:
      allyouneed evaluate zoo:en-fr test.tsv
    """
    from allyouneed.cli.evaluate_trees import measure_trees, report_trees
    from allyouneed.pipeline import Translator, load
    from allyouneed.pipeline.parsing import is_parser
    from allyouneed.text.corpus import Skipped

    pipe = load(model, precision=precision)
    if isinstance(pipe, Translator) and is_parser(pipe):
        facts = {"model": model, "beam": beam, **measure_trees(pipe, data or [], beam)}
        write_json(facts) if as_json else write(*report_trees(facts))
        return
    if not isinstance(pipe, Translator):
        if precision != "float32":
            raise UsageError(f"{model} reads text as a whole, which is measured in float32 alone.")
        facts = {"model": model, **measure_text(pipe, documents_of(pipe, data or []))}
        write_json(facts) if as_json else write(*report_text(facts))
        return
    skipped = Skipped()
    pairs = pairs_of(pipe, data or [], columns, skipped)
    facts = {"model": model, "beam": beam, **measure(pipe, pairs, beam), "skipped": skipped.count}
    if as_json:
        write_json(facts)
    else:
        write(*report(facts), *([str(skipped)] if skipped.count else []))


def recipe_of(pipe: "Pipeline", wanted: str) -> "Recipe":
    """The recipe of a model, which names its validation text. `wanted` says what can be named instead."""
    from allyouneed.training.recipe import parse_recipe

    if pipe.recipe is None:
        raise UsageError(f"{pipe.name} has no recipe that names a validation text: name {wanted}.")
    return parse_recipe(tomllib.loads(pipe.recipe), f"The recipe of {pipe.name}")


def pairs_of(pipe: "Translator", data: list[str], columns: tuple[str, str] | None, skipped: Any) -> list["Pair"]:
    """The pairs of the files, or of the validation text that the model's recipe names."""
    from allyouneed.tasks.sources import PairData, Pairs
    from allyouneed.text.corpus import read_pairs

    if len(data) > 2:
        raise UsageError(f"evaluate takes one .tsv or .jsonl, or two aligned files, not {len(data)}.")
    if data:
        target = data[1] if len(data) == 2 else None
        return list(read_pairs(data[0], target, columns=columns or usual_columns(pipe), skipped=skipped))
    recipe = recipe_of(pipe, "a .tsv or .jsonl, or two aligned files")
    if not isinstance(recipe.data, PairData):
        raise UsageError(f"The recipe of {pipe.name} names no pairs: name a .tsv or .jsonl, or two aligned files.")
    return list(Pairs(recipe.data.dev, Path(recipe.data.root), recipe.seed).read(skipped))


def usual_columns(pipe: "Translator") -> "CorpusColumns":
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
        raise InputError(f"{pair.file}, line {pair.line:,}: a side {error.problem}.") from error
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


def documents_of(pipe: "Pipeline", data: list[str]) -> list[str]:
    """The documents of the files, or of the validation text that the model's recipe names."""
    from allyouneed.tasks.sources import Documents, TextData
    from allyouneed.text.corpus import read_documents

    if data:
        return [text for path in data for text in read_documents(path)]
    recipe = recipe_of(pipe, "a file of text")
    if not isinstance(recipe.data, TextData):
        raise UsageError(f"The recipe of {pipe.name} names no plain text: name a file of text.")
    return list(Documents(recipe.data.dev, Path(recipe.data.root), recipe.seed))


def measure_text(pipe: "LanguageModel | MaskedModel", documents: list[str]) -> dict[str, Any]:
    """The measures of a model of text: those of its training's validation, in float32."""
    from allyouneed.tasks.documents import encode_texts
    from allyouneed.tasks.language import Language
    from allyouneed.tasks.masked import Masked
    from allyouneed.training.loss import negative_log_likelihood

    row = tomllib.loads(pipe.recipe or "").get("data", {}).get("max_tokens", min(pipe.config.max_length, ROW))
    texts = encode_texts(documents, pipe.tokenizer)
    kind = Language if pipe.config.line == "decoder" else Masked
    task = kind(pipe.tokenizer, texts, texts, max_tokens=row)
    began = time.monotonic()
    measures = task.validate(pipe.model, negative_log_likelihood, max_tokens=max(BATCH, row), sentences=0)
    return {
        **measures,
        "documents": len(texts),
        "tokens": texts.inner_tokens,
        "bytes": texts.bytes,
        "row": row,
        "seconds": time.monotonic() - began,
    }


def report_text(facts: dict[str, Any]) -> list[str]:
    """The measures as lines."""
    loss = f"({facts['loss']:.4f} nats)"
    lines = [
        f"perplexity  {facts['perplexity']:.3f} a {'token' if 'bits_per_byte' in facts else 'hidden token'}  {loss}"
    ]
    if "bits_per_byte" in facts:
        lines.append(f"bits        {facts['bits_per_byte']:.4f} a byte")
    if "accuracy" in facts:
        lines.append(f"accuracy    {facts['accuracy']:.2%} of the hidden tokens guessed")
    size = f"{facts['documents']:,} documents, {facts['tokens']:,} tokens, {facts['bytes']:,} bytes"
    return [*lines, f"text        {size}, in rows of {facts['row']:,}, in {facts['seconds']:.1f} s"]
