"""What `allyouneed evaluate` measures of a parser."""

import time
from math import exp, fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allyouneed.cli.evaluate import recipe_of
from allyouneed.cli.progress import progress
from allyouneed.errors import InputError, UsageError
from allyouneed.pipeline import TooLongError
from allyouneed.pipeline.parsing import Parser
from allyouneed.tasks.treebanks import Sentence, Treebank, TreeData, sentences_of
from allyouneed.text.corpus import Skipped
from allyouneed.text.trees.brackets import agreement
from allyouneed.text.trees.linear import linearise

if TYPE_CHECKING:
    from allyouneed.pipeline import Translator


def measure_trees(pipe: "Translator", data: list[str], beam: int) -> dict[str, Any]:
    """All measures by name, on the trees of bracketed files or on those that the recipe validates on."""
    parser, skipped = Parser(pipe), Skipped()
    sentences = trees_of(pipe, data, skipped)
    words = [sentence.tree.words for sentence in sentences]
    sources = [" ".join(one) for one in words]
    targets = [linearise(sentence.tree, parser.order) for sentence in sentences]
    try:
        with progress("scoring", len(sentences)) as tell:
            scores = pipe.score(sources, targets, on_progress=tell)
        began = time.monotonic()
        with progress("parsing", len(sentences)) as tell:
            parses = parser.parse_words(words, beam=beam, on_progress=tell)
        seconds = time.monotonic() - began
    except TooLongError as error:
        place = sentences[error.index]
        raise InputError(f"{place.file}, line {place.line:,}: the sentence or its tree {error.problem}.") from error
    found = [parse for parse in parses if parse is not None]  # no tree is without words
    agreed = agreement((sentence.tree, parse.tree) for sentence, parse in zip(sentences, found, strict=True))
    tokens = sum(len(score.logprobs) for score in scores)
    loss = -fsum(score.total for score in scores) / tokens
    return {
        "f1": 100 * agreed.f1,
        "precision": 100 * agreed.precision,
        "recall": 100 * agreed.recall,
        "exact": 100 * agreed.exact_match,
        "mended": sum(parse.repairs > 0 for parse in found),
        "loss": loss,
        "perplexity": exp(loss),
        "sentences": len(sentences),
        "target_tokens": tokens,
        "seconds": seconds,
        "skipped": skipped.count,
    }


def trees_of(pipe: "Translator", data: list[str], skipped: Skipped) -> list[Sentence]:
    """The trees of the files, or those that the model's recipe validates on."""
    if data:
        return [sentence for path in data for sentence in sentences_of(Path(path), skipped)]
    recipe = recipe_of(pipe, "bracketed files")
    if not isinstance(recipe.data, TreeData):
        raise UsageError(f"The recipe of {pipe.name} names no trees: name bracketed files.")
    bank = Treebank(recipe.data.dev, Path(recipe.data.root), recipe.seed, recipe.data.order)
    return list(bank.sentences(skipped))


def report_trees(facts: dict[str, Any]) -> list[str]:
    """The measures as lines."""
    shares = f"precision {facts['precision']:.2f}, recall {facts['recall']:.2f}"
    lines = [
        f"F1          {facts['f1']:.2f}  ({shares}; as EVALB counts with COLLINS.prm)",
        f"exact       {facts['exact']:.2f} % of the sentences",
        f"mended      {facts['mended']:,} outputs that said no tree over the words",
        f"perplexity  {facts['perplexity']:.3f} a token  ({facts['loss']:.4f} nats, {facts['target_tokens']:,} tokens)",
        f"sentences   {facts['sentences']:,}, parsed in {facts['seconds']:.1f} s with beam {facts['beam']}",
    ]
    return lines + ([f"skipped     {facts['skipped']:,} trees without a word"] if facts["skipped"] else [])
