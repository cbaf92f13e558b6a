"""English words: pronouns, plurals, determiners, comparatives."""

from functools import cache

from allyouneed.text.everyday.lexicon import Adjective, Noun
from allyouneed.text.everyday.numerals import number_en
from allyouneed.text.everyday.syntax import Nominal, Phrase, Pronoun, is_plural, person

SUBJECTS = ("I", "you", "he", "we", "you", "they")
OBJECTS = ("me", "you", "him", "us", "you", "them")
OWNERS = ("my", "your", "his", "our", "your", "their")
SINGULAR = {"he": ("he", "she", "it"), "him": ("him", "her", "it"), "his": ("his", "her", "its")}


def index(nominal: Nominal | None) -> int:
    """The place of a person in a series of six: I, you, he, we, you, they."""
    return person(nominal) - 1 + 3 * is_plural(nominal)


def pronoun(it: Pronoun, series: tuple[str, ...]) -> str:
    """The pronoun's form in a series: subjects, objects or owners."""
    if it.person == 3 and not it.plural:
        he, she, thing = SINGULAR[series[2]]
        return thing if it.thing else she if it.female else he
    return series[index(it)]


@cache
def forms(noun: Noun) -> tuple[str, str]:
    """Singular and plural."""
    singular, _, plural = noun.en.lstrip("~").partition("/")
    if plural or noun.mass:
        return singular, plural or singular
    if singular.endswith(("s", "x", "z", "ch", "sh")):
        return singular, f"{singular}es"
    if singular.endswith("y") and singular[-2] not in "aeiou":
        return singular, f"{singular[:-1]}ies"
    return singular, f"{singular}s"


def an(words: str) -> str:
    """The indefinite article before `words`."""
    vowel = words[0].lower() in "aeiou" and not words.lower().startswith(("uni", "eu", "use", "one"))
    return f"{'an' if vowel else 'a'} {words}"


def determined(it: Phrase, words: str, some: str) -> str:
    """The words with the phrase's determiner and number before them."""
    if it.count:
        words = f"{number_en(it.count)} {words}"
    match it.determiner:
        case "the":
            return f"the {words}"
        case "a" if it.count:
            return words
        case "a" if it.plural or it.noun.mass:
            return f"{some} {words}".lstrip()
        case "a":
            return an(words)
        case "this":
            return f"{'these' if it.plural else 'this'} {words}"
        case "own" if it.owner:
            return f"{pronoun(it.owner, OWNERS)} {words}"
        case _:
            return words


# Two-syllable adjectives that take "more".
LONG = frozenset({"tired", "polite", "simple", "useful", "modern"})


def compared(adjective: Adjective, degree: str) -> str:
    """Bigger, more useful, less small, as good, very old."""
    word = adjective.en
    if degree != "more":
        return f"{degree} {word}".strip()
    if word in ("good", "bad"):
        return "better" if word == "good" else "worse"
    if word.endswith("y") and len(word) < 7:
        return f"{word[:-1]}ier"
    if len(word) > 6 or word.endswith(("ous", "ing")) or word in LONG:
        return f"more {word}"
    if word[-1] in "gtdn" and word[-2] in "aeiou" and word[-3] not in "aeiou":
        return f"{word}{word[-1]}er"
    return f"{word}r" if word.endswith("e") else f"{word}er"
