import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import allyouneed
from allyouneed.checkpoints import places
from allyouneed.errors import InputError, UsageError
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import TooLongError, Translator, gathered, load, strongest
from allyouneed.pipeline.phrases import inside_words, spellings
from allyouneed.tasks.hypotheses import batches
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.text.vocabulary import Marks

TEXTS = [
    "The mouse ate the cheese.",
    "The cat.",
    "",
    "The cat sat on the mat, and the dog slept.",
    "  \t ",
    "the",
]


@pytest.fixture(scope="module")
def pipe(model: Transformer, tokenizer: Tokenizer) -> Translator:
    return Translator(model, tokenizer, name="small")


def test_many_at_once_are_as_one_by_one_and_in_order(pipe: Translator) -> None:
    together = pipe.translate(TEXTS, beam=3)
    for text, translation in zip(TEXTS, together, strict=True):
        alone = pipe.translate([text], beam=3)[0]
        assert translation.text == alone.text
        assert translation.score == pytest.approx(alone.score, abs=1e-5)


def test_odd_spaces_in_a_source_change_nothing(pipe: Translator) -> None:
    plain, odd = "The cat sat on the mat.", "\ufeffThe cat\u00a0sat  on\tthe \u202fmat.\u200b"
    assert pipe.translate([odd], align=True)[0].tokens == pipe.translate([plain])[0].tokens
    assert pipe.generate([odd], temperature=0.0) == pipe.generate([plain], temperature=0.0)
    assert pipe.score([odd], ["The dog."])[0].tokens == pipe.score([plain], ["The dog."])[0].tokens
    assert pipe.score([odd], ["The dog."])[0].total == pipe.score([plain], ["The dog."])[0].total
    assert pipe.score([plain], [odd])[0].tokens != pipe.score([plain], [plain])[0].tokens  # a target is as it is
    for target in (None, "The dog."):
        seen, expected = (pipe.attend(text, target)["cross", -1, "mean"] for text in (odd, plain))
        assert torch.equal(seen, expected)
    with pytest.raises(UsageError, match=r"^None is no text\.$"):
        pipe.translate([None])  # pyright: ignore[reportArgumentType]  # a table's gap


def test_blank_in_blank_out(pipe: Translator) -> None:
    for translation in pipe.translate(["", " ", "\u2028"], nbest=2, align=True):
        assert (translation.text, translation.tokens, translation.nbest) == ("", [], ())
    assert pipe.translate([]) == []


def test_nbest_is_ranked_and_holds_the_best(pipe: Translator) -> None:
    translation = pipe.translate(["The cat."], beam=4, nbest=3)[0]
    assert len(translation.nbest) == 3
    assert translation.nbest[0].text == translation.text
    scores = [one.score for one in translation.nbest]
    assert scores == sorted(scores, reverse=True)


def test_nbest_beyond_the_beam_is_refused(pipe: Translator) -> None:
    with pytest.raises(InputError, match="nbest"):
        pipe.translate(["The cat."], beam=2, nbest=3)


def test_scores_follow_the_chain_rule(pipe: Translator, model: Transformer) -> None:
    sources = ["The cat.", "The mouse ate the cheese.", "The dog slept."]
    targets = ["Le chat.", "La souris a mangé le fromage.", "Le chien dormait."]
    scores = pipe.score(sources, targets)
    for source, target, score in zip(sources, targets, scores, strict=True):
        read, written = pipe.encode([source, target])
        with torch.no_grad():
            logits = model(torch.tensor([[*read, 2]]), torch.tensor([[1, *written]]))
        expected = logits.log_softmax(-1)[0].gather(1, torch.tensor([*written, 2])[:, None])[:, 0]
        assert score.logprobs == pytest.approx(expected.tolist(), abs=1e-4)
        assert score.tokens == [*pipe.tokenizer.pieces(written), "</s>"]
        assert score.total == pytest.approx(sum(score.logprobs))
        assert score.perplexity == pytest.approx(math.exp(-score.total / len(score.tokens)))


def test_sides_of_unequal_number(pipe: Translator) -> None:
    with pytest.raises(UsageError, match="2 sources and 1 targets"):
        pipe.score(["a", "b"], ["c"])


def test_a_bare_string_is_not_a_list_of_letters(pipe: Translator) -> None:
    with pytest.raises(UsageError, match=re.escape("Texts come as a list: write ['The cat.']")):
        pipe.translate("The cat.")


