"""Pointer networks and what came before them: beside a plain reading of the formulas, and equal in every form."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from allyouneed.decoding.scorers import forced_score
from allyouneed.decoding.search import beam_search
from allyouneed.errors import UsageError
from allyouneed.models.pointer import END, PointerConfig, PointerNetwork
from allyouneed.models.pointer_rules import Written, may_follow
from allyouneed.models.presets import build, configure, count_parameters

KINDS: dict[str, dict[str, Any]] = {
    "pointer": {},
    "glimpses": {"glimpses": 2, "d_attention": 12},
    "both ways": {"bidirectional": True, "n_layers": 2},
    "attention": {"output": "attention", "max_points": 9},
    "plain": {"output": "plain", "max_points": 9},
    "free": {"constrained": False},
    "tour": {"problem": "tour"},
    "triangles": {"problem": "triangulation"},
}


def network(**fields: Any) -> PointerNetwork:
    torch.manual_seed(3)
    model = PointerNetwork(PointerConfig.from_fields({"d_model": 16, **fields})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8)  # so that what is likely depends on the points
    return model


def points_of(sets: int, size: int = 7) -> Tensor:
    return torch.rand(sets, size, 2, generator=torch.Generator().manual_seed(size))


def search(model: PointerNetwork, points: Tensor, keep: Tensor | None = None, beam: int = 1) -> list[list[Any]]:
    state = model.start(model.encode(points, keep))
    settings: Any = {"bos": END, "eos": END, "max_tokens": 20, "length_penalty": 0.0}
    return beam_search(state, model.step, beam=beam, nbest=beam, **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_at_a_time_is_the_whole_answer(kind: str) -> None:
    model, points = network(**KINDS[kind]), points_of(3)
    target = torch.tensor([[3, 5, 7, 1, 0], [1, 2, 3, 0, 0], [2, 4, 6, 7, 5]])
    whole = model(points, target)
    state = model.start(model.encode(points))
    for step in range(target.shape[1]):
        logits, state = model.step(torch.full((3,), END) if step == 0 else target[:, step - 1], state)
        torch.testing.assert_close(logits, whole[:, step], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beam", [1, 3])
def test_sets_of_unlike_size_are_answered_together_as_alone(kind: str, beam: int) -> None:
    model, points = network(**KINDS[kind]), points_of(4, 8)
    sizes = [8, 5, 3, 6]
    keep = torch.arange(8) < torch.tensor(sizes)[:, None]
    padded = points.masked_fill(~keep[..., None], 0.7)
    together = search(model, padded, keep, beam)
    for number, size in enumerate(sizes):
        alone = search(model, points[number : number + 1, :size], None, beam)[0]
        assert [one.tokens for one in together[number]] == [one.tokens for one in alone]
        for one, other in zip(together[number], alone, strict=True):
            assert one.logprob == pytest.approx(other.logprob, abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_forced_scores_are_the_searchs(kind: str) -> None:
    model, points = network(**KINDS[kind]), points_of(3)
    found = [best[0] for best in search(model, points, beam=3)]
    state = model.start(model.encode(points))
    forced = forced_score(state, model.step, [one.tokens for one in found], bos=END, eos=END)
    for scores, one in zip(forced, found, strict=True):
        assert scores[: len(one.token_logprobs)] == pytest.approx(one.token_logprobs, abs=1e-4)


def test_pointing_is_the_formula() -> None:
    """u_j = v · tanh(W1 e_j + W2 d) (Vinyals 2015, equation 3), on torch's own LSTM."""
    model, points = network(constrained=False), points_of(2)
    target = torch.tensor([[3, 5, 7, 0], [1, 2, 3, 0]])
    encoder, decoder = (torch.nn.LSTM(2, 16, batch_first=True) for _ in range(2))
    for theirs, ours in ((encoder, model.encoder), (decoder, model.decoder)):
        layer = ours.all_layers[0]
        values = (layer.input.weight, layer.recurrent_weight, layer.input.bias, layer.recurrent_bias)
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        theirs.load_state_dict({name: value.detach() for name, value in zip(names, values, strict=True)})
    states, last = encoder(points)
    fed = torch.cat((model.beginning.expand(2, 1, 2), points[torch.arange(2)[:, None], target[:, :-1] - 1]), 1)
    queries, _ = decoder(fed, last)
    lookup: Any = model.lookups[0]
    columns = torch.cat((model.end.expand(2, 1, 16), states), 1)
    inside = (lookup.key(columns)[:, None] + lookup.query(queries)[:, :, None]).tanh()
    torch.testing.assert_close(model(points, target), inside @ lookup.direction, rtol=1e-4, atol=1e-5)


