"""`train`: raw text to a model folder. The same call on the same folder goes on where it stopped."""

import math
import time
import tomllib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.checkpoints.averaging import mean_weights
from allyouneed.checkpoints.native import save_model
from allyouneed.errors import UsageError
from allyouneed.models.presets import count_parameters
from allyouneed.models.transformer import TransformerConfig
from allyouneed.tasks.registry import TASKS
from allyouneed.tasks.task import Task, TokenData
from allyouneed.training.beginning import Beginning, beginning
from allyouneed.training.card import card
from allyouneed.training.interrupts import held_back
from allyouneed.training.lock import held
from allyouneed.training.loop import Trainer, UpdateResult, overflow
from allyouneed.training.memory import check_memory, keep_freed_memory, release_freed_memory
from allyouneed.training.parallel import Ranks
from allyouneed.training.progress import Display, Metrics, Quiet, Terminal
from allyouneed.training.recipe import Recipe, Training, parse_recipe, to_toml
from allyouneed.training.state import Progress, load_checkpoint, save_checkpoint

LINES = {
    "encoder": "an encoder alone",
    "decoder": "a decoder alone",
    "both": "an encoder with a decoder",
    "points": "a model that points at points",
    "bits": "a model that reads and writes bits",
    "set": "a model that reads a set",
}
MAY_CHANGE = {"updates", "cooldown", "patience", "average", "validate_every", "validate_bleu", "checkpoint_every"}


def train(recipe: Recipe, out: str | Path) -> Path:
    """Trains what the recipe describes into the folder `out` and returns it. A finished run is left as it is."""
    out = Path(out)
    keep_freed_memory()
    settings = recipe.training
    ranks = Ranks.join(settings.accumulate)
    check_same_recipe(recipe, out)
    begun = beginning(recipe, out)
    config = begun.config
    check_line(recipe, config)
    if isinstance(recipe.data, TokenData) and recipe.data.max_tokens > config.max_length:
        raise UsageError(f"data.max_tokens {recipe.data.max_tokens} is more than model.max_length {config.max_length}.")
    check_memory(config, settings.batch_tokens, averaged=settings.ema_decay > 0)
    with held(out) if ranks.first else nullcontext():
        task = prepare(recipe, out, begun, ranks)
        return go_on(recipe, out, begun, task, ranks)


def go_on(recipe: Recipe, out: Path, begun: Beginning, task: Task, ranks: Ranks) -> Path:
    """Trains from where the folder's run stands to its end."""
    settings = recipe.training
    torch.manual_seed(recipe.seed)
    trainer = Trainer(begun.model(), task, settings, seed=recipe.seed, ranks=ranks)
    folder, optimizer, average = out / "checkpoints", trainer.optimizer, trainer.average
    progress = load_checkpoint(folder, trainer.model, optimizer=optimizer, average=average) or Progress()
    with Terminal(settings.updates, progress.update) as terminal:
        display = terminal if ranks.first else Quiet()
        if progress.finished and progress.over(settings):
            limit = "updates" if progress.update >= settings.updates else "patience"
            display.say(
                f"already trained {progress.update:,} of {settings.updates:,} updates; raise training.{limit} to go on"
            )
            return out
        announce(display, recipe, count_parameters(begun.config), progress, task)
        trainer.try_largest_batch()
        run = Run(recipe, out, trainer, progress, display)
        if begun.trained is not None and progress.update == 0 and ranks.first:
            run.measure_beginning()
        run.go()
    return out


def check_line(recipe: Recipe, config: TransformerConfig) -> None:
    """Refuses a model without the stacks that the task needs, or with one more."""
    needed = TASKS[recipe.task].line
    if config.line != needed:
        raise UsageError(
            f'The task "{recipe.task}" trains {LINES[needed]}, and {named(recipe)} is {LINES[config.line]}: '
            f"{'take another model' if recipe.model.start else way_out(config)}."
        )


def named(recipe: Recipe) -> str:
    """What the model comes from, as the recipe says it."""
    model = recipe.model
    return f'model.preset "{model.preset}"' if model.start is None else f'model.start "{model.start}"'


def way_out(config: TransformerConfig) -> str:
    """How to get a model with other stacks."""
    fields = [name for name in ("n_encoder_layers", "n_decoder_layers") if hasattr(config, name)]
    return "take another preset" + (f", or set {' and '.join(fields)}" if fields else "")


