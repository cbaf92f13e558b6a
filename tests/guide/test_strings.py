import re
from collections import Counter
from pathlib import Path

import pytest

from allyouneed.guide.language import strings
from allyouneed.guide.page import FOLDER, SECTIONS, fragment, sources
from allyouneed.guide.widgets import WIDGETS

KO, EN = strings("ko"), strings("en")
HANGUL = re.compile(r"[가-힣]")
NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
IN_FIGURES = {"drawing"}  # sources that only a figure cites
FRONT_END = [*FOLDER.glob("web/**/*.js"), FOLDER / "web" / "page.html"]


def text_of(html: str) -> str:
    return re.sub(r"<[^>]*>", " ", html)


def test_both_languages_have_the_same_keys() -> None:
    assert list(KO) == list(EN)


@pytest.mark.parametrize("key", EN)
def test_texts_of_a_key_match(key: str) -> None:
    places = re.compile(r"\{\w+\}")
    assert Counter(places.findall(KO[key])) == Counter(places.findall(EN[key]))
    ko, en = (places.sub("", text) for text in (KO[key], EN[key]))
    assert Counter(NUMERAL.findall(ko)) == Counter(NUMERAL.findall(en))
    assert not HANGUL.search(EN[key])
    assert KO[key].strip()
    assert EN[key].strip()


def test_korean_is_korean() -> None:
    names = r"tanh|RNNsearch|[Pp]ost-LN|[Aa]ttention|n-gram|[Ss]elf-|[Cc]ross-|LayerNorm|softmax|Perplexity|BLEU|Need"
    terms = rf"\{{\w+\}}|{names}"
    same = [key for key in KO if KO[key] == EN[key]]
    assert [key for key in same if re.search(r"[a-z]{4,}", re.sub(terms, "", KO[key]))] == []


def test_every_key_that_the_front_end_names_exists() -> None:
    rooms = "|".join({key.partition(".")[0] for key in EN})
    literal = re.compile(rf"""["'`]((?:{rooms})\.[\w.-]+)["'`]""")
    named = {key for path in FRONT_END for key in literal.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 50
    assert named <= set(EN)


@pytest.mark.parametrize("name", WIDGETS)
def test_every_input_has_a_label_and_every_choice_a_name(name: str) -> None:
    assert {f"{name}.title", f"{name}.about"} <= set(EN)
    for field, spec in WIDGETS[name].fields().items():
        assert f"{name}.{field}" in EN or f"field.{field}" in EN
        if spec["type"] == "string":
            assert all(f"{name}.{field}.{choice}" in EN for choice in spec.get("choices", []))


@pytest.mark.parametrize("section", SECTIONS)
def test_section_says_the_same_numbers_in_both_languages(section: str) -> None:
    (ko_title, ko_body), (en_title, en_body) = fragment("ko", section), fragment("en", section)
    assert ko_title.strip()
    assert en_title.strip()
    assert Counter(NUMERAL.findall(text_of(ko_body))) == Counter(NUMERAL.findall(text_of(en_body)))
    assert HANGUL.search(ko_body)
    assert not HANGUL.search(en_body)
    # The page exchanges the languages piece by piece, so both have the same pieces in the same order.
    pieces = re.compile(r'^<(?:p|h3|math|div|figure data-widget="([\w-]+)")', re.M)
    assert pieces.findall(ko_body) == pieces.findall(en_body)
    assert set(pieces.findall(ko_body)) <= {"", *WIDGETS}


@pytest.mark.parametrize("lang", ["ko", "en"])
def test_cited_numbers_have_a_source(lang: str) -> None:
    cited = [
        found
        for section in SECTIONS
        for found in re.findall(r'<data class="cited"[^>]*data-source="([^":]+):[^"]+"', fragment(lang, section)[1])
    ]
    assert cited
    assert {*cited, *IN_FIGURES} == set(sources("en")) == set(sources("ko"))


@pytest.mark.parametrize("section", SECTIONS[:-1])
@pytest.mark.parametrize("lang", ["ko", "en"])
def test_section_with_figures_has_its_key_point(lang: str, section: str) -> None:
    assert fragment(lang, section)[1].count('<div class="key" role="note"><strong>') == 1


@pytest.mark.parametrize(
    "path", [*FOLDER.glob("web/**/*.*"), *FOLDER.glob("text/**/*.html")], ids=lambda path: path.name
)
def test_front_end_names_no_other_host(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert not re.search(r"https?://|//\w+\.\w+|@import|innerHTML|outerHTML|insertAdjacentHTML|\beval\(", text)
