"""Everything that a training needs to go on, bit for bit, from where it was stopped.

There is no random state to keep: each update is seeded by its number. A checkpoint is written to a temporary folder,
synced, and takes its place by a rename, so a folder that bears a checkpoint's name is whole.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.errors import InputError
from allyouneed.training.average import RunningAverage
from allyouneed.training.recipe import Training


@dataclass
class Progress:
    """The numbers of a run so far."""

    update: int = 0
    epoch: int = 0
    position: int = 0  # batches of the epoch already taken
    batches: int = 0  # of the epoch in all; 0 before the first one is taken
    seconds: float = 0.0
    tokens: int = 0
    best_loss: float = float("inf")
    best_update: int = 0
    worse: int = 0  # validations since the best one
    finished: bool = False
    validated: list[int] = field(default_factory=list)

    def over(self, settings: Training) -> bool:
        """Has the run made its updates, or run out of patience?"""
        return self.update >= settings.updates or (settings.patience is not None and self.worse >= settings.patience)


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    *,
    optimizer: torch.optim.Optimizer,
    average: RunningAverage | None,
    progress: Progress,
) -> None:
    """Writes `folder/update-N` whole or not at all, then removes older ones."""
    tensors = {f"model.{name}": parameter.detach() for name, parameter in model.named_parameters()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state[parameter].items():
            if value is not None:  # a momentum of 0 remembers nothing
                tensors[f"optimizer.{key}.{name}"] = value
    if average is not None:
        tensors |= {f"average.{name}": weights for name, weights in average.weights.items()}
    folder.mkdir(parents=True, exist_ok=True)
    with staged_folder(folder / f"update-{progress.update:08d}") as staging:
        save_file(tensors, staging / "state.safetensors")
        (staging / "progress.json").write_text(json.dumps(asdict(progress)), "utf-8")
    for old in checkpoints(folder)[:-1]:
        shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(
    folder: Path, model: nn.Module, *, optimizer: torch.optim.Optimizer, average: RunningAverage | None
) -> Progress | None:
    """Takes up the newest checkpoint, or None where there is none."""
    there = checkpoints(folder)
    if not there:
        return None
    path = there[-1] / "state.safetensors"
    parameters = dict(model.named_parameters())
    try:
        with safe_open(path, "pt") as file:
            tensors: Mapping[str, Tensor] = {name: file.get_tensor(name) for name in list(file.keys())}
        states: dict[str, dict[str, Tensor]] = {name: {} for name in parameters}
        for place, value in tensors.items():
            if place.startswith("optimizer."):
                _, key, name = place.split(".", 2)
                states[name][key] = value.clone()
        names = {parameter: name for name, parameter in parameters.items()}
        groups = optimizer.state_dict()["param_groups"]  # which number the parameters, group after group
        ordered = [states[names[parameter]] for group in optimizer.param_groups for parameter in group["params"]]
        optimizer.load_state_dict({"state": dict(enumerate(ordered)), "param_groups": groups})
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(tensors[f"model.{name}"])
            for name, weights in ({} if average is None else average.weights).items():
                weights.copy_(tensors[f"average.{name}"])
        return Progress(**json.loads((there[-1] / "progress.json").read_text("utf-8")))
    except (OSError, KeyError, ValueError, RuntimeError, TypeError) as error:
        raise InputError(
            f"The checkpoint {there[-1]} cannot be read ({error}): delete its folder to begin anew."
        ) from error
    except Exception as error:  # safetensors raises a class of its own that it does not export to type checkers
        raise InputError(f"The checkpoint {path} is damaged ({error}): delete its folder to begin anew.") from error


def checkpoints(folder: Path) -> list[Path]:
    """Whole checkpoints in `folder`, oldest first."""
    return sorted(folder.glob("update-*")) if folder.is_dir() else []
