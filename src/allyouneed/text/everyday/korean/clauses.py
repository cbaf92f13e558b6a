"""Korean clauses and sentences: the verb last, modifiers before what they modify, particles by sound."""

from allyouneed.text.everyday.korean import verbs
from allyouneed.text.everyday.korean.verbs import Stem, particle
from allyouneed.text.everyday.korean.words import (
    Group,
    attributive,
    denied,
    dictionary,
    name,
    object_particle,
    owner,
    pronoun,
)
from allyouneed.text.everyday.lexicon import Entry
from allyouneed.text.everyday.numerals import number_ko
from allyouneed.text.everyday.syntax import (
    HABIT,
    NOW,
    PAST,
    SOON,
    WAS,
    WILL,
    Action,
    Adverbial,
    Age,
    Clause,
    Clock,
    Existence,
    Kind,
    Located,
    Month,
    Motion,
    Nominal,
    Pair,
    Passive,
    Phrase,
    Prepositional,
    Pronoun,
    Quality,
    Sentence,
    Tense,
    Weather,
    Where,
    person,
    taken_up,
)

MOTION = {"go": "가다", "come": "오다", "return": "돌아오다", "go back": "돌아가다", "arrive": "도착하다",
          "stay": "머무르다"}  # fmt: skip
WEATHER = {"rain": ("비가", "오다"), "snow": ("눈이", "오다"), "cold": ("날씨가", "춥다!"), "hot": ("날씨가", "덥다!"),
           "sunny": ("날씨가", "맑다"), "windy": ("바람이", "불다")}  # fmt: skip
BESIDE = {"on": "위", "under": "아래", "behind": "뒤", "near": "근처", "next to": "옆"}
DEGREES = {"": "", "very": "아주", "too": "너무", "more": "더", "less": "덜", "as": ""}
FORMS = {"because": "기 때문에", "when": "때", "while": "동안", "if": "면", "so": "아서", "and": "고", "but": "지만"}


def join(*parts: str) -> str:
    """The parts that are not empty, with spaces."""
    return " ".join(part for part in parts if part)


def phrase(it: Nominal, ending: str = "") -> str:
    """A noun phrase with a particle that varies (은/는, 을/를) or doesn't (에게)."""
    if isinstance(it, Pair):
        return f"{particle(phrase(it.first), '과/와')} {phrase(it.second, ending)}"
    if isinstance(it, Pronoun):
        words = "제" if ending == "이/가" and pronoun(it) == "저" else pronoun(it)
    else:
        words = described(it)
    return particle(words, ending) if "/" in ending else f"{words}{ending}"


def described(it: Phrase) -> str:
    """The noun with what stands before it, and its number with the counter behind it."""
    word, counter = name(it.noun)
    before = ["이"] if it.determiner == "this" else [owner(it.owner)] if it.owner else []
    if it.topic:
        before.append(f"{phrase(it.topic)}에 관한")
    if it.relative:
        before.append(relative(it))
    before += [attributive(adjective) for adjective in it.adjectives]
    if it.plural and it.noun.alive and not it.count and it.determiner not in ("generic", "none"):
        word = f"{word}들"
    return join(*before, word, f"{number_ko(it.count)} {counter}" if it.count else "")


def relative(head: Phrase) -> str:
    """A clause before its noun: 책을 읽고 있는, 그녀가 산, 바빴던."""
    if head.relative is None:
        return ""
    clause = head.relative.clause
    who = clause.subject if head.relative.head_is_object else head
    verb = group(clause, who)
    if clause.tense is PAST and not clause.negative:
        verb = group(clause, who, tense=HABIT)
        form = verbs.past_modifier(verb.stem)
    elif verb.stem.kind == "past":
        form = f"{verb.stem.text}던"
    else:
        form = verbs.present_modifier(verb.stem)
    return join(phrase(clause.subject, "이/가") if clause.subject else "", *middle(clause), verb.end(form))


