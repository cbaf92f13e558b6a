"""What an answer about points may hold next, by what it holds already."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import one_hot

Problem = Literal["hull", "triangulation", "tour"]


@dataclass(frozen=True)
class Written:
    """What answers hold so far, in tokens (0 is the end and the beginning, 1 to S are the points)."""

    seen: Tensor  # [B, T, S + 1]: which tokens are in each
    last: Tensor  # [B, T]: the one before
    count: Tensor  # [B or 1, T or 1]: how many points were named

    @classmethod
    def nothing(cls, rows: int, columns: int, device: torch.device) -> "Written":
        """Answers that have not begun: [rows, 1]."""
        seen = torch.zeros(rows, 1, columns, dtype=torch.bool, device=device)
        last = torch.zeros(rows, 1, dtype=torch.long, device=device)
        return cls(seen, last, torch.full((1, 1), -1, device=device))

    @classmethod
    def before(cls, given: Tensor, columns: int) -> "Written":
        """What stands before each token of whole answers, from their beginnings on: given [B, T]."""
        seen = one_hot(given, columns).cumsum(1) > 0
        return cls(seen, given, torch.arange(given.shape[1], device=given.device)[None])

    def add(self, tokens: Tensor) -> "Written":
        """The same with a further token [B, 1] each."""
        return Written(self.seen.scatter(2, tokens[..., None], True), tokens, self.count + 1)

    def folded(self, sets: int) -> "Written":
        """The rows of a search [R, 1], those of a set side by side: [sets, R / sets]."""
        return Written(self.seen.view(sets, -1, self.seen.shape[-1]), self.last.view(sets, -1), self.count)

    def select(self, rows: Tensor) -> "Written":
        """Row i of the new one is row `rows[i]` of this one."""
        return Written(self.seen[rows], self.last[rows], self.count)


def may_follow(problem: Problem, written: Written, keep: Tensor) -> Tensor:
    """Which token may stand next: keep [B, S + 1], True where there is a point -> [B, T, S + 1].

    A hull has three corners or more, none twice. A tour has every point once. A triangulation has whole triangles, each
    by its rising numbers, and no more than there can be. Where nothing may stand, an answer may end.
    """
    column = torch.arange(keep.shape[1], device=keep.device)
    there = keep[:, None]
    size = there.sum(-1) - 1  # [B, 1]
    if problem == "triangulation":
        corner = written.count % 3  # [1, T]
        rises = (corner[..., None] == 0) | (column > written.last[..., None])
        room = written.count < 3 * (2 * size - 5)  # N points have 2N - 5 triangles at most
        allowed = there & rises & room[..., None] & (column <= (size - 2 + corner)[..., None])  # others come after it
        ends = (corner == 0) & (written.count >= 3)
    else:
        allowed = there & ~written.seen
        ends = written.count >= (3 if problem == "hull" else size)
    allowed = torch.cat((torch.zeros_like(allowed[..., :1]), allowed[..., 1:]), -1)
    last = ~allowed.any(-1) | ends
    return torch.cat((last[..., None], allowed[..., 1:]), -1)