def test_what_is_no_list_of_texts_is_named(pipe: Translator) -> None:
    for texts, message in [
        ((text for text in ["The cat."]), "Texts come as a list, and not as generator."),
        (None, "Texts come as a list, and not as NoneType."),
        (["The cat.", None], "None is no text."),
        ([float("nan")], "nan is no text."),
        ([["The cat."]], "['The cat.'] is no text."),
    ]:
        with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
            pipe.translate(texts)  # pyright: ignore[reportArgumentType]


def test_a_pipeline_says_what_it_is(pipe: Translator) -> None:
    shown = rf"<Translator {pipe.name}: an encoder-decoder, which reads .* another, [\d,]+ parameters>"
    assert re.fullmatch(shown, repr(pipe))


def test_a_text_too_long_is_named_before_anything_is_done(pipe: Translator) -> None:
    with pytest.raises(TooLongError, match=r"Text 2 has .* tokens, and this model reads at most 63") as caught:
        pipe.translate(["The cat.", "the " * 70, "the " * 80])
    assert caught.value.index == 1
    with pytest.raises(TooLongError, match="Text 1 has 100,001 tokens"):
        pipe.score(["x" * 100_000], ["y"])


def test_the_longest_text_that_fits(pipe: Translator) -> None:
    text = " ".join(["the"] * 63)
    assert len(pipe.encode([text])[0]) == 63
    assert len(pipe.translate([text], beam=1)) == 1
    assert len(pipe.score([text], [text])[0].logprobs) == 64
    with pytest.raises(TooLongError, match="Text 1 has 64 tokens"):
        pipe.encode([text + " the"])


def test_alignment_points_at_the_strongest_source_token(pipe: Translator) -> None:
    translation = pipe.translate(["The mouse ate the cheese."], align=True)[0]
    alignment = translation.alignment
    assert alignment is not None
    assert alignment.target == translation.tokens
    assert alignment.source == pipe.tokenizer.pieces(pipe.encode(["The mouse ate the cheese."])[0])
    assert alignment.matrix.shape == (len(alignment.target), len(alignment.source))
    view = pipe.attend("The mouse ate the cheese.")
    assert torch.allclose(alignment.matrix, view["cross", -1, "mean"][:-1, :-1])
    for source, target, weight in alignment.pairs:
        assert weight == pytest.approx(float(alignment.matrix[target].max()))
        assert source == int(alignment.matrix[target].argmax())
    assert [target for _, target, _ in alignment.pairs] == list(range(len(alignment.target)))
    assert all(0 <= source < 5 for source, _ in alignment.words)


def test_words_gather_the_weights_of_their_tokens() -> None:
    matrix = torch.tensor([[0.4, 0.3, 0.3], [0.1, 0.1, 0.8], [0.5, 0.2, 0.3]])
    words = gathered(matrix, [0, 1, 1], [0, 1, 1])
    assert torch.allclose(words, torch.tensor([[0.4, 0.6], [0.6, 1.4]]))
    assert [place for place, _ in strongest(words)] == [1, 1]
    assert strongest(gathered(torch.zeros(0, 3), [], [0, 1, 1])) == []


def test_tokens_know_their_word(pipe: Translator) -> None:
    text = "The mouse ate 12 cheeses."
    tokens = pipe.encode([text])[0]
    words = pipe.word_of(tokens)
    assert words == sorted(words)
    assert max(words) == len(text.split()) - 1
    for number, word in enumerate(text.split()):
        own = [token for token, place in zip(tokens, words, strict=True) if place == number]
        assert pipe.tokenizer.decode(own).strip() == word


def test_attend_writes_its_own_target(pipe: Translator) -> None:
    view = pipe.attend("The cat.")
    assert view.tokens["cross"][0] == [*pipe.translate(["The cat."])[0].tokens, "</s>"]


def test_batches_keep_every_row_within_the_budget() -> None:
    lengths = [1 + (7 * row) % 300 for row in range(500)]
    runs = batches(lengths)
    assert sorted(row for run in runs for row in run) == list(range(500))
    for run in runs:
        assert len(run) <= 64
        assert len(run) * max(lengths[row] for row in run) <= 2048 or len(run) == 1
    assert batches([5000]) == [[0]]
    assert batches([]) == []


def test_progress_tells_how_many_are_done(pipe: Translator) -> None:
    done: list[int] = []
    pipe.translate(["The cat."] * 70, beam=1, on_progress=done.append)
    assert done[-1] == 70
    assert done == sorted(done)