def prepare(recipe: Recipe, out: Path, begun: Beginning, ranks: Ranks) -> Task:
    """The examples, ready: the first rank makes what is missing, the others then take it up."""

    def make(display: Display) -> Task:
        return TASKS[recipe.task].prepare(
            recipe.data,
            vocab_size=begun.vocab_size(recipe),
            seed=recipe.seed,
            folder=out,
            report=display.say,
        )

    if ranks.first:
        begun.put_tokenizer(out)
    task = make(Terminal(recipe.training.updates)) if ranks.first else None
    ranks.wait()
    if ranks.first:
        with staged_folder(out) as staging:
            (staging / "recipe.toml").write_text(to_toml(recipe), "utf-8")
    return task or make(Quiet())


def check_same_recipe(recipe: Recipe, out: Path) -> None:
    """A folder belongs to one recipe: going on with another would mix two models."""
    path = out / "recipe.toml"
    if not path.is_file():
        return
    before = settings_by_name(parse_recipe(tomllib.loads(path.read_text("utf-8")), str(path)))
    now = settings_by_name(recipe)
    changed = [
        name
        for name in {**before, **now}
        if name.split(".")[-1] not in MAY_CHANGE | {"root", "description"} and before.get(name) != now.get(name)
    ]
    if changed:
        raise UsageError(
            f"{out} holds a run whose recipe differs in {', '.join(changed)}: "
            "take another --out folder, or set it back."
        )


def settings_by_name(recipe: Recipe) -> dict[str, object]:
    """Every setting of a recipe, those of its sections as "section.key"."""
    named: dict[str, object] = {}
    for section, value in recipe.model_dump().items():
        inner = cast(dict[str, object], value) if isinstance(value, dict) else None
        named |= {section: value} if inner is None else {f"{section}.{key}": inner[key] for key in inner}
    return named


def announce(display: Display, recipe: Recipe, parameters: int, progress: Progress, task: Task) -> None:
    """The numbers that matter, before the first step."""
    settings = recipe.training
    display.say(
        f"{parameters:,} parameters; {task.size()}; learning rate rises to {settings.peak_rate:g} over "
        f"{settings.warmup:,} updates, then {fall(settings)}"
    )
    if progress.update:
        display.say(f"going on from update {progress.update:,}")


def in_words(measures: dict[str, float]) -> str:
    """Measures in a line."""
    return "  ".join(f"{name} {value:.2f}" for name, value in measures.items())


def fall(settings: Training) -> str:
    """How the rate falls after its peak, in words."""
    if settings.schedule == "inverse-sqrt":
        rest = f", and to 0 over the last {settings.cooldown:,}" if settings.cooldown else ""
        return f"falls as 1/sqrt{rest}"
    shape = "in a straight line" if settings.schedule == "linear" else "along half a cosine"
    return f"falls {shape} to {settings.final_share * settings.peak_rate:g} at update {settings.updates:,}"


