"""Runs an experiment: trains what is not yet trained, measures, and writes the table, the figures and the result."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import torch

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.errors import UsageError
from allyouneed.reproduce.experiment import Arm, Experiment, Setting, Trained
from allyouneed.reproduce.figure import draw
from allyouneed.reproduce.result import Made, Result, Row, TrainedArm
from allyouneed.reproduce.table import markdown
from allyouneed.training.run import train


def reproduce(
    experiment: Experiment,
    folder: Path,
    *,
    seeds: Sequence[int] = (),
    quick: bool = False,
    corpora: Path = Path("corpora"),
    command: str = "",
) -> Result:
    """Runs an experiment in `folder` for each of `seeds` (none: its own), and gives what it found.

    The models are in `folder/arms`. The same call goes on where it was stopped, and does not train again what is
    trained. At the end there are NAME.json, NAME.md, and a figure or several as .png and .svg.

    Raises UsageError for a seed that stands twice, and InputError for what training refuses.
    """
    chosen = list(seeds) or list(experiment.seeds[:1] if quick else experiment.seeds)
    if len({*chosen}) < len(chosen):
        raise UsageError(f"The seeds {', '.join(map(str, chosen))} name one twice: each is run once.")
    rows: list[Row] = []
    arms: list[TrainedArm] = []
    for seed in chosen:
        setting = Setting(seed, quick, folder, corpora)
        trained = {arm.name: trained_arm(arm, setting) for arm in experiment.arms(setting)}
        rows += [{**row, "seed": seed} for row in experiment.measure(trained, setting)]
        arms += [one.facts for one in trained.values()]
    result = Result(
        experiment=experiment.name,
        title=experiment.title,
        note=experiment.note,
        keys=list(experiment.keys),
        made=made(arms, seeds=chosen, quick=quick, command=command),
        paper=list(experiment.paper),
        rows=rows,
    )
    write(experiment, result, folder)
    return result


def trained_arm(arm: Arm, setting: Setting) -> Trained:
    """Trains an arm, from where it stands."""
    name = arm.name.replace(" ", "-").replace("/", "-")
    return Trained(arm, setting.seed, train(arm.read(setting.seed), setting.folder / "arms" / f"{name}-{setting.seed}"))


def made(arms: list[TrainedArm], *, seeds: list[int], quick: bool, command: str) -> Made:
    """How and on what the arms were trained."""
    updates = [arm.updates for arm in arms] or [0]
    return Made(
        date=datetime.now(UTC).date().isoformat(),
        command=command,
        quick=quick,
        seeds=seeds,
        updates=[min(updates), max(updates)],
        minutes=round(sum(arm.minutes for arm in arms), 1),
        machine=machine(),
        torch=torch.__version__,
        arms=arms,
    )


def machine() -> str:
    """The processor in words."""
    threads = torch.get_num_threads()
    return f"{platform.machine()}, {os.cpu_count()} cores, {threads} {'thread' if threads == 1 else 'threads'}"


def write(experiment: Experiment, result: Result, folder: Path) -> None:
    """Puts result, table and figures into the folder."""
    with staged_folder(folder) as staging:
        (staging / f"{result.experiment}.json").write_text(result.model_dump_json(indent=1) + "\n", "utf-8")
        (staging / f"{result.experiment}.md").write_text(markdown(result), "utf-8")
        for number, chart in enumerate(experiment.charts, 1):
            name = result.experiment + (f"-{number}" if len(experiment.charts) > 1 else "")
            for suffix in (".png", ".svg"):
                (staging / f"{name}{suffix}").write_bytes(draw(chart, result, suffix))
