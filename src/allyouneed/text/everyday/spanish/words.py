"""Spanish words: gender, number, pronouns, determiners; and the joints between words.

The working text carries the mark `el°` for the article until `finish` contracts a el° to al and de el° to del.
"""

import re
from functools import cache
from typing import NamedTuple

from allyouneed.text.everyday.lexicon import Adjective, Noun, gendered
from allyouneed.text.everyday.numerals import number_es
from allyouneed.text.everyday.syntax import Nominal, Phrase, Pronoun, is_feminine, is_plural

STRONG = ("mí", "ti", "él", "nosotros", "-", "ellos")
DIRECT = ("me", "te", "lo", "nos", "-", "los")
INDIRECT = ("me", "te", "le", "nos", "-", "les")
REFLEXIVE = ("me", "te", "se", "nos", "-", "se")
FEMININE = {2: "ella", 3: "nosotras", 5: "ellas"}
SHORT = {"bueno": "buen", "malo": "mal"}  # before a masculine singular noun
PLAIN = str.maketrans("áéíóú", "aeiou")
ACCENTED = str.maketrans("aeiou", "áéíóú")


class Forms(NamedTuple):
    """A noun's forms; `stressed`: a feminine that begins with a stressed a (el agua)."""

    singular: str
    plural: str
    feminine: bool
    stressed: bool


def plural(word: str) -> str:
    """The regular plural, with the accents that it moves."""
    if word == "joven":
        return "jóvenes"
    if word[-1] in "aeiouáéó":
        return f"{word}s"
    if word.endswith("z"):
        return f"{word[:-1]}ces"
    if word[-1] in "ns" and word[-2] in "áéíóú":
        return f"{word[:-2]}{word[-2].translate(PLAIN)}{word[-1]}es"
    return f"{word}es"


@cache
def forms(noun: Noun) -> Forms:
    """The noun's forms; a name has one."""
    singular, irregular, gender = gendered(noun.es)
    if not gender:
        return Forms(singular, singular, noun.female, False)
    return Forms(singular, irregular or plural(singular), gender.startswith("f"), gender.endswith("*"))


@cache
def inflect(adjective: Adjective) -> tuple[str, ...]:
    """Masculine, feminine, masculine plural, feminine plural."""
    if adjective.es.startswith("="):
        return (adjective.es[1:],) * 4
    masculine, _, feminine = adjective.es.partition("/")
    feminine = feminine or (f"{masculine[:-1]}a" if masculine.endswith("o") else masculine)
    return masculine, feminine, plural(masculine), plural(feminine)


def gender(noun: Noun) -> bool:
    """True for a feminine noun."""
    return forms(noun).feminine


def feminine(it: Nominal | None) -> bool:
    """Feminine by grammar."""
    return is_feminine(it, gender)


def index(it: Nominal | None) -> int:
    """The verb's person; usted and ustedes take the third."""
    if isinstance(it, Pronoun):
        who = 3 if it.person == 2 and (it.formal or it.plural) else it.person
        return who - 1 + 3 * it.plural
    return 2 + 3 * is_plural(it)


def pronoun(it: Pronoun) -> str:
    """The stressed pronoun, which is also the subject's from the third person on."""
    if it.person == 2 and (it.formal or it.plural):
        return "ustedes" if it.plural else "usted"
    at = index(it)
    return FEMININE.get(at, STRONG[at]) if feminine(it) else STRONG[at]


def direct(it: Pronoun) -> str:
    """The unstressed direct object: me, lo, la."""
    at = index(it)
    return {2: "la", 5: "las"}.get(at, DIRECT[at]) if feminine(it) else DIRECT[at]


def possessive(owner: Pronoun, fem: bool, several: bool) -> str:
    """My, your ...: mi, tu, su, nuestra, with the plural of what is owned."""
    at, ending = index(owner), "s" if several else ""
    if at == 3:
        return f"nuestr{'a' if fem else 'o'}{ending}"
    return f"{('mi', 'tu', 'su', '-', '-', 'su')[at]}{ending}"


def determiner(it: Phrase, noun: Forms, subject: bool) -> str:
    """Article and number. An indefinite plural has its article (unos) only as the subject."""
    fem, several = noun.feminine, it.plural
    count = number_es(it.count, fem) if it.count else ""
    masculine = not fem or noun.stressed
    match it.determiner:
        case "the" | "generic":
            article = ("las" if fem else "los") if several else "el°" if masculine else "la"
            return f"{article} {count}"
        case "a" if count:
            return count
        case "a" if several:
            return ("unas" if fem else "unos") if subject else ""
        case "a" if not it.noun.mass:
            return "un" if masculine else "una"
        case "this":
            return ("estas" if fem else "estos") if several else "esta" if fem else "este"
        case "own" if it.owner:
            return possessive(it.owner, fem, several)
        case _:
            return ""


def attach(form: str, own: str) -> str:
    """A command with its pronoun behind it, and the written accent that this needs: quédate, tráele, ponte."""
    if not own:
        return form
    vowels = [at for at, letter in enumerate(form) if letter in "aeiou" and not glide(form, at)]
    if len(vowels) > 1 and form == form.translate(PLAIN):
        at = vowels[-2]
        form = f"{form[:at]}{form[at].translate(ACCENTED)}{form[at + 1 :]}"
    return f"{'de' if form == 'dé' else form}{own}"


def glide(word: str, at: int) -> bool:
    """An i or u beside a, e or o is no syllable of its own."""
    return word[at] in "iu" and (word[at + 1 : at + 2] in tuple("aeo") or word[at - 1 : at] in tuple("aeo"))


def finish(text: str) -> str:
    """Single spaces, al and del, e for y before an i; the marks go."""
    text = " ".join(text.split()).replace(" ,", ",")
    text = re.sub(r"(?<!\w)a el° ", "al ", text)
    text = re.sub(r"(?<!\w)de el° ", "del ", text).replace("°", "")
    return re.sub(r"(?<!\w)y (?=[iíIÍ]|hi[^e])", "e ", text)
