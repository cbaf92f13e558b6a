"""Phrase-based translation (Koehn, Och & Marcu 2003): the statistical systems that neural ones were compared with."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from nltk.translate import StackDecoder

from allyouneed.errors import InputError
from allyouneed.statistical.alignment import aligned
from allyouneed.statistical.language import WordModel
from allyouneed.statistical.table import PhraseTable, Words, phrase_counts
from allyouneed.statistical.words import Case, join, raised, split


class PhraseTranslator:
    """Translates by a table of phrases, a language model of the target and a search over both.

        PhraseTranslator.train(pairs).translate(["The cat sat on the mat."])

    Unknown words are copied. Word order changes within `WINDOW` words; a longer sentence is cut, after a sign if it
    has one, since the search looks at all orders of what it translates at once.
    """

    WINDOW = 12

    def __init__(self, table: PhraseTable, language: WordModel, case: Case) -> None:
        self.table, self.language, self.case = table, language, case

    @classmethod
    def train(
        cls,
        pairs: Iterable[tuple[str, str]],
        *,
        iterations: int = 3,
        longest: int = 4,
        options: int = 6,
        report: Callable[[str], None] = lambda message: None,
    ) -> "PhraseTranslator":
        """Learns from pairs of a text and its translation. `iterations` are those of alignment model 2, after twice as
        many of model 1; `longest` is the length of phrases in words, and `options` are the translations of each that
        are kept.

        Raises InputError where no pair has words on both sides.
        """
        held = [(split(source), split(target)) for source, target in pairs]
        held = [(source, target) for source, target in held if source and target]
        if not held:
            raise InputError("There is no pair with words on both sides to learn from.")
        case, target_case = Case(source for source, _ in held), Case(target for _, target in held)
        sources = [case.lowered(source) for source, _ in held]
        targets = [target_case.lowered(target) for _, target in held]
        report(f"aligning {len(held):,} pairs")
        links = aligned(sources, targets, iterations=iterations)
        report("counting phrases")
        counts = phrase_counts(sources, targets, links, longest=longest)
        return cls(PhraseTable(counts, options=options), WordModel(targets), case)

    def translate(
        self, texts: Sequence[str], *, stack: int = 30, on_progress: Callable[[int], None] = lambda done: None
    ) -> list[str]:
        """The best translation found of each text; blank for a blank one. `stack` is how many hypotheses the search
        keeps for each number of words that are translated.
        """
        decoder = StackDecoder(self.table, _Language(self.language, self.table))
        decoder.stack_size, decoder.beam_threshold, decoder.distortion_factor = stack, 1e-4, 0.1
        found: list[str] = []
        for done, text in enumerate(texts, 1):
            words = self.case.lowered(split(text))
            target = [word for piece in pieces(words, self.WINDOW) for word in decoder.translate(piece)]
            found.append(raised(join(target)))
            on_progress(done)
        return found


class _Language:
    """The language model as the decoder asks for it."""

    def __init__(self, model: WordModel, table: PhraseTable) -> None:
        self.model, self.table = model, table

    def probability_change(self, hypothesis: Any, phrase: Words) -> float:
        """log p of a phrase behind what the hypothesis has written. Only its end is looked up, not the whole."""
        before: Words = ()
        while hypothesis.previous is not None and len(before) < self.model.order - 1:
            before = (*hypothesis.trg_phrase, *before)
            hypothesis = hypothesis.previous
        return self.model.score(phrase, before)

    def probability(self, phrase: Words) -> float:
        """About what a phrase that is still to be translated will cost: the decoder asks for the *source* phrase, so
        that it is its best translation that is scored, as if a sentence began with it.
        """
        return self.model.score(self.table.translations_for(phrase)[0].trg_phrase)


def pieces(words: Sequence[str], most: int) -> Iterator[list[str]]:
    """The words in parts of at most `most`, cut after the last sign that fits, or else where they must be."""
    left = list(words)
    while len(left) > most:
        signs = [at for at in range(1, most + 1) if not left[at - 1].strip("￭").isalnum()]
        cut = signs[-1] if signs else most
        yield left[:cut]
        left = left[cut:]
    if left:
        yield left
