"""The kinds of work that a recipe can name."""

from allyouneed.tasks.bits.task import Copy, Ngrams, PrioritySort, Recall, RepeatCopy
from allyouneed.tasks.denoising import Denoising
from allyouneed.tasks.depth import Depth
from allyouneed.tasks.language import Language
from allyouneed.tasks.masked import Masked
from allyouneed.tasks.parsing import Parsing
from allyouneed.tasks.pointing.task import Pointing
from allyouneed.tasks.sorting import Sorting
from allyouneed.tasks.task import Task
from allyouneed.tasks.translation import Translation

TASKS: dict[str, type[Task]] = {
    "translation": Translation,
    "parsing": Parsing,
    "language": Language,
    "masked": Masked,
    "denoising": Denoising,
    "depth": Depth,
    "pointing": Pointing,
    "copy": Copy,
    "repeat-copy": RepeatCopy,
    "associative-recall": Recall,
    "n-grams": Ngrams,
    "priority-sort": PrioritySort,
    "sorting": Sorting,
}
