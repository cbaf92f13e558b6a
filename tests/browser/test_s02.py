from collections.abc import Callable
from typing import Any

import pytest

CITED = {13.93, 24.19, 21.50, 31.44, 17.82, 26.71, 28.45, 36.15, 33.30, 35.63}


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


@pytest.mark.parametrize(("n", "burden"), [(20, "4.0"), (60, "12.0"), (6, "1.2")])
def test_burden_grows_and_the_vector_does_not(reader: Any, n: int, burden: str) -> None:
    figure = reader.figure("bottleneck")
    width = reader.value("bottleneck", "width")
    reader.set("bottleneck", {"n": n})
    assert figure.locator('output[data-key="burden.book"]').inner_text() == burden
    assert reader.value("bottleneck", "width") == width
    assert len(reader.values("bottleneck", "vector.")) == 5
    assert figure.locator(".vector-boxes .cited").count() == 5


def test_another_word_makes_another_vector(reader: Any) -> None:
    figure = reader.figure("bottleneck")
    before = reader.values("bottleneck", "vector.")
    figure.locator('[data-field="text"]').fill("The dog sat on the mat and")
    reader.page.wait_for_function("() => location.hash.includes('text=')")
    reader.wait("bottleneck")
    assert reader.values("bottleneck", "vector.") != before
    figure.locator('[data-panel="reset"]').click()
    reader.wait("bottleneck")


def test_first_word_fades_as_the_text_grows(reader: Any) -> None:
    figure = reader.figure("bottleneck")
    figure.locator('[data-panel="table"]').click()
    fading = [reader.value("bottleneck", f"table.first.{n}") for n in (6, 12, 24, 48)]
    assert fading == sorted(fading, reverse=True)
    figure.locator('[data-panel="table"]').click()


def test_table_of_the_paper_is_cited(reader: Any) -> None:
    cited = reader.page.locator("#s2 .table .cited").evaluate_all("all => all.map(node => Number(node.value))")
    assert set(cited) >= CITED
    assert sorted(value for value in cited if value in (30, 50)) == [30, 30, 50, 50, 50]


def test_attention_keeps_its_quality_in_long_sentences(reader: Any) -> None:
    figure = reader.figure("length-quality")
    field = figure.locator(".plot-field")
    field.focus()
    field.press("End")
    read = [reader.value("length-quality", key) for key in ("quality.x", "quality.0.reading", "quality.1.reading")]
    assert read[2] >= read[1]
    field.hover(position={"x": 2, "y": 20})
    assert reader.value("length-quality", "quality.x") != read[0]
    best, longest = reader.value("length-quality", "best.vector"), reader.value("length-quality", "longest.vector")
    assert longest < 0.6 * best
    assert figure.locator('.claim[data-holds="true"]').count() == 2


def test_words_are_read_out_of_the_vector(reader: Any) -> None:
    figure = reader.figure("bottleneck")
    assert figure.locator(".claim").count() == 1
    reader.set("bottleneck", {"probe": True})
    assert figure.locator('.claim[data-holds="true"]').count() == 3
    field = figure.locator(".plot-field").nth(1)
    field.focus()
    field.press("Home")
    short, long, guess = (reader.value("bottleneck", f"recall.{at}.reading") for at in range(3))
    assert 1 > short > long > guess > 0
    field.press("End")
    assert reader.value("bottleneck", "recall.x") == 24
    figure.locator('[data-panel="reset"]').click()
    reader.wait("bottleneck")


def test_scores_are_computed_anew_with_progress_and_can_be_stopped(reader: Any) -> None:
    figure = reader.figure("length-quality")
    reader.set("length-quality", {"sentences": 40})  # long enough to be stopped in time
    lines = figure.locator(".plot-line")
    shown = "all => all.map(node => node.getAttribute('d')).join()"
    before = lines.evaluate_all(shown)
    button = figure.locator('button[data-field="seed"]')
    assert not figure.locator("progress").is_visible()
    button.click()
    figure.locator("progress").wait_for(state="visible")
    assert button.inner_text() == reader.text("length-quality.stop")
    button.click()
    reader.wait("length-quality")
    assert not figure.locator("progress").is_visible()
    assert lines.evaluate_all(shown) == before
    button.click()
    figure.locator("progress").wait_for(state="visible")
    figure.locator("progress").wait_for(state="hidden")
    reader.wait("length-quality")
    assert lines.evaluate_all(shown) != before
    reader.page.wait_for_function("() => location.hash.includes('seed=1') && !location.hash.includes('bins')")
    figure.locator('[data-panel="reset"]').click()
    reader.wait("length-quality")


def test_scores_of_the_paper_lie_over_the_curves(reader: Any) -> None:
    figure = reader.figure("length-quality")
    assert figure.locator(".plot-level").count() == 0
    reader.set("length-quality", {"paper": True})
    assert figure.locator(".plot-level").count() == 2
    cited = figure.locator(".cited").evaluate_all("all => all.map(node => node.value)")
    assert cited == ["26.71", "34.16"]
    reader.set("length-quality", {"metric": "chrf"})
    assert figure.locator(".plot-level").count() == 0
    figure.locator('[data-panel="reset"]').click()
    reader.wait("length-quality")
