"""The everyday grammar's languages: no mistake that a reader would see, and the forms of their words."""

import re
from collections.abc import Callable
from random import Random

import pytest

from allyouneed.text import everyday
from allyouneed.text.everyday import LANGUAGES, RESERVED, english, french, korean, spanish
from allyouneed.text.everyday.korean import verbs as korean_verbs
from allyouneed.text.everyday.lexicon import (
    Adjective,
    Noun,
    Place,
    Verb,
    adjectives,
    adverbials,
    nouns,
    nouns_of,
    places,
    verbs,
    verbs_with,
)  # fmt: skip
from allyouneed.text.everyday.sentences import sentence
from allyouneed.text.everyday.splits import split_of
from allyouneed.text.everyday.syntax import (
    HABIT,
    NOW,
    PAST,
    SOON,
    WAS,
    WILL,
    Action,
    Clause,
    Kind,
    Month,
    Motion,
    Passive,
    Phrase,
    Prepositional,
    Pronoun,
    Quality,
    Sentence,
    Weather,
    Where,
)  # fmt: skip

Texts = Callable[[str], list[str]]
VOWEL = "aeiouyàâéèêëîïôûœ"
REALISE = {"en": english.realise, "fr": french.realise, "ko": korean.realise, "es": spanish.realise}


def said(it: Clause, mood: str = "statement", wh: str = "") -> list[str]:
    return [REALISE[language](Sentence(it, mood, wh)) for language in LANGUAGES]


def noun(word: str, kind: str = "") -> Noun:
    return next(n for n in nouns_of(word) if n.word == word and (not kind or kind in n.kinds))


def the(word: str, kind: str = "") -> Phrase:
    return Phrase(noun(word, kind), "the")


def verb(word: str, *, objects: bool = True) -> Verb:
    return next(v for v in verbs() if v.en == word and bool(v.objects) == objects)


def adjective(word: str, fitting: Noun | None = None) -> Adjective:
    return next(a for a in adjectives() if a.en == word and (fitting is None or fitting.any_of(a.kinds)))


def place(to: str) -> Place:
    return next(p for p in places() if p.en == to)


def area(word: str, *stack: str) -> Phrase:
    return Phrase(noun(word), "the", adjectives=tuple(map(adjective, stack)))


SHOWN = {  # what the guide shows, as trees
    "mouse": Clause(the("mouse"), Action(verb("eat"), the("cheese")), PAST),
    "cheese": Clause(the("cheese"), Action(verb("eat"), the("mouse")), PAST),
    "cat": Clause(the("cat"), Action(verbs_with("seat")[0]), PAST, adverbials=(Prepositional("on", the("mat")),)),
    "school": Clause(Pronoun(1), Motion("go", Where(place("to school"), "to")), NOW),
    "home": Clause(Pronoun(1), Motion("go", Where(place("home"), "to")), NOW),
    "area": Clause(
        Phrase(noun("agreement"), "the", topic=area("Area", "European", "economic")),
        Passive(verb("sign")),
        PAST,
        adverbials=(Month(8, 1992),),
    ),
    "file": Clause(the("file"), Passive(verb("save")), PAST),
    "eating": Clause(Pronoun(3), Action(verb("eat", objects=False)), NOW),
}


def test_the_reserved_sentences_are_what_the_grammar_would_say() -> None:
    assert [text for clause in SHOWN.values() for text in sorted(said(clause))] == [
        text for at in range(0, len(RESERVED), 4) for text in sorted(RESERVED[at : at + 4])
    ]


@pytest.mark.parametrize("name", ["mouse", "cat", "school", "home", "area", "file"])
def test_what_the_guide_shows_is_test_material_in_any_tense(name: str) -> None:
    shown = SHOWN[name]
    for tense in (PAST, NOW, SOON):
        told = Clause(shown.subject, shown.predicate, tense, True, adverbials=shown.adverbials)
        assert split_of(Sentence(told)) == "test"


def test_a_reserved_sentence_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([*(Sentence(clause) for clause in SHOWN.values()), Sentence(SHOWN["mouse"], "question")])

    def draw(rng: Random) -> Sentence:
        return next(drawn)

    monkeypatch.setattr(everyday, "sentence", draw)
    assert list(everyday.sentences(seed=0, count=1, split="test")) == [
        ("Did the mouse eat the cheese?", "Est-ce que la souris a mangé le fromage ?")
    ]


def test_the_languages_realise_any_sentence() -> None:
    rng = Random(8)
    for _ in range(2000):
        tree = sentence(rng)
        assert all(realise(tree) for realise in REALISE.values())


# English


