"""Pairs on their way to numbers: which are left out, what stands beside them, and what is taken up again."""

from pathlib import Path

from toy import toy_recipe

from allyouneed.tasks.encoded import encode_pairs
from allyouneed.tasks.language import Language
from allyouneed.tasks.sources import PairData, TextData
from allyouneed.tasks.translation import Translation
from allyouneed.text.corpus import Pair
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.training.recipe import read_recipe


def test_a_file_that_is_read_twice_keeps_its_references(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path)
    rows = ["the cat\tTHE CAT\tone", "a dog\tA DOG\t" + "two " * 60, "red house\tRED HOUSE\tthree"]
    (tmp_path / "three.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    tables = '[{source="three.tsv", columns=[0, 1]}, {source="three.tsv", columns=[0, 2]}]'
    data = read_recipe(recipe, [f"data.dev={tables}"]).data
    assert isinstance(data, PairData)
    task = Translation.prepare(data, vocab_size=320, seed=1, folder=tmp_path, report=print)
    targets = [task.tokenizer.decode(task.dev.side(1, index)) for index in range(len(task.dev))]
    assert targets == [pair.target for pair in task.dev_text]
    assert targets == ["THE CAT", "A DOG", "RED HOUSE", "one", "three"]


def test_numbers_of_another_tokenizer_are_not_taken_up(tmp_path: Path) -> None:
    data = read_recipe(toy_recipe(tmp_path, task="language")).data
    assert isinstance(data, TextData)
    text = (tmp_path / "train.txt").read_text("utf-8")
    said: list[str] = []
    for learned in (text, text.upper(), text):
        Tokenizer.train([learned], vocab_size=320).save(tmp_path / "tokenizer.json")
        task = Language.prepare(data, vocab_size=320, seed=1, folder=tmp_path, report=said.append)
        assert text.startswith(task.tokenizer.decode(task.train.texts.tokens[:12].tolist()))
    assert said == ["tokenising the text"] * 2


def test_a_source_is_read_as_it_will_be_asked(tmp_path: Path) -> None:
    pair = Pair("the\u00a0cat  sees \tthe dog", "the\u00a0cat", "train.tsv", 1)
    tokenizer = Tokenizer.train(["the cat sees the dog"] * 9, vocab_size=275)
    encoded, _ = encode_pairs([pair], tokenizer, 32)
    assert [tokenizer.decode(encoded.side(side, 0)) for side in (0, 1)] == ["the cat sees the dog", pair.target]
