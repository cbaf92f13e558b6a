"""The rooms and who may import whom: imports go down, never up, and the lower floors know few outside packages."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "allyouneed"

# Each room with the rooms below that it may import. A room may always import itself.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "parts": {"errors"},
    "models": {"errors", "parts"},
    "text": {"errors"},
    "decoding": {"errors"},  # it knows a model's state interface, and no model
    "checkpoints": {"errors", "parts", "models", "text"},
    "lens": {"errors", "parts", "models"},
    "tasks": {"errors", "parts", "models", "text", "decoding", "checkpoints", "lens"},
    "training": {"errors", "parts", "models", "text", "decoding", "checkpoints", "tasks"},
    "pipeline": {"errors", "parts", "models", "text", "decoding", "checkpoints", "lens", "tasks"},
}
MAY_IMPORT["statistical"] = {"errors", "parts", "models"}
MAY_IMPORT["measure"] = {"errors", "parts", "models", "lens"}
BELOW_FACES = set(MAY_IMPORT)
MAY_IMPORT["reproduce"] = BELOW_FACES
MAY_IMPORT["server"] = BELOW_FACES
MAY_IMPORT["guide"] = BELOW_FACES | {"reproduce", "server"}
MAY_IMPORT["cli"] = BELOW_FACES | {"reproduce", "guide", "server"}
MAY_IMPORT["__main__"] = {"cli"}

# Packages from outside that the lower floors may import, besides the standard library.
MAY_USE: dict[str, set[str]] = {
    "errors": set(),
    "parts": {"torch"},
    "models": {"torch"},
    "text": {"numpy", "tokenizers", "zstandard"},
    "decoding": {"torch"},
    "checkpoints": {
        "torch",
        "numpy",
        "safetensors",
        "tokenizers",
        "huggingface_hub",
        "transformers",
        "ctranslate2",
        "onnx",
        "onnxruntime",
    },  # the last four: verify and convert
    "lens": {"torch", "numpy", "matplotlib"},
    "statistical": {"nltk"},
}

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room_of(path: Path) -> str:
    """The room that a module of the package belongs to: its folder, or its own name at the top."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything that a module imports, inside functions too."""
    package = ("allyouneed", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            for name in node.names:
                yield node.lineno, ".".join([*base, *filter(None, [node.module]), name.name])


def breaches(path: Path) -> list[str]:
    """What a module imports against the rules, one sentence each."""
    room, found = room_of(path), list[str]()
    for line, name in imported(path):
        head, *rest = name.split(".")
        if head == "allyouneed":
            target = rest[0] if rest and (rest[0] in MAY_IMPORT) else "the package itself"
            if target != room and target not in MAY_IMPORT[room]:
                found.append(f"{path.relative_to(PACKAGE)}:{line}: {room} imports {name} ({target})")
        elif room in MAY_USE and head not in sys.stdlib_module_names and head not in MAY_USE[room]:
            found.append(f"{path.relative_to(PACKAGE)}:{line}: {room} uses {head}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    assert room_of(path) in MAY_IMPORT, "a new room: say in this test what it may import"
    assert breaches(path) == []


def test_rules_have_no_circle() -> None:
    order = list(MAY_IMPORT)
    for room, below in MAY_IMPORT.items():
        assert all(order.index(other) < order.index(room) for other in below), room


@pytest.mark.parametrize("module", ["allyouneed", "allyouneed.cli.main", "allyouneed.text.corpus"])
def test_no_torch_before_it_is_needed(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules and 'torch was imported')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
