"""The forms of words in the everyday grammar: verbs, particles, joints between words, numbers."""

import pytest

from allyouneed.text.everyday.french import verbs as french_verbs
from allyouneed.text.everyday.french.words import finish
from allyouneed.text.everyday.korean import verbs as korean_verbs
from allyouneed.text.everyday.korean.verbs import Stem
from allyouneed.text.everyday.numerals import number_en, number_es, number_fr, number_ko
from allyouneed.text.everyday.spanish import verbs as spanish_verbs
from allyouneed.text.everyday.spanish.words import attach


@pytest.mark.parametrize(
    ("marked", "text"),
    [
        ("je ai besoin de le° *haricot et de la° eau", "j'ai besoin du haricot et de l'eau"),
        ("ce° homme parle à les° amis de ma° amie", "cet homme parle aux amis de mon amie"),
        ("si il va à le° parc , elle le aime", "s'il va au parc, elle l'aime"),
    ],
)
def test_french_joints(marked: str, text: str) -> None:
    assert finish(marked) == text


@pytest.mark.parametrize(
    ("lemma", "forms", "participle", "future"),
    [
        ("manger", "mange manges mange mangeons mangez mangent", "mangé", "mangerai"),
        ("acheter", "achète achètes achète achetons achetez achètent", "acheté", "achèterai"),
        ("commencer", "commence commences commence commençons commencez commencent", "commencé", "commencerai"),
        ("nettoyer", "nettoie nettoies nettoie nettoyons nettoyez nettoient", "nettoyé", "nettoierai"),
        ("appeler", "appelle appelles appelle appelons appelez appellent", "appelé", "appellerai"),
        ("finir", "finis finis finit finissons finissez finissent", "fini", "finirai"),
        ("vendre", "vends vends vend vendons vendez vendent", "vendu", "vendrai"),
        ("comprendre", "comprends comprends comprend comprenons comprenez comprennent", "compris", "comprendrai"),
        ("revenir", "reviens reviens revient revenons revenez reviennent", "revenu", "reviendrai"),
    ],
)
def test_french_verbs(lemma: str, forms: str, participle: str, future: str) -> None:
    assert list(french_verbs.present(lemma)) == forms.split()
    assert french_verbs.participle(lemma) == participle
    assert french_verbs.future(lemma)[0] == future


def test_french_imperfect_keeps_its_sounds() -> None:
    assert french_verbs.imperfect("manger")[::3] == ("mangeais", "mangions")
    assert french_verbs.imperfect("commencer")[::3] == ("commençais", "commencions")
    assert french_verbs.imperfect("être")[2] == "était"


def test_korean_particle() -> None:
    words = ("고양이 은/는", "책 은/는", "물 을/를", "사과 이/가", "형 과/와")
    told = ["고양이는", "책은", "물을", "사과가", "형과"]
    assert [korean_verbs.particle(*word.split(" ")) for word in words] == told


@pytest.mark.parametrize(
    ("stem", "polite", "past", "future", "modifier"),
    [
        (Stem("먹"), "먹어요", "먹었어요", "먹을", "먹는"),
        (Stem("가"), "가요", "갔어요", "갈", "가는"),
        (Stem("마시"), "마셔요", "마셨어요", "마실", "마시는"),
        (Stem("듣", irregular=True), "들어요", "들었어요", "들을", "듣는"),
        (Stem("돕", irregular=True), "도와요", "도왔어요", "도울", "돕는"),
        (Stem("짓", irregular=True), "지어요", "지었어요", "지을", "짓는"),
        (Stem("부르"), "불러요", "불렀어요", "부를", "부르는"),
        (Stem("살"), "살아요", "살았어요", "살", "사는"),
        (Stem("쓰"), "써요", "썼어요", "쓸", "쓰는"),
        (Stem("하"), "해요", "했어요", "할", "하는"),
        (Stem("춥", "adjective", True), "추워요", "추웠어요", "추울", "추운"),
        (Stem("빨갛", "adjective", True), "빨개요", "빨갰어요", "빨갈", "빨간"),
        (Stem("길", "adjective"), "길어요", "길었어요", "길", "긴"),
        (Stem("바쁘", "adjective"), "바빠요", "바빴어요", "바쁠", "바쁜"),
        (Stem("학생", "copula"), "학생이에요", "학생이었어요", "학생일", "학생인"),
        (Stem("의사", "copula"), "의사예요", "의사였어요", "의사일", "의사인"),
    ],
)
def test_korean_endings(stem: Stem, polite: str, past: str, future: str, modifier: str) -> None:
    assert korean_verbs.polite(stem) == polite
    assert korean_verbs.polite(korean_verbs.past(stem)) == past
    assert korean_verbs.future_modifier(stem) == future
    assert korean_verbs.present_modifier(stem) == modifier


@pytest.mark.parametrize(
    ("lemma", "present", "preterite", "gerund", "commands"),
    [
        ("comer", "como come", "comí comió", "comiendo", "come coma comas"),
        ("buscar", "busco busca", "busqué buscó", "buscando", "busca busque busques"),
        ("hacer", "hago hace", "hice hizo", "haciendo", "haz haga hagas"),
        ("pedir", "pido pide", "pedí pidió", "pidiendo", "pide pida pidas"),
        ("dormir", "duermo duerme", "dormí durmió", "durmiendo", "duerme duerma duermas"),
        ("leer", "leo lee", "leí leyó", "leyendo", "lee lea leas"),
        ("construir", "construyo construye", "construí construyó", "construyendo", "construye construya construyas"),
        ("empezar", "empiezo empieza", "empecé empezó", "empezando", "empieza empiece empieces"),
        ("ir", "voy va", "fui fue", "yendo", "ve vaya vayas"),
        ("enviar", "envío envía", "envié envió", "enviando", "envía envíe envíes"),
    ],
)
def test_spanish_verbs(lemma: str, present: str, preterite: str, gerund: str, commands: str) -> None:
    assert [spanish_verbs.present(lemma)[at] for at in (0, 2)] == present.split()
    assert [spanish_verbs.preterite(lemma)[at] for at in (0, 2)] == preterite.split()
    assert spanish_verbs.gerund(lemma) == gerund
    ways = ((False, False), (True, False), (False, True))
    assert [spanish_verbs.command(lemma, formal, negative) for formal, negative in ways] == commands.split()


@pytest.mark.parametrize(
    ("form", "own", "text"),
    [("queda", "te", "quédate"), ("siente", "se", "siéntese"), ("pon", "te", "ponte"), ("traiga", "le", "tráigale"),
     ("da", "le", "dale"), ("envía", "le", "envíale")],
)  # fmt: skip
def test_spanish_commands_take_their_accent(form: str, own: str, text: str) -> None:
    assert attach(form, own) == text


def test_numbers() -> None:
    assert [number_en(n) for n in (12, 21, 80)] == ["twelve", "twenty-one", "eighty"]
    assert [number_fr(n) for n in (21, 71, 80)] == ["vingt et un", "soixante et onze", "quatre-vingts"]
    assert [number_fr(n) for n in (81, 95)] == ["quatre-vingt-un", "quatre-vingt-quinze"]
    assert [number_es(n, n == 31) for n in (21, 31, 45)] == ["veintiún", "treinta y una", "cuarenta y cinco"]
    assert [number_ko(n) for n in (2, 12, 20, 21, 35)] == ["두", "열두", "스무", "스물한", "서른다섯"]
