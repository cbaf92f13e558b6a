"""French verb forms. A person is an index: 0 je, 1 tu, 2 il, 3 nous, 4 vous, 5 ils."""

from functools import cache

# Present of the verbs that no rule below gives.
PRESENT = {
    "être": "suis es est sommes êtes sont",
    "avoir": "ai as a avons avez ont",
    "aller": "vais vas va allons allez vont",
    "faire": "fais fais fait faisons faites font",
    "dire": "dis dis dit disons dites disent",
    "pouvoir": "peux peux peut pouvons pouvez peuvent",
    "vouloir": "veux veux veut voulons voulez veulent",
    "devoir": "dois dois doit devons devez doivent",
    "savoir": "sais sais sait savons savez savent",
    "voir": "vois vois voit voyons voyez voient",
    "croire": "crois crois croit croyons croyez croient",
    "boire": "bois bois boit buvons buvez boivent",
    "recevoir": "reçois reçois reçoit recevons recevez reçoivent",
    "venir": "viens viens vient venons venez viennent",
    "tenir": "tiens tiens tient tenons tenez tiennent",
    "prendre": "prends prends prend prenons prenez prennent",
    "mettre": "mets mets met mettons mettez mettent",
    "connaître": "connais connais connaît connaissons connaissez connaissent",
    "lire": "lis lis lit lisons lisez lisent",
    "écrire": "écris écris écrit écrivons écrivez écrivent",
    "conduire": "conduis conduis conduit conduisons conduisez conduisent",
    "traduire": "traduis traduis traduit traduisons traduisez traduisent",
    "construire": "construis construis construit construisons construisez construisent",
    "peindre": "peins peins peint peignons peignez peignent",
    "suivre": "suis suis suit suivons suivez suivent",
    "rire": "ris ris rit rions riez rient",
    "courir": "cours cours court courons courez courent",
    "dormir": "dors dors dort dormons dormez dorment",
    "partir": "pars pars part partons partez partent",
    "servir": "sers sers sert servons servez servent",
    "ouvrir": "ouvre ouvres ouvre ouvrons ouvrez ouvrent",
    "cueillir": "cueille cueilles cueille cueillons cueillez cueillent",
    "asseoir": "assieds assieds assied asseyons asseyez asseyent",
    "pleuvoir": "- - pleut - - -",
}
PREFIXED = {  # verb: (prefix, model)
    "revenir": ("re", "venir"),
    "soutenir": ("sou", "tenir"),
    "apprendre": ("ap", "prendre"),
    "comprendre": ("com", "prendre"),
    "poursuivre": ("pour", "suivre"),
    "sourire": ("sou", "rire"),
}
PARTICIPLE = {
    "être": "été", "avoir": "eu", "faire": "fait", "dire": "dit", "pouvoir": "pu", "vouloir": "voulu", "devoir": "dû",
    "savoir": "su", "voir": "vu", "croire": "cru", "boire": "bu", "recevoir": "reçu", "venir": "venu", "tenir": "tenu",
    "prendre": "pris", "mettre": "mis", "connaître": "connu", "lire": "lu", "écrire": "écrit", "conduire": "conduit",
    "traduire": "traduit", "construire": "construit", "peindre": "peint", "suivre": "suivi", "rire": "ri",
    "courir": "couru", "ouvrir": "ouvert", "asseoir": "assis", "pleuvoir": "plu",
}  # fmt: skip
FUTURE = {
    "être": "ser", "avoir": "aur", "aller": "ir", "faire": "fer", "pouvoir": "pourr", "vouloir": "voudr",
    "devoir": "devr", "savoir": "saur", "voir": "verr", "recevoir": "recevr", "venir": "viendr", "tenir": "tiendr",
    "courir": "courr", "cueillir": "cueiller", "asseoir": "assiér", "envoyer": "enverr", "pleuvoir": "pleuvr",
}  # fmt: skip
WITH_ETRE = frozenset({"aller", "venir", "revenir", "retourner", "arriver", "tomber", "rester"})


