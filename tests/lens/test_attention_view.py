import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from allyouneed.errors import InputError, UsageError
from allyouneed.lens.attention import Attention, recording
from allyouneed.lens.pictures import NAMED, image
from allyouneed.models.transformer import Transformer
from allyouneed.parts.attention import MultiHeadAttention
from allyouneed.pipeline import Translator
from allyouneed.text.tokenizer import Tokenizer

SOURCE, TARGET = "The mouse ate the cheese.", "La souris a mangé."


@pytest.fixture(scope="module")
def pipe(model: Transformer, tokenizer: Tokenizer) -> Translator:
    return Translator(model, tokenizer, name="small")


@pytest.fixture(scope="module")
def view(pipe: Translator) -> Attention:
    return pipe.attend(SOURCE, TARGET)


def outputs(pipe: Translator) -> Tensor:
    source = torch.tensor([[*pipe.encode([SOURCE])[0], 2]])
    target = torch.tensor([[1, *pipe.encode([TARGET])[0]]])
    with torch.no_grad():
        return pipe.model(source, target)


def test_looking_changes_no_bit_of_the_output(pipe: Translator) -> None:
    before = outputs(pipe)
    with recording(pipe.model) as lookups:
        during = outputs(pipe)
        lookups["cross"][0].weights(1)
    assert torch.equal(before, during)
    assert torch.equal(before, outputs(pipe))
    assert all(not module._forward_pre_hooks for module in pipe.model.modules())  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("side", ["encoder", "decoder", "cross"])
def test_every_row_adds_to_one(view: Attention, side: str) -> None:
    weights = view.all(side)
    assert weights.shape[:2] == (2, 4)
    assert bool((weights >= 0).all())
    assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert torch.allclose(view[side, 0, "mean"].sum(-1), torch.ones(weights.shape[2]))


def test_one_head_is_that_head_of_all(view: Attention) -> None:
    for side in view.sides:
        for layer in range(2):
            for head in range(4):
                assert torch.allclose(view[side, layer, head], view.all(side)[layer, head], atol=1e-6), (
                    side,
                    layer,
                    head,
                )
            assert torch.allclose(view[side, layer, "mean"], view.all(side)[layer].mean(0))


def test_the_weights_are_those_that_the_model_used(pipe: Translator) -> None:
    """The weights times the values, through the output layer, are what the attention gave."""
    given: list[Any] = []
    attention = pipe.model.get_submodule("decoder.1.cross_attention")
    assert isinstance(attention, MultiHeadAttention)

    def keep(_: nn.Module, inputs: Any, output: Any) -> None:
        given.append((inputs, output))

    hook = attention.register_forward_hook(keep)
    view = pipe.attend(SOURCE, TARGET)
    hook.remove()
    (_, _, values, *_), output = given[0]
    mixed = view.lookups["cross"][1].weights() @ values[0].repeat_interleave(2, dim=0)
    assert torch.allclose(attention.output(mixed.transpose(0, 1).flatten(1)), output[0], atol=1e-5)


def test_the_decoder_never_looks_ahead(view: Attention) -> None:
    weights = view.all("decoder")
    assert torch.equal(weights, weights.tril())


