from collections.abc import Callable
from typing import Any

import pytest

from allyouneed.guide.widgets import WIDGETS

NAME = "heads"


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


def test_width_of_a_head(reader: Any) -> None:
    figure = reader.figure(NAME)
    assert reader.value(NAME, "heads.width-more.d") == 512
    slider = figure.locator('[data-field="h"]')
    assert slider.get_attribute("aria-valuetext") == "8"
    for place, (heads, width) in enumerate([(1, 512), (2, 256), (4, 128), (8, 64), (16, 32)]):
        reader.set(NAME, {"h": place})
        assert reader.value(NAME, "width") == width
        assert reader.value(NAME, "parameters") == 1_048_576
        assert figure.locator(".head-strip span").count() == heads
    for cited in ("65", "213"):
        assert reader.page.locator(f'#s8 .cited[value="{cited}"]').count() == 1
    reader.set(NAME, {"h": 3})


def test_recut_draws_h_heads(reader: Any) -> None:
    figure = reader.figure(NAME)
    own = figure.locator(".head-small").count()
    assert own == reader.value(NAME, "own.heads")
    reader.set(NAME, {"recut": True})
    assert figure.locator(".head-small").count() == 8
    rows = reader.values(NAME, "cell.")
    size = round(len(rows) ** 0.5)
    for row in range(size):
        assert sum(rows[f"{row}.{column}"] for column in range(size)) == pytest.approx(1, abs=1e-3)
    reader.set(NAME, {"recut": False})


def test_names_are_computed_and_lead_to_their_head(reader: Any, site: Any) -> None:
    figure = reader.figure(NAME)
    wanted = WIDGETS[NAME].answer({}, site.models)
    for at, role in enumerate(wanted["named"]):
        assert reader.value(NAME, f"named.{at}") == wanted["roles"][at][role] == max(wanted["roles"][at].values())
        assert reader.text(f"heads.role.{role}") in figure.locator(".head-small").nth(at).inner_text()
    best = wanted["best"][-1]
    figure.locator("tbody button").last.click()
    reader.wait(NAME)
    for field in ("layer", "head"):
        assert figure.locator(f'input[data-field="{field}"]').input_value() == str(best[field])
    figure.locator('[data-panel="reset"]').click()
    reader.wait(NAME)


def test_knocked_out_head_changes_the_loss(reader: Any) -> None:
    figure = reader.figure(NAME)
    whole = reader.value(NAME, "loss.now")
    figure.locator(".bars button.cover").nth(1).click()
    reader.wait(NAME)
    assert reader.value(NAME, "loss.now") != whole
    assert reader.value(NAME, "loss.now") - whole == pytest.approx(reader.value(NAME, "loss.1"), abs=1e-4)
    figure.locator(".bars button.cover").nth(1).press("Enter")
    reader.wait(NAME)
    assert reader.value(NAME, "loss.now") == whole


def test_shared_keys_stand_in_brackets(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s8.heads?model=zoo%3Alm-en")
    figure = reader.figure(NAME)
    assert figure.locator(".head-group.shared").count() == 2
    assert figure.locator(".head-group.shared").first.locator(".head-small").count() == 2
