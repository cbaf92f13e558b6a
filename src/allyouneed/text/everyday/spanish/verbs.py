"""Spanish verb forms. A person is an index: 0 yo, 1 tú, 2 él, usted, 3 nosotros, 5 ellos, ustedes (4 is unused)."""

from functools import cache

IRREGULAR_PRESENT = {
    "ser": "soy eres es somos - son",
    "estar": "estoy estás está estamos - están",
    "ir": "voy vas va vamos - van",
    "haber": "- - hay - - hay",
    "oír": "oigo oyes oye oímos - oyen",
    "reír": "río ríes ríe reímos - ríen",
    "sonreír": "sonrío sonríes sonríe sonreímos - sonríen",
    "ver": "veo ves ve vemos - ven",
}
FIRST = {  # the first person, where it alone is irregular
    "hacer": "hago", "poner": "pongo", "traer": "traigo", "caer": "caigo", "tener": "tengo", "venir": "vengo",
    "decir": "digo", "dar": "doy", "saber": "sé", "conocer": "conozco", "agradecer": "agradezco",
    "conducir": "conduzco", "traducir": "traduzco", "elegir": "elijo", "seguir": "sigo", "perseguir": "persigo",
    "recoger": "recojo",
}  # fmt: skip
CHANGE = {  # the stem's vowel when it is stressed
    "cerrar": "e ie", "despertar": "e ie", "empezar": "e ie", "entender": "e ie", "nevar": "e ie", "pensar": "e ie",
    "perder": "e ie", "querer": "e ie", "regar": "e ie", "sentar": "e ie", "tener": "e ie", "venir": "e ie",
    "acostar": "o ue", "contar": "o ue", "dormir": "o ue", "encontrar": "o ue", "llover": "o ue", "mostrar": "o ue",
    "poder": "o ue", "probar": "o ue", "aprobar": "o ue", "volar": "o ue", "volver": "o ue", "jugar": "u ue",
    "decir": "e i", "elegir": "e i", "pedir": "e i", "perseguir": "e i", "seguir": "e i", "servir": "e i",
    "vestir": "e i", "enviar": "i í",
}  # fmt: skip
STRONG = {  # stems of the preterites in -e, -iste, -o
    "estar": "estuv", "hacer": "hic", "poder": "pud", "poner": "pus", "querer": "quis", "saber": "sup", "tener": "tuv",
    "traer": "traj", "venir": "vin", "decir": "dij", "conducir": "conduj", "traducir": "traduj", "haber": "hub",
}  # fmt: skip
OTHER_PRETERITE = {
    "ser": "fui fuiste fue fuimos - fueron",
    "ir": "fui fuiste fue fuimos - fueron",
    "dar": "di diste dio dimos - dieron",
    "ver": "vi viste vio vimos - vieron",
    "reír": "reí reíste rio reímos - rieron",
    "sonreír": "sonreí sonreíste sonrió sonreímos - sonrieron",
}
FUTURE = {
    "tener": "tendr", "poder": "podr", "poner": "pondr", "querer": "querr", "venir": "vendr", "hacer": "har",
    "decir": "dir", "saber": "sabr", "haber": "habr", "oír": "oir", "reír": "reir", "sonreír": "sonreir",
}  # fmt: skip
PARTICIPLE = {"abrir": "abierto", "escribir": "escrito", "ver": "visto", "hacer": "hecho", "poner": "puesto",
              "romper": "roto", "decir": "dicho", "volver": "vuelto", "imprimir": "impreso"}  # fmt: skip
IMPERATIVE = {"hacer": "haz", "poner": "pon", "venir": "ven", "ir": "ve", "decir": "di", "tener": "ten"}
GERUND = {"ir": "yendo", "reír": "riendo", "sonreír": "sonriendo", "decir": "diciendo", "venir": "viniendo",
          "poder": "pudiendo"}  # fmt: skip
SUBJUNCTIVE = {"ir": "vay", "ser": "se", "estar": "est", "dar": "d", "saber": "sep"}


def reflexive(lemma: str) -> bool:
    """Levantarse."""
    return lemma.endswith("se")


def bare(lemma: str) -> str:
    """Without -se."""
    return lemma.removesuffix("se")


def family(verb: str) -> str:
    """The vowel of the ending: a, e or i."""
    return {"í": "i"}.get(verb[-2], verb[-2])


def stressed(verb: str) -> str:
    """The stem with its vowel changed, as in "cierra"."""
    stem = verb[:-2]
    if verb not in CHANGE:
        return f"{stem}y" if verb.endswith("uir") and not verb.endswith("guir") else stem
    old, new = CHANGE[verb].split()
    at = stem.rindex(old)
    return stem[:at] + new + stem[at + 1 :]


@cache
def present(verb: str) -> tuple[str, ...]:
    """The present."""
    if verb in IRREGULAR_PRESENT:
        return tuple(IRREGULAR_PRESENT[verb].split())
    stem, strong, vowel = verb[:-2], stressed(verb), "a" if family(verb) == "a" else "e"
    we = {"a": "amos", "e": "emos", "i": "imos"}[family(verb)]
    first = FIRST.get(verb, f"{strong}o")
    return first, f"{strong}{vowel}s", f"{strong}{vowel}", stem + we, "-", f"{strong}{vowel}n"