def test_load_a_folder(saved_folder: Path) -> None:
    pipe = load(saved_folder)
    assert pipe.card == "# A small model\n"
    assert pipe.recipe == "seed = 1\n"
    assert pipe.config.d_model == 32
    assert pipe.name == str(saved_folder)
    assert not pipe.model.training


def test_a_folder_that_holds_no_model_says_what_it_is(saved_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(saved_folder, tmp_path / "runs" / "mine")
    with pytest.raises(UsageError, match=rf'Did you mean "{tmp_path}/runs/mine"\?$'):
        load(tmp_path / "runs" / "mein")
    with pytest.raises(InputError, match=rf"lacks config\.json\. But in it are {tmp_path}/runs/mine\.$"):
        load(tmp_path / "runs")
    (tmp_path / "runs" / "mine" / "config.json").unlink()
    with pytest.raises(InputError, match="mine holds a training that is not finished, and no model yet"):
        load(tmp_path / "runs" / "mine")
    (tmp_path / "runs" / "mine" / "recipe.toml").unlink()
    with pytest.raises(InputError, match=r"mine is no model folder: it lacks config\.json\.$"):
        load(tmp_path / "runs" / "mine")


def test_an_unknown_precision_is_refused(saved_folder: Path) -> None:
    with pytest.raises(UsageError, match=r'^precision = "int4": one of float32, int8 is needed\.$'):
        load(saved_folder, precision="int4")  # pyright: ignore[reportArgumentType, reportCallIssue]  # mistaken


def test_load_a_shipped_model(saved_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "ZOO", saved_folder.parent)
    assert load("zoo:model").name == "zoo:model"
    with pytest.raises(
        UsageError, match=r'There is no shipped model "zoo:modl", but zoo:model\. Did you mean "zoo:model"'
    ):
        load("zoo:modl")
    with pytest.raises(
        UsageError, match=r'"model" is neither a folder nor a shipped model .* Did you mean "zoo:model"'
    ):
        load("model")
    with pytest.raises(UsageError, match="There is no shipped model"):
        load("zoo:../saved/model")


def test_a_file_is_no_folder(saved_folder: Path) -> None:
    with pytest.raises(InputError, match="is neither a model folder, with"):
        load(saved_folder / "config.json")


def test_public_names_are_there_and_the_import_is_light() -> None:
    for name in allyouneed.__all__:
        assert getattr(allyouneed, name) is not None
    assert allyouneed.__version__
    assert set(dir(allyouneed)) >= {"load", "build", "__version__"}
    with pytest.raises(AttributeError, match="lood"):
        _ = allyouneed.lood  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
    code = "import sys, allyouneed; sys.exit(bool({'torch', 'numpy', 'pydantic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_texts_are_drawn_and_streamed_too(pipe: Translator) -> None:
    texts = ["The cat.", "The mouse ate the cheese."]
    greedy = pipe.generate(texts, temperature=0.0, max_tokens=30)
    best = pipe.translate(texts, beam=1)
    assert [one.tokens[:20] for one in greedy] == [one.tokens[:20] for one in best]
    drawn = pipe.generate(texts, seed=2, temperature=2.0, max_tokens=20)
    assert [one.text for one in drawn] != [one.text for one in greedy]
    for number, text in enumerate(texts):
        stream = pipe.stream(text, seed=2, number=number, temperature=2.0, max_tokens=20)
        assert "".join(stream) == drawn[number].text
    [searched] = pipe.generate(texts[:1], beam=4, max_tokens=2 * len(pipe.encode(texts)[0]) + 20)
    assert searched.tokens == pipe.translate(texts[:1], beam=4)[0].tokens


class TestOtherMarks:
    """A decoder that begins with its end mark, and writes marks of its own around a text."""

    @pytest.fixture
    def other(self, model: Transformer, tokenizer: Tokenizer) -> Translator:
        twin = tokenizer.for_line("both")
        twin.marks = Marks(pad=0, bos=1, eos=2, unk=3, start=2, ends=(2,), prefix=(1,), suffix=(2,))
        return Translator(model, twin, name="other")

    def test_they_are_read_and_scored(self, other: Translator, model: Transformer) -> None:
        read, written = other.encode(["The cat.", "Le chat."])
        [score] = other.score(["The cat."], ["Le chat."])
        with torch.no_grad():
            logits = model(torch.tensor([[1, *read, 2]]), torch.tensor([[2, 1, *written]]))
        expected = logits.log_softmax(-1)[0].gather(1, torch.tensor([1, *written, 2])[:, None])[:, 0]
        assert score.logprobs == pytest.approx(expected.tolist(), abs=1e-4)
        assert score.tokens == ["<s>", *other.tokenizer.pieces(written), "</s>"]

    def test_they_stand_in_maps_and_not_in_alignments(self, other: Translator) -> None:
        source, target = (other.encode([text])[0] for text in ("The cat.", "Le chat."))
        view = other.attend("The cat.", "Le chat.")
        names = other.tokenizer.pieces(target)
        assert view.tokens["decoder"][0] == ["</s>", "<s>", *names]
        assert view.tokens["cross"][0] == ["<s>", *names, "</s>"]
        alignment = other.align(source, target)
        assert torch.equal(alignment.matrix, view["cross", -1, "mean"][1:-1, 1:-1])

    def test_there_is_room_for_the_mark_to_begin_with(self, other: Translator) -> None:
        text = " ".join(["the"] * 64)
        other.tokenizer.marks = Marks(start=2, ends=(2,))
        with pytest.raises(TooLongError, match="Text 1 has 64 tokens, and this model reads at most 63"):
            other.encode([text])

    def test_what_is_written_before_a_text_is_not_part_of_it(self, other: Translator) -> None:
        assert other.bare([1, 7, 8]) == [7, 8]
        assert other.bare([7, 8]) == [7, 8]
        assert other.forbidden == [0]
        other.tokenizer.marks = Marks(ends=(2,), suffix=(2,))
        with pytest.raises(InputError, match="no mark for its decoder to begin with"):
            other.translate(["The cat."])


class TestConstraints:
    """Phrases that a translation must hold."""

    def test_each_text_holds_its_own(self, pipe: Translator) -> None:
        wanted = [["dog slept"], [], ["the"], ["mouse", "on the mat"], ["the"], ["cheese.", "cat"]]
        found = pipe.translate(TEXTS, beam=8, constraints=wanted)
        free = pipe.translate(TEXTS, beam=8)
        for text, translation, phrases, usual in zip(TEXTS, found, wanted, free, strict=True):
            if not text.strip():
                assert translation.text == ""
                continue
            for phrase in phrases:
                assert re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", translation.text)
            assert phrases or translation.text == usual.text

    def test_they_are_spelt_as_behind_a_word_or_an_apostrophe(self, pipe: Translator) -> None:
        encode = pipe.tokenizer.encode
        behind_a_word, *cut_short = spellings(pipe.tokenizer, "dog slept")
        assert encode("the dog slept") == [*encode("the"), *behind_a_word]
        assert [*encode("the"), *cut_short[0]] == encode("the'dog slept")
        assert [*encode("the"), *spellings(pipe.tokenizer, ".")[0]] == encode("the.")
        assert spellings(pipe.tokenizer, " dog\n slept ") == spellings(pipe.tokenizer, "dog slept")

    def test_nothing_goes_on_with_the_word_of_a_phrase(self, pipe: Translator) -> None:
        tokens = inside_words(pipe.tokenizer)
        word = pipe.tokenizer.encode("a")
        texts = {token: pipe.tokenizer.decode([*word, token])[1:] for token in range(pipe.tokenizer.vocab_size)}
        assert all(texts[token][0].isalnum() or texts[token] == "\ufffd" for token in tokens)
        others = [text for token, text in texts.items() if token not in tokens]
        assert not any(re.match("[0-9A-Za-zÀ-ÿ]", text) for text in others)
        assert any(text.startswith(" ") for text in others)

    @pytest.mark.parametrize(
        ("constraints", "beam", "message"),
        [
            ([["cat"]], 4, "6 texts and constraints for 1: each text needs one list"),
            ([[], ["cat"], [], [], [], []], 1, "beam = 1: with constraints 2 to 64 is needed"),
            ([[], [], [], [], [], ["cat", " "]], 4, "A constraint is blank: it says nothing to hold"),
            ([[], ["cat " * 80], [], [], [], []], 4, "Text 2 must hold more than fits into this model's 64 positions"),
            ([[], "cat", [], [], [], []], 4, r"Texts come as a list: write \['cat'\]"),
        ],
    )
    def test_what_cannot_be_held(self, pipe: Translator, constraints: list[list[str]], beam: int, message: str) -> None:
        with pytest.raises(InputError, match=message):
            pipe.translate(TEXTS, beam=beam, constraints=constraints)
