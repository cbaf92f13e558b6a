"""The selective scan against its recurrence, token by token: values, all gradients, and what it keeps."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from allyouneed.parts import scan
from allyouneed.parts.scan import (
    Selection,
    accumulate_by_doubling,
    causal_convolution,
    naive_selective_scan,
    selective_scan,
)


def random_scan(batch: int, length: int, channels: int, width: int, seed: int) -> tuple[list[Tensor], Tensor]:
    """inputs, steps, rates, write, read and a state, all with gradients; and where texts begin."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    tensors = [
        draw(batch, length, channels),
        draw(batch, length, channels).exp(),
        -draw(width, channels).exp(),
        draw(batch, length, width),
        draw(batch, length, width),
        draw(batch, width, channels),
    ]
    begins = torch.rand(batch, length, generator=generator) > 0.7
    return [x.requires_grad_() for x in tensors], begins


@settings(deadline=None, max_examples=50)
@given(
    batch=st.integers(1, 3),
    length=st.integers(1, 23),
    channels=st.integers(1, 4),
    width=st.integers(1, 3),
    chunk=st.integers(1, 9),
    packed=st.booleans(),
    by_doubling=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_scan_is_the_recurrence_with_all_gradients(
    batch: int, length: int, channels: int, width: int, chunk: int, packed: bool, by_doubling: bool, seed: int
) -> None:
    tensors, begins = random_scan(batch, length, channels, width, seed)
    inputs, steps, rates, write, read, state = tensors
    results: list[list[Tensor]] = []
    for function in (selective_scan, naive_selective_scan):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scan, "SHORTEST", chunk)
            patch.setattr(scan, "LONGEST", chunk)
            if by_doubling:
                patch.setattr(scan, "_accumulate", accumulate_by_doubling)
            out, last = function(inputs, Selection(steps, rates, write, read), state, begins if packed else None)
            upstream = [x.cos() for x in (out.detach(), last.detach())]
            results.append([out, last, *torch.autograd.grad([out, last], tensors, upstream)])
    for fast, naive in zip(*results, strict=True):
        torch.testing.assert_close(fast, naive, atol=1e-9, rtol=1e-9)


def test_two_tokens_by_hand() -> None:
    one = torch.ones(1, 2, 1)
    out, state = selective_scan(one * 3, Selection(one * 2, torch.tensor([[-0.5]]), one * 5, one * 7))
    first = 2 * 5 * 3
    second = first * torch.tensor(-1.0).exp() + 2 * 5 * 3
    torch.testing.assert_close(out.flatten(), torch.stack([torch.tensor(7.0 * first), 7 * second]))
    torch.testing.assert_close(state.flatten(), second[None])


def test_a_text_in_parts_is_the_whole_text() -> None:
    (inputs, steps, rates, write, read, _), _ = random_scan(2, 90, 4, 3, 0)
    whole, last = selective_scan(inputs, Selection(steps, rates, write, read))
    state, parts = None, list[Tensor]()
    for part in (slice(0, 1), slice(1, 50), slice(50, 90)):
        chosen = Selection(steps[:, part], rates, write[:, part], read[:, part])
        out, state = selective_scan(inputs[:, part], chosen, state)
        parts.append(out)
    torch.testing.assert_close(torch.cat(parts, 1), whole)
    assert state is not None
    torch.testing.assert_close(state, last)


def test_a_later_token_moves_no_earlier_output() -> None:
    (inputs, steps, rates, write, read, _), _ = random_scan(1, 80, 4, 3, 0)
    before, _ = selective_scan(inputs, Selection(steps, rates, write, read))
    with torch.no_grad():
        inputs[:, 40] += 10
    after, _ = selective_scan(inputs, Selection(steps, rates, write, read))
    assert torch.equal(before[:, :40], after[:, :40])
    assert not torch.equal(before[:, 40], after[:, 40])


def test_half_width_numbers_are_scanned_in_full_width() -> None:
    (inputs, steps, rates, write, read, _), _ = random_scan(2, 40, 4, 3, 0)
    halves = [x.detach().bfloat16().requires_grad_() for x in (inputs, steps, write, read)]
    rates = rates.detach().float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, last = selective_scan(halves[0], Selection(halves[1], rates, *halves[2:]))
    out.sum().backward()
    whole = [x.detach().float().requires_grad_() for x in halves]
    expected, state = naive_selective_scan(whole[0], Selection(whole[1], rates, *whole[2:]))
    expected.sum().backward()
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(last, state)
    for half, full in zip(halves, whole, strict=True):
        assert half.grad is not None
        assert full.grad is not None
        torch.testing.assert_close(half.grad.float(), full.grad, rtol=0.01, atol=1e-3)


def test_only_the_states_between_chunks_are_kept() -> None:
    kept = 0

    def weigh(tensor: Tensor) -> Tensor:
        nonlocal kept
        kept += tensor.numel()
        return tensor

    length, channels, width = 512, 4, 16
    (inputs, steps, rates, write, read, state), _ = random_scan(1, length, channels, width, 0)
    with torch.autograd.graph.saved_tensors_hooks(weigh, lambda x: x):
        selective_scan(inputs, Selection(steps, rates, write, read), state)[0].sum().backward()
    chunks = length // scan.LONGEST
    assert kept == sum(x.numel() for x in (inputs, steps, rates, write, read)) + chunks * state.numel()


@pytest.mark.parametrize("bias", [True, False])
def test_convolution_is_torchs(bias: bool) -> None:
    torch.manual_seed(0)
    x, weight, shift = torch.randn(2, 9, 3), torch.randn(3, 4), torch.randn(3) if bias else None
    expected = torch.nn.functional.conv1d(x.transpose(1, 2), weight[:, None], shift, padding=3, groups=3)[:, :, :9]
    window = torch.cat((torch.zeros(2, 3, 3), x), 1)
    torch.testing.assert_close(causal_convolution(window, weight, shift), expected.transpose(1, 2))


def test_convolution_stays_within_its_text() -> None:
    torch.manual_seed(0)
    window, weight = torch.randn(1, 3 + 7, 2), torch.randn(2, 4)
    positions = torch.tensor([[0, 1, 2, 0, 1, 0, 1]])
    found = causal_convolution(window, weight, None, positions)
    for start, stop in ((0, 3), (3, 5), (5, 7)):
        alone = torch.cat((torch.zeros(1, 3, 2), window[:, 3 + start : 3 + stop]), 1)
        torch.testing.assert_close(found[:, start:stop], causal_convolution(alone, weight, None))
