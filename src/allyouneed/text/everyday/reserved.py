"""The sentences that the guide shows. None of them is ever generated, whatever its case and punctuation."""

from functools import cache

RESERVED = (
    "The mouse ate the cheese.",
    "The cheese ate the mouse.",
    "La souris a mangé le fromage.",
    "Le fromage a mangé la souris.",
    "The cat sat on the mat.",
    "Le chat s'est assis sur le tapis.",
    "Je vais à l'école.",
    "I am going to school.",
    "Je vais à la maison.",
    "I am going home.",
    "The agreement on the European Economic Area was signed in August 1992.",
    "L'accord sur la zone économique européenne a été signé en août 1992.",
    "The file was saved.",
    "Le fichier a été enregistré.",
    "How are you?",
    "The fat cat.",
)


def plain(text: str) -> str:
    """Letters, digits and single spaces only, in lower case."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


@cache
def plain_reserved() -> frozenset[str]:
    return frozenset(map(plain, RESERVED))


def reserved(text: str) -> bool:
    return plain(text) in plain_reserved()
