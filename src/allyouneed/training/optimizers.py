"""How gradients become steps."""

from typing import TYPE_CHECKING, Literal

import torch
from torch import nn

if TYPE_CHECKING:
    from allyouneed.training.recipe import Training

Optimizer = Literal["adam", "sgd", "adadelta", "rmsprop"]


def make_optimizer(settings: "Training", model: nn.Module) -> torch.optim.Optimizer:
    """The optimiser that a recipe names. Weight decay is for matrices alone, and not for those that the model spares:
    its `undecayed` are the last parts of their names.

    Adam with weight decay apart (Loshchilov 2019), Adadelta (Zeiler 2012), RMSprop with centred squares (Graves 2013,
    equations 38 to 41), or plain gradients with or without momentum.
    """
    spared = getattr(model, "undecayed", ())
    named = {True: list[nn.Parameter](), False: list[nn.Parameter]()}
    for name, parameter in model.named_parameters():
        named[parameter.dim() > 1 and name.split(".")[-1] not in spared].append(parameter)
    groups = [
        {"params": named[True], "weight_decay": settings.weight_decay},
        {"params": named[False], "weight_decay": 0.0},
    ]
    rate, epsilon, decay, momentum = settings.peak_rate, settings.epsilon, settings.decay, settings.momentum
    match settings.optimizer:
        case "adam":
            return torch.optim.AdamW(groups, lr=rate, betas=settings.betas, eps=epsilon, fused=True)
        case "sgd":
            return torch.optim.SGD(groups, lr=rate, momentum=momentum)
        case "adadelta":
            return torch.optim.Adadelta(groups, lr=rate, rho=decay, eps=epsilon)
        case "rmsprop":
            return torch.optim.RMSprop(groups, lr=rate, alpha=decay, eps=epsilon, momentum=momentum, centered=True)
