import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from allyouneed.guide.widgets import WIDGETS
from allyouneed.pipeline import LanguageModel

LANGUAGES = pytest.mark.parametrize("lang", ["ko", "en"])
NAME = "sentences"


def bars(figure: Any) -> Any:
    return figure.locator("button.cover")


def boxes(figure: Any) -> Any:
    return figure.locator('input[data-field="sentences"]')


def as_number(value: float | list[float]) -> float:
    return value[0] * 10 ** value[1] if isinstance(value, list) else value


@LANGUAGES
def test_order_of_the_words_is_told_apart(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure(NAME)
    assert bars(figure).count() == 3
    mouse, cheese, jumble = reader.values(NAME, "sentence.").values()
    assert 1 > mouse > cheese > jumble > 0
    claims = figure.locator(".claim")
    assert claims.count() == 2
    assert [claims.nth(at).get_attribute("data-holds") for at in range(2)] == ["true", "true"]
    assert "zoo:lm-en" in figure.locator("details.chip").inner_text()
    lengths = figure.locator(".bars").first.locator(".bar-fill").evaluate_all("all => all.map(n => n.clientWidth)")
    assert lengths == sorted(lengths, reverse=True)


def test_korean_is_counted(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=ko")
    figure = reader.figure(NAME)
    figure.locator("button.speak").click()
    reader.wait(NAME)
    assert "쥐는 치즈를 먹었어요." in figure.locator(".bars").first.inner_text()
    mouse, cheese, jumble = reader.values(NAME, "sentence.").values()
    assert 1 > mouse > cheese > jumble > 0
    foreign = figure.locator(".hint", has_text=reader.text("sentences.foreign"))
    assert not foreign.is_visible()
    figure.locator("button.stretch").click()
    reader.wait(NAME)
    assert figure.locator(".claim").last.get_attribute("data-holds") == "false"
    reader.set(NAME, {"reader": "model"})
    assert foreign.is_visible()
    figure.locator("button.speak").click()
    reader.wait(NAME)
    assert "The mouse ate the cheese." in figure.locator(".bars").first.inner_text()
    assert not foreign.is_visible()


@LANGUAGES
def test_steps_add_up_to_the_sentence(visit: Callable[..., Any], site: Any, lang: str) -> None:
    reader = visit(f"/?lang={lang}#s1.sentences?unit=log2&selected=2")
    reader.figure(NAME)
    steps = reader.values(NAME, "step.")
    total = reader.value(NAME, "sentence.1")
    assert sum(steps.values()) == pytest.approx(total, abs=1e-3)  # each has 6 digits
    assert reader.values(NAME, "running.")[str(len(steps) - 1)] == total == reader.value(NAME, "total.log2")
    with site.models.use("zoo:lm-en", LanguageModel) as pipe:
        score = pipe.score(["The cheese ate the mouse."])[0]
    assert total == pytest.approx(score.total / math.log(2), abs=1e-3)
    reader.set(NAME, {"unit": "perplexity"})
    assert reader.value(NAME, "total.perplexity") == pytest.approx(score.perplexity, rel=1e-4)
    assert reader.value(NAME, "sentence.1") == reader.value(NAME, "total.perplexity")


@LANGUAGES
def test_pointer_and_focus_reveal_the_reason(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure(NAME)
    reason = figure.locator(".reason")
    said = []
    for at in range(3):
        bars(figure).nth(at).hover()
        said.append(reason.inner_text())
        sentence = boxes(figure).nth(at).input_value()
        assert reason.locator(".token").count() == 2
        assert all(token in sentence for token in reason.locator(".token").all_inner_texts())
    assert len(set(said)) == 3
    bars(figure).first.focus()
    assert reason.inner_text() == said[0]
    for at in (1, 2):
        bars(figure).nth(at - 1).press("ArrowDown")
        assert reason.inner_text() == said[at]
    bars(figure).nth(2).press("ArrowUp")
    bars(figure).nth(1).press("Enter")
    reader.wait(NAME)
    assert bars(figure).nth(1).get_attribute("aria-pressed") == "true"
    assert bars(figure).nth(1).evaluate("node => node === document.activeElement")
    reader.wait_for_address("selected=2")


def test_typed_sentence_has_its_own_bar(visit: Callable[..., Any], site: Any) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure(NAME)
    before = reader.values(NAME, "sentence.")
    boxes(figure).nth(1).fill("The dog ate the cheese.")
    reader.wait(NAME)
    after = reader.values(NAME, "sentence.")
    assert after["1"] != before["1"]
    assert (after["0"], after["2"]) == (before["0"], before["2"])
    written = "\n".join(boxes(figure).evaluate_all("all => all.map(node => node.value)"))
    wanted = WIDGETS[NAME].answer({"sentences": written}, site.models)["lines"]
    assert list(after.values()) == [pytest.approx(as_number(line["value"])) for line in wanted]
    assert "dog" in bars(figure).nth(1).get_attribute("aria-label")


def test_sentences_are_added_and_removed(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure(NAME)
    more = figure.locator(".lines > button")
    for count in (4, 5):
        more.click()
        reader.wait(NAME)
        assert boxes(figure).count() == bars(figure).count() == count
        assert boxes(figure).nth(count - 1).evaluate("node => node === document.activeElement")
    assert not more.is_visible()
    for count in (4, 3, 2, 1):
        figure.locator(".list button").first.click()
        reader.wait(NAME)
        assert boxes(figure).count() == bars(figure).count() == count
    assert boxes(figure).first.input_value() == "Mouse the the cheese ate."
    assert not figure.locator(".list button").first.is_visible()
    assert more.is_visible()


@LANGUAGES
def test_unusable_sentences_are_refused_in_words(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    reader.may_complain = True  # the browser itself reports every status 422
    figure = reader.figure(NAME)
    boxes(figure).first.fill("  ")
    reader.wait(NAME, "error")
    assert figure.locator(".notice").inner_text().startswith(reader.text("error.empty"))
    boxes(figure).first.fill("one two three " * 300)
    reader.wait(NAME, "error")
    assert figure.locator(".notice").inner_text().endswith(reader.text("frame.undo"))
    figure.locator(".notice button").click()
    reader.wait(NAME)
    assert boxes(figure).first.input_value() == "The mouse ate the cheese."


def test_letters_outside_the_vocabulary_are_bytes(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=ko")
    figure = reader.figure(NAME)
    boxes(figure).first.fill("학")
    reader.wait(NAME)
    tokens = figure.locator('.picks .token[data-kind="byte"]').all_inner_texts()
    assert tokens == ["⟨ED⟩", "⟨95⟩", "⟨99⟩"]
    assert reader.value(NAME, "sentence.0") < 1e-3
    assert "\ufffd" not in figure.inner_text()


@LANGUAGES
def test_token_shows_what_else_could_stand_there(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure(NAME)
    tokens = figure.locator(".picks button")
    shown = []
    for at in range(tokens.count()):
        tokens.nth(at).hover()
        chances = {key: value for key, value in reader.values(NAME, "top.").items() if key != "here"}
        assert len(chances) == 5
        assert all(0 <= chance <= 1 for chance in chances.values())
        assert sum(chances.values()) <= 1
        assert list(chances.values()) == sorted(chances.values(), reverse=True)
        shown.append(chances)
    assert all(one != other for one, other in pairwise(shown))
    tokens.first.click()
    reader.wait(NAME)
    assert tokens.first.get_attribute("aria-pressed") == "true"
    reader.wait_for_address("token=1")
    tokens.first.press("ArrowRight")
    assert tokens.nth(1).evaluate("node => node === document.activeElement")
    assert {key: value for key, value in reader.values(NAME, "top.").items() if key != "here"} == shown[1]
    tokens.nth(1).press("End")
    tokens.last.press("Enter")
    reader.wait(NAME)
    assert tokens.last.get_attribute("aria-pressed") == "true"
    assert tokens.last.evaluate("node => node === document.activeElement")


def test_tapped_bar_opens_its_sentence(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en", width=360, has_touch=True)
    figure = reader.figure(NAME)
    bars(figure).nth(2).tap()
    reader.wait(NAME)
    assert bars(figure).nth(2).get_attribute("aria-pressed") == "true"
    assert "ouse" in figure.locator(".picks").inner_text()
    assert figure.locator(".picks .token").first.is_visible()


@LANGUAGES
def test_neighbours_alone_do_not_see_far_back(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure(NAME)
    assert not figure.locator('input[data-field="order"]').is_visible()
    figure.locator("button.stretch").click()
    reader.wait(NAME)
    assert boxes(figure).count() == 2
    claim = figure.locator(".claim").nth(1)
    assert claim.get_attribute("data-holds") == "true"
    reader.set(NAME, {"reader": "counts"})
    assert claim.get_attribute("data-holds") == "false"
    assert reader.value(NAME, "claim.ate") == 0
    assert "3-gram" in figure.locator("details.chip").inner_text()
    reader.set(NAME, {"order": 2})
    assert "2-gram" in figure.locator("details.chip").inner_text()


def test_two_words_change_places(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure(NAME)
    words = figure.locator("button.word")
    before = reader.value(NAME, "sentence.0")
    words.nth(0).scroll_into_view_if_needed()
    source, target = words.nth(1).bounding_box(), words.nth(0).bounding_box()
    mouse = reader.page.mouse
    mouse.move(source["x"] + 5, source["y"] + 5)
    mouse.down()
    mouse.move(target["x"] + 5, target["y"] + 5)
    mouse.up()
    reader.wait(NAME)
    assert boxes(figure).first.input_value() == "mouse The ate the cheese."
    for at in (0, 1):  # by keys, and back again
        words.nth(at).press("Enter")
    reader.wait(NAME)
    assert boxes(figure).first.input_value() == "The mouse ate the cheese."
    words.nth(1).focus()
    words.nth(1).press("ArrowLeft")
    assert words.nth(0).evaluate("node => node === document.activeElement")
    boxes(figure).first.fill("The mouse ate the cheese .")
    reader.wait(NAME)
    for at in (1, 4):
        words.nth(at).click()
    reader.wait(NAME)
    assert boxes(figure).first.input_value() == "The cheese ate the mouse ."
    assert reader.value(NAME, "sentence.0") < before / 100
