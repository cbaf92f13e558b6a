import pytest
from hypothesis import given
from hypothesis import strategies as st

from allyouneed.decoding.stops import Cutter
from allyouneed.errors import UsageError

SHORT = st.text(alphabet="ab.", min_size=1, max_size=4)


def through(cutter: Cutter, parts: list[str]) -> list[str]:
    return [*map(cutter.add, parts), cutter.rest()]


@given(parts=st.lists(st.text(alphabet="ab.", max_size=5), max_size=8), stops=st.lists(SHORT, max_size=3))
def test_the_text_ends_where_the_first_stop_string_begins(parts: list[str], stops: list[str]) -> None:
    text, cutter = "".join(parts), Cutter(stops)
    shown = "".join(through(cutter, parts))
    # A stop string that ends first wins: what comes later is not known when it is complete.
    ends = [end for end in range(len(text) + 1) if any(text[:end].endswith(stop) for stop in stops)]
    assert cutter.stopped == bool(ends)
    if not ends:
        assert shown == text
    else:
        assert text.startswith(shown)
        assert all(stop not in shown for stop in stops)
        assert any(text[len(shown) :].startswith(stop) for stop in stops)


def test_only_what_may_become_a_stop_string_is_held_back() -> None:
    cutter = Cutter(["\n\n", "END"])
    assert [cutter.add(part) for part in ("a\n", "b", "E", "N", "x", "\n")] == ["a", "\nb", "", "", "ENx", ""]
    assert cutter.rest() == "\n"
    assert through(Cutter(["."]), ["one", " two. three", "four"]) == ["one", " two", "", ""]


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(UsageError, match="A stop string is empty"):
        Cutter(["a", ""])
