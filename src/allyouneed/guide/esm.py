"""Join the front end's native ES modules into the one self-contained module that a notebook host can load.

The modules keep to a few rules, which `bundle` enforces: `import { a, b } from "./x.js";` on one line,
`export function | class | const`, a default export in the entry alone, no cycles.
"""

import re
from pathlib import Path

IMPORT = re.compile(r'^import (\{[^}\n]*\}) from "(\.[^"\n]+)";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.M)
DEFAULT = re.compile(r"^export default \S", re.M)
OTHER = re.compile(r"^(?:import\b|export\b).*|\bimport\(.*", re.M)


def bundle(entry: Path) -> str:
    """Every module becomes a function scope, in dependency order; the entry keeps its own default export.

    Raises ImportError where a module breaks the rules above.
    """
    entry = entry.resolve()
    done: dict[Path, str] = {}

    def visit(path: Path, trail: tuple[Path, ...] = ()) -> None:
        path = path.resolve()
        if path in trail:
            raise ImportError(f"{path.name}: import cycle through {', '.join(module.name for module in trail)}")
        if path in done:
            return
        source = path.read_text(encoding="utf-8")
        _check(path, source, is_entry=path == entry)
        for _, target in IMPORT.findall(source):
            visit(path.parent / target, (*trail, path))
        body = IMPORT.sub(lambda found: _bind(found[1], _name(entry, path.parent / found[2])), source)
        done[path] = body if path == entry else _scope(_name(entry, path), body)

    visit(entry)
    return "".join(done.values())


def _check(path: Path, source: str, *, is_entry: bool) -> None:
    rest = EXPORT.sub("", IMPORT.sub("", source))
    if is_entry:
        rest = DEFAULT.sub("", rest, count=1)
    if found := OTHER.search(rest):
        raise ImportError(f'{path.name}: the notebook bundle cannot hold "{found[0].strip()}"')


def _name(entry: Path, path: Path) -> str:
    return "$" + re.sub(r"\W", "_", str(path.resolve().relative_to(entry.parent)))


def _bind(names: str, module: str) -> str:
    return f"const {names.replace(' as ', ': ')} = {module};\n"


def _scope(name: str, body: str) -> str:
    exported = ", ".join(EXPORT.findall(body))
    return f"const {name} = (() => {{\n{EXPORT.sub('', body)}\nreturn {{ {exported} }};\n}})();\n"
