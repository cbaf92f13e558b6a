"""Korean realisation in the polite -요 style: the verb last, modifiers before what they modify, particles by sound."""

from functools import cache
from typing import NamedTuple

from . import korean_verbs as verbs
from .korean_verbs import Stem, particle
from .lexicon import Adjective, Entry, Noun
from .numerals import number_ko
from .syntax import (
    Action, Adverbial, Age, Clause, Clock, Existence, Kind, Located, Month, Motion, Nominal, Pair, Passive, Phrase,
    Prepositional, Pronoun, Quality, Relative, Sentence, Tense, Weather, Where, person,
)  # fmt: skip

PRONOUNS = ("저", "당신", "그", "우리", "여러분", "그들")
OWNERS = ("제", "당신의", "그의", "우리", "여러분의", "그들의")
MOTION = {
    "go": "가다",
    "come": "오다",
    "return": "돌아오다",
    "go back": "돌아가다",
    "arrive": "도착하다",
    "stay": "머무르다",
}
WEATHER = {"rain": ("비가", "오다"), "snow": ("눈이", "오다"), "cold": ("날씨가", "춥다!"), "hot": ("날씨가", "덥다!"),
           "sunny": ("날씨가", "맑다"), "windy": ("바람이", "불다")}  # fmt: skip
BESIDE = {"on": "위", "under": "아래", "behind": "뒤", "near": "근처", "next to": "옆"}
DEGREES = {"": "", "very": "아주", "too": "너무", "more": "더", "less": "덜", "as": ""}
WHERE = {"to": "에", "at": "에서", "from": "에서"}


class Verb(NamedTuple):
    """A verb group: the words before the last stem, and that stem."""

    before: str
    stem: Stem

    def end(self, form: str) -> str:
        return f"{self.before} {form}".strip()


@cache
def dictionary(cell: str, kind: str = "verb") -> Verb:
    """The table's cell as a verb group: 물을 주다 -> 물을, 주."""
    text = cell.split(" +")[0].split("=")[0]
    kind = "verb" if text.startswith("~") else kind
    before, _, last = text.removeprefix("~").removesuffix("!").removesuffix("다").rpartition(" ")
    if last.endswith(("있", "없")):
        kind = "be"
    elif last.endswith("필요하"):
        kind = "adjective"
    return Verb(before, Stem(last, kind, text.endswith("!")))


@cache
def name(noun: Noun) -> tuple[str, str]:
    """The noun and its counter."""
    word, _, counter = noun.ko.rpartition(" ")
    return (word, counter) if word and len(counter) < 3 and counter in COUNTERS else (noun.ko, "개")


COUNTERS = frozenset("명 마리 벌 켤레 대 채 권 통 편 장 자루 송이 그루 곡 척".split())


@cache
def attributive(adjective: Adjective) -> str:
    """The form before a noun: 작은, 맛있는, 유럽."""
    cell, _, stated = adjective.ko.partition("=")
    if stated or not cell.removesuffix("!").endswith("다"):
        return stated or cell
    verb = dictionary(cell, "adjective")
    return verb.end(verbs.present_modifier(verb.stem))


def pronoun(it: Pronoun) -> str:
    if it.person == 3 and it.antecedent and not it.antecedent.person:
        return "그것들" if it.plural else "그것"
    if it.person == 3 and it.female and not it.plural:
        return "그녀"
    return PRONOUNS[it.person - 1 + 3 * it.plural]


def owner(it: Pronoun) -> str:
    if it.person == 3 and it.antecedent and not it.antecedent.person:
        return "그것의"
    if it.person == 3 and it.female and not it.plural:
        return "그녀의"
    return OWNERS[it.person - 1 + 3 * it.plural]


