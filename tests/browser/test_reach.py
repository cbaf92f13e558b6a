"""The page by keyboard, on a telephone, in the dark, without motion, on paper, and as a machine checks it."""

from collections.abc import Callable
from itertools import cycle, pairwise
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from allyouneed.guide.widgets import WIDGETS

LANGUAGES = pytest.mark.parametrize("lang", ["ko", "en"])
FIGURES = list(WIDGETS)
PANELS = ["table", "picture", "link", "cell", "code"]

# Everything that Tab should come to, in order: of each group of radios, and of each row of tokens, the chosen one.
EXPECTED = """() => [...document.querySelectorAll("a[href], button, select, input, textarea, summary, [tabindex='0']")]
    .filter(node => node.checkVisibility() && !node.disabled && node.tabIndex >= 0)
    .filter(node => node.type !== "radio" || node.checked)
    .map(node => (node.dataset.seen = "no", node)).length"""
FOCUSED = """() => {
    const node = document.activeElement;
    if (node === document.body) return null;
    const ring = node.type === "radio" ? node.nextElementSibling : node;
    const place = [...document.querySelectorAll("*")].indexOf(node);
    const missing = !("seen" in node.dataset);
    node.dataset.seen = "yes";
    return { place, missing, ring: getComputedStyle(ring).outlineStyle };
}"""

# Text of the figures that is cut at the side of what holds it, or lies over other text of its figure.
SPOILT = """() => [...document.querySelectorAll("figure[data-widget]")].flatMap(figure => {
    const texts = [];
    const walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const [node, holder] = [walker.currentNode, walker.currentNode.parentElement];
        const hidden = !holder.checkVisibility({ visibilityProperty: true, opacityProperty: true });
        if (!node.data.trim() || hidden || holder.closest(".unseen, .panel, details")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        let clip = holder;
        while (clip !== figure && getComputedStyle(clip).overflowX === "visible") clip = clip.parentElement;
        const scrolls = getComputedStyle(clip).overflowX === "auto";
        const side = clip.getBoundingClientRect();
        const boxes = [...range.getClientRects()].filter(box => box.width > 0.5);
        const cut = !scrolls && boxes.some(box => box.right > side.right + 1.5 || box.left < side.left - 1.5);
        texts.push({ name: `${figure.dataset.widget}: ${node.data.trim().slice(0, 40)}`, boxes, cut });
    }
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.35 * Math.min(a.height, b.height);
    const meet = (one, other) => one.boxes.some(a => other.boxes.some(b => over(a, b)));
    const pairs = texts.flatMap((one, at) =>
        texts.slice(at + 1).filter(other => meet(one, other)).map(other => `${one.name} / ${other.name}`));
    return [...texts.filter(text => text.cut).map(text => `cut ${text.name}`), ...pairs];
})"""


@pytest.fixture(scope="module")
def whole(open_page: Callable[..., Any]) -> Any:
    """A page that was read to its end. Tests put back what they change of it, but for the last, which prints it."""
    return open_page("/?lang=en").read()


def serious(page: Any) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize(("lang", "theme"), [("ko", "light"), ("en", "dark")])
def test_axe_finds_nothing_serious(visit: Callable[..., Any], lang: str, theme: str) -> None:
    reader = visit(f"/?lang={lang}", theme=theme, bypass_csp=True).read()  # axe is put into the page as a script
    assert reader.page.evaluate(SPOILT) == []
    for name, panel in zip(FIGURES, cycle(PANELS), strict=False):
        reader.figure(name).locator(f'[data-panel="{panel}"]').click()
    reader.figure("cross-attention").locator("details.chip summary").click()
    assert serious(reader.page) == []


def test_tab_reaches_everything_in_order_and_leaves(whole: Any) -> None:
    page = whole.page
    page.evaluate("() => { scrollTo(0, 0); document.activeElement.blur(); }")
    page.locator("body").evaluate("node => { node.tabIndex = -1; node.focus(); node.removeAttribute('tabindex'); }")
    expected = page.evaluate(EXPECTED)
    visited: list[Any] = []
    for _ in range(expected + 3):
        page.keyboard.press("Tab")
        if (focused := page.evaluate(FOCUSED)) is None:
            break
        visited.append(focused)
    assert page.locator('[data-seen="no"]').evaluate_all("all => all.map(node => node.outerHTML.slice(0, 120))") == []
    assert len(visited) == expected
    places = [focused["place"] for focused in visited]
    assert places == sorted(places)
    assert [focused for focused in visited if focused["ring"] in ("none", "")] == []
    assert [focused for focused in visited if focused["missing"]] == []


@LANGUAGES
def test_telephone_needs_no_sideways_scroll_and_has_room_for_fingers(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}", width=360, has_touch=True).read()
    page = reader.page
    assert page.evaluate(SPOILT) == []
    for panel in PANELS:
        page.locator(f'[data-panel="{panel}"]').evaluate_all("all => all.forEach(node => node.click())")
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, panel
    small = page.evaluate(
        """() => [...document.querySelectorAll(
            "button, select, summary, .choice label, input[type=text], input[type=range], .switch, nav a")]
            .filter(node => node.checkVisibility() && node.getBoundingClientRect().height < 43.5)
            .map(node => node.outerHTML.slice(0, 100))"""
    )
    assert small == []


