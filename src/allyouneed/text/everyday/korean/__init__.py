"""Korean realisation, in the polite -요 style."""

from allyouneed.text.everyday.korean.clauses import realise

__all__ = ["realise"]