def phrase(it: Nominal, pair: str = "", *, counted: bool = True) -> str:
    """A noun phrase with a particle (은/는, 을/를, ...) or a fixed one (에게)."""
    if isinstance(it, Pair):
        return f"{particle(phrase(it.first), '과/와')} {phrase(it.second, pair)}"
    if isinstance(it, Pronoun):
        words = "제" if pair == "이/가" and pronoun(it) == "저" else pronoun(it)
    else:
        words = described(it, counted=counted)
    return particle(words, pair) if "/" in pair else f"{words}{pair}"


def described(it: Phrase, *, counted: bool = True) -> str:
    word, counter = name(it.noun)
    before = ["이"] if it.determiner == "this" else [owner(it.owner)] if it.owner else []
    if it.topic:
        before.append(f"{phrase(it.topic)}에 관한")
    if it.relative:
        before.append(relative(it.relative, it))
    before += [attributive(adjective) for adjective in it.adjectives]
    if it.plural and it.noun.alive and not it.count and it.determiner not in ("generic", "none"):
        word += "들"
    if it.count and counted:
        word += f" {number_ko(it.count)} {counter}"
    return " ".join((*before, word))


def relative(it: Relative, head: Phrase) -> str:
    clause = it.clause
    verb = group(clause, head if not it.head_is_object else clause.subject)
    if clause.tense is Tense.PAST and not clause.negative and verb.stem.kind == "past":
        base = group(clause, clause.subject, tense=Tense.HABIT)
        form = base.end(verbs.past_modifier(base.stem))
    elif verb.stem.kind == "past":
        form = verb.end(f"{verb.stem.text}던")
    else:
        form = verb.end(verbs.present_modifier(verb.stem))
    who = phrase(clause.subject, "이/가") if clause.subject else ""
    return " ".join(part for part in (who, *middle(clause), form) if part)


def base(clause: Clause) -> Verb:
    """The verb group before tense, negation and mood."""
    match clause.predicate:
        case Action(verb):
            return dictionary(verb.ko)
        case Motion(key):
            return dictionary(MOTION[key])
        case Weather(key):
            subject, cell = WEATHER[key]
            return dictionary(cell, "adjective" if subject == "날씨가" else "verb")
        case Quality(adjective):
            return dictionary(adjective.ko, "adjective")
        case Kind(told):
            return Verb("", Stem(described(told), "copula"))
        case Age(years):
            return Verb(number_ko(years), Stem("살", "copula"))
        case Passive(verb):
            return Verb("", Stem(f"{dictionary(verb.ko).stem.text[:-1]}되"))
        case Located() | Existence():
            return Verb("", Stem("있", "be"))


def group(clause: Clause, who: Nominal | None, *, tense: Tense | None = None) -> Verb:
    """The whole verb group: modal or progressive, then negation, then the tense."""
    verb, tense = base(clause), tense or clause.tense
    before, stem = verb.before, verb.stem
    negative = clause.negative
    doing = isinstance(clause.predicate, Action) and "state" not in clause.predicate.verb.notes
    lasting = (
        tense in (Tense.NOW, Tense.WAS)
        and stem.kind == "verb"
        and (doing or isinstance(clause.predicate, Motion | Weather))
    )
    match clause.modal:
        case "want":
            before = f"{before} {stem.text}고"
            stem = Stem("싶", "adjective") if who is None or person(who) < 3 else Stem("싶어 하")
        case "can":
            before = f"{before} {verbs.future_modifier(stem)} 수"
            stem, negative = Stem("없" if negative else "있", "be"), False
        case "must" if negative:
            before, stem, negative = f"{before} {verbs.conditional(stem)} 안", Stem("되"), False
        case "must":
            before, stem = f"{before} {verbs.infinitive(stem)}야", Stem("하")
        case _ if lasting:
            before, stem = f"{before} {stem.text}고", Stem("있", "be")
        case _:
            pass
    if negative:
        before, stem = denied(before, stem, whole=not before)
    if tense in (Tense.SOON, Tense.WILL):
        return Verb(f"{before} {verbs.future_modifier(stem)}".strip(), Stem("거", "thing"))
    if tense in (Tense.PAST, Tense.WAS):
        stem = verbs.past(stem)
    return Verb(before.strip(), stem)


