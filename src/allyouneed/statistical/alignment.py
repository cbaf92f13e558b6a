"""Which word of a sentence came from which of its translation, learned by counting (Brown 1993; Och & Ney 2003)."""

from collections.abc import Sequence

from nltk.translate import AlignedSent, IBMModel2
from nltk.translate.gdfa import grow_diag_final_and

Links = list[tuple[int, int]]
Sentence = Sequence[str]


def aligned(sources: Sequence[Sentence], targets: Sequence[Sentence], *, iterations: int) -> list[Links]:
    """The links (place in the source, place in the target) of each pair: IBM model 2, started from model 1, in both
    directions, and what they say together (grow-diag-final-and, Koehn 2005).
    """
    there = directed(sources, targets, iterations)
    back = [[(source, target) for target, source in links] for links in directed(targets, sources, iterations)]
    links: list[Links] = []
    for source, target, one, other in zip(sources, targets, there, back, strict=True):
        found = grow_diag_final_and(len(source), len(target), written(one), written(other))
        links.append(sorted((start, end) for start, end in found))
    return links


def directed(sources: Sequence[Sentence], targets: Sequence[Sentence], iterations: int) -> list[Links]:
    """For each target word the source word that it came from, if any."""
    corpus = [AlignedSent(list(target), list(source)) for source, target in zip(sources, targets, strict=True)]
    IBMModel2(corpus, iterations)  # writes the best alignment into each pair
    links: list[Links] = []
    for pair in corpus:
        found: Links = [(source, target) for target, source in pair.alignment if source is not None]
        links.append(sorted(found))
    return links


def written(links: Links) -> str:
    """Links as the symmetrisation reads them."""
    return " ".join(f"{source}-{target}" for source, target in links)