def test_a_glimpse_is_added_to_what_points() -> None:
    model, points = network(glimpses=1, constrained=False), points_of(1)
    target = torch.tensor([[2, 0]])
    memory = model.encode(points)
    states, _ = model.decoder(torch.stack((model.beginning, points[0, 1]))[None], memory.pasts)
    glimpse, pointing = model.all_lookups()[1], model.all_lookups()[0]
    chances = (glimpse.key(memory.columns)[:, None] + glimpse.query(states)[:, :, None]).tanh() @ glimpse.direction
    found = chances.softmax(-1) @ memory.columns
    expected = pointing.scores(states + found, pointing.keys(memory.columns))
    torch.testing.assert_close(model(points, target), expected, rtol=1e-4, atol=1e-5)


def test_two_directions_stand_side_by_side() -> None:
    model = network(bidirectional=True)
    memory = model.encode(points_of(2))
    states = memory.columns[:, 1:]  # the first half has read up to each point, the other half from the end to it
    torch.testing.assert_close(memory.pasts[0].hidden, torch.cat((states[:, -1, :8], states[:, 0, 8:]), 1))


def test_attention_feeds_what_it_found() -> None:
    """The mixture of states stands beside the state for the table, and is fed on (section 2.2)."""
    model, points = network(output="attention", max_points=7, constrained=False), points_of(1)
    memory = model.encode(points)
    lookup, cell = model.all_lookups()[0], model.decoder.all_layers[0]
    past, found = memory.pasts[0], torch.zeros(1, 16)
    states = memory.columns[:, 1:]
    for step, token in enumerate((END, 4, 2)):
        past = cell.step(torch.cat((model.embedding.weight[token][None], found), 1), past)
        inside = (lookup.key(states) + lookup.query(past.hidden)[:, None]).tanh() @ lookup.direction
        found = (inside.softmax(-1)[:, None] @ states)[:, 0]
        expected = model.output(torch.cat((past.hidden, found), 1))
        torch.testing.assert_close(model(points, torch.tensor([[4, 2, 1]]))[:, step], expected, rtol=1e-4, atol=1e-5)


def test_every_answer_that_is_allowed_has_a_chance_and_together_they_are_all() -> None:
    model, points = network(problem="hull"), points_of(1, 4)
    rows = [row for size in (3, 4) for row in itertools.permutations(range(1, 5), size)]
    state = model.start(model.encode(points.expand(len(rows), -1, -1)))
    scores = forced_score(state, model.step, [list(row) for row in rows], bos=END, eos=END)
    assert sum(torch.tensor(list(map(sum, scores))).exp().tolist()) == pytest.approx(1, abs=1e-4)


def test_a_wide_search_finds_the_likeliest_tour() -> None:
    model, points = network(problem="tour"), points_of(1, 5)
    rows = [list(row) for row in itertools.permutations(range(1, 6))]
    state = model.start(model.encode(points.expand(len(rows), -1, -1)))
    totals = list(map(sum, forced_score(state, model.step, rows, bos=END, eos=END)))
    best = search(model, points, beam=120)[0][0]
    assert best.tokens == rows[max(range(len(rows)), key=totals.__getitem__)]
    assert best.logprob == pytest.approx(max(totals), abs=1e-4)