def test_english_articles_and_verbs_agree(texts: Texts) -> None:
    for text in texts("en"):
        assert not re.search(r"\ba (?:[aio]|e(?!u)|u(?!n|s))\w|\ban [^aeiouAEIOU]", text), text
        assert not re.search(r"\bI (?:is|are|has)\b|\b(?:[Ww]e|[Yy]ou|[Tt]hey) (?:is|am|has|was)\b", text), text
        assert not re.search(r"\b(?:[Ss]?[Hh]e|[Ii]t) (?:are|am|have|were)\b", text), text
        assert not re.search(r"\b(?:does|do|did) not \w+(?:[^s]s|ed)\b(?<!need)(?<!feed)", text), text


# French


def test_french_elides_and_contracts_everywhere(texts: Texts) -> None:
    for text in texts("fr"):
        assert not re.search(rf"(?<!-)\b(?:le|la|de|que|je|ne|me|te|se|ce) (?!huit|haric|onz)[{VOWEL}h]", text, re.I), (
            text
        )
        assert not re.search(r"\b(?:à|de) les?\b|\bsi ils?\b", text), text
        assert not re.search(rf"\b[mts]a [{VOWEL}h]", text), text
        assert not re.search(r"\b(?:un|ce|mon|ton|son|le|cet) (?:beau|nouveau|vieux) [aeiouéèêœh]", text), text
        assert not re.search(r"\b[ldnjmts]'(?:haricot|huit|onze)", text), text


def test_french_pas_or_jamais_follows_every_ne(texts: Texts) -> None:
    for text in texts("fr"):
        assert len(re.findall(r"\bne |\b[Nn]'", text)) == len(re.findall(r"\bpas\b|\bjamais\b", text)) - text.count(
            "Ne "
        ), text


def test_french_participles_agree(texts: Texts) -> None:
    done = r"(?:pas |jamais |souvent )?(?:all|ven|rest|arriv|lev|tomb|repos)"
    for text in texts("fr"):
        assert not re.search(rf"\b(?:[Ee]lle|[Ii]ls) (?:ne )?(?:s')?(?:se )?(?:est|sont) {done}[éu]\b", text), text
    asked = Clause(Pronoun(3, female=True), Action(verb("eat"), Phrase(noun("apple"), "none", plural=True)), PAST)
    assert said(asked, "question", "how many")[1] == "Combien de pommes est-ce qu'elle a mangées ?"


@pytest.mark.parametrize(
    ("word", "before", "text"),
    [
        ("tree", "beautiful", "un bel arbre"),
        ("friend", "old", "un vieil ami"),
        ("island", "beautiful", "une belle île"),
        ("computer", "new", "un nouvel ordinateur"),
        ("car", "new", "une nouvelle voiture"),
        ("apple", "red", "une pomme rouge"),
    ],
)
def test_french_adjectives_by_sound_and_place(word: str, before: str, text: str) -> None:
    wanted = Phrase(noun(word), "a", adjectives=(adjective(before, noun(word)),))
    assert said(Clause(Pronoun(3), Action(verb("see"), wanted), HABIT))[1] == f"Il voit {text}."


def test_adjectives_stack_the_other_way_round_in_french_and_spanish() -> None:
    told = said(Clause(area("Fund", "international", "monetary"), Quality(adjective("important")), HABIT))
    assert told == [
        "The International Monetary Fund is important.",
        "Le Fonds monétaire international est important.",
        "국제 통화 기금은 중요해요.",
        "El Fondo Monetario Internacional es importante.",
    ]


@pytest.mark.parametrize(
    ("to", "told"),
    [
        (
            "to school",
            "We are going to school. | Nous allons à l'école. | 우리는 학교에 가고 있어요. | Vamos a la escuela.",
        ),
        (
            "to the park",
            "We are going to the park. | Nous allons au parc. | 우리는 공원에 가고 있어요. | Vamos al parque.",
        ),
        (
            "to France",
            "We are going to France. | Nous allons en France. | 우리는 프랑스에 가고 있어요. | Vamos a Francia.",
        ),
    ],
)
def test_going_is_progressive_in_english_and_plain_in_french_and_spanish(to: str, told: str) -> None:
    assert said(Clause(Pronoun(1, True), Motion("go", Where(place(to), "to")), NOW)) == told.split(" | ")


# Korean


def test_korean_particles_follow_the_final_consonant(texts: Texts) -> None:
    known = {n.ko.split(" ")[0] for table in ("nouns", "bodies", "names") for n in nouns(table)}
    seen = 0
    for text in texts("ko"):
        for token in text.rstrip(".?").split():
            stem, particle = token[:-1], token[-1]
            if stem in known and particle in "은는을를과와":
                assert (particle in "은을과") == bool(korean_verbs.final(stem)), text
                seen += 1
    assert seen > 5000


def test_korean_sentences_are_polite(texts: Texts) -> None:
    for text in texts("ko"):
        assert re.fullmatch(r"[가-힣0-9 ]+요[.?]", text), text


# Spanish


