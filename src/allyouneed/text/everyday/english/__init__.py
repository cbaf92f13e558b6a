"""English realisation."""

from allyouneed.text.everyday.english.clauses import realise

__all__ = ["realise"]
