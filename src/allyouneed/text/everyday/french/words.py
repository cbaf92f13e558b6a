"""French words: gender, number, pronouns, determiners; and the joints between words.

The working text carries marks until `finish` resolves elision and contraction: `le° la° les°` are articles (which
contract where pronouns don't), `ma°` and `ce°` change before a vowel, `*` is an aspirated h.
"""

import re
from functools import cache
from typing import NamedTuple

from allyouneed.text.everyday.lexicon import Adjective, Noun, gendered
from allyouneed.text.everyday.numerals import number_fr
from allyouneed.text.everyday.syntax import Nominal, Phrase, Pronoun, is_feminine, is_plural

SUBJECTS = ("je", "tu", "il", "nous", "vous", "ils")
STRONG = ("moi", "toi", "lui", "nous", "vous", "eux")
DIRECT = ("me", "te", "le", "nous", "vous", "les")
INDIRECT = ("me", "te", "lui", "nous", "vous", "leur")
REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
VOWEL = "aeiouyàâäéèêëîïôöùûœhAEIOUYÀÂÉÈÊÎÔŒH"


class Forms(NamedTuple):
    """A noun's forms; `plural_only`: pâtes are plural whatever they mean."""

    singular: str
    plural: str
    feminine: bool
    plural_only: bool


def plural(word: str) -> str:
    """The regular plural."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "au", "eu")) and word != "bleu":
        return f"{word}x"
    return f"{word[:-2]}aux" if word.endswith("al") else f"{word}s"


@cache
def forms(noun: Noun) -> Forms:
    """The noun's forms; a name has one."""
    singular, irregular, gender = gendered(noun.fr)
    if not gender:
        return Forms(singular, singular, noun.female, False)
    only = gender.endswith("+")
    return Forms(singular, singular if only else irregular or plural(singular), gender.startswith("f"), only)


@cache
def inflect(adjective: Adjective) -> tuple[str, ...]:
    """Masculine, feminine, masculine plural, feminine plural, masculine before a vowel."""
    masculine, _, others = adjective.fr.removeprefix("=").partition("/")
    if adjective.fr.startswith("=") or "invariable" in adjective.notes:
        return (masculine,) * 5
    feminine, _, before_vowel = others.partition("/")
    feminine = feminine or feminine_of(masculine)
    return masculine, feminine, plural(masculine), f"{feminine}s", before_vowel or masculine


def feminine_of(masculine: str) -> str:
    """The regular feminine of an adjective."""
    for ending, replacement in (("eux", "euse"), ("er", "ère"), ("el", "elle"), ("en", "enne")):
        if masculine.endswith(ending):
            return masculine.removesuffix(ending) + replacement
    return masculine if masculine.endswith("e") else f"{masculine}e"


def gender(noun: Noun) -> bool:
    """True for a feminine noun."""
    return forms(noun).feminine


def feminine(it: Nominal | None) -> bool:
    """Feminine by grammar."""
    return is_feminine(it, gender)


def many(it: Nominal | None) -> bool:
    """Plural by grammar: pâtes are, the formal you is not (vous êtes content)."""
    return is_plural(it) or (isinstance(it, Phrase) and forms(it.noun).plural_only)


def index(it: Nominal | None) -> int:
    """The verb's person: je, tu, il, nous, vous, ils. The formal you is vous."""
    if isinstance(it, Pronoun):
        return it.person - 1 + 3 * (it.plural or it.formal)
    return 2 + 3 * many(it)


def pronoun(it: Pronoun, series: tuple[str, ...]) -> str:
    """A pronoun's form in a series; elle, elles and la where the feminine shows."""
    at = index(it)
    if feminine(it) and at in (2, 5):
        if series is DIRECT:
            return "la" if at == 2 else "les"
        return series[at] if series is INDIRECT else ("elle" if at == 2 else "elles")
    return series[at]


def possessive(owner: Pronoun, fem: bool, several: bool) -> str:
    """My, your ...: mon, ma°, mes; notre, nos."""
    at = index(owner)
    if at < 3:
        return "mts"[at] + ("es" if several else "a°" if fem else "on")
    if several:
        return ("nos", "vos", "leurs")[at - 3]
    return ("notre", "votre", "leur")[at - 3]


def determiner(it: Phrase, fem: bool, several: bool, negated: bool) -> str:
    """Article and number. After a negated verb "un, du, des" become "de"."""
    article = "les°" if several else "la°" if fem else "le°"
    count = number_fr(it.count, fem) if it.count else ""
    match it.determiner:
        case "the" | "generic":
            return f"{article} {count}"
        case "a" if count:
            return count
        case "a" if negated:
            return "de"
        case "a" if several:
            return "de" if any("pre" in a.notes for a in it.adjectives) else "des"
        case "a" if it.noun.mass:
            return f"de {article}"
        case "a":
            return "une" if fem else "un"
        case "this":
            return "ces" if several else "cette" if fem else "ce°"
        case "own" if it.owner:
            return possessive(it.owner, fem, several)
        case _:
            return ""


BEFORE_VOWEL = f"(?=[{VOWEL}])"
JOINTS = (  # in this order
    (rf"(?<![\w-])l[ea]° {BEFORE_VOWEL}", "l'"),
    (r"(?<![\w'-])à le° ", "au "),
    (r"(?<![\w'-])à les° ", "aux "),
    (r"(?<![\w'-])de le° ", "du "),
    (r"(?<![\w'-])de les° ", "des "),
    (rf"(?<![\w'-])([mts])a° {BEFORE_VOWEL}", r"\1on "),
    (rf"(?<![\w'-])ce° {BEFORE_VOWEL}", "cet "),
    ("°", ""),
    (r"(?<!\w)si (?=ils? )", "s'"),
    (rf"(?<![\w-])(j|n|m|t|s|qu|d|l)[ea] {BEFORE_VOWEL}", r"\1'"),
    (r"\*", ""),
)
RULES = tuple((re.compile(pattern), replacement) for pattern, replacement in JOINTS)


def finish(text: str) -> str:
    """Single spaces, elision, contraction; the marks go."""
    text = " ".join(text.split()).replace(" ,", ",")
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text
