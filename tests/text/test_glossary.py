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
    assert glossary.for_text("The File of the file system, and another file.") == [
        "fichier",
        "système de fichiers",
        "fichier",
    ]
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


def test_small_letters_are_found_in_capitals_and_capitals_as_they_are(file: Path) -> None:
    file.write_text("US\tÉtats-Unis\nus\tnous\nIT\tinformatique\nfile\tfichier\nİzmir\tIzmir\n", "utf-8")
    glossary = Glossary.read(file)
    assert glossary.for_text("FILE it for us in the US; Us! The fıle of İzmir.") == [
        "fichier",
        "nous",
        "États-Unis",
        "nous",
        "Izmir",
    ]


def test_one_letter_has_one_form(file: Path) -> None:
    file.write_text("cafe\u0301\tcoffee\nhome page\taccueil\ndon’t\tne pas\n", "utf-8")
    assert Glossary.read(file).for_text("Don't open the home\u00a0 page of the café.") == [
        "ne pas",
        "accueil",
        "coffee",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file\tfichier\n\t\nfile \tdossier\n", 'terms.tsv", line 3: "file" has another translation in line 1 already'),
        ("file fichier\n", 'terms.tsv", line 1'),
        ("", "terms.tsv"),
    ],
)
def test_what_is_no_glossary(file: Path, text: str, message: str) -> None:
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        Glossary.read(file)


def test_what_is_asked_for_always_is_not_asked_for_twice() -> None:
    glossary = Glossary.of({"file": "fichier", "mouse": " souris ", " ": "rien", "cat": ""})
    assert glossary.translations == {"file": "fichier", "mouse": "souris"}
    assert glossary.held_by("The file, the cat and the file.", ["fichier", "le"]) == ["fichier", "fichier", "le"]
    assert glossary.held_by("The cat.", ["le"]) == ["le"]
