"""The house rules that a machine can hold: sizes, docstrings, and nothing that only one machine knows."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "allyouneed"
MODULES = sorted(PACKAGE.rglob("*.py"))

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_CONSTRUCTOR_ARGUMENTS = 10
# Paths under src/allyouneed that may be longer, each with its reason.
LONGER_FILES: dict[str, str] = {}

# Where somebody's files lie, and where packages come from: both differ from machine to machine.
PRIVATE = re.compile(
    r"(?<![\w.])/(?:work|root|home/\w+|opt/wheels|Users/\w+)\b"
    r"|\b(?:pypi|pythonhosted|npmjs|deb\.debian|download\.pytorch)\.(?:org|com)"
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def definitions(tree: ast.Module) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    """Each class, function and method with its dotted name; functions inside functions are not listed."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield node.name, node
            for part in node.body:
                if isinstance(part, Function):
                    yield f"{node.name}.{part.name}", part


def is_overload(node: ast.ClassDef | Function) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in node.decorator_list)


def is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def committed_files() -> list[Path]:
    """Every file that is or would be committed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listing.returncode:
        pytest.skip("this copy of the sources is not a git checkout, so there is no list of its files")
    return [ROOT / name.decode() for name in listing.stdout.split(b"\0") if name and (ROOT / name.decode()).is_file()]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_module_is_small_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    if name_of(path) not in LONGER_FILES:
        assert text.count("\n") < MAX_FILE_LINES
    assert ast.get_docstring(tree) or not tree.body, "the module has no docstring"
    for name, node in definitions(tree):
        if is_public(name) and not is_overload(node):  # what all overloads do is said once, below them
            assert ast.get_docstring(node), f"{name} (line {node.lineno}) has no docstring"
        if isinstance(node, Function):
            lines = (node.end_lineno or 0) - node.lineno + 1
            assert lines < MAX_FUNCTION_LINES, f"{name} (line {node.lineno}) has {lines} lines"
        if name.endswith(".__init__") and isinstance(node, Function):
            arguments = [*node.args.posonlyargs, *node.args.args[1:], *node.args.kwonlyargs]
            assert len(arguments) < MAX_CONSTRUCTOR_ARGUMENTS, f"{name} takes {len(arguments)} arguments"


def test_longer_files_are_still_longer() -> None:
    for name, reason in LONGER_FILES.items():
        assert reason
        assert (PACKAGE / name).read_text(encoding="utf-8").count("\n") >= MAX_FILE_LINES, f"{name} needs no exception"


def test_nothing_belongs_to_one_machine() -> None:
    found = list[str]()
    for path in committed_files():
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError:
            continue  # a picture or weights
        place = path.relative_to(ROOT)
        found += [f"{place}:{i}: {match[0]}" for i, line in enumerate(lines, 1) for match in PRIVATE.finditer(line)]
    assert found == []


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names)), "two test files share a name"
