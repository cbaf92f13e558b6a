import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from allyouneed.guide.page import SECTIONS, fragment
from allyouneed.guide.widgets import WIDGETS
from allyouneed.pipeline import shipped

LANGUAGES = pytest.mark.parametrize("lang", ["ko", "en"])
NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
HANGUL = re.compile(r"[가-힣]")
# Where a number is a name, a tick or a label, and no result.
LABELS = (
    "output, .cited, .controls, .heat-top, .heat-left, .bar-label, .token, figcaption, th, caption, pre, textarea, "
    ".card, summary, .reading, .whole q, .unseen, button, .notice, h3, dt, .formula, .plot-left, .plot-below, "
    "svg, .claim span span, .plot-legend, .head-strip, .result-card, .title-about"
)


@pytest.fixture(scope="module")
def whole(open_page: Callable[..., Any]) -> Any:
    """A page that was read to its end, for tests that move nothing but its language."""
    return open_page("/?lang=ko").read()


@LANGUAGES
def test_whole_story_is_there(visit: Callable[..., Any], lang: str) -> None:
    page = visit(f"/?lang={lang}").page
    assert page.locator("main section[id]").evaluate_all("all => all.map(node => node.id)") == [*SECTIONS, "sources"]
    for section in SECTIONS:
        assert page.locator(f"#{section} > h2").inner_text().strip()
        assert len(page.locator(f"#{section} > p").first.inner_text()) > 30
        assert page.locator(f'nav a[href="#{section}"]').count() == 1
        figures = re.findall('data-widget="([^"]+)"', fragment(lang, section)[1])
        assert page.locator(f"#{section} figure").evaluate_all("all => all.map(n => n.dataset.widget)") == figures
        assert figures
        assert page.locator(f"#{section} .key").count() == (0 if section == "t6" else 1)