def test_spanish_contracts_and_marks_questions(texts: Texts) -> None:
    for text in texts("es"):
        assert not re.search(r"\b(?:a|de) el\b|\b(?:la|una) agua\b|\by (?:i|hi[^e])", text), text
        assert text.startswith("¿") == text.endswith("?"), text


def test_spanish_marks_people_and_turns_liking_round() -> None:
    assert said(Clause(Pronoun(1), Action(verb("help"), the("woman")), NOW))[3] == "Estoy ayudando a la mujer."
    cats = Phrase(noun("cat"), "generic", plural=True)
    liking = Clause(the("teacher", "male"), Action(verb("like"), cats), HABIT)
    assert said(liking)[3] == "Al profesor le gustan los gatos."


# All four


SISTER = Phrase(noun("sister"), "own", owner=Pronoun(1))
BOOK = Phrase(noun("book"), "a", adjectives=(adjective("interesting"),))
NEVER = adverbials()["never"][0]
HOME = Motion("go", Where(place("home"), "to"))
HUNGRY = Pronoun(3, antecedent=noun("mouse"))  # it


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        (
            Clause(SISTER, Action(verb("buy"), BOOK), PAST),
            (
                "My sister bought an interesting book. | Ma sœur a acheté un livre intéressant. | "
                "제 여동생은 흥미로운 책을 샀어요. | Mi hermana compró un libro interesante."
            ),
        ),
        (
            Clause(SISTER, Action(verb("eat"), Phrase(noun("meat"), "a")), HABIT, True, "", NEVER),
            (
                "My sister never eats meat. | Ma sœur ne mange jamais de viande. | "
                "제 여동생은 절대 고기를 먹지 않아요. | Mi hermana nunca come carne."
            ),
        ),
        (
            Clause(Pronoun(3, female=True), Kind(Phrase(noun("nurse"), "a")), HABIT),
            "She is a nurse. | Elle est infirmière. | 그녀는 간호사예요. | Ella es enfermera.",
        ),
        (
            Clause(Pronoun(1), Action(verb("read"), BOOK), HABIT, True, "can"),
            (
                "I cannot read an interesting book. | Je ne peux pas lire de livre intéressant. | "
                "저는 흥미로운 책을 읽을 수 없어요. | No puedo leer un libro interesante."
            ),
        ),
    ],
)
def test_a_clause_in_four_languages(clause: Clause, told: str) -> None:
    assert said(clause) == told.split(" | ")


def reading(who: str) -> Clause:
    return Clause(the(who, "male"), Action(verb("read", objects=False)), WAS)


@pytest.mark.parametrize(
    ("it", "told"),
    [
        (
            Sentence(reading("boy"), links=(("while", reading("man")),)),
            (
                "The boy was reading while the man was reading. | Le garçon lisait pendant que l'homme lisait. | "
                "남자가 읽고 있는 동안 소년은 읽고 있었어요. | "
                "El chico estaba leyendo mientras el hombre estaba leyendo."
            ),
        ),
        (
            Sentence(Clause(None, Weather("rain"), WAS), links=(("so", Clause(Pronoun(1), HOME, PAST)),)),
            (
                "It was raining, so I went home. | Il pleuvait, donc je suis allé à la maison. | "
                "비가 와서 저는 집에 갔어요. | Estaba lloviendo, así que fui a casa."
            ),
        ),
        (
            Sentence(
                Clause(Pronoun(1), HOME, WILL), links=(("if", Clause(None, Weather("cold"), HABIT)),), fronted=True
            ),
            (
                "If it is cold, I will go home. | S'il fait froid, j'irai à la maison. | "
                "날씨가 추우면 저는 집에 갈 거예요. | Si hace frío, iré a casa."
            ),
        ),
        (
            Sentence(SHOWN["mouse"], links=(("because", Clause(HUNGRY, Quality(adjective("hungry")), WAS)),)),
            (
                "The mouse ate the cheese because it was hungry. | "
                "La souris a mangé le fromage parce qu'elle avait faim. | "
                "배고팠기 때문에 쥐는 치즈를 먹었어요. | El ratón comió el queso porque tenía hambre."
            ),
        ),
        (
            Sentence(
                Clause(Pronoun(3, female=True), Action(verbs_with("that")[-1]), HABIT),
                links=(("that", Clause(the("boy"), Quality(adjective("tall")), HABIT, True)),),
            ),
            (
                "She knows that the boy is not tall. | Elle sait que le garçon n'est pas grand. | "
                "그녀는 소년이 키가 크지 않다는 것을 알아요. | Ella sabe que el chico no es alto."
            ),
        ),
    ],
)
def test_linked_clauses_in_four_languages(it: Sentence, told: str) -> None:
    assert [REALISE[language](it) for language in LANGUAGES] == told.split(" | ")