def raised(verb: str) -> str:
    """The stem of the third person of a preterite in -ir and of the gerund: pidió, durmiendo."""
    stem = verb[:-2]
    if family(verb) == "i" and verb in CHANGE:
        old = CHANGE[verb][0]
        at = stem.rindex(old)
        return stem[:at] + {"e": "i", "o": "u"}[old] + stem[at + 1 :]
    return stem


def softened(stem: str) -> str:
    """The spelling of a stem in -ar before e: busqué, pagué, empecé."""
    if stem.endswith("c"):
        return f"{stem[:-1]}qu"
    if stem.endswith("g"):
        return f"{stem}u"
    return f"{stem[:-1]}c" if stem.endswith("z") else stem


@cache
def preterite(verb: str) -> tuple[str, ...]:
    """The preterite: comí, hizo, pidieron."""
    if verb in OTHER_PRETERITE:
        return tuple(OTHER_PRETERITE[verb].split())
    if verb in STRONG:
        s, they = STRONG[verb], "eron" if STRONG[verb].endswith("j") else "ieron"
        return f"{s}e", f"{s}iste", "hizo" if s == "hic" else f"{s}o", f"{s}imos", "-", f"{s}{they}"
    stem = verb[:-2]
    if family(verb) == "a":
        return f"{softened(stem)}é", f"{stem}aste", f"{stem}ó", f"{stem}amos", "-", f"{stem}aron"
    if stem[-1] in "aeo":  # leer, caer, oír
        return f"{stem}í", f"{stem}íste", f"{stem}yó", f"{stem}ímos", "-", f"{stem}yeron"
    if stem[-1] == "u" and not stem.endswith("gu"):  # construir
        return f"{stem}í", f"{stem}iste", f"{stem}yó", f"{stem}imos", "-", f"{stem}yeron"
    third = raised(verb)
    return f"{stem}í", f"{stem}iste", f"{third}ió", f"{stem}imos", "-", f"{third}ieron"


@cache
def imperfect(verb: str) -> tuple[str, ...]:
    """The imperfect: comía, estaba."""
    if verb in ("ser", "ir"):
        stem = {"ser": "er", "ir": "ib"}[verb]
        we = {"ser": "éramos", "ir": "íbamos"}[verb]
        return f"{stem}a", f"{stem}as", f"{stem}a", we, "-", f"{stem}an"
    stem = "ve" if verb == "ver" else verb[:-2]
    if family(verb) == "a":
        return f"{stem}aba", f"{stem}abas", f"{stem}aba", f"{stem}ábamos", "-", f"{stem}aban"
    return f"{stem}ía", f"{stem}ías", f"{stem}ía", f"{stem}íamos", "-", f"{stem}ían"


@cache
def future(verb: str) -> tuple[str, ...]:
    """The future: comeré, tendrá."""
    stem = FUTURE.get(verb, verb)
    return f"{stem}é", f"{stem}ás", f"{stem}á", f"{stem}emos", "-", f"{stem}án"


@cache
def gerund(verb: str) -> str:
    """Comiendo, leyendo, durmiendo."""
    if verb in GERUND:
        return GERUND[verb]
    stem = raised(verb)
    if family(verb) == "a":
        return f"{stem}ando"
    return f"{stem}yendo" if stem[-1] in "aeo" or (stem[-1] == "u" and not stem.endswith("gu")) else f"{stem}iendo"


@cache
def participle(verb: str) -> str:
    """Comido, escrito."""
    if verb in PARTICIPLE:
        return PARTICIPLE[verb]
    stem = verb[:-2]
    if family(verb) == "a":
        return f"{stem}ado"
    return f"{stem}ído" if stem[-1:] in ("a", "e", "o") else f"{stem}ido"


@cache
def subjunctive(verb: str) -> tuple[str, ...]:
    """Present subjunctive of tú and usted, at the indexes 1 and 2: the forms that commands need."""
    ar = family(verb) == "a"
    stem = SUBJUNCTIVE.get(verb) or present(verb)[0].removesuffix("o")
    if verb in ("dar", "estar"):
        return "-", f"{stem}{'é' if verb == 'estar' else 'e'}s", f"{stem}é"
    vowel = "e" if ar else "a"
    stem = softened(stem) if ar else stem
    return "-", f"{stem}{vowel}s", f"{stem}{vowel}"


def command(verb: str, formal: bool, negative: bool) -> str:
    """The imperative of tú or, formal, usted; a negative one is the subjunctive."""
    if formal:
        return subjunctive(verb)[2]
    return subjunctive(verb)[1] if negative else IMPERATIVE.get(verb, present(verb)[2])


def agree(word: str, feminine: bool, plural: bool) -> str:
    """A participle with the ending of its gender and number."""
    return f"{word[:-1]}{'a' if feminine else 'o'}{'s' if plural else ''}"