def test_figures_start_when_the_reader_comes_near(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    reader.page.wait_for_function("() => document.getElementById('model').options.length > 1")
    assert not [url for url in reader.requests if "/api/lookup" in url]
    reader.figure("lookup")
    assert [url for url in reader.requests if "/api/lookup" in url]


def test_language_is_exchanged_around_the_figures(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=ko")
    page = reader.page
    figure = reader.figure("causal-mask")
    reader.set("causal-mask", {"mask": "none"})
    reader.wait_for_address("mask=none")
    cells = figure.locator(".heat-numbers output").evaluate_all("all => all.map(node => node.dataset.value)")
    figure.evaluate("node => scrollBy(0, node.getBoundingClientRect().top - 150)")
    place, state = figure.bounding_box()["y"], page.evaluate("location.hash")
    page.locator("#language").select_option("en")
    assert page.evaluate("document.documentElement.lang") == "en"
    assert abs(figure.bounding_box()["y"] - place) < 2
    assert page.evaluate("location.hash") == state == "#s7.causal-mask?mask=none"
    assert figure.locator('input[value="none"]').is_checked()
    assert figure.locator(".heat-numbers output").evaluate_all("all => all.map(node => node.dataset.value)") == cells
    shown = page.locator("main").inner_text() + page.locator(".settings label span").first.inner_text() + page.title()
    assert not HANGUL.search(shown)
    reader.set("causal-mask", {"mask": "causal"})  # the figure still lives
    page.locator("#language").select_option("ko")
    assert HANGUL.search(page.title())
    assert figure.locator('input[value="causal"]').is_checked()


def test_both_languages_say_the_same_numbers(whole: Any) -> None:
    section = {name: whole.page.locator(f"#{name}") for name in SECTIONS}
    whole.speak("ko")
    ko = {name: Counter(NUMERAL.findall(node.inner_text())) for name, node in section.items()}
    whole.speak("en")
    en = {name: Counter(NUMERAL.findall(node.inner_text())) for name, node in section.items()}
    assert ko == en


def test_no_line_begins_with_the_counter_of_a_number(visit: Callable[..., Any]) -> None:
    """In Korean a counter or a particle belongs to what it follows, be that a number in an element of its own."""
    page = visit("/?lang=ko", width=360).read().page
    parted = page.evaluate("""() => {
        const found = [];
        for (const node of document.querySelectorAll("main output, main .cited, main math")) {
            const inline = node.closest("a") ?? node;
            const after = inline.nextSibling;
            if (after?.nodeType !== Node.TEXT_NODE || !/^[\u2060가-힣]/.test(after.data)) continue;
            const range = document.createRange();
            range.setStart(after, 0);
            range.setEnd(after, after.data.startsWith("\u2060") ? 2 : 1);
            const [before, behind] = [[...inline.getClientRects()].at(-1), [...range.getClientRects()].at(-1)];
            if (before && behind && behind.top > before.bottom - 4) found.push(inline.textContent + after.data);
        }
        return found;
    }""")
    assert parted == []


def test_deep_link_restores_the_state(visit: Callable[..., Any]) -> None:
    reader = visit("/#s5.scaling?d_k=512&scale=0&lang=en")
    figure = reader.figure("scaling")
    assert reader.page.evaluate("document.documentElement.lang") == "en"
    assert reader.value("scaling", "d_k") == 512
    assert not figure.locator('[data-field="scale"]').is_checked()
    assert 0 <= figure.bounding_box()["y"] < 200
    reader.page.evaluate("location.hash = '#s5.scaling?d_k=4'")
    reader.page.wait_for_function("() => document.querySelector('[data-key=d_k]').dataset.value === '4'")
    assert figure.locator('[data-field="scale"]').is_checked()


def test_long_drag_outlives_a_browser_that_refuses_addresses(visit: Callable[..., Any]) -> None:
    """Safari lets a page change its address 100 times in 30 seconds and then throws."""
    reader = visit("/?lang=en#s5.lookup")
    reader.figure("lookup")
    reader.page.evaluate("""() => {
        const [replace, drag] = [history.replaceState.bind(history), document.querySelector('[data-field="how"]')];
        let left = 100;
        history.replaceState = (...change) => {
            if (left-- > 0) return replace(...change);
            throw new DOMException("more than 100 times per 30 seconds", "SecurityError");
        };
        for (let at = 1; at <= 150; at += 1) {
            drag.value = at / 100;
            drag.dispatchEvent(new Event("input"));
        }
    }""")
    reader.wait("lookup")
    assert reader.value("lookup", "score.0") == 1.5
    reader.page.wait_for_function("() => location.hash === '#s5.lookup?how=1.5'")


@LANGUAGES
def test_deep_link_is_brought_within_range_and_says_so(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}#s5.scaling?d_k=9999&n=NaN&colour=red")
    figure = reader.figure("scaling")
    assert reader.value("scaling", "d_k") == 1024
    said = figure.locator(".notice").inner_text()
    label = reader.text("scaling.d_k")
    assert reader.text("note.clamped", field=label, given="9999", used="1024") in said
    assert reader.text("note.unusable", field=reader.text("scaling.n"), used="8") in said
    assert reader.text("note.unknown", field="colour") in said
    assert "NaN" not in reader.page.locator("body").inner_text()


def test_layer_beyond_the_model_says_so(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s7.causal-mask?layer=40")
    figure = reader.figure("causal-mask")
    assert "40 is outside its range" in figure.locator(".notice").inner_text()
    assert figure.locator('[data-field="layer"]').input_value() == figure.locator('[data-field="layer"]').get_attribute(
        "max"
    )


def test_figures_go_on_when_the_server_comes_back(visit: Callable[..., Any], own_site: Any) -> None:
    reader = visit("/?lang=ko", at=own_site)
    reader.may_complain = True  # the browser itself reports requests that nobody answers
    figure = reader.figure("scaling")
    before = reader.value("scaling", "d_k")
    own_site.stop()
    figure.locator('[data-field="d_k"]').press("ArrowRight")
    reader.wait("scaling", "error")
    assert "서버 연결 끊김" in figure.locator(".notice").inner_text()
    assert figure.locator(".picture").is_visible()
    assert reader.value("scaling", "d_k") == before
    own_site.start()
    reader.wait("scaling")
    assert reader.value("scaling", "d_k") == before * 2
    assert figure.locator(".notice").inner_text() == ""


def test_own_model_is_chosen_and_another_can_be(
    visit: Callable[..., Any], own_site: Any, own_models: tuple[str, str]
) -> None:
    usable, broken = own_models
    reader = visit("/?lang=en", at=own_site)
    page = reader.page
    page.wait_for_function("() => document.getElementById('model').options.length > 1")
    picker = page.locator("#model")
    assert picker.input_value() == usable
    names = picker.locator("option").evaluate_all("all => all.map(option => option.value)")
    assert names == ["", usable, broken, *shipped()]
    live = [name for name, widget in WIDGETS.items() if "both" in widget.fields().get("model", {}).get("lines", ())]
    assert len(live) > 8
    for name in live:
        assert reader.figure(name).locator(".chip b").first.inner_text() == usable
    picker.select_option("zoo:en-fr")
    for name in live:
        assert reader.figure(name).locator(".chip b").first.inner_text() == "zoo:en-fr"
    picker.select_option(broken)
    refusal = page.locator("#model-status").inner_text()
    assert refusal.startswith(reader.text("error.model", reason=""))
    assert "lacks model.safetensors" in refusal
    assert picker.input_value() == ""
    for name in live:  # a broken choice leaves every figure with its own model
        assert reader.figure(name).locator(".chip b").first.inner_text().startswith("zoo:")


def test_chosen_decoder_goes_where_a_decoder_can(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    picker = reader.page.locator("#model")
    reader.page.wait_for_function("() => document.getElementById('model').options.length > 1")
    assert "decoder" in picker.locator('option[value="zoo:lm-en"]').inner_text()
    lines = {name: widget.fields()["model"]["lines"] for name, widget in WIDGETS.items() if "model" in widget.fields()}
    before = {name: reader.figure(name).locator(".chip b").first.inner_text() for name in lines}
    picker.select_option("zoo:lm-en")
    after = {name: reader.figure(name).locator(".chip b").first.inner_text() for name in lines}
    assert after == before | {name: "zoo:lm-en" for name in lines if "decoder" in lines[name]}
    picker.select_option("zoo:hull-lstm")  # the figure that shows it has a choice of its own
    assert picker.input_value() == ""
    assert reader.text("page.model-nowhere", name="zoo:hull-lstm") in reader.page.locator("#model-status").inner_text()
    picker.select_option("zoo:fr-en")
    assert reader.page.locator("#model-status").inner_text() == ""
    assert reader.figure("self-attention").locator(".chip b").first.inner_text() == "zoo:fr-en"
    assert reader.figure("sentences").locator(".chip b").first.inner_text() == "zoo:lm-en"


def test_refused_text_is_explained_and_undone(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    reader.may_complain = True  # the browser itself reports every status 422
    figure = reader.figure("cross-attention")
    source = figure.locator('[data-field="source"]')
    before = source.input_value()
    source.fill("   ")
    reader.wait("cross-attention", "error")
    assert "type a sentence" in figure.locator(".notice").inner_text()
    figure.locator(".notice button").click()
    reader.wait("cross-attention")
    assert source.input_value() == before
    source.fill("one two three " * 400)
    reader.wait("cross-attention", "error")
    assert "tokens are too many" in figure.locator(".notice").inner_text()


def test_long_text_is_pooled_and_says_so(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=ko")
    figure = reader.figure("causal-mask")
    figure.locator('[data-field="sentence"]').fill("a b c d e f g h i j " * 30)
    reader.page.wait_for_function("""() => document.querySelector('[data-widget="causal-mask"] [data-key="factor"]')""")
    size = int(reader.value("causal-mask", "size"))
    assert size > 256
    factor = math.ceil(size / 256)
    assert figure.locator(".hint").inner_text() == f"{size}개 토큰, {factor}×{factor}로 묶어 표시"
    canvas = figure.locator("canvas")
    assert canvas.evaluate("node => node.width") == math.ceil(size / factor)


def test_composed_letters_are_sent_when_they_are_done(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=ko")
    figure = reader.figure("cross-attention")
    source = figure.locator('[data-field="source"]')
    source.fill("")
    reader.wait("cross-attention")
    source.focus()
    asked = len(reader.requests)
    keyboard = reader.page.context.new_cdp_session(reader.page)
    for letters in ("ㅎ", "하", "학"):
        keyboard.send("Input.imeSetComposition", {"text": letters, "selectionStart": 1, "selectionEnd": 1})
    assert len(reader.requests) == asked
    keyboard.send("Input.insertText", {"text": "학"})
    reader.page.wait_for_function("() => location.hash.includes('source=')")
    reader.wait("cross-attention")
    assert source.input_value() == "학"
    assert len(reader.requests) - asked <= 2
    tokens = figure.locator(".tokens").first.locator('.token[data-kind="byte"]').all_inner_texts()
    assert tokens[:3] == ["⟨ED⟩", "⟨95⟩", "⟨99⟩"]
    assert "\ufffd" not in reader.page.locator("body").inner_text()


def test_fast_drags_ask_one_at_a_time_and_the_last_wins(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure("scaling")
    page = reader.page
    flying, most, sent = set[Any](), [0], [0]

    def left(request: Any) -> None:
        if "/api/scaling" in request.url:
            flying.add(request)
            sent[0] += 1
            most[0] = max(most[0], len(flying))

    def arrived(request: Any) -> None:
        flying.discard(request)

    page.on("request", left)
    page.on("requestfinished", arrived)
    figure.locator('[data-field="n"]').evaluate(
        """async node => {
            for (let drag = 0; drag < 60; drag += 1) {
                node.value = 2 + (drag % 30);
                node.dispatchEvent(new Event("input"));
                await new Promise(resolve => setTimeout(resolve, 2));
            }
            node.value = 5;
            node.dispatchEvent(new Event("input"));
        }"""
    )
    reader.wait("scaling")
    assert len(reader.values("scaling", "weight.")) == 5
    assert most[0] == 1
    assert sent[0] < 61


@LANGUAGES
def test_every_number_is_live_cited_or_a_label(whole: Any, lang: str) -> None:
    reader = whole.speak(lang)
    loose = reader.page.evaluate(
        """labels => [...document.querySelectorAll("figure[data-widget]")].flatMap(figure => {
            const walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
            const found = [];
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                if (/\\d/.test(node.data) && !node.parentElement.closest(labels)) found.push(node.data);
            }
            return found;
        })""",
        LABELS,
    )
    assert loose == []
    sources = reader.page.locator(".cited").evaluate_all("all => all.map(node => node.dataset.source.split(':'))")
    assert sources
    keys = {key for key, _ in sources if key != "arXiv"}  # whose numbers name a paper themselves
    assert all(reader.page.locator(f"#source-{key}").count() == 1 for key in keys)
    assert reader.page.locator("output:not([data-key]), output:not([data-value])").count() == 0
