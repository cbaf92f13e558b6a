"""Mamba: read at once, in parts or by the token, padded, packed or searched, it is one function: the published one."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from parity import close, loaded, padded, randomised, texts
from torch import Tensor
from torch.nn.functional import softplus
from transformers import AutoModelForCausalLM, MambaForCausalLM
from transformers import MambaConfig as TheirConfig

from allyouneed.checkpoints.huggingface import load_transformer, save_huggingface
from allyouneed.checkpoints.huggingface.mamba import MAMBA
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.decoding.search import beam_search
from allyouneed.models.mamba import Mamba, MambaConfig
from allyouneed.models.presets import PRESETS, configure
from allyouneed.parts.masks import causal, documents
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.training.optimizers import make_optimizer
from allyouneed.training.recipe import Training

SMALL = MambaConfig(vocab_size=60, d_model=24, n_layers=3, d_state=5, dt_rank=3)


def same(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def model() -> Mamba:
    """Random weights that all matter. No test may change it."""
    torch.manual_seed(0)
    model = Mamba(replace(SMALL, bias=True)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.endswith(("rates_log", "step.bias")):
                parameter.normal_(std=0.4)
    return model


@pytest.fixture(scope="module")
def tokens() -> Tensor:
    return torch.randint(1, 60, (3, 41), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_steps_are_the_scan(model: Mamba, tokens: Tensor) -> None:
    whole = model(tokens)
    state = model.start(sentences=3)
    for t in range(tokens.shape[1]):
        logits, state = model.step(tokens[:, t], state)
        same(logits, whole[:, t])


@torch.no_grad()
def test_read_in_parts_and_then_step(model: Mamba, tokens: Tensor) -> None:
    whole = model(tokens)
    state = model.start(sentences=3)
    size = state.bytes
    for part in (slice(0, 2), slice(2, 30), slice(30, 40)):
        logits, state = model.read(tokens[:, part], state)
        same(logits, whole[:, part.stop - 1])
    logits, state = model.step(tokens[:, 40], state)
    same(logits, whole[:, 40])
    assert state.bytes == size == 3 * 3 * (5 + 3) * 48 * 4


@torch.no_grad()
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(model: Mamba, tokens: Tensor, side: str) -> None:
    lengths = [41, 17, 1]
    batch, keep = torch.zeros_like(tokens), torch.zeros_like(tokens, dtype=torch.bool)
    for row, length in enumerate(lengths):
        place = slice(0, length) if side == "right" else slice(41 - length, 41)
        batch[row, place], keep[row, place] = tokens[row, :length], True
    logits = model(batch, keep=keep)
    last, state = model.read(batch, model.start(sentences=3), keep)
    after, _ = model.step(tokens[:, 40], state)
    for row, length in enumerate(lengths):
        alone = model(torch.cat((tokens[row : row + 1, :length], tokens[row : row + 1, 40:]), 1))[0]
        same(logits[row][keep[row]], alone[:-1])
        same(last[row], alone[-2])
        same(after[row], alone[-1])


def test_packed_texts_do_not_see_each_other(model: Mamba, tokens: Tensor) -> None:
    numbers = torch.tensor([[0] * 10 + [1] * 2 + [2] * 29] * 3)
    positions = torch.cat([torch.arange(length) for length in (10, 2, 29)]).expand(3, -1)
    packed = model.decode(tokens, mask=causal() & documents(numbers), positions=positions)
    for part in (slice(0, 10), slice(10, 12), slice(12, 41)):
        same(packed[:, part], model.decode(tokens[:, part]))
    with pytest.raises(ValueError, match='sees all that was before, and cannot obey the mask "causal & documents"'):
        model.decode(tokens, mask=causal() & documents(numbers))


@torch.no_grad()
def test_rows_can_branch_and_leave(model: Mamba, tokens: Tensor) -> None:
    _, state = model.read(tokens[:, :5], model.start(sentences=3))
    assert state.rows == 3
    rows = torch.tensor([2, 0, 0])
    logits, state = model.step(tokens[:, 5], state.select(rows))
    expected = model(torch.cat((tokens[rows, :5], tokens[:, 5:6]), 1))[:, -1]
    same(logits, expected)


@torch.no_grad()
def test_the_search_is_the_same_with_one_beam(model: Mamba, tokens: Tensor) -> None:
    logits, state = model.read(tokens[:1, :5], model.start())
    greedy = tokens[:1, :5].tolist()[0]
    for _ in range(6):
        greedy.append(1 + int(model(torch.tensor([greedy]))[0, -1, 1:].argmax()))
    ((found,),) = beam_search(state, model.step, bos=logits, eos=0, beam=1, max_tokens=6, forbidden=(0,))
    assert found.tokens == greedy[5:]


def test_gradients_reach_every_weight(tokens: Tensor) -> None:
    torch.manual_seed(0)
    model = Mamba(replace(SMALL, bias=True))
    model.logits(model.decode(tokens)).logsumexp(-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert float(parameter.grad.abs().max()) > 0, name


def test_weight_decay_spares_the_rates() -> None:
    model = Mamba(SMALL)
    names = {parameter: name for name, parameter in model.named_parameters()}
    decayed, spared = make_optimizer(Training(weight_decay=0.1), model).param_groups
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.1, 0.0)
    kinds = [{names[parameter].split(".", 2)[-1] for parameter in group["params"]} for group in (decayed, spared)]
    assert "mixer.rates_log" in kinds[1]
    assert "mixer.step.bias" in kinds[1]
    assert {"mixer.convolution", "mixer.input.weight"} <= kinds[0]
    assert "mixer.rates_log" not in kinds[0]


def test_half_width_products_leave_states_and_steps_in_full_width(tokens: Tensor) -> None:
    torch.manual_seed(0)
    model = Mamba(SMALL)
    steps: list[Tensor] = []

    def watched(x: Tensor) -> Tensor:
        steps.append(x)
        return softplus(x)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("allyouneed.models.mamba.softplus", watched)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits, state = model.read(tokens, model.start(sentences=3))
            loss = model.decode(tokens).float().square().mean()
    loss.backward()
    assert logits.dtype == torch.bfloat16
    assert {part.dtype for layer in state.layers for part in layer} == {torch.float32}
    assert {x.dtype for x in steps} == {torch.float32}
    found = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    model.zero_grad()
    model.decode(tokens).square().mean().backward()
    exact = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    assert float((found - exact).norm() / exact.norm()) < 0.03


def test_first_steps_are_those_of_the_paper() -> None:
    torch.manual_seed(0)
    mixer = Mamba(SMALL)._layers()[1].mixer  # pyright: ignore[reportPrivateUsage]
    first = softplus(mixer.step.bias)
    assert 0.001 <= first.min().item() < 0.005 < 0.03 < first.max().item() <= 0.1001
    torch.testing.assert_close(mixer.rates_log.exp()[:, 7], torch.arange(1.0, 6))


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.config is MambaConfig])
def test_presets_have_the_shape_of_another_implementation(name: str) -> None:
    config: Any = configure(name)
    sizes = {"vocab_size": config.vocab_size, "hidden_size": config.d_model, "num_hidden_layers": config.n_layers}
    with torch.device("meta"):
        ours, theirs = Mamba(config), MambaForCausalLM(TheirConfig(**sizes, state_size=config.d_state))
    counts = [sum(parameter.numel() for parameter in model.parameters()) for model in (ours, theirs)]
    assert counts[0] == counts[1] == (PRESETS[name].published or counts[0])


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="d_state = 0: at least 1 is needed"):
        MambaConfig(d_state=0)
    with pytest.raises(ValueError, match="dt_rank = 0: at least 1 is needed"):
        MambaConfig(dt_rank=0)


def their_model(**fields: Any) -> Any:
    """A tiny random model of the independent library."""
    sizes: dict[str, Any] = {
        "vocab_size": 60,
        "hidden_size": 24,
        "num_hidden_layers": 3,
        "state_size": 5,
        "time_step_rank": 3,
    }
    return randomised(MambaForCausalLM(TheirConfig(**{**sizes, **fields})))


@torch.no_grad()
@pytest.mark.parametrize(
    "fields",
    [{}, {"use_bias": True, "use_conv_bias": False, "tie_word_embeddings": False, "conv_kernel": 3, "expand": 3}],
)
def test_theirs_computes_our_function(fields: dict[str, Any], tmp_path: Path) -> None:
    theirs = their_model(**fields)
    ours = cast(Mamba, loaded(theirs, tmp_path / "theirs"))
    rows = texts(60, (9, 5, 2))
    for row in rows:
        close(ours(torch.tensor([row])), theirs(torch.tensor([row])).logits)
    batch, keep = padded(rows, "right")
    close(ours(batch, keep=keep)[keep], theirs(batch).logits[keep])
    # Token by token, each with its own cache.
    state, cache = ours.start(), None
    for token in rows[0]:
        answer = theirs(torch.tensor([[token]]), cache=cache, use_cache=True)
        cache = answer.cache
        logits, state = ours.step(torch.tensor([token]), state)
        close(logits, answer.logits[:, -1])


@torch.no_grad()
def test_ours_in_their_library(tokenizer: Tokenizer, tokens: Tensor, tmp_path: Path) -> None:
    torch.manual_seed(0)
    ours = randomised(Mamba(replace(SMALL, vocab_size=tokenizer.vocab_size)))
    save_huggingface(tmp_path / "ours", ours, tokenizer)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "ours")
    assert isinstance(theirs, MambaForCausalLM)
    close(ours(tokens), theirs(tokens).logits)
    back = cast(Any, load_transformer(tmp_path / "ours"))
    assert back.config == ours.config
    assert torch.equal(back(tokens), ours(tokens))


def test_what_is_not_ours_is_refused() -> None:
    with pytest.raises(Refused, match=r"hidden_act is 'relu'.*state_size is 'a', not of type int"):
        MAMBA.config({"hidden_size": 8, "num_hidden_layers": 1, "hidden_act": "relu", "state_size": "a"})
    with pytest.raises(Refused, match="num_hidden_layers is missing"):
        MAMBA.config({"hidden_size": 8})
    with pytest.raises(Refused, match="d_state = 0: at least 1 is needed"):
        MAMBA.config({"hidden_size": 8, "num_hidden_layers": 1, "state_size": 0})
