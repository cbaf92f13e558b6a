"""Errors that the user can mend: one sentence that says what is wrong, where, and what is allowed."""

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real


class InputError(Exception):
    """Something in the user's input. The command line prints the message alone and exits with `status`."""

    status = 1


class UsageError(InputError):
    """The command, recipe or call itself is wrong: an unknown key, name or value."""

    status = 2


def check_whole(**numbers: object) -> None:
    """Refuses what is no whole number: 2.5, "4" and True count nothing. None is left alone."""
    for name, number in numbers.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, Integral)):
            raise UsageError(f"{name} = {number!r}: a whole number is needed.")


def check_numbers(**numbers: object) -> None:
    """Refuses what is no number: "0.5", None and True measure nothing."""
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, Real):
            raise UsageError(f"{name} = {number!r}: a number is needed.")


def nearest(word: str, allowed: Iterable[str]) -> str:
    """The hint ` Did you mean "x"?` for the allowed spelling closest to `word`, or an empty string."""
    close = get_close_matches(word, list(allowed), n=1, cutoff=0.6)
    return f' Did you mean "{close[0]}"?' if close else ""
