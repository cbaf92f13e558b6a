"""Korean endings, put on a stem by the rules of its last syllable (the polite -요 style).

A syllable is written as one character, computed from its three parts: initial, vowel and final consonant.
"""

from functools import cache
from typing import NamedTuple

INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
FINALS = ["", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"]
BASE = ord("가")
# A stem's last vowel and the 아/어 of the ending, drawn together.
DRAWN = {"ㅏ": "ㅏ", "ㅓ": "ㅓ", "ㅐ": "ㅐ", "ㅔ": "ㅔ", "ㅕ": "ㅕ", "ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅚ": "ㅙ"}


class Stem(NamedTuple):
    """`kind`: verb, adjective, be (있다, 없다), copula (a noun with 이다), not (아니다), thing (-(으)ㄹ 거), past."""

    text: str
    kind: str = "verb"
    irregular: bool = False


def parts(syllable: str) -> tuple[str, str, str]:
    """Initial, vowel and final consonant of a syllable."""
    code = ord(syllable) - BASE
    return INITIALS[code // 588], VOWELS[code % 588 // 28], FINALS[code % 28]


def syllable(initial: str, vowel: str, final: str = "") -> str:
    """The character of three parts."""
    return chr(BASE + 588 * INITIALS.index(initial) + 28 * VOWELS.index(vowel) + FINALS.index(final))


def final(word: str) -> str:
    """The final consonant of the last syllable, or an empty string."""
    return parts(word[-1])[2] if "가" <= word[-1] <= "힣" else ""


def with_final(word: str, consonant: str) -> str:
    """The word with another final consonant in its last syllable, or with none."""
    initial, vowel, _ = parts(word[-1])
    return word[:-1] + syllable(initial, vowel, consonant)


def particle(word: str, pair: str) -> str:
    """The word with the form of a particle that its sound asks for: 은/는, 이/가, 을/를, 과/와, 으로/로."""
    after_consonant, after_vowel = pair.split("/")
    end = final(word)
    if pair == "으로/로" and end == "ㄹ":
        return f"{word}로"
    return f"{word}{after_consonant if end else after_vowel}"


@cache
def infinitive(stem: Stem) -> str:
    """The form in 아/어 on which -요, -야 and the past are built."""
    text = stem.text
    if stem.kind == "copula":
        return f"{text}이어" if final(text) else f"{text}여"
    initial, vowel, end = parts(text[-1])
    if text.endswith("하"):
        return f"{text[:-1]}해"
    if text.endswith("르") and not text.endswith("따르"):
        before = parts(text[-2])
        bright = before[1] in "ㅏㅗ"
        return f"{text[:-2]}{syllable(before[0], before[1], 'ㄹ')}{'라' if bright else '러'}"
    if vowel == "ㅡ" and not end:
        bright = len(text) > 1 and parts(text[-2])[1] in "ㅏㅗ"
        return text[:-1] + syllable(initial, "ㅏ" if bright else "ㅓ")
    if stem.irregular:
        if end == "ㅂ":
            return text[:-1] + syllable(initial, vowel) + ("와" if text == "돕" else "워")
        if end == "ㄷ":
            text = with_final(text, "ㄹ")
        elif end == "ㅅ":
            text = with_final(text, "")
        elif end == "ㅎ":
            return text[:-1] + syllable(initial, {"ㅏ": "ㅐ", "ㅑ": "ㅒ"}[vowel])
        return f"{text}{'아' if vowel in 'ㅏㅗ' else '어'}"
    if not end and vowel in DRAWN:
        return text[:-1] + syllable(initial, DRAWN[vowel])
    return f"{text}{'아' if vowel in 'ㅏㅗㅑ' else '어'}"


def soft(stem: Stem) -> tuple[str, bool]:
    """The stem before an ending in (으), and whether the 으 is needed."""
    text = stem.text
    end = final(text)
    if stem.irregular:
        if end == "ㅂ":
            return f"{with_final(text, '')}우", False
        if end == "ㄷ":
            return with_final(text, "ㄹ"), True
        if end == "ㅅ":
            return with_final(text, ""), True
        if end == "ㅎ":
            return with_final(text, ""), False
    return text, bool(end) and end != "ㄹ"


@cache
def future_modifier(stem: Stem) -> str:
    """-(으)ㄹ: 갈, 먹을, 살, 추울."""
    if stem.kind == "copula":
        return f"{stem.text}일"
    text, needs = soft(stem)
    return f"{text}을" if needs else text if final(text) else with_final(text, "ㄹ")


@cache
def past_modifier(stem: Stem) -> str:
    """-(으)ㄴ: 간, 먹은, 산; of an adjective this is the present: 작은, 긴, 추운."""
    if stem.kind == "copula":
        return f"{stem.text}인"
    text, needs = soft(stem)
    return f"{text}은" if needs else with_final(text, "ㄴ")


def present_modifier(stem: Stem) -> str:
    """-는 of verbs and of 있다, -(으)ㄴ of adjectives."""
    if stem.kind in ("verb", "be"):
        return f"{with_final(stem.text, '') if final(stem.text) == 'ㄹ' else stem.text}는"
    return past_modifier(stem)


@cache
def past(stem: Stem) -> Stem:
    """The past stem: 먹었, 갔, 학생이었."""
    if stem.kind == "not":
        return Stem(f"{stem.text}었", "past")
    return Stem(with_final(infinitive(stem), "ㅆ"), "past")


@cache
def polite(stem: Stem) -> str:
    """The end of a sentence: 먹어요, 갔어요, 학생이에요."""
    match stem.kind:
        case "past":
            return f"{stem.text}어요"
        case "copula":
            return f"{stem.text}{'이에요' if final(stem.text) else '예요'}"
        case "thing":
            return f"{stem.text}예요"
        case "not":
            return f"{stem.text}에요"
        case _:
            return f"{infinitive(stem)}요"


def plain(stem: Stem) -> str:
    """The stem before 고, 지만, 기: a noun takes 이, -(으)ㄹ 거 becomes 것이."""
    if stem.kind == "copula":
        return f"{stem.text}이"
    return f"{stem.text[:-1]}것이" if stem.kind == "thing" else stem.text


def conditional(stem: Stem) -> str:
    """-(으)면."""
    if stem.kind == "copula":
        return f"{stem.text}이면"
    text, needs = soft(stem)
    return f"{text}{'으면' if needs else '면'}"


def quoted(stem: Stem) -> str:
    """-다 of reported speech, before 고 and 는: 먹는다, 간다, 작다, 학생이라."""
    match stem.kind:
        case "copula":
            return f"{stem.text}{'이라' if final(stem.text) else '라'}"
        case "thing":
            return f"{plain(stem)}라"
        case "not":
            return f"{stem.text}라"
        case "verb":
            end = final(stem.text)
            return f"{stem.text}는다" if end and end != "ㄹ" else f"{with_final(stem.text, 'ㄴ')}다"
        case _:
            return f"{stem.text}다"


def asked(stem: Stem) -> str:
    """-(으)세요, the polite command."""
    honorific = {"먹": "드세요", "자": "주무세요"}
    if stem.text in honorific:
        return honorific[stem.text]
    text, needs = soft(stem)
    return f"{text}으세요" if needs else f"{with_final(text, '') if final(text) == 'ㄹ' else text}세요"
