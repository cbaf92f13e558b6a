"""A layer without one of its boxes: what a model loses says what the box was good for."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from allyouneed.parts.block import Residual


@contextmanager
def hooked(handle: Any) -> Generator[None]:
    """A hook that is taken away at the end."""
    try:
        yield
    finally:
        handle.remove()


def nothing(module: nn.Module, given: tuple[Any, ...], made: Tensor) -> Tensor:
    """A sub-layer that adds nothing."""
    return torch.zeros_like(made)


def unchanged(module: nn.Module, given: tuple[Tensor, ...], made: Tensor) -> Tensor:
    """A norm that leaves what comes in."""
    return given[0]


@contextmanager
def without_way_around(residual: Residual) -> Generator[None]:
    """While it is open, the sum has only what the sub-layer made: x + f(x) is f(x)."""
    entering: list[Tensor] = []

    def note(module: nn.Module, given: tuple[Any, ...]) -> None:
        entering[:] = [given[0]]

    def before_norm(module: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (given[0] - entering[0], *given[1:])

    def after_sum(module: nn.Module, given: tuple[Any, ...], made: Tensor) -> Tensor:
        return made - given[0]

    with ExitStack() as stack:
        if residual.placement == "pre":
            stack.enter_context(hooked(residual.register_forward_hook(after_sum)))
        else:
            stack.enter_context(hooked(residual.register_forward_pre_hook(note)))
            stack.enter_context(hooked(residual.norm.register_forward_pre_hook(before_norm)))
        yield


def without_box(kind: str, module: nn.Module) -> Any:
    """The context in which a box does nothing: `module` is the sub-layer, the norm, or of a sum the residual block."""
    if isinstance(module, Residual):
        return without_way_around(module)
    return hooked(module.register_forward_hook(unchanged if kind == "norm" else nothing))
