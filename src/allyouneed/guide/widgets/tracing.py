"""Functions watched while they run: what each of their lines makes."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor

PEEK = 3  # numbers of a tensor that are shown


def assigned(function: Callable[..., Any]) -> dict[int, list[str]]:
    """For each line of the file where a statement of the function begins, the names that it assigns; a return assigns
    "return".
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    first = inspect.getsourcelines(function)[1]
    names: dict[int, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            found = [part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        elif isinstance(node, ast.Return):
            found = ["return"]
        else:
            continue
        names[node.lineno + first - 1] = found
    return names


@dataclass(frozen=True)
class Watched:
    """A function under watch: its statements, and what its first call made at each."""

    function: Callable[..., Any]
    names: dict[int, list[str]]
    made: dict[int, dict[str, Any]]

    def lines(self) -> list[dict[str, Any]]:
        """The source line by line, with what each line made; that of a long statement stands on its last line."""
        source, first = inspect.getsourcelines(self.function)
        tree = ast.parse(textwrap.dedent("".join(source)))
        last = {
            node.lineno: node.end_lineno or node.lineno
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign | ast.Return)
        }
        at: dict[int, list[dict[str, Any]]] = {}
        for number, values in self.made.items():
            begin = number - first + 1
            at[last[begin]] = [{"name": name, **described(value)} for name, value in values.items()]
        return [{"number": first + row, "text": text, "made": at.get(row + 1, [])} for row, text in enumerate(source)]


def described(value: Any) -> dict[str, Any]:
    """What is said of a value: a tensor's shape and first numbers, and of other things their type."""
    if isinstance(value, tuple) and all(isinstance(part, Tensor) for part in value):
        value = value[0]
    if not isinstance(value, Tensor):
        return {"shape": [], "peek": [value] if isinstance(value, int | float) else [], "type": type(value).__name__}
    return {
        "shape": list(value.shape),
        "peek": value.flatten()[:PEEK].to(torch.float32).tolist(),
        "type": str(value.dtype).removeprefix("torch."),
    }


def watch(functions: tuple[Callable[..., Any], ...], run: Callable[[], Any]) -> tuple[list[Watched], Any]:
    """Runs `run` and notes what the first call of each function makes, line by line. -> (notes, what `run` gave)."""
    watched = {function.__code__: Watched(function, assigned(function), {}) for function in functions}
    met: set[CodeType] = set()

    def enter(frame: FrameType, event: str, value: Any) -> Any:
        if frame.f_code not in watched or frame.f_code in met:
            return None
        met.add(frame.f_code)
        note = watched[frame.f_code]
        before = 0

        def step(frame: FrameType, event: str, value: Any) -> Any:
            nonlocal before
            if event in ("line", "return") and before in note.names:
                local = {**frame.f_locals, "return": value}
                if event == "return" or note.names[before] != ["return"]:
                    note.made[before] = {name: local[name] for name in note.names[before] if name in local}
            if event == "line" and not (before in note.names and frame.f_lineno in inside(note, before)):
                before = frame.f_lineno
            return step

        return step

    outer = sys.gettrace()
    sys.settrace(enter)
    try:
        result = run()
    finally:
        sys.settrace(outer)
    return list(watched.values()), result


def inside(note: Watched, begin: int) -> range:
    """The further lines of a statement that begins at a line of the file."""
    following = [number for number in note.names if number > begin]
    return range(begin + 1, min(following, default=begin + 1))
