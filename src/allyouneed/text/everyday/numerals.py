"""Number words up to ninety-nine and months in the four languages."""

from functools import cache


def series(words: str) -> tuple[str, ...]:
    """The words of a series that starts at 0."""
    return tuple(words.split())


EN = series(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
EN_TENS = series("- - twenty thirty forty fifty sixty seventy eighty ninety")
FR = series(
    "zéro un deux trois quatre cinq six sept *huit neuf dix *onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf"
)
FR_TENS = series("- - vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt")
ES = series(
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
    "veintiocho veintinueve"
)
ES_TENS = series("- - - treinta cuarenta cincuenta sesenta setenta ochenta noventa")
KO = series("- 한 두 세 네 다섯 여섯 일곱 여덟 아홉")
KO_TENS = series("- 열 스물 서른 마흔 쉰 예순 일흔 여든 아흔")
MONTHS_EN = series("- January February March April May June July August September October November December")
MONTHS_FR = series("- janvier février mars avril mai juin juillet août septembre octobre novembre décembre")
MONTHS_ES = series("- enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre")


@cache
def number_en(n: int) -> str:
    """Forty-two."""
    if n < 20:
        return EN[n]
    tens, one = divmod(n, 10)
    return f"{EN_TENS[tens]}-{EN[one]}" if one else EN_TENS[tens]


@cache
def number_fr(n: int, feminine: bool = False) -> str:
    """Quarante-deux; *huit and *onze allow no elision before them."""
    if n < 20:
        return "une" if n == 1 and feminine else FR[n]
    tens, one = divmod(n, 10)
    if tens in (7, 9):
        one += 10
    if one == 0:
        return "quatre-vingts" if n == 80 else FR_TENS[tens]
    joint = " et " if one in (1, 11) and tens < 8 else "-"
    return f"{FR_TENS[tens]}{joint}{number_fr(one, feminine).lstrip('*')}"


@cache
def number_es(n: int, feminine: bool = False) -> str:
    """The form before a noun: un, veintiún, treinta y una."""
    if n < 30:
        masculine = {1: "un", 21: "veintiún"}.get(n, ES[n])
        return {1: "una", 21: "veintiuna"}.get(n, masculine) if feminine else masculine
    tens, one = divmod(n, 10)
    return f"{ES_TENS[tens]} y {number_es(one, feminine)}" if one else ES_TENS[tens]


@cache
def number_ko(n: int) -> str:
    """The native form before a counter: 한, 두, 열두, 스무, 스물한."""
    if n == 20:
        return "스무"
    tens, one = divmod(n, 10)
    return (KO_TENS[tens] if tens else "") + (KO[one] if one else "")
