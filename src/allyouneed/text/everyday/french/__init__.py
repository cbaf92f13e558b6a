"""French realisation."""

from allyouneed.text.everyday.french.clauses import realise

__all__ = ["realise"]
