"""The phrase table: which runs of words became which, and how often (Koehn, Och & Marcu 2003, section 3)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import log
from typing import NamedTuple

from nltk.translate.phrase_based import phrase_extraction

from allyouneed.statistical.alignment import Links, Sentence

Words = tuple[str, ...]
COPIED = log(1e-4)  # of a word that the table does not know, and that stays as it is


class Option(NamedTuple):
    """A translation of a phrase, under the names that the decoder asks for."""

    trg_phrase: Words
    log_prob: float


class PhraseTable:
    """The likeliest translations of each phrase. A single word always has one: itself, where there is no other."""

    def __init__(self, counts: Counter[tuple[Words, Words]], *, options: int) -> None:
        """From how often each pair of phrases was found; the best `options` of each are kept.

        The score of a pair is the mean of the two log-shares, of the target among the translations of the source and
        the other way round.
        """
        sources, targets = Counter[Words](), Counter[Words]()
        for (source, target), count in counts.items():
            sources[source] += count
            targets[target] += count
        found = defaultdict[Words, list[Option]](list)
        for (source, target), count in counts.items():
            share = (log(count / sources[source]) + log(count / targets[target])) / 2
            found[source].append(Option(target, share))
        self._options = {
            source: sorted(ranked, key=lambda option: (-option.log_prob, option.trg_phrase))[:options]
            for source, ranked in found.items()
        }

    def __contains__(self, phrase: Words) -> bool:
        return len(phrase) == 1 or phrase in self._options

    def __len__(self) -> int:
        return len(self._options)

    def translations_for(self, phrase: Words) -> list[Option]:
        """The translations of a phrase, best first."""
        return self._options.get(phrase) or [Option(phrase, COPIED)]


def phrase_counts(
    sources: Sequence[Sentence], targets: Sequence[Sentence], links: Iterable[Links], *, longest: int
) -> Counter[tuple[Words, Words]]:
    """How often each pair of phrases, of at most `longest` words a side, agrees with the links of a sentence."""
    counts = Counter[tuple[Words, Words]]()
    for source, target, one in zip(sources, targets, links, strict=True):
        for (start, end), (first, last), _, _ in phrase_extraction(" ".join(source), " ".join(target), one, longest):
            if last - first <= longest:
                counts[tuple(source[start:end]), tuple(target[first:last])] += 1
    return counts
