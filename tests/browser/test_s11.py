import re
from collections.abc import Callable
from typing import Any

import pytest

from allyouneed.reproduce.result import stored


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


def test_results_are_cited_beside_our_own(reader: Any) -> None:
    figure = reader.figure("results")
    cited = figure.locator(".cards .cited").evaluate_all("all => all.map(node => [node.value, node.dataset.source])")
    assert {value for value, _ in cited} == {"41", "41.8", "28.4", "12", "8", "91.3", "65", "213"}
    assert all(re.match(r"vaswani2017:.*(table|section) \d", source) for _, source in cited)
    figure.locator("details summary").click()
    assert figure.locator('details .cited[value="41.8"]').is_visible()
    assert reader.value("results", "ours.bleu.zoo:en-fr") > 20


def test_kinds_of_models_are_compared_at_one_scale(reader: Any) -> None:
    reader.figure("results")
    result = stored("bottleneck")
    assert result is not None
    for row in result.rows:
        key = f"compared.bleu.{row['model']}.{row['source words']}"
        assert reader.value("results", key) == pytest.approx(row["BLEU"], rel=1e-5)


def test_quote_has_its_speaker_date_and_source(reader: Any) -> None:
    paragraphs = reader.page.locator("#s11 > p:has(q)")
    assert paragraphs.count() == 1
    assert "Ilya Sutskever" in paragraphs.inner_text()
    date = paragraphs.locator(".cited")
    assert date.get_attribute("value") == "2020-05-08"
    source = date.get_attribute("data-source").partition(":")[0]
    assert "Lex Fridman" in reader.page.locator(f"#source-{source}").inner_text()


@pytest.mark.parametrize(("n", "pairs"), [(500, 250_000), (1000, 1_000_000)])
def test_pairs_and_paths(reader: Any, n: int, pairs: int) -> None:
    reader.figure("path-length")
    reader.set("path-length", {"n": n})
    assert reader.value("path-length", "pairs") == pairs
    paths = reader.values("path-length", "path.")
    assert paths["recurrent"] == n - 1
    assert paths["attention"] == 1
    assert paths["restricted"] == -(-n // 64)
    assert paths["convolution"] == -(-n // 3)
    for kind in ("recurrent", "attention"):
        reader.set("path-length", {"kind": kind})
        assert reader.value("path-length", "path") == paths[kind]


def test_times_are_measured_and_read_out(reader: Any) -> None:
    figure = reader.figure("path-length")
    field = figure.locator(".plot-field").first
    field.focus()
    field.press("End")
    assert reader.value("path-length", "time.x") == 2048
    times = [reader.value("path-length", f"time.{at}.reading") for at in range(4)]
    assert all(time > 0 for time in times)
    field.press("ArrowLeft")
    assert reader.value("path-length", "time.x") == 1024
    memory = figure.locator(".plot-field").last
    memory.press("End")
    assert reader.value("path-length", "memory.2.reading") == 2048 * 2048 * 4 / 1024
    slope = reader.value("path-length", "slope.attention")
    note = reader.text("frame.slope-odd")
    assert (1.2 <= slope <= 2.3) != (note in figure.inner_text())


def test_titles_say_the_same_to_pointer_and_keys(reader: Any) -> None:
    figure = reader.figure("meme")
    chips = figure.locator(".titles button")
    about = figure.locator(".title-about")
    chips.nth(3).hover()
    hovered = about.inner_text()
    chips.nth(2).focus()
    assert about.inner_text() != hovered
    chips.nth(2).press("ArrowRight")
    assert about.inner_text() == hovered
    figure.locator('[data-field="query"]').fill("textbooks")
    reader.wait("meme")
    assert chips.all_inner_texts() == ["Textbooks Are All You Need"]
    figure.locator('[data-field="query"]').fill("")
    reader.wait("meme")
