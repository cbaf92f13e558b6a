"""Korean words: nouns with counters, pronouns, the forms before a noun, and verb groups."""

from functools import cache
from typing import NamedTuple

from allyouneed.text.everyday.korean import verbs
from allyouneed.text.everyday.korean.verbs import Stem
from allyouneed.text.everyday.lexicon import Adjective, Noun
from allyouneed.text.everyday.syntax import Pronoun

PRONOUNS = ("저", "당신", "그", "우리", "여러분", "그들")
OWNERS = ("제", "당신의", "그의", "우리", "여러분의", "그들의")
COUNTERS = frozenset(
    ["명", "마리", "벌", "켤레", "대", "채", "권", "통", "편", "장", "자루", "송이", "그루", "곡", "척"]
)


class Group(NamedTuple):
    """A verb group: the words before the last stem, and that stem."""

    before: str
    stem: Stem

    def end(self, form: str) -> str:
        """The group with its last word in that form."""
        return f"{self.before} {form}".strip()


@cache
def dictionary(cell: str, kind: str = "verb") -> Group:
    """The table's cell as a verb group: 물을 주다 has the stem 주."""
    text = cell.split(" +")[0].split("=")[0]
    kind = "verb" if text.startswith("~") else kind
    before, _, last = text.removeprefix("~").removesuffix("!").removesuffix("다").rpartition(" ")
    if last.endswith(("있", "없")):
        kind = "be"
    elif last == "필요하":
        kind = "adjective"
    return Group(before, Stem(last, kind, text.endswith("!")))


def object_particle(cell: str) -> str:
    """The particle of the verb's object."""
    return {"": "을/를", "이": "이/가", "에": "에", "에게": "에게"}[cell.partition(" +")[2]]


@cache
def name(noun: Noun) -> tuple[str, str]:
    """The noun and its counter."""
    word, _, counter = noun.ko.rpartition(" ")
    return (word, counter) if word and counter in COUNTERS else (noun.ko, "개")


@cache
def attributive(adjective: Adjective) -> str:
    """The form before a noun: 작은, 맛있는, 유럽."""
    cell, _, stated = adjective.ko.partition("=")
    if stated or not cell.removesuffix("!").endswith("다"):
        return stated or cell
    verb = dictionary(cell, "adjective")
    return verb.end(verbs.present_modifier(verb.stem))


def pronoun(it: Pronoun) -> str:
    """저, 당신, 그녀, 그것."""
    if it.thing:
        return "그것들" if it.plural else "그것"
    if it.person == 3 and it.female and not it.plural:
        return "그녀"
    return PRONOUNS[it.person - 1 + 3 * it.plural]


def owner(it: Pronoun) -> str:
    """제, 당신의, 그녀의."""
    if it.person == 3 and it.female and not it.plural:
        return "그녀의"
    return OWNERS[it.person - 1 + 3 * it.plural]


def denied(before: str, stem: Stem, *, whole: bool) -> Group:
    """있다 has 없다 where it is the `whole` verb, 알다 has 모르다, a noun has 아니다; all others have -지 않다."""
    if stem.kind == "copula":
        return Group(f"{before} {verbs.particle(stem.text, '이/가')}", Stem("아니", "not"))
    if whole and stem == Stem("있", "be"):
        return Group(before, Stem("없", "be"))
    if stem == Stem("알"):
        return Group(before, Stem("모르"))
    return Group(f"{before} {stem.text}지", Stem("않", "adjective" if stem.kind == "adjective" else "verb"))