@pytest.mark.parametrize("kind", ["pointer", "tour", "triangles"])
def test_beams_hold_answers_alone(kind: str) -> None:
    model = network(**KINDS[kind])
    for found in search(model, points_of(5, 6), beam=4):
        for one in found:
            row = one.tokens
            assert one.finished or kind == "triangles"
            if kind == "triangles":
                assert len(row) % 3 == 0 or not one.finished
                assert all(row[i] < row[i + 1] for i in range(len(row) - 1) if i % 3 < 2)
            else:
                assert len(set(row)) == len(row) >= (6 if kind == "tour" else 3)


@pytest.mark.parametrize(
    ("problem", "given", "allowed"),
    [
        ("hull", [], [1, 2, 3, 4]),
        ("hull", [3], [1, 2, 4]),
        ("hull", [3, 1, 4], [0, 2]),
        ("hull", [3, 1, 4, 2], [0]),
        ("tour", [2, 1, 4], [3]),
        ("tour", [2, 1, 4, 3], [0]),
        ("triangulation", [], [1, 2]),  # two more must come after it
        ("triangulation", [2], [3]),
        ("triangulation", [1], [2, 3]),
        ("triangulation", [1, 2], [3, 4]),
        ("triangulation", [1, 2, 4], [0, 1, 2]),
        ("triangulation", [1, 2, 3] * 3, [0]),  # four points have three triangles at most
    ],
)
def test_what_may_follow(problem: Any, given: list[int], allowed: list[int]) -> None:
    keep = torch.tensor([[True] * 5 + [False]])
    written = Written.before(torch.tensor([[END, *given]]), 6)
    assert may_follow(problem, written, keep)[0, -1].nonzero()[:, 0].tolist() == allowed
    state = Written.nothing(1, 6, keep.device)
    for token in (END, *given):
        state = state.add(torch.tensor([[token]]))
    assert may_follow(problem, state, keep)[0, 0].nonzero()[:, 0].tolist() == allowed


def test_what_is_padded_with_moves_no_gradient() -> None:
    model = network(bidirectional=True)
    keep = torch.arange(6) < torch.tensor([[4]])
    target = torch.tensor([[1, 2, 4, 0]])
    found: list[Tensor] = []
    for filling in (0.0, 5.0):
        points = points_of(1, 6).masked_fill(~keep[..., None], filling)
        model.zero_grad()
        model(points, target, keep).gather(2, target[..., None]).sum().backward()
        found.append(
            torch.cat([parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None])
        )
    torch.testing.assert_close(*found)


def test_gradients_reach_every_weight() -> None:
    for kind in KINDS.values():
        model = network(**kind).train()
        target = (
            torch.tensor([[1, 2, 4, 5, 6, 7, 3, 0]]) if kind.get("problem") == "tour" else torch.tensor([[1, 2, 4, 0]])
        )
        model(points_of(1), target).log_softmax(-1).gather(2, target[..., None]).sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"d_model": 0}, "d_model = 0: at least 1 is needed"),
        ({"bidirectional": True, "d_model": 7}, "d_model = 7: two directions share it, so it must be even"),
        ({"output": "plain"}, 'output = "plain" needs max_points'),
        ({"max_points": 5}, "max_points belongs to an output by position: a pointer has no bound"),
        ({"output": "plain", "max_points": 5, "glimpses": 1}, 'glimpses = 1: only an output "pointer" has them'),
        ({"glimpses": -1}, "glimpses = -1: 0 or more are needed"),
        ({"problem": "hulls"}, "problem = 'hulls' is none of hull, triangulation, tour"),
        ({"output": "positions"}, "output = 'positions' is none of pointer, attention, plain"),
    ],
)
def test_models_that_cannot_be(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        configure("pointer-512", **fields)


def test_names_for_positions_run_out() -> None:
    with pytest.raises(ValueError, match="10 points, and this model has names for 9 positions"):
        network(output="plain", max_points=9).encode(points_of(1, 10))


def test_presets_are_the_papers() -> None:
    """One layer of 512 units each way: 4 · 512 · (2 + 512 + 2) twice, two matrices, two vectors and a first point."""
    model = build("pointer-512")
    layer, lookup = 4 * 512 * (2 + 512 + 2), 2 * 512 * 512 + 512 + 512
    assert count_parameters(model.config) == 2 * layer + lookup + 512 + 2
    assert model.config.line == "points"