def denied(before: str, stem: Stem, *, whole: bool) -> tuple[str, Stem]:
    """있다 has 없다 where it is the `whole` verb, 알다 has 모르다, a noun has 아니다; all others -지 않다."""
    if stem.kind == "copula":
        return f"{before} {particle(stem.text, '이/가')}", Stem("아니", "not")
    if whole and stem == Stem("있", "be"):
        return before, Stem("없", "be")
    if stem == Stem("알"):
        return before, Stem("모르")
    kind = "adjective" if stem.kind == "adjective" else "verb"
    return f"{before} {stem.text}지", Stem("않", kind)


def where(it: Where | Prepositional, still: bool) -> str:
    """`still`: the place of being (에), not of doing (에서)."""
    end = "에" if still else "에서"
    if isinstance(it, Where):
        return f"{it.place.ko}{end if it.relation == 'at' else WHERE[it.relation]}"
    thing = phrase(it.nominal)
    if it.preposition == "with":
        return f"{particle(thing, '과/와')} 함께"
    container = isinstance(it.nominal, Phrase) and "container" in it.nominal.noun.kinds
    if it.preposition == "in":
        return f"{thing}{' 안' if container else ''}{end}"
    return f"{thing} {BESIDE[it.preposition]}{end}"


def adverbial(it: Adverbial, clause: Clause) -> str:
    match it:
        case Where() | Prepositional():
            if isinstance(clause.predicate, Weather) and isinstance(it, Where):
                return (
                    f"{it.place.ko}에는"
                    if WEATHER[clause.predicate.key][0] != "날씨가"
                    else particle(it.place.ko, "은/는")
                )
            sits = isinstance(clause.predicate, Action) and "seat" in clause.predicate.verb.notes
            return where(it, sits)
        case Clock(hour):
            return f"{number_ko(hour)} 시에"
        case Month(month, year):
            return f"{f'{year}년 ' if year else ''}{month}월에"
        case Entry():
            return it.ko


def rank(it: Adverbial) -> int:
    """The Korean order: when, at what hour, where, with whom, by what, how."""
    match it:
        case Month():
            return 0
        case Clock():
            return 1
        case Where():
            return 2
        case Prepositional():
            return 3 if it.preposition != "with" else 4
        case Entry():
            return 6 if not it.kinds.isdisjoint({"manner", "care"}) else 5 if "transport" in it.kinds else 0


def middle(clause: Clause, wh: str = "") -> list[str]:
    """All between the subject and the verb group."""
    ordered = sorted(clause.adverbials, key=rank)
    late = [adverbial(a, clause) for a in ordered if rank(a) > 5]
    parts = [adverbial(a, clause) for a in ordered if rank(a) < 5]
    by = [adverbial(a, clause) for a in ordered if rank(a) == 5]
    if wh in ("when", "why"):
        parts.insert(0, {"when": "언제", "why": "왜"}[wh])
    match clause.predicate:
        case Action(verb, thing, to):
            parts += [phrase(to, "에게")] if to else []
            if wh == "where":
                parts.append("어디에서")
            if wh == "what":
                parts.append("무엇을")
            if thing and wh != "how many":
                parts.append(phrase(thing, object_particle(verb.ko)))
            elif isinstance(thing, Phrase):
                parts += [phrase(thing, object_particle(verb.ko)), f"몇 {name(thing.noun)[1]}"]
        case Motion(key, at):
            # The vehicle comes before the goal: 버스로 학교에.
            still = key in ("arrive", "stay")
            goal = "어디에" + ("서" if at.relation == "from" else "") if wh == "where" else where(at, still)
            parts, by = [*parts, *by, goal], []
        case Passive(_, agent):
            parts += [f"{phrase(agent)}에 의해"] if agent else []
        case Quality(_, degree, standard):
            if standard:
                parts.append(f"{phrase(standard)}{'만큼' if degree == 'as' else '보다'}")
            parts.append(DEGREES[degree])
        case Located(at) | Existence(at):
            parts.append("어디에" if wh == "where" else where(at, True))
        case _:
            pass
    often = [clause.frequency.ko] if clause.frequency else []
    return [*often, *parts, *by, *late]


