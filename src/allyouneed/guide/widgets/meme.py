"""Titles that answer the paper's title: what else is all you need."""

from dataclasses import asdict, dataclass
from typing import Any

from pydantic import Field

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget


@dataclass(frozen=True)
class Title:
    """A paper: its title, the year of its first version, its number at arXiv, and what it needs."""

    title: str
    year: int
    arxiv: str
    needs: str


TITLES = (
    Title("Attention Is All You Need", 2017, "1706.03762", "attention"),
    Title("Diversity is All You Need: Learning Skills without a Reward Function", 2018, "1802.06070", "diversity"),
    Title(
        "Rethinking Few-Shot Image Classification: a Good Embedding Is All You Need?",
        2020,
        "2003.11539",
        "a good embedding",
    ),
    Title(
        "Image Augmentation Is All You Need: Regularizing Deep Reinforcement Learning from Pixels",
        2020,
        "2004.13649",
        "image augmentation",
    ),
    Title("Hopfield Networks is All You Need", 2020, "2008.02217", "Hopfield networks"),
    Title("Is Space-Time Attention All You Need for Video Understanding?", 2021, "2102.05095", "space-time attention"),
    Title(
        "Attention is Not All You Need: Pure Attention Loses Rank Doubly Exponentially with Depth",
        2021,
        "2103.03404",
        "skip connections and feed-forward layers",
    ),
    Title("Tabular Data: Deep Learning is Not All You Need", 2021, "2106.03253", "boosted trees as well"),
    Title("Patches Are All You Need?", 2022, "2201.09792", "patches"),
    Title(
        "Language Is Not All You Need: Aligning Perception with Language Models",
        2023,
        "2302.14045",
        "perception as well",
    ),
    Title("Textbooks Are All You Need", 2023, "2306.11644", "textbooks"),
    Title("One Wide Feedforward is All You Need", 2023, "2309.01826", "one wide feed-forward layer"),
    Title("Pretraining on the Test Set Is All You Need", 2023, "2309.08632", "the test set"),
    Title("More Agents Is All You Need", 2024, "2402.05120", "more agents"),
)


class MemeInputs(Inputs):
    """Words to look for, and a title of those that are left, counted from 1; 0 for none."""

    query: str = Field("", max_length=100)
    chosen: int = Field(1, ge=0, le=len(TITLES))


def found(query: str) -> list[Title]:
    """The titles in which every word of the query stands."""
    words = query.lower().split()
    return [
        title for title in TITLES if all(word in f"{title.title} {title.year} {title.needs}".lower() for word in words)
    ]


def compute(inputs: MemeInputs, models: Models) -> dict[str, Any]:
    """The titles that are left, and how many that is."""
    left = found(inputs.query)
    return {
        "titles": [asdict(title) for title in left],
        "count": len(left),
        "total": len(TITLES),
        "used": {"chosen": min(inputs.chosen, len(left))},
        "limits": {"chosen": len(left)},
    }


WIDGET = Widget(MemeInputs, compute, (found,))
