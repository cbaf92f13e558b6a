"""Puts the page together from its parts: the frame, the prose of both languages, and the data that the figures need."""

import json
from functools import cache
from html import escape
from pathlib import Path
from string import Template

from allyouneed.guide.language import LANGUAGES, strings
from allyouneed.guide.widgets import WIDGETS

FOLDER = Path(__file__).parent
WEB = FOLDER / "web"
SECTIONS = (*(f"s{number}" for number in range(1, 13)), "t6")


HEAD = """<link rel="icon" href="web/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="web/style.css">
<link rel="stylesheet" href="web/page.css">
<script src="web/theme.js"></script>
<script type="module" src="web/page.js"></script>
"""


@cache
def page(lang: str, own_models: tuple[str, ...] = ()) -> str:
    """The whole page in one language, with the prose of each waiting in a template."""
    return page_text(lang, {**data(), "own": own_models}, head=HEAD)


def page_text(lang: str, given: dict[str, object], *, head: str, foot: str = "") -> str:
    """The page around `given`, which the front end reads at the start; `head` and `foot` bring the front end."""
    frame = {key.replace("page.", "").replace("-", "_"): escape(text) for key, text in strings(lang).items()}
    return Template((WEB / "page.html").read_text(encoding="utf-8")).substitute(
        frame,
        lang=lang,
        head=head,
        foot=foot,
        prose=prose(lang),
        templates="".join(f'<template data-lang="{other}">\n{prose(other)}</template>\n' for other in LANGUAGES),
        data=embedded(given),
    )


def embedded(given: object) -> str:
    """Data as it stands inside a page: nothing in it ends its element."""
    return json.dumps(given, ensure_ascii=False).replace("<", "\\u003c")


def data() -> dict[str, object]:
    """What the front end reads at the start."""
    return {
        "strings": {lang: strings(lang) for lang in LANGUAGES},
        "fields": {name: widget.fields() for name, widget in WIDGETS.items()},
    }


def sources(lang: str) -> dict[str, str]:
    """The bibliography: a full reference for each key that a cited number names, its remarks in the page's language."""
    told: dict[str, str | dict[str, str]] = json.loads((FOLDER / "sources.json").read_text(encoding="utf-8"))
    return {key: text if isinstance(text, str) else text[lang] for key, text in told.items()}


def fragment(lang: str, section: str) -> tuple[str, str]:
    """Heading and body of one section; its file begins with a line `<h2>…</h2>`."""
    name = f"{section[1:]:0>2}" if section.startswith("s") else section
    heading, body = (FOLDER / "text" / lang / f"{name}.html").read_text(encoding="utf-8").split("</h2>\n", 1)
    return heading.removeprefix("<h2>"), body


def prose(lang: str) -> str:
    """Table of contents, sections and bibliography in one language."""
    table, sections = "", ""
    for section in SECTIONS:
        heading, body = fragment(lang, section)
        number = section[1:] if section.startswith("s") else "T6"
        table += f'<li><a href="#{section}"><span class="number">{number}</span> {heading}</a></li>\n'
        sections += (
            f'<section id="{section}" aria-labelledby="{section}-title">\n'
            f'<h2 id="{section}-title"><span class="number">{number}</span> {heading}</h2>\n{body}</section>\n'
        )
    listed = "".join(f'<li id="source-{key}">{escape(text)}</li>\n' for key, text in sources(lang).items())
    words = strings(lang)
    return (
        f'<div class="opening"><h1>{escape(words["page.title"])}</h1><p>{escape(words["page.opening"])}</p></div>\n'
        f'<nav class="contents" aria-label="{escape(words["page.contents"])}"><ol>\n{table}</ol></nav>\n'
        f'<div class="sections">\n{sections}'
        '<section id="sources" aria-labelledby="sources-title">\n'
        f'<h2 id="sources-title">{escape(words["page.sources"])}</h2>\n'
        f"<ol>\n{listed}</ol></section>\n</div>\n"
    )
