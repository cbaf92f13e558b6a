"""The sentences that the guide shows, in every language. No split has one of them, in whatever case or punctuation."""

import re
from functools import cache

NO_WORD = re.compile(r"[\W_]+")
RESERVED = (
    "The mouse ate the cheese.",
    "La souris a mangé le fromage.",
    "쥐는 치즈를 먹었어요.",
    "El ratón comió el queso.",
    "The cheese ate the mouse.",
    "Le fromage a mangé la souris.",
    "치즈는 쥐를 먹었어요.",
    "El queso comió el ratón.",
    "The cat sat on the mat.",
    "Le chat s'est assis sur le tapis.",
    "고양이는 매트 위에 앉았어요.",
    "El gato se sentó en la alfombrilla.",
    "I am going to school.",
    "Je vais à l'école.",
    "저는 학교에 가고 있어요.",
    "Voy a la escuela.",
    "I am going home.",
    "Je vais à la maison.",
    "저는 집에 가고 있어요.",
    "Voy a casa.",
    "The agreement on the European Economic Area was signed in August 1992.",
    "L'accord sur la zone économique européenne a été signé en août 1992.",
    "유럽 경제 지역에 관한 협정은 1992년 8월에 서명됐어요.",
    "El acuerdo sobre la zona económica europea fue firmado en agosto de 1992.",
    "The file was saved.",
    "Le fichier a été enregistré.",
    "파일은 저장됐어요.",
    "El archivo fue guardado.",
    "He is eating.",
    "Il mange.",
    "그는 먹고 있어요.",
    "Él está comiendo.",
)


def plain(text: str) -> str:
    """Letters, digits and single spaces only, in lower case."""
    return NO_WORD.sub(" ", text.casefold()).strip()


@cache
def plain_reserved() -> frozenset[str]:
    """The reserved sentences in that form."""
    return frozenset(map(plain, RESERVED))


def reserved(text: str) -> bool:
    """True if the text is a reserved sentence."""
    return plain(text) in plain_reserved()
