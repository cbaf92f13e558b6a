import shutil
import subprocess
from pathlib import Path

import pytest

from allyouneed.guide.esm import bundle
from allyouneed.guide.page import WEB

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "index.js"


def run(script: str) -> str:
    done = subprocess.run(["node", "--input-type=module"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_node
def test_bundle_runs_as_the_modules_do(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        index='import { twice as by } from "./b.js";\nimport { name } from "./a.js";\nexport default [by(4), name];\n',
        a='const secret = "a";\nexport const name = secret;\n',
        b='import { name } from "./a.js";\nconst secret = 2;\nexport function twice(x) { return x * secret + name; }\n',
    )
    text = bundle(entry).replace("export default", "const all =")
    assert run(f"{text}\nconsole.log(JSON.stringify(all));") == '["8a","a"]'


def test_bundle_holds_each_module_once(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        index='import { a } from "./a.js";\nimport { b } from "./b.js";\nexport default { a, b };\n',
        a="export const a = 1;\n",
        b='import { a } from "./a.js";\nexport const b = a;\n',
    )
    assert bundle(entry).count("const a = 1;") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'import { b } from "./b.js";\nexport const a = 1;\n',
            "b.js: import cycle through index.js, a.js|a.js: import cycle",
        ),
        ('import x from "./c.js";\n', r'a.js: the notebook bundle cannot hold "import x from'),
        ('import {\n  c } from "./c.js";\n', 'a.js: the notebook bundle cannot hold "import {'),
        ('const c = await import("./c.js");\n', "the notebook bundle cannot hold"),
        ("export default 1;\n", 'a.js: the notebook bundle cannot hold "export default 1'),
        ("export let c = 1;\n", "the notebook bundle cannot hold"),
        ("const c = 1;\nexport { c };\n", "the notebook bundle cannot hold"),
    ],
)
def test_module_that_cannot_be_bundled_is_refused(tmp_path: Path, text: str, message: str) -> None:
    entry = write(
        tmp_path,
        index='import { a } from "./a.js";\nexport default a;\n',
        a=text,
        b='import { a } from "./a.js";\nexport const b = a;\n',
        c="export const c = 1;\n",
    )
    with pytest.raises(ImportError, match=message):
        bundle(entry)


@needs_node
def test_front_end_becomes_one_module_with_one_export() -> None:
    text = bundle(WEB / "index.js")
    assert 'from "./' not in text
    assert run(
        text.replace("export default", "const all =") + "\nconsole.log(Object.keys(all), typeof all.render);"
    ) == ("[ 'render' ] function")


@needs_node
@pytest.mark.parametrize("path", sorted(WEB.rglob("*.js")), ids=lambda path: path.name)
def test_module_parses(path: Path) -> None:
    subprocess.run(["node", "--check", "--input-type=module"], input=path.read_bytes(), check=True, capture_output=True)


@needs_node
def test_front_end_units() -> None:
    tests = sorted(map(str, (Path(__file__).parent / "web").glob("*.test.mjs")))
    assert tests
    done = subprocess.run(["node", "--test", *tests], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