def base(clause: Clause) -> Group:
    """The verb before tense, negation and mood."""
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
            return Group("", Stem(described(told), "copula"))
        case Age(years):
            return Group(number_ko(years), Stem("살", "copula"))
        case Passive(verb):
            return Group("", Stem(f"{dictionary(verb.ko).stem.text[:-1]}되"))  # 서명하다: 서명되다
        case Located() | Existence():
            return Group("", Stem("있", "be"))


def progressive(clause: Clause, tense: Tense, stem: Stem) -> bool:
    """-고 있다."""
    doing = clause.predicate
    action = isinstance(doing, Action) and "state" not in doing.verb.notes
    return tense in (NOW, WAS) and stem.kind == "verb" and (action or isinstance(doing, Motion | Weather))


def group(clause: Clause, who: Nominal | None, *, tense: Tense | None = None) -> Group:
    """The whole verb group: modal or progressive, then negation, then the tense."""
    before, stem = base(clause)
    tense, negative = tense or clause.tense, clause.negative
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
        case _ if progressive(clause, tense, stem):
            before, stem = f"{before} {stem.text}고", Stem("있", "be")
        case _:
            pass
    if negative:
        before, stem = denied(before, stem, whole=not before)
    if tense in (SOON, WILL):
        before, stem = f"{before} {verbs.future_modifier(stem)}", Stem("거", "thing")
    elif tense in (PAST, WAS):
        stem = verbs.past(stem)
    return Group(before.strip(), stem)


def where(it: Where | Prepositional, *, still: bool) -> str:
    """`still`: the place of being (에), not of doing (에서)."""
    end = "에" if still else "에서"
    if isinstance(it, Where):
        return f"{it.place.ko}{ {'to': '에', 'at': end, 'from': '에서'}[it.relation] }"
    thing = phrase(it.nominal)
    if it.preposition == "with":
        return f"{particle(thing, '과/와')} 함께"
    if it.preposition == "in":
        container = isinstance(it.nominal, Phrase) and "container" in it.nominal.noun.kinds
        return f"{thing}{' 안' if container else ''}{end}"
    return f"{thing} {BESIDE[it.preposition]}{end}"


def adverbial(it: Adverbial, clause: Clause) -> str:
    """Where, with whom, when, how."""
    match it:
        case Where() if isinstance(clause.predicate, Weather):
            cold = WEATHER[clause.predicate.key][0] == "날씨가"
            return particle(it.place.ko, "은/는") if cold else f"{it.place.ko}에는"
        case Where() | Prepositional():
            return where(it, still=isinstance(clause.predicate, Action) and "seat" in clause.predicate.verb.notes)
        case Clock(hour):
            return f"{number_ko(hour)} 시에"
        case Month(month, year):
            return f"{f'{year}년 ' if year else ''}{month}월에"
        case Entry():
            return it.ko


VEHICLE, MANNER = 5, 6


def rank(it: Adverbial) -> int:
    """The Korean order: when, at what hour, where, with whom, by what, how."""
    match it:
        case Clock():
            return 1
        case Where():
            return 2
        case Prepositional():
            return 4 if it.preposition == "with" else 3
        case Entry() if not it.kinds.isdisjoint({"manner", "care"}):
            return MANNER
        case Entry() if "transport" in it.kinds:
            return VEHICLE
        case _:
            return 0


def middle(clause: Clause, wh: str = "") -> list[str]:
    """All between the subject and the verb group."""
    ranked = [(rank(it), adverbial(it, clause)) for it in sorted(clause.adverbials, key=rank)]
    often = [clause.frequency.ko] if clause.frequency else []
    early = [{"when": "언제", "why": "왜"}.get(wh, ""), *(told for at, told in ranked if at < VEHICLE)]
    vehicle = [told for at, told in ranked if at == VEHICLE]
    manner = [told for at, told in ranked if at == MANNER]
    return [*often, *early, *vehicle, *completed(clause, wh), *manner]


