"""The scan by the authors' extension: a stand-in with its interface shows that it is called rightly, and only where it
can do what is asked.
"""

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
import torch
from torch import Tensor

from allyouneed.parts import fused_scan, scan
from allyouneed.parts.scan import Selection, naive_selective_scan, selective_scan

CALLS: list[tuple[int, ...]] = []


def stand_in(
    u: Tensor, delta: Tensor, a: Tensor, b: Tensor, c: Tensor, *, return_last_state: bool
) -> tuple[Tensor, Tensor]:
    """The extension's arguments in its order: [B, F, T] twice, [F, N], and [B, N, T] twice."""
    assert return_last_state
    CALLS.append(tuple(u.shape))
    state = u.new_zeros(*u.shape[:2], a.shape[1])
    outputs: list[Tensor] = []
    for t in range(u.shape[2]):
        state = (delta[:, :, t, None] * a).exp() * state + (delta * u)[:, :, t, None] * b[:, None, :, t]
        outputs.append((state * c[:, None, :, t]).sum(-1))
    return torch.stack(outputs, 2), state


def there(inputs: Tensor) -> bool:
    return fused_scan.extension() is not None


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The extension is there, and this processor counts as a GPU."""
    for name in ("mamba_ssm", "mamba_ssm.ops"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    module = ModuleType("mamba_ssm.ops.selective_scan_interface")
    vars(module)["selective_scan_fn"] = stand_in
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(scan, "suits", there)
    fused_scan.extension.cache_clear()
    CALLS.clear()
    yield
    fused_scan.extension.cache_clear()


def drawn() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 9, 5), (2, 9, 5), (3, 5), (2, 9, 3), (2, 9, 3))
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    tensors[1], tensors[2] = tensors[1].exp(), -tensors[2].exp()
    return [tensor.requires_grad_() for tensor in tensors]


@pytest.mark.usefixtures("installed")
def test_it_is_the_recurrence_with_all_gradients() -> None:
    tensors = drawn()
    results: list[list[Tensor]] = []
    for function in (selective_scan, naive_selective_scan):
        outputs, state = function(tensors[0], Selection(*tensors[1:]))
        results.append([outputs, state, *torch.autograd.grad(outputs.square().sum(), tensors)])
    assert CALLS == [(2, 5, 9)]
    for fused, naive in zip(*results, strict=True):
        torch.testing.assert_close(fused, naive)


@pytest.mark.usefixtures("installed")
def test_a_gradient_of_the_last_state_is_no_silent_nothing() -> None:
    tensors = drawn()
    _, state = selective_scan(tensors[0], Selection(*tensors[1:]))
    with pytest.raises(RuntimeError, match="knows no gradient of the last state"):
        state.sum().backward()


@pytest.mark.usefixtures("installed")
def test_what_it_cannot_do_is_done_without_it() -> None:
    tensors = drawn()
    begins = torch.zeros(2, 9, dtype=torch.bool)
    selection = Selection(*tensors[1:])
    selective_scan(tensors[0], selection, begins=begins)
    selective_scan(tensors[0], selection, torch.zeros(2, 3, 5, dtype=torch.float64))
    selective_scan(tensors[0][:, :1], Selection(*(x if x.dim() == 2 else x[:, :1] for x in selection)))
    assert not CALLS


def test_without_it_nothing_changes() -> None:
    fused_scan.extension.cache_clear()
    assert fused_scan.extension() is None
    assert not fused_scan.suits(torch.zeros(1))
