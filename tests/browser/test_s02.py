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
    assert figure.locator('.claim[data-holds="true"]').count() >= 1