def completed(clause: Clause, wh: str) -> list[str]:
    """What the verb asks for: recipient and object, goal, agent, standard, place."""
    match clause.predicate:
        case Action(verb, thing, to):
            ending = object_particle(verb.ko)
            found = [phrase(to, "에게")] if to else []
            found += {"where": ["어디에서"], "what": ["무엇을"]}.get(wh, [])
            found += [phrase(thing, ending)] if thing else []
            return [*found, f"몇 {name(thing.noun)[1]}"] if wh == "how many" and isinstance(thing, Phrase) else found
        case Motion(key, at):
            if wh == "where":
                return ["어디에서" if at.relation == "from" else "어디에"]
            return [where(at, still=key in ("arrive", "stay"))]
        case Passive(_, agent):
            return [f"{phrase(agent)}에 의해"] if agent else []
        case Quality(_, degree, standard):
            with_ = f"{phrase(standard)}{'만큼' if degree == 'as' else '보다'}" if standard else ""
            return [with_, DEGREES[degree]]
        case Located(at) | Existence(at):
            return ["어디에" if wh == "where" else where(at, still=True)]
        case _:
            return []


def told(clause: Clause, form: str, marking: str = "은/는", wh: str = "", *, silent: bool = False) -> str:
    """A clause that ends in `form`; `marking` is the subject's particle; `silent`: the subject is left out."""
    ending, subject = conjugated(clause, form), clause.subject
    if isinstance(clause.predicate, Existence):
        return join(*middle(clause, wh), phrase(subject, "이/가") if subject else "", ending)
    if isinstance(clause.predicate, Weather):
        return join(*middle(clause, wh), WEATHER[clause.predicate.key][0], ending)
    who = "누가" if wh == "who" else "" if silent or subject is None else phrase(subject, marking)
    return join(who, *middle(clause, wh), ending)


def conjugated(clause: Clause, form: str) -> str:
    """The verb group that ends in 요, 고, 지만, 기 때문에, 때 (when), 동안 (while), 면 (if), 아서 (so) or 다 (that)."""
    verb = group(clause, clause.subject, tense={"동안": NOW, "아서": HABIT}.get(form))
    stem = verb.stem
    match form:
        case "요":
            return verb.end(verbs.polite(stem))
        case "때":
            return verb.end(f"{verbs.future_modifier(stem)} 때")
        case "동안":
            return verb.end(f"{verbs.present_modifier(stem)} 동안")
        case "면":
            return verb.end(verbs.conditional(stem))
        case "아서":
            return verb.end(f"{verbs.infinitive(stem)}서")
        case "다":
            return verb.end(verbs.quoted(stem))
        case _:
            return verb.end(f"{verbs.plain(stem)}{form}")


def command(clause: Clause) -> str:
    """-(으)세요, -지 마세요."""
    verb = base(clause)
    form = f"{verb.stem.text}지 마세요" if clause.negative else verbs.asked(verb.stem)
    return join(*middle(clause), verb.end(form))


def linked(it: Sentence) -> str:
    """A statement with its links: the side clause before the main one, the clause that is said before the saying."""
    main, conjunctions = it.clause, [conjunction for conjunction, _ in it.links]
    if conjunctions == ["that"]:
        knows = isinstance(main.predicate, Action) and main.predicate.verb.en == "know"
        said = f"{told(it.links[0][1], '다', '이/가')}{'는 것을' if knows else '고'}"
        return join(phrase(main.subject, "은/는") if main.subject else "", said, conjugated(main, "요"))
    if len(conjunctions) == 1 and conjunctions[0] in ("because", "when", "while", "if"):
        side = it.links[0][1]
        first = told(side, FORMS[conjunctions[0]], "이/가", silent=taken_up(side.subject, main.subject))
        return join(first, told(main, "요"))
    clauses = [main, *(clause for _, clause in it.links)]
    forms = [*(FORMS[conjunction] for conjunction in conjunctions), "요"]
    return join(*(told(clause, form) for clause, form in zip(clauses, forms, strict=True)))


def realise(it: Sentence) -> str:
    """The sentence as Korean text."""
    match it.mood:
        case "question":
            return f"{told(it.clause, '요', wh=it.wh)}?"
        case "command" | "request":
            return f"{command(it.clause)}."
        case _:
            return f"{join(it.opening.ko if it.opening else '', linked(it))}."
