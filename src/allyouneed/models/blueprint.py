"""A model's shapes without its weights."""

from typing import Any, overload

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from allyouneed.models.architectures import assemble
from allyouneed.models.transformer import Transformer, TransformerConfig


class EmptyParameters(TorchFunctionMode):
    """Within it a module is built without room for its weights, and without drawing them: a file's take their place, or
    they are only counted.

    Buffers are as always, and no random state moves.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init" or func in (Tensor.uniform_, Tensor.normal_):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **({**kwargs, "device": "meta"} if func is torch.empty else kwargs))


@overload
def blueprint(config: TransformerConfig) -> Transformer: ...
@overload
def blueprint(config: Any) -> nn.Module: ...
def blueprint(config: Any) -> nn.Module:
    """A model whose weights have names and shapes, and no memory."""
    with EmptyParameters():
        return assemble(config)
