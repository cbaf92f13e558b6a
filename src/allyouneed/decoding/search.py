"""Beam search over anything that writes token by token: the likeliest texts, and how likely they are."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import torch
from torch import Tensor

from allyouneed.decoding.constraints import Constraints, Tracker
from allyouneed.decoding.interface import AnyState, Step
from allyouneed.decoding.scorers import length_penalty as penalty
from allyouneed.decoding.scorers import worth_leaving
from allyouneed.errors import InputError, check_whole

BLOCK = 64
STEEPEST = 10  # power of the length penalty, from which on nothing but the length would count


@dataclass(frozen=True)
class Hypothesis:
    """A text that the search wrote. `finished` is False where the longest allowed length cut it off."""

    tokens: list[int]  # without start and end token
    score: float  # logprob / length penalty: what hypotheses are ranked by
    logprob: float  # the sum of token_logprobs
    token_logprobs: list[float]  # one a token, and one for the end token where finished
    finished: bool


def beam_search(
    state: AnyState,
    step: Step[AnyState],
    *,
    bos: int | Tensor,
    eos: int | Sequence[int],
    max_tokens: int | Sequence[int],
    beam: int = 4,
    nbest: int = 1,
    length_penalty: float = 0.6,
    prefix: Sequence[Sequence[int]] | None = None,
    forbidden: Sequence[int] = (),
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """The `nbest` best hypotheses of each sentence, best first; `state` has one row a sentence.

    `bos` is the token that all begin with; or else, where the state has read a text in each row, the logits [R, V] of
    what follows. Only what is written counts, in scores and in lengths.

    Each step keeps the `beam` best unfinished hypotheses of a sentence. The end token finishes one where it stands
    among the `beam` best candidates. A sentence is done only when no hypothesis that goes on can still come among its
    `nbest` best finished ones: log-probabilities only fall, and the penalty is largest at `max_tokens`. With `beam` 1
    nothing is weighed: the likeliest token is taken until it is the end token (greedy search). Of several end tokens
    `eos` the likeliest counts, and without any all hypotheses go on to `max_tokens`.

    `max_tokens` (of each sentence, or of all) counts the end token. Only where nothing finished within it, unfinished
    hypotheses are returned. `prefix` holds the tokens that each sentence must begin with: they are scored like others.
    `forbidden` tokens are never chosen; `constraints` must be held, with a beam of 2 or more, better a wider one.
    Hypotheses are ranked by log-probability / ((5 + length) / 6)^`length_penalty` (Wu 2016, section 7).
    """
    limits = [max_tokens] * state.rows if isinstance(max_tokens, int) else list(max_tokens)
    begun = [[] for _ in range(state.rows)] if prefix is None else [list(tokens) for tokens in prefix]
    ends = [eos] if isinstance(eos, int) else list(eos)
    _check(state.rows, bos, limits, begun, beam=beam, nbest=nbest, alpha=length_penalty, ends=ends)
    if constraints is not None:
        constraints.check(limits, beam=beam, never={*forbidden, *ends})
    if not limits:
        return []
    with torch.inference_mode():
        search = _Search(
            limits,
            begun,
            forbidden=[*forbidden],
            ends=ends,
            beam=beam,
            nbest=nbest,
            alpha=length_penalty,
            constraints=constraints,
            device=state.device,
        )
        logits, state = (bos, state) if isinstance(bos, Tensor) else step(torch.full_like(search.order, bos), state)
        while True:
            tokens, rows = search.advance(logits)
            if search.over:
                return search.results()
            if rows is not None:
                state = state.select(rows)
            logits, state = step(tokens, state)


def _check(
    rows: int,
    bos: int | Tensor,
    limits: list[int],
    prefix: list[list[int]],
    *,
    beam: int,
    nbest: int,
    alpha: float,
    ends: list[int],
) -> None:
    if isinstance(bos, Tensor) and len(bos) != rows:
        raise InputError(f"{rows} sentences and logits of {len(bos)}: one row each is needed")
    check_whole(beam=beam, nbest=nbest)
    if beam < 1 or not 1 <= nbest <= beam:
        raise InputError(f"beam {beam} with nbest {nbest}: 1 <= nbest <= beam is needed")
    if not 0 <= alpha <= STEEPEST:
        raise InputError(f"length_penalty {alpha}: 0 (none) to {STEEPEST} is needed")
    if len(limits) != rows or len(prefix) != rows:
        raise InputError(f"{rows} sentences, {len(limits)} max_tokens, {len(prefix)} prefixes: one each is needed")
    for sentence, (limit, tokens) in enumerate(zip(limits, prefix, strict=True)):
        if limit <= len(tokens):
            raise InputError(f"sentence {sentence}: max_tokens {limit} must exceed its {len(tokens)} prefix tokens")
        if any(token < 0 for token in tokens):
            raise InputError(f"sentence {sentence}: its prefix holds the negative token {min(tokens)}")
        for token in set(ends) & set(tokens):
            raise InputError(f"sentence {sentence}: its prefix holds the end token {token}")


def best_of_rows(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best of each row of `scores` [R, V], and their columns: the k blocks with the highest maxima hold them."""
    rows, width = scores.shape
    # Sorting is slow on the CPU, finding maxima is not: with many rows and columns the detour pays.
    if scores.device.type != "cpu" or rows < 2 or width % BLOCK or width < 8 * k * BLOCK:
        best, columns = scores.topk(k)
        return best, columns
    blocks = scores.view(rows, -1, BLOCK)
    chosen = blocks.amax(2).topk(k, sorted=False).indices  # [R, k]
    best, pick = blocks.gather(1, chosen[..., None].expand(-1, -1, BLOCK)).flatten(1).topk(k)
    return best, chosen.gather(1, pick // BLOCK) * BLOCK + pick % BLOCK


class _Tree:
    """All tokens that were ever live: each is a node that knows its parent. Appended step by step, read back once."""

    def __init__(self, roots: int, device: torch.device) -> None:
        self.size = 0
        self.tokens: list[Tensor] = []
        self.parents: list[Tensor] = []
        self.scores: list[Tensor] = []
        # Nodes after which the end token was a candidate, and the log-probabilities with it.
        self.ends = [(torch.empty(0, dtype=torch.long, device=device), torch.empty(0, device=device))]
        nothing = torch.full((roots, 1), -1, device=device)
        self.roots = self.append(nothing, nothing, torch.zeros(roots, 1, device=device))

    def append(self, tokens: Tensor, parents: Tensor, scores: Tensor) -> Tensor:
        """New nodes [B, W] under `parents`, with log-probabilities from the root on -> their numbers."""
        self.tokens.append(tokens.flatten())
        self.parents.append(parents.flatten())
        self.scores.append(scores.flatten())
        nodes = torch.arange(self.size, self.size + tokens.numel(), device=tokens.device)
        self.size += tokens.numel()
        return nodes.view_as(tokens)

    def reader(self, alpha: float) -> Callable[[int, bool], Hypothesis]:
        """What reads the hypothesis from the root to a leaf; where it is told True, with the end token after it."""
        tokens, parents, scores = (torch.cat(x).tolist() for x in (self.tokens, self.parents, self.scores))
        nodes, ends = (torch.cat([x.flatten() for x in pair]) for pair in zip(*self.ends, strict=True))
        end_of = torch.zeros(self.size, device=nodes.device).index_copy_(0, nodes, ends).tolist()

        def read(leaf: int, finished: bool) -> Hypothesis:
            path: list[int] = []
            node = leaf
            while parents[node] >= 0:
                path.append(node)
                node = parents[node]
            path.reverse()
            totals = [0.0, *(scores[node] for node in path), *([end_of[leaf]] if finished else [])]
            logprobs = [after - before for before, after in pairwise(totals)]
            score = totals[-1] / penalty(len(logprobs), alpha)
            return Hypothesis([tokens[node] for node in path], score, totals[-1], logprobs, finished)

        return read


class _Search:
    """One search under way: B sentences in the batch, W live hypotheses each (1 at first, then the beam)."""

    def __init__(
        self,
        limits: list[int],
        prefix: list[list[int]],
        *,
        forbidden: list[int],
        ends: list[int],
        beam: int,
        nbest: int,
        alpha: float,
        constraints: Constraints | None,
        device: torch.device,
    ) -> None:
        sentences = len(limits)
        self.beam, self.alpha = beam, alpha
        self.tracker = Tracker(constraints, device) if constraints is not None and any(constraints.phrases) else None
        self.ends = [token for token in ends if token not in forbidden]
        self.stops = torch.tensor([*forbidden, *ends], dtype=torch.long, device=device)  # what never goes on
        self.steps = 0
        self.shortest_limit = min(limits)
        self.shortest_prefix, self.longest_prefix = min(map(len, prefix)), max(map(len, prefix))
        # Of each sentence [B]: its number, whether it is done (and waits to leave), the longest length and its penalty.
        self.order = torch.arange(sentences, device=device)
        self.done = torch.zeros(sentences, dtype=torch.bool, device=device)
        self.n_done = 0
        self.limits = torch.tensor(limits, device=device)
        self.largest_penalty = torch.tensor([penalty(limit, alpha) for limit in limits], device=device)
        # The tokens that it must begin with [B, longest], -1 after them.
        padded = [p + [-1] * (self.longest_prefix - len(p)) for p in prefix]
        self.prefix = torch.tensor(padded, dtype=torch.long, device=device)
        # Of its live hypotheses [B, W]: log-probability, and node in the tree.
        self.tree = _Tree(sentences, device)
        self.nodes = self.tree.roots
        self.scores = torch.zeros(sentences, 1, device=device)
        # Of its best finished ones [B, nbest]: score, and node before the end token.
        self.kept = torch.full((sentences, nbest), -math.inf, device=device)
        self.kept_nodes = torch.zeros(sentences, nbest, dtype=torch.long, device=device)
        # What is given back: sentence [n], scores and leaves [n, nbest], whether they are finished [n].
        self.returned: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []

    @property
    def over(self) -> bool:
        """Whether every sentence is done."""
        return self.n_done == len(self.done)

    def advance(self, logits: Tensor) -> tuple[Tensor, Tensor | None]:
        """Logits [R, V] of what follows each live hypothesis -> the next tokens [R'], and the rows that they continue.

        The rows are None where every row is continued in its place.
        """
        logprobs = logits.log_softmax(-1, dtype=torch.float32)
        ends = self._restrict(logprobs)
        beam = self.beam if self.steps >= self.shortest_prefix else 1
        best, tokens = best_of_rows(logprobs, min(beam, logits.shape[1]))  # [R, k]
        if self.tracker is not None:
            best, tokens = self.tracker.with_wanted(logprobs, best, tokens)
        totals = (best + self.scores.view(-1, 1)).view(len(self.scores), -1)  # [B, W·k]
        tokens, width = tokens.view_as(totals), min(beam, totals.shape[1])
        if self.tracker is None:
            live, pick = totals.topk(width)  # [B, W']
        else:
            room = self.limits - self.steps - (2 if self.ends else 1)
            live, pick = self.tracker.choose(totals, tokens, width, room)
        parents = pick // best.shape[1]
        tokens = tokens.gather(1, pick)
        rows = parents + torch.arange(0, len(logits), self.scores.shape[1], device=live.device)[:, None]

        self.steps += 1
        self._keep(live, ends)
        self.nodes = self.tree.append(tokens, self.nodes.gather(1, parents), live)
        self.scores = live
        stay = self._finish()
        if stay is not None:
            tokens, rows = tokens[stay], rows[stay]
        tokens, rows = tokens.flatten(), rows.flatten()
        in_place = len(rows) == len(logits) and torch.equal(rows, torch.arange(len(rows), device=rows.device))
        return tokens, None if in_place else rows

    def _restrict(self, logprobs: Tensor) -> Tensor:
        """Leaves in `logprobs` [R, V] only what may go on -> the log-probabilities of ending here [B, W]."""
        if self.ends:
            likeliest = reduce(torch.maximum, (logprobs.select(1, end) for end in self.ends))
            ends = self.scores + likeliest.view_as(self.scores)
        else:
            ends = torch.full_like(self.scores, -math.inf)
        if self.tracker is not None:
            ends = ends.masked_fill(self.tracker.unmet(ends), -math.inf)
        if self.steps >= self.longest_prefix:
            self._stop(logprobs)
            return ends
        wanted = self.prefix[:, self.steps].repeat_interleave(self.scores.shape[1])  # [R]
        rows = (wanted >= 0).nonzero()[:, 0]
        wanted = wanted[rows]
        if bool((wanted >= logprobs.shape[1]).any()):
            raise InputError(f"prefix token {int(wanted.max())} is outside the vocabulary of {logprobs.shape[1]}")
        given = logprobs[rows, wanted]
        self._stop(logprobs)
        logprobs[rows] = -math.inf
        logprobs[rows, wanted] = given
        ends.view(-1)[rows] = -math.inf
        return ends

    def _stop(self, logprobs: Tensor) -> None:
        """Takes from `logprobs` [R, V] what never goes on, and what may not follow a phrase."""
        logprobs.index_fill_(1, self.stops, -math.inf)
        if self.tracker is not None:
            self.tracker.restrict(logprobs)

    def _keep(self, live: Tensor, ends: Tensor) -> None:
        """Keeps those `ends` [B, W] that stand among the best candidates and among the best finished hypotheses."""
        if self.tracker is not None:  # those that hold all phrases compete with one another
            live = live.masked_fill(self.tracker.unmet(live), -math.inf).sort(1, descending=True).values
        if not bool((ends >= live[:, -1:]).any()):
            return  # no end is among the candidates, as in most steps
        candidates = torch.cat((live, ends), 1)
        last = candidates.topk(min(self.beam, candidates.shape[1])).values[:, -1:]
        finished = torch.where(ends >= last, ends / penalty(self.steps, self.alpha), -math.inf)
        self.kept, pick = torch.cat((self.kept, finished), 1).topk(self.kept.shape[1])
        self.kept_nodes = torch.cat((self.kept_nodes, self.nodes), 1).gather(1, pick)
        self.tree.ends.append((self.nodes, ends))

    def _finish(self) -> Tensor | None:
        """Finds the sentences that are done -> those that stay, where it is time for the others to leave."""
        worst = self.kept[:, -1]
        if self.beam == 1:
            worst = worst.masked_fill(worst > -math.inf, math.inf)
        # Once done, always done: scores only fall, what is kept only rises. NaN is never better, so it ends here too.
        done = ~(self.scores[:, 0] / self.largest_penalty > worst)
        if self.steps >= self.shortest_limit:
            done |= self.limits <= self.steps
        n_done = sum(done.tolist())
        if n_done == self.n_done:
            return None
        self._give_back((done & ~self.done).nonzero()[:, 0])
        self.done, self.n_done = done, n_done
        if self.over or not worth_leaving(n_done, len(done)):
            return None
        stay = (~done).nonzero()[:, 0]
        if self.tracker is not None:
            self.tracker.keep(stay.tolist())
        self.order, self.limits, self.largest_penalty = self.order[stay], self.limits[stay], self.largest_penalty[stay]
        self.prefix, self.nodes, self.scores = self.prefix[stay], self.nodes[stay], self.scores[stay]
        self.kept, self.kept_nodes = self.kept[stay], self.kept_nodes[stay]
        self.done, self.n_done = self.done[stay], 0
        return stay

    def _give_back(self, which: Tensor) -> None:
        """Notes the result of the sentences `which` [n], unfinished hypotheses where there is no finished one."""
        sentence, live, kept, leaves = self.order[which], self.scores[which], self.kept[which], self.kept_nodes[which]
        finished = kept[:, 0] > -math.inf
        if bool(live.isnan().any()):
            number = int(sentence[live.isnan().any(1)][0])
            raise InputError(f"sentence {number}, token {self.steps}: the model's scores are not numbers (NaN)")
        width = min(live.shape[1], kept.shape[1])
        cut = ~finished[:, None]
        kept[:, :width] = torch.where(cut, live[:, :width], kept[:, :width])
        leaves[:, :width] = torch.where(cut, self.nodes[which, :width], leaves[:, :width])
        if bool((kept[:, 0] == -math.inf).any()):
            number = int(sentence[kept[:, 0] == -math.inf][0])
            raise InputError(f"sentence {number}, token {self.steps}: all that may stand here has probability 0")
        self.returned.append((sentence, kept, leaves, finished))

    def results(self) -> list[list[Hypothesis]]:
        """The hypotheses of all sentences in their first order, best first."""
        sentences, kept, leaves, finished = (torch.cat(x).tolist() for x in zip(*self.returned, strict=True))
        by_sentence: list[list[Hypothesis]] = [[] for _ in sentences]
        hypothesis = self.tree.reader(self.alpha)
        for sentence, scores, nodes, end in zip(sentences, kept, leaves, finished, strict=True):
            found = [node for score, node in zip(scores, nodes, strict=True) if score > -math.inf]
            by_sentence[sentence] = [hypothesis(node, end) for node in found]
        return by_sentence
