"""What an experiment found: numbers of the paper, numbers of ours, and how ours were made."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

Value = str | int | float
Row = dict[str, Value]

RESULTS = Path(__file__).parent / "results"


class Cited(BaseModel):
    """A number of a paper, and where it stands there. `confirmed` says that it was compared with the paper itself."""

    model_config = ConfigDict(frozen=True)
    what: str
    value: float
    source: str
    confirmed: bool = False


class TrainedArm(BaseModel):
    """One training of an experiment."""

    name: str
    seed: int
    parameters: int
    updates: int
    minutes: float


class Made(BaseModel):
    """How a result was made."""

    date: str
    command: str
    quick: bool
    seeds: list[int]
    updates: list[int] = Field(description="of an arm, the fewest and the most")
    minutes: float = Field(description="of training, all arms together")
    machine: str
    torch: str
    arms: list[TrainedArm]
    remark: str = Field(default="", description="what else is to be known, in a sentence")


class Result(BaseModel):
    """An experiment's outcome; `rows` have one line a measurement and a seed."""

    experiment: str
    title: str
    note: str
    keys: list[str] = Field(description="columns that tell rows apart, beside the seed")
    made: Made
    paper: list[Cited]
    rows: list[Row]


def stored(name: str) -> Result | None:
    """The result of the full run that ships with the package, or None where there is none."""
    path = RESULTS / f"{name}.json"
    return Result.model_validate_json(path.read_bytes()) if path.is_file() else None