def reflexive(lemma: str) -> bool:
    """Se lever, s'asseoir."""
    return lemma.startswith(("se ", "s'"))


def bare(lemma: str) -> str:
    """The verb alone: "se lever" -> "lever", "avoir besoin" -> "avoir"."""
    return lemma.removeprefix("se ").removeprefix("s'").split(" ")[0]


def regular_er(verb: str) -> tuple[str, str, str]:
    """Stems of a verb in -er: before a mute e, before a sounded e, before a or o."""
    stem = verb[:-2]
    if verb.endswith(("oyer", "ayer", "uyer")):
        return f"{stem[:-1]}i", stem, stem
    if verb == "appeler":
        return "appell", stem, stem
    if verb.endswith(("eter", "ever", "eler")):
        return f"{stem[:-2]}è{stem[-1]}", stem, stem
    if len(stem) > 2 and stem[-2] == "é":  # préférer: préfère
        return f"{stem[:-2]}è{stem[-1]}", stem, stem
    if stem.endswith("g"):
        return stem, stem, f"{stem}e"
    if stem.endswith("c"):
        return stem, stem, f"{stem[:-1]}ç"
    return stem, stem, stem


@cache
def present(verb: str) -> tuple[str, ...]:
    """The six forms of the present."""
    if verb in PREFIXED:
        prefix, model = PREFIXED[verb]
        return tuple(prefix + form for form in present(model))
    if verb in PRESENT:
        return tuple(PRESENT[verb].split())
    if verb.endswith("er"):
        mute, sounded, hard = regular_er(verb)
        return mute + "e", mute + "es", mute + "e", hard + "ons", sounded + "ez", mute + "ent"
    stem = verb[:-2]
    endings = "is is it issons issez issent" if verb.endswith("ir") else "s s - ons ez ent"
    return tuple(stem + ending.strip("-") for ending in endings.split())


@cache
def participle(verb: str) -> str:
    """Mangé, pris."""
    if verb in PREFIXED:
        prefix, model = PREFIXED[verb]
        return prefix + participle(model)
    if verb in PARTICIPLE:
        return PARTICIPLE[verb]
    return verb[:-2] + {"er": "é", "ir": "i", "re": "u"}[verb[-2:]]


@cache
def imperfect(verb: str) -> tuple[str, ...]:
    """The six forms of the imperfect, on the stem of the present's nous."""
    if verb == "pleuvoir":
        return "-", "-", "pleuvait", "-", "-", "-"
    stem = "ét" if verb == "être" else present(verb)[3].removesuffix("ons")
    soft = stem.removesuffix("e") if verb.endswith("ger") else stem.replace("ç", "c") if verb.endswith("cer") else stem
    return stem + "ais", stem + "ais", stem + "ait", soft + "ions", soft + "iez", stem + "aient"


@cache
def future(verb: str) -> tuple[str, ...]:
    """The six forms of the future."""
    if verb in PREFIXED:
        prefix, model = PREFIXED[verb]
        return tuple(prefix + form for form in future(model))
    stem = FUTURE.get(verb)
    if stem is None and verb.endswith("er"):
        mute = regular_er(verb)[0]
        stem = (verb[:-2] if "é" in verb[-4:-2] else mute) + "er"  # préférera keeps its é
    stem = stem or verb.removesuffix("e")
    return tuple(stem + ending for ending in ("ai", "as", "a", "ons", "ez", "ont"))


def auxiliary(lemma: str) -> str:
    """The verb that makes the compound past: être or avoir."""
    return "être" if reflexive(lemma) or bare(lemma) in WITH_ETRE else "avoir"


def agree(word: str, feminine: bool, plural: bool) -> str:
    """A participle with the ending of its gender and number."""
    if feminine:
        word = f"{word.replace('û', 'u')}e"
    return f"{word}s" if plural and not word.endswith("s") else word
