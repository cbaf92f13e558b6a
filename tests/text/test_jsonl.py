"""Text and pairs out of .jsonl files."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from allyouneed.errors import InputError
from allyouneed.text.corpus import Skipped, read_documents, read_pairs

PAIRS = [
    {"id": 1, "translation": {"en": "Open it.", "fr": "Ouvrez-le."}},
    {"id": 2, "translation": {"en": "", "fr": "x"}},
]


def written(path: Path, objects: list[Any]) -> Path:
    text = "\n".join(json.dumps(one, ensure_ascii=False) for one in objects) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", ["text.jsonl", "text.jsonl.gz"])
def test_each_object_is_a_document(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, [{"text": "One.\nTwo."}, {"text": " "}, {"text": "안녕"}])
    assert list(read_documents(path)) == ["One.\nTwo.", "안녕"]
    path = written(tmp_path / name, [{"body": {"plain": "One."}}])
    assert list(read_documents(path, key="body.plain")) == ["One."]


def test_pairs_stand_under_two_keys_with_their_line(tmp_path: Path) -> None:
    skipped = Skipped()
    path = written(tmp_path / "pairs.jsonl", PAIRS)
    pairs = list(read_pairs(path, columns=("translation.en", "translation.fr"), skipped=skipped))
    assert [tuple(pair) for pair in pairs] == [("Open it.", "Ouvrez-le.", str(path), 1)]
    assert (skipped.count, skipped.line) == (1, 2)
    path = written(tmp_path / "pairs.jsonl", [{"source": "two\nlines", "target": "deux\r\nlignes"}])
    assert [pair[:2] for pair in read_pairs(path)] == [("two lines", "deux lignes")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{'text': 1}", "line 2: this is no JSON: Expecting property name"),
        ('["text"]', "line 2: a JSON object is needed, in which text holds text"),
        ('{"texts": "a"}', 'line 2: there is no "text". Did you mean "texts"'),
        ('{"text": 3}', 'line 2: "text" holds no text'),
        ("[" * 100_000, "line 2: this is no JSON"),
    ],
)
def test_what_holds_no_text_is_named_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "text.jsonl"
    path.write_text('{"text": "One."}\n' + line + "\n", "utf-8")
    with pytest.raises(InputError) as caught:
        list(read_documents(path))
    assert message in str(caught.value)


def test_a_file_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no text"):
        list(read_documents(written(tmp_path / "text.jsonl", [{"text": ""}])))


def test_names_of_keys_are_no_columns_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("one\tun\n", "utf-8")
    assert [pair[:2] for pair in read_pairs(path, columns=("1", "0"))] == [("un", "one")]
    with pytest.raises(InputError, match="there is no column en; columns go from 0 to 1"):
        list(read_pairs(path, columns=("en", "fr")))
