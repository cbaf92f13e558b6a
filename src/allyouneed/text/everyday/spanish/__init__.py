"""Spanish realisation."""

from allyouneed.text.everyday.spanish.clauses import realise

__all__ = ["realise"]
