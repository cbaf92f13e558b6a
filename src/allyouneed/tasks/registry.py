"""The kinds of work that a recipe can name."""

from allyouneed.tasks.denoising import Denoising
from allyouneed.tasks.depth import Depth
from allyouneed.tasks.language import Language
from allyouneed.tasks.masked import Masked
from allyouneed.tasks.task import Task
from allyouneed.tasks.translation import Translation

TASKS: dict[str, type[Task]] = {
    "translation": Translation,
    "language": Language,
    "masked": Masked,
    "denoising": Denoising,
    "depth": Depth,
}
