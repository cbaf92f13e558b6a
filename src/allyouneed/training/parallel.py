"""Several processes, one training: `torchrun` starts them, each takes its share of an update's batches.

Gradients are sums over tokens, added up across ranks and divided by all real tokens of the update, so that the result
does not depend on how many ranks there were.
"""

import atexit
import os
from dataclasses import dataclass

import torch
from torch import distributed

from allyouneed.errors import UsageError


@dataclass(frozen=True)
class Ranks:
    """Who this process is among `world` processes."""

    rank: int = 0
    world: int = 1

    @classmethod
    def join(cls, batches_per_update: int) -> "Ranks":
        """Joins the other processes if `torchrun` started this one."""
        world = int(os.environ.get("WORLD_SIZE", "1"))
        if world == 1:
            return cls()
        if world > batches_per_update:
            raise UsageError(
                f"{world} processes share the batches of an update, and there are only {batches_per_update}: "
                f"set training.accumulate to {world} or a multiple of it."
            )
        if not distributed.is_initialized():
            distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
            atexit.register(distributed.destroy_process_group)  # its threads must end before the process does
        return cls(distributed.get_rank(), world)

    @property
    def device(self) -> torch.device:
        """Where this process computes: its own GPU where there is one."""
        if torch.cuda.is_available():
            return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        return torch.device("cpu")

    @property
    def first(self) -> bool:
        """The one that reports and writes."""
        return self.rank == 0

    def sum_gradients(self, parameters: list[torch.nn.Parameter]) -> None:
        """Adds the gradients of all ranks, in place, in one message. What no batch used, such as an expert without
        tokens, has the gradient 0 whether or not there are others to ask, so that it moves alike.
        """
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        if self.world == 1:
            return
        flat = torch.cat([parameter.grad.flatten() for parameter in parameters if parameter.grad is not None])
        distributed.all_reduce(flat)
        for parameter, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
            parameter.grad = part.view_as(parameter)

    def sum(self, *values: float) -> list[float]:
        """Each value added up over the ranks."""
        if self.world == 1:
            return list(values)
        totals = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(totals)
        return totals.tolist()

    def agree(self, value: bool) -> bool:
        """The first rank's answer, for all."""
        if self.world == 1:
            return value
        answer = torch.tensor([int(value)], device=self.device)
        distributed.broadcast(answer, 0)
        return bool(answer.item())

    def wait(self) -> None:
        """Until all have come this far."""
        if self.world > 1:
            distributed.barrier()
