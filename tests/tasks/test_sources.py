"""Plain text from files and from the everyday grammar."""

import gzip
from pathlib import Path

import pytest
import zstandard

from allyouneed.errors import InputError, UsageError
from allyouneed.tasks.sources import Documents, TextSource
from allyouneed.text.corpus import read_documents

TEXT = "\n\nOne line.\nAnother.\u2028Still it.\n  \n\nA second document.\r\n\n"
DOCUMENTS = ["One line.\nAnother.\u2028Still it.", "A second document."]


def test_documents_end_at_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "a.txt.zst").write_bytes(zstandard.compress(TEXT.encode()))
    for name in ("a.txt", "a.txt.gz", "a.txt.zst"):
        assert list(read_documents(tmp_path / name)) == DOCUMENTS


def test_or_at_every_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    lines = ["One line.", "Another.\u2028Still it.", "A second document."]
    assert list(read_documents(tmp_path / "a.txt", lines=True)) == lines
    table = TextSource(text="a.txt", documents="lines")
    assert list(Documents((table,), tmp_path, 1)) == lines


def test_a_file_without_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n \n\n", "utf-8")
    with pytest.raises(InputError, match=r'a\.txt" holds no text\.'):
        list(read_documents(tmp_path / "a.txt"))


def test_everyday_sentences_are_documents_and_never_the_reserved_ones(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A text.\n", "utf-8")
    tables = (TextSource(text="a.txt"), TextSource(everyday=("en",), count=50))
    texts = list(Documents(tables, tmp_path, 1))
    assert texts[0] == "A text."
    assert len(set(texts)) == 51
    assert texts == list(Documents(tables, tmp_path, 1))
    assert texts != list(Documents(tables, tmp_path, 2))


def test_a_table_that_names_nothing() -> None:
    with pytest.raises(ValueError, match=r'neither "text" \(a file\) nor "everyday" \(a language\)'):
        TextSource()
    with pytest.raises(ValueError, match=r'both "text" \(a file\) and "everyday" \(a language\)'):
        TextSource(text="a.txt", everyday=("en",))
    with pytest.raises(UsageError, match=r'no language "eng"; it has en.*Did you mean "en"'):
        list(Documents((TextSource(everyday=("eng",)),), Path(), 1))