def test_tapped_cell_is_read_out(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en", width=360, has_touch=True)
    figure = reader.figure("causal-mask")
    cells = figure.locator(".heat-cells")
    box = cells.bounding_box()
    cells.tap(position={"x": 3, "y": box["height"] - 3})
    assert "→" in figure.locator(".reading").inner_text()
    assert reader.value("causal-mask", "reading") > 0


def test_theme_follows_the_system_and_the_reader(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en", theme="dark")
    page = reader.page
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    figure = reader.figure("causal-mask")
    pixel = "node => [...node.getContext('2d').getImageData(1, 0, 1, 1).data]"
    before = figure.locator("canvas").evaluate(pixel)
    page.locator("#theme").select_option("light")
    assert page.evaluate(paper) != dark
    assert figure.locator("canvas").evaluate(pixel) != before
    page.reload()
    assert page.evaluate(paper) != dark
    page.locator("#theme").select_option("")
    assert page.evaluate(paper) == dark


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_can_be_read_on_every_colour(visit: Callable[..., Any], theme: str) -> None:
    reader = visit("/?lang=en", theme=theme)
    host = reader.figure("causal-mask").locator(".heat-cells")
    steps = host.evaluate(
        """async node => {
            const { ink, ramp } = await import("/web/lib/colour.js");
            const span = node.querySelector(".heat-numbers").appendChild(document.createElement("span"));
            const linear = v => (v <= 10.31 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4);
            const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
            const result = [];
            for (const end of ["--attention", "--blue"]) {
                ramp(node, "--paper", end).forEach(colour => {
                    span.dataset.ink = ink(colour);
                    const text = getComputedStyle(span).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
                    const [a, b] = [light(colour), light(text)].sort((x, y) => y - x);
                    result.push([light(colour), (a + 0.05) / (b + 0.05)]);
                });
            }
            span.remove();
            return result;
        }"""
    )
    assert min(contrast for _, contrast in steps) >= 4.5
    for ramp in (steps[:256], steps[256:]):
        tenths = [ramp[round(25.5 * tenth)][0] for tenth in range(11)]
        ratios = [(max(a, b) + 0.05) / (min(a, b) + 0.05) for a, b in pairwise(tenths)]
        assert min(ratios) > 1.05


def test_without_motion_nothing_moves_by_itself(whole: Any) -> None:
    page = whole.page
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("document.getAnimations().length") == 0
    assert not page.locator('figure[data-widget="cross-attention"] .play').is_visible()
    moving = "all => all.filter(node => parseFloat(getComputedStyle(node).transitionDuration) > 0).length"
    assert page.locator("figure *").evaluate_all(moving) == 0
    before = whole.values("cross-attention", "next.")
    whole.set("cross-attention", {"step": 1})
    assert whole.values("cross-attention", "next.") != before
    page.locator('figure[data-widget="cross-attention"] [data-panel="reset"]').click()
    whole.wait("cross-attention")
    page.emulate_media(reduced_motion="null")


A4 = 718  # pixels of a sheet held upright, between its margins
# What stands beyond its figure's edge, or would have to be scrolled; a narrow share of a mixture shows no name anyway.
CUT = """() => [...document.querySelectorAll('figure[data-widget], section > .table')].flatMap(host =>
    [host, ...host.querySelectorAll('*')].filter(node =>
        node.getClientRects().length && !node.closest('.unseen, svg, .share') &&
        (node.getBoundingClientRect().right > host.getBoundingClientRect().right + 1 ||
            (getComputedStyle(node).overflowX !== 'visible' && node.scrollWidth > node.clientWidth + 1))
    ).map(node => `${host.dataset.widget}: ${node.className || node.localName}`))"""


def test_paper_gets_values_tables_and_light(whole: Any) -> None:
    page = whole.page
    page.emulate_media(color_scheme="dark")
    page.evaluate("() => { dispatchEvent(new Event('beforeprint')); }")
    page.emulate_media(media="print")
    page.wait_for_function("() => document.querySelectorAll('.panel table').length >= 20")
    for name in FIGURES:
        figure = page.locator(f'figure[data-widget="{name}"]')
        assert figure.locator(".panel table").first.is_visible()
        assert figure.locator('input[type="range"]:visible, .buttons:visible').count() == 0
        if figure.locator('.controls > :not([hidden]) input[type="range"]').count():
            assert figure.locator(".control-value:visible").count() > 0
    assert not page.locator(".masthead").is_visible()
    assert (
        page.evaluate("matchMedia('print').matches && getComputedStyle(document.documentElement).colorScheme")
        == "light"
    )
    page.set_viewport_size({"width": A4, "height": 1000})
    page.wait_for_timeout(200)  # the figures are fitted to the new width
    assert page.evaluate(CUT) == []