class Run:
    """One training from where it stands to its end."""

    def __init__(self, recipe: Recipe, out: Path, trainer: Trainer, progress: Progress, display: Display) -> None:
        self.recipe, self.out, self.trainer, self.progress, self.display = recipe, out, trainer, progress, display
        self.settings = recipe.training
        self.snapshots = out / "snapshots"
        self.metrics = Metrics(out, progress.update) if trainer.ranks.first else None

    def measure_beginning(self) -> None:
        """Measures a model that was trained before: it is the best one until an update makes it better."""
        measures = self.trainer.validate()
        self.display.say(f"before the first update  validation: {in_words(measures)}")
        save_snapshot(self.snapshots, 0, self.trainer.model)
        self.progress.best_loss = min(self.progress.best_loss, measures["loss"])

    def go(self) -> None:
        """Updates, validations and checkpoints, until all is done, or until Ctrl-C where one process trains."""
        alone = self.trainer.ranks.world == 1  # of several each would stop at an update of its own
        with held_back(self.display.say) if alone else nullcontext(lambda: False) as stopped:
            self._updates(stopped)
        self._finish()

    def _updates(self, stopped: Callable[[], bool]) -> None:
        settings, progress = self.settings, self.progress
        started = time.monotonic() - progress.seconds
        while not progress.over(settings):
            result = self.trainer.update(progress)
            progress.seconds = time.monotonic() - started
            self._show(result)
            if progress.update % 50 == 0:
                release_freed_memory()
            last = progress.update == settings.updates
            if progress.update % settings.validate_every == 0 or last:
                self._validate(result)
            if progress.update % settings.checkpoint_every == 0 or progress.over(settings) or stopped():
                self._checkpoint()
            if stopped():
                raise KeyboardInterrupt

    def _show(self, result: UpdateResult) -> None:
        speed = self.progress.tokens / max(self.progress.seconds, 1e-9)
        facts = {"loss": f"{result.likelihood:.3f}", "rate": f"{result.rate:.2e}", "tokens/s": f"{speed:,.0f}"}
        if math.isfinite(self.progress.best_loss):
            facts["best"] = f"{self.progress.best_loss:.3f}"
        self.display.show(self.progress.update, facts)

    def _validate(self, result: UpdateResult) -> None:
        """Measures the model, keeps it as a snapshot, and remembers whether it is the best."""
        progress, ranks = self.progress, self.trainer.ranks
        better = False
        if ranks.first:
            with self.trainer.averaged():
                measures = self.trainer.validate()
                if not math.isfinite(measures["loss"]):
                    raise overflow(progress.update, "the validation loss")
                save_snapshot(self.snapshots, progress.update, self.trainer.model)
            better = measures["loss"] < progress.best_loss
            self._record(result, measures)
            progress.best_loss = min(progress.best_loss, measures["loss"])
        better = ranks.agree(better)
        progress.worse = 0 if better else progress.worse + 1
        progress.best_update = progress.update if better else progress.best_update
        progress.validated.append(progress.update)

    def _record(self, result: UpdateResult, measures: dict[str, float]) -> None:
        record = {
            "train_loss": result.likelihood,
            "gradient_norm": result.gradient_norm,
            "rate": result.rate,
            "seconds": round(self.progress.seconds, 1),
            "target_tokens": self.progress.tokens,
            **{f"validation_{name}": value for name, value in measures.items()},
        }
        if self.metrics is not None:
            self.metrics.write(self.progress.update, record)
        self.display.say(f"update {self.progress.update:,}  validation: {in_words(measures)}")

    def _checkpoint(self) -> None:
        if self.trainer.ranks.first:
            self._save()
            keep = {*self.progress.validated[-self.settings.average :], self.progress.best_update}
            for update, path in snapshots(self.snapshots).items():
                if update not in keep:
                    path.unlink()
        self.trainer.ranks.wait()

    def _finish(self) -> None:
        """Writes the model folder: the average of the last validated models, or the best one if that is better."""
        if self.trainer.ranks.first:
            progress, model = self.progress, self.trainer.model
            there = snapshots(self.snapshots)
            last = [update for update in progress.validated[-self.settings.average :] if update in there]
            if not last:
                raise UsageError(
                    f"{self.out} has {progress.update:,} updates and no validated model: raise training.updates."
                )
            trained = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            model.load_state_dict(mean_weights(load_file(there[update]) for update in last))
            measures = self.trainer.validate()
            name = f"average of updates {', '.join(map(str, last))}"
            if not measures["loss"] <= progress.best_loss:  # as when it is not a number
                model.load_state_dict(load_file(there[progress.best_update]))
                best = progress.best_update
                measures, name = self.trainer.validate(), f"update {best}" if best else "the model that it began with"
            self.display.say(f"kept: {name}  validation: {in_words(measures)}")
            save_model(
                self.out,
                model,
                self.trainer.task.tokenizer,
                recipe_text=to_toml(self.recipe),
                card=card(self.recipe, cast(Any, model.config), progress, measures, name, self.trainer.task),
            )
            model.load_state_dict(trained)
            progress.finished = True
            self._save()
        self.trainer.ranks.wait()

    def _save(self) -> None:
        trainer, folder = self.trainer, self.out / "checkpoints"
        save_checkpoint(
            folder, trainer.model, optimizer=trainer.optimizer, average=trainer.average, progress=self.progress
        )


def save_snapshot(folder: Path, update: int, model: nn.Module) -> None:
    """Keeps a validated model's weights."""
    with staged_folder(folder) as staging:
        weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
        save_file(weights, staging / f"update-{update:08d}.safetensors")


def snapshots(folder: Path) -> dict[int, Path]:
    """The files of validated models, by their updates."""
    return {int(path.stem.removeprefix("update-")): path for path in folder.glob("update-*.safetensors")}