def object_particle(cell: str) -> str:
    return {"": "을/를", "이": "이/가", "에": "에", "에게": "에게"}[cell.partition(" +")[2]]


def clause_text(clause: Clause, form: str, pair: str = "은/는", wh: str = "", *, silent: bool = False) -> str:
    """A clause that ends in `form` (요, 고, 지만, 기 때문에, 때, 동안, 면, 아서, 다)."""
    verb = group(clause, clause.subject)
    if wh == "who":
        who = "누가"
    elif isinstance(clause.predicate, Weather):
        who = WEATHER[clause.predicate.key][0]
    else:
        who = "" if silent or clause.subject is None else phrase(clause.subject, pair)
    ending = conjugated(clause, verb, form)
    if isinstance(clause.predicate, Existence):
        return join(*middle(clause, wh), phrase(clause.subject, "이/가") if clause.subject else "", ending)
    if isinstance(clause.predicate, Weather):
        return join(*middle(clause, wh), who, ending)
    return join(who, *middle(clause, wh), ending)


def join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def conjugated(clause: Clause, verb: Verb, form: str) -> str:
    stem = verb.stem
    match form:
        case "요":
            return verb.end(verbs.polite(stem))
        case "때":
            return verb.end(f"{verbs.future_modifier(stem)} 때")
        case "동안":
            now = group(clause, clause.subject, tense=Tense.NOW)
            return now.end(f"{verbs.present_modifier(now.stem)} 동안")
        case "면":
            return verb.end(verbs.conditional(stem))
        case "아서":
            now = group(clause, clause.subject, tense=Tense.HABIT)
            return now.end(f"{verbs.infinitive(now.stem)}서")
        case "다":
            return verb.end(verbs.quoted(stem))
        case _:
            return verb.end(f"{verbs.plain(stem)}{form}")


def command(clause: Clause) -> str:
    verb = base(clause)
    form = f"{verb.stem.text}지 마세요" if clause.negative else verbs.asked(verb.stem)
    return join(*middle(clause), verb.end(form))


FORMS = {"because": "기 때문에", "when": "때", "while": "동안", "if": "면", "so": "아서", "and": "고", "but": "지만"}
THAT = {"say": "고", "think": "고", "believe": "고", "know": "는 것을"}


def realise(it: Sentence) -> str:
    opening = it.opening.ko if it.opening else ""
    main = it.clause
    if it.mood in ("command", "request"):
        return f"{command(main)}."
    if it.mood == "question":
        pair = "은/는" if it.wh in ("", "where", "what", "how many", "when", "why") else "이/가"
        return f"{clause_text(main, '요', pair, it.wh)}?"
    conjunctions = [conjunction for conjunction, _ in it.links]
    if conjunctions == ["that"] and isinstance(main.predicate, Action):
        told = f"{clause_text(it.links[0][1], '다', '이/가')}{THAT[main.predicate.verb.en]}"
        speaker = phrase(main.subject, "은/는") if main.subject else ""
        words = join(speaker, told, conjugated(main, group(main, main.subject), "요"))
    elif len(conjunctions) == 1 and conjunctions[0] in ("because", "when", "while", "if"):
        side = it.links[0][1]
        again = isinstance(side.subject, Pronoun) and (
            side.subject.antecedent is not None or side.subject == main.subject
        )
        words = join(clause_text(side, FORMS[conjunctions[0]], "이/가", silent=again), clause_text(main, "요"))
    else:
        clauses = [main, *(clause for _, clause in it.links)]
        forms = [*(FORMS[conjunction] for conjunction in conjunctions), "요"]
        words = join(*(clause_text(clause, form) for clause, form in zip(clauses, forms, strict=True)))
    return f"{join(opening, words)}."
