"""English verb forms."""

from functools import cache

IRREGULAR = {  # base: (past, participle)
    "eat": ("ate", "eaten"), "drink": ("drank", "drunk"), "cut": ("cut", "cut"), "buy": ("bought", "bought"),
    "sell": ("sold", "sold"), "pay": ("paid", "paid"), "read": ("read", "read"), "write": ("wrote", "written"),
    "send": ("sent", "sent"), "see": ("saw", "seen"), "hear": ("heard", "heard"), "sing": ("sang", "sung"),
    "speak": ("spoke", "spoken"), "understand": ("understood", "understood"), "know": ("knew", "known"),
    "have": ("had", "had"), "find": ("found", "found"), "lose": ("lost", "lost"), "forget": ("forgot", "forgotten"),
    "wear": ("wore", "worn"), "put": ("put", "put"), "break": ("broke", "broken"), "build": ("built", "built"),
    "draw": ("drew", "drawn"), "drive": ("drove", "driven"), "meet": ("met", "met"), "take": ("took", "taken"),
    "give": ("gave", "given"), "tell": ("told", "told"), "lend": ("lent", "lent"), "bring": ("brought", "brought"),
    "teach": ("taught", "taught"), "catch": ("caught", "caught"), "hide": ("hid", "hidden"), "feed": ("fed", "fed"),
    "sleep": ("slept", "slept"), "swim": ("swam", "swum"), "run": ("ran", "run"), "fly": ("flew", "flown"),
    "fall": ("fell", "fallen"), "get": ("got", "got"), "wake": ("woke", "woken"), "go": ("went", "gone"),
    "think": ("thought", "thought"), "choose": ("chose", "chosen"), "sit": ("sat", "sat"), "come": ("came", "come"),
    "say": ("said", "said"), "show": ("showed", "shown"),
}  # fmt: skip
DOUBLED = frozenset({"cut", "put", "get", "swim", "run", "sit", "forget", "travel"})  # the last consonant


@cache
def third(base: str) -> str:
    """Eats, goes, carries."""
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{base}es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}s"


@cache
def ing(base: str) -> str:
    """Eating, writing, running."""
    if base in DOUBLED:
        return f"{base}{base[-1]}ing"
    if base.endswith("e") and not base.endswith(("ee", "be")):
        return f"{base[:-1]}ing"
    return f"{base}ing"


def regular_past(base: str) -> str:
    """Opened, closed, carried, travelled."""
    if base in DOUBLED:
        return f"{base}{base[-1]}ed"
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    return f"{base}ed"


@cache
def past(base: str) -> str:
    """Ate, opened."""
    return IRREGULAR[base][0] if base in IRREGULAR else regular_past(base)


@cache
def participle(base: str) -> str:
    """Eaten, opened."""
    return IRREGULAR[base][1] if base in IRREGULAR else regular_past(base)
