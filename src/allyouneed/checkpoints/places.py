"""Where the model of a name is: shipped with the package, in a folder, or on the hub."""

from pathlib import Path

from allyouneed.checkpoints.hub import PREFIX as HUB
from allyouneed.checkpoints.hub import fetched
from allyouneed.checkpoints.native import CONFIG, read_config
from allyouneed.errors import UsageError, nearest

ZOO = Path(__file__).parents[1] / "zoo"


def shipped(line: str | None = None) -> list[str]:
    """Names of the models in the package: all, or those with these stacks."""
    folders = sorted(path.parent for path in ZOO.glob("*/config.json"))
    return [f"zoo:{folder.name}" for folder in folders if line is None or read_config(folder / CONFIG)[1].line == line]


def folders_beside(path: Path) -> list[str]:
    """The folders where this one would be, by the names that it would be called by."""
    try:
        return [str(path.parent / other.name) for other in path.parent.iterdir() if other.is_dir()]
    except OSError:
        return []


def place_of(name: str) -> Path:
    """Where the model of that name is. Raises UsageError where there is none."""
    if name.startswith("zoo:"):
        if name not in shipped():
            raise UsageError(
                f'There is no shipped model "{name}", but {", ".join(shipped()) or "none"}.{nearest(name, shipped())}'
            )
        return ZOO / name.removeprefix("zoo:")
    if name.startswith(HUB):
        return fetched(name)
    if not Path(name).exists():
        hint = nearest(name, folders_beside(Path(name))) or nearest(f"zoo:{name}", shipped())
        raise UsageError(f'"{name}" is neither a folder nor a shipped model ({", ".join(shipped()) or "none"}).{hint}')
    return Path(name)
