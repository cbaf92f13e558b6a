"""What a text is worth to a model: its length penalty, and the log-probability of each of its tokens."""

from collections.abc import Sequence

import torch

from allyouneed.decoding.interface import AnyState, Step
from allyouneed.errors import InputError


def length_penalty(length: float, alpha: float) -> float:
    """((5 + length) / 6)^α, by which a sum of log-probabilities is divided (Wu 2016, section 7); 1 where α = 0.

    The length counts every token that was scored, the end token too.
    """
    return ((5 + length) / 6) ** alpha


def worth_leaving(ended: int, sentences: int) -> bool:
    """Whether so many sentences have ended that moving the others together costs less than carrying them all along."""
    return 8 * ended >= sentences


@torch.inference_mode()
def forced_score(
    state: AnyState, step: Step[AnyState], targets: Sequence[Sequence[int]], *, bos: int, eos: int
) -> list[list[float]]:
    """The log-probability of each token of each target, the end token last: exactly what the search counts for it.

    One target (without start and end token) for each row of a fresh state.
    """
    if len(targets) != state.rows:
        raise InputError(f"{len(targets)} targets for {state.rows} rows: each row needs one target")
    if not targets:
        return []
    lengths = [len(target) + 1 for target in targets]
    longest = max(lengths)
    text = torch.tensor([[*target, *[eos] * (longest - len(target))] for target in targets], device=state.device)
    logprobs = torch.zeros(text.shape, device=state.device)  # [R, T]
    live = list(range(len(targets)))
    tokens = text.new_full((len(targets),), bos)
    for position in range(longest):
        logits, state = step(tokens, state)
        rows = torch.tensor(live, device=state.device)
        tokens = text[rows, position]
        given = logits.log_softmax(-1, dtype=torch.float32).gather(1, tokens[:, None])
        logprobs[rows, position] = given[:, 0]
        stay = [row for row, sentence in enumerate(live) if lengths[sentence] > position + 1]
        if stay and worth_leaving(len(live) - len(stay), len(live)):
            kept = torch.tensor(stay, device=state.device)
            state, tokens, live = state.select(kept), tokens[kept], [live[row] for row in stay]
    return [row[:length] for row, length in zip(logprobs.tolist(), lengths, strict=True)]