def test_rows_and_columns_have_their_tokens(view: Attention, pipe: Translator) -> None:
    source, target = (pipe.tokenizer.pieces(pipe.encode([text])[0]) for text in (SOURCE, TARGET))
    assert view.tokens["encoder"] == ([*source, "</s>"], [*source, "</s>"])
    assert view.tokens["decoder"] == (["<s>", *target], ["<s>", *target])
    assert view.tokens["cross"] == ([*target, "</s>"], [*source, "</s>"])
    for side in view.sides:
        assert view[side, -1, "mean"].shape == tuple(map(len, view.tokens[side]))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("cross", 'A map goes by its side, layer and head, as ."cross", 0, "mean".'),
        (("cross", 0), 'A map goes by its side, layer and head, as ."cross", 0, "mean".'),
        (("crosss", 0, 0), 'There is no side "crosss", but encoder, decoder, cross. Did you mean "cross"?'),
        (("cross", 2, 0), "There is no cross layer 2: layers go from 0 to 1, or from -2 to -1"),
        (("cross", 0, 4), 'There is no cross head 4: heads go from 0 to 3, or "mean"'),
        (("cross", 0, -1), "There is no cross head -1"),
        (("cross", 0, "men"), 'There is no cross head men: heads go from 0 to 3, or "mean"'),
        (("cross", 0.5, 0), r"^layer = 0\.5: a whole number is needed\.$"),
    ],
)
def test_what_is_not_there(view: Attention, key: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        view[key]


def test_pictures(view: Attention, tmp_path: Path) -> None:
    view.save(tmp_path / "map.png", side="encoder", layer=0, head=2)
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG\r\n")
    view.save(tmp_path / "map.svg")
    drawn = (tmp_path / "map.svg").read_text("utf-8")
    assert "cross, layer 1, mean of the heads" in drawn
    assert ">&lt;/s&gt;<" in drawn
    view.save(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text("utf-8") == drawn


def test_a_picture_of_a_long_text_grows_no_further() -> None:
    sizes: list[tuple[str, ...]] = []
    for count in (NAMED + 1, 3 * NAMED):
        names = [f"token{number}" for number in range(count)]
        drawn = image(np.eye(3, count, dtype=np.float32), ["a", "b", "c"], names, title="map", suffix=".svg").decode()
        sizes.append(re.findall(r'width="([^"]+)" height="([^"]+)"', drawn)[0])
        assert "token" not in drawn
        assert ">b<" in drawn
    assert sizes[0] == sizes[1]


def test_numbers(view: Attention, tmp_path: Path) -> None:
    view.save(tmp_path / "map.json")
    maps = json.loads((tmp_path / "map.json").read_text("utf-8"))
    assert maps == view.to_dict()
    view.save(tmp_path / "map.npz")
    with np.load(tmp_path / "map.npz", allow_pickle=False) as arrays:
        for side in view.sides:
            assert np.allclose(arrays[side], view.all(side).numpy())
            assert np.allclose(np.array(maps[side]["weights"]), arrays[side], atol=1e-6)
            assert arrays[f"{side}_rows"].tolist() == maps[side]["rows"] == view.tokens[side][0]
            assert arrays[f"{side}_columns"].tolist() == maps[side]["columns"]


def test_the_page_stands_alone_and_no_token_ends_its_script(view: Attention, tmp_path: Path) -> None:
    names = ["</script><b>&", *view.tokens["encoder"][0][1:]]
    named = Attention(view.lookups, {**view.tokens, "encoder": (names, names)})
    named.save(tmp_path / "map.html", side="encoder", layer=0, head=2)
    page = (tmp_path / "map.html").read_text("utf-8")
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert "src=" not in page
    assert page.count("</script>") == 2
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert data["state"]["inputs"] == {"side": "encoder", "layer": 0, "head": 2}
    assert [token["text"] for token in data["state"]["result"]["rows"]] == names
    assert len(data["baked"]["answers"]) == 3 * 2 * (4 + 1)
    for answer in data["baked"]["answers"].values():
        at = answer["inputs"]
        wanted = view[at["side"], at["layer"], "mean" if at["head"] < 0 else at["head"]]
        assert np.allclose(np.array(answer["cells"]), wanted.numpy(), atol=1e-5)


def test_the_darkest_shade_is_the_largest_weight() -> None:
    from allyouneed.lens import pictures

    assert pictures.text([[0.02, 0.04]], ["a"], ["b", "c"]).split("\n")[1:] == ["a ▒▒██", "  ██ is 0.04"]


def test_a_notebook_frames_the_page(view: Attention) -> None:
    assert view._repr_html_().startswith("<iframe srcdoc=")  # pyright: ignore[reportPrivateUsage]


def test_show_prints_outside_a_notebook(view: Attention, capsys: pytest.CaptureFixture[str]) -> None:
    view.show()
    view.show(side="encoder", layer=0, head=1)
    assert capsys.readouterr().out == view.text() + "\n" + view.text("encoder", 0, 1) + "\n"


def test_the_map_in_characters() -> None:
    from allyouneed.lens import pictures

    drawn = pictures.text([[1.0, 0.0, 0.2], [0.4, 0.6, 0.0]], ["a", "나다"], ["to", "가", "x"])
    assert drawn.split("\n") == [
        "     t",
        "     o 가x",
        "   a ██  ··",
        "나다 ░░▒▒",
        "     ██ is 1.00",
    ]


@pytest.mark.parametrize("name", ["map.gif", "map"])
def test_an_unknown_format_names_the_known_ones(view: Attention, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"one of \.png, \.svg, \.html, \.json and \.npz"):
        view.save(tmp_path / name)


def test_a_place_that_cannot_be_written(view: Attention, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Cannot write .*map\.json: No such file or directory"):
        view.save(tmp_path / "nowhere" / "map.json")
    (tmp_path / "map.json").mkdir()
    with pytest.raises(InputError, match="Cannot write"):
        view.save(tmp_path / "map.json")
    assert [path.name for path in tmp_path.iterdir()] == ["map.json"]


def test_repr_says_what_there_is(view: Attention) -> None:
    assert repr(view).startswith("Attention(encoder 2 × 4 of ")
