from pathlib import Path

import pytest

from allyouneed.errors import InputError
from allyouneed.text.glossary import Glossary


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "terms.tsv"


def test_terms_are_whole_words_and_the_longest_counts(file: Path) -> None:
    file.write_text("file\tfichier\nfile system\tsystème de fichiers\nC++\tC++\nfile\tfichier\n", "utf-8")
    glossary = Glossary.read(file)
    assert glossary.for_text("The File of the file system, and another file.") == ["fichier", "système de fichiers"]
    assert glossary.for_text("Profiles, filesystems and file_names.") == []
    assert glossary.for_text("Learn C++ now.") == ["C++"]
    assert glossary.for_text("") == []


def test_particles_are_written_onto_words_in_hangul(file: Path) -> None:
    file.write_text("파일\tfile\n", "utf-8")
    glossary = Glossary.read(file)
    assert glossary.for_text("파일을 여세요.") == ["file"]
    assert glossary.for_text("프로파일을 여세요.") == []
    file.write_text("API\tAPI\n", "utf-8")
    assert Glossary.read(file).for_text("API를 호출합니다.") == ["API"]


def test_capitals_of_all_languages(file: Path) -> None:
    file.write_text("Straße\true\nfile\tfichier\nİstanbul\tIstanbul\n", "utf-8")
    glossary = Glossary.read(file)
    assert glossary.for_text("Die STRASSE und die Straße; The fıle of İstanbul.") == ["rue", "Istanbul"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file\tfichier\n\t\nFile\tdossier\n", 'terms.tsv", line 3: "File" has another translation in line 1 already'),
        ("file fichier\n", 'terms.tsv", line 1'),
        ("", "terms.tsv"),
    ],
)
def test_what_is_no_glossary(file: Path, text: str, message: str) -> None:
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        Glossary.read(file)
