"""Recurrent models: read at once, by the token, padded, reversed, packed or searched, each is one function."""

from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from allyouneed.decoding.scorers import forced_score
from allyouneed.decoding.search import beam_search
from allyouneed.errors import UsageError
from allyouneed.models.presets import configure, count_parameters
from allyouneed.models.recurrent import Recurrent, RecurrentConfig
from allyouneed.parts.masks import causal, documents, sliding_window

V, PAD, BOS, EOS = 17, 0, 1, 2
PLAIN: dict[str, Any] = {"attention": "none", "bidirectional": False}
SHAPES: dict[str, dict[str, Any]] = {
    "Sutskever": {
        **PLAIN, "cell": "lstm", "n_encoder_layers": 2, "n_decoder_layers": 2, "bridge": "copy", "readout": "none",
        "reverse_source": True, "output_bias": False,
    },
    "Cho": {**PLAIN, "summary": "every-step"},
    "RNNsearch": {},
    "RNNsearch, reversed": {"reverse_source": True, "shared_embeddings": True, "tied_embeddings": True, "d_readout": 6},
    "two layers that look": {
        "cell": "lstm", "n_decoder_layers": 2, "bridge": "copy", "readout": "leaky-relu", "readout_inputs": "state",
        "source_vocab_size": 30,
    },
    "LSTM that looks": {"cell": "lstm"},
}  # fmt: skip
LANGUAGE: dict[str, Any] = {
    **PLAIN, "n_encoder_layers": 0, "n_decoder_layers": 2, "readout": "none", "cell": "lstm",
}  # fmt: skip


def make(shape: dict[str, Any]) -> Recurrent:
    """Random but decided, with weights that all matter."""
    torch.manual_seed(5)
    sizes: dict[str, Any] = {
        "vocab_size": V,
        "d_embedding": 6,
        "d_hidden": 8,
        "d_attention": 5,
        "d_readout": 7,
        "max_length": 40,
    }
    model = Recurrent(RecurrentConfig(**{**sizes, **shape})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model


@pytest.fixture(params=SHAPES.values(), ids=list(SHAPES))
def model(request: pytest.FixtureRequest) -> Recurrent:
    return make(request.param)


def sources() -> list[list[int]]:
    generator = torch.Generator().manual_seed(2)
    return [[*torch.randint(3, V, (length,), generator=generator).tolist(), EOS] for length in (6, 2, 8, 4)]


def padded(rows: list[list[int]], *, left: bool = False) -> tuple[Tensor, Tensor]:
    width = max(map(len, rows)) + 2
    fill = [[PAD] * (width - len(row)) for row in rows]
    source = torch.tensor([f + row if left else row + f for row, f in zip(rows, fill, strict=True)])
    return source, source != PAD


TARGET = torch.randint(3, V, (4, 9), generator=torch.Generator().manual_seed(3))


@torch.no_grad()
@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
def test_padding_and_batching_change_nothing(model: Recurrent, left: bool) -> None:
    rows = sources()
    source, keep = padded(rows, left=left)
    together = model(source, TARGET, keep)
    for number, row in enumerate(rows):
        alone = model(torch.tensor([row]), TARGET[number : number + 1])
        torch.testing.assert_close(together[number], alone[0], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_steps_and_parts_are_the_whole(model: Recurrent) -> None:
    memory = model.encode(*padded(sources()))
    whole = model.logits(model.decode(TARGET, memory))
    logits, state = model.read(TARGET[:, :4], model.start(memory))
    torch.testing.assert_close(logits, whole[:, 3])
    for t in range(4, 9):
        logits, state = model.step(TARGET[:, t], state)
        torch.testing.assert_close(logits, whole[:, t])


@torch.no_grad()
@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
def test_prompts_of_unequal_length(model: Recurrent, left: bool) -> None:
    memory = model.encode(*padded(sources()))
    prompts = [TARGET[row, : row + 2].tolist() for row in range(4)]
    tokens, keep = padded(prompts, left=left)
    logits, state = model.read(tokens, model.start(memory), keep)
    after, _ = model.step(TARGET[:, 8], state)
    for row, prompt in enumerate(prompts):
        alone = memory.select(torch.tensor([row]))
        wanted, one = model.read(torch.tensor([prompt]), model.start(alone))
        torch.testing.assert_close(logits[row : row + 1], wanted, atol=1e-5, rtol=1e-5)
        wanted, _ = model.step(TARGET[row : row + 1, 8], one)
        torch.testing.assert_close(after[row : row + 1], wanted, atol=1e-5, rtol=1e-5)


def test_training_computes_what_writing_computes(model: Recurrent) -> None:
    source, keep = padded(sources())
    trained = model(source, TARGET, keep)
    with torch.no_grad():
        torch.testing.assert_close(trained, model(source, TARGET, keep))
    trained.square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.isfinite().all()), name
        assert float(parameter.grad.abs().max()) > 0, name


@torch.no_grad()
def test_search_forced_and_full_scores_agree(model: Recurrent) -> None:
    rows = sources()
    memory = model.encode(*padded(rows))
    settings: dict[str, Any] = {"bos": BOS, "eos": EOS, "beam": 4, "nbest": 3, "max_tokens": 12}
    found = beam_search(model.start(memory), model.step, forbidden=(PAD, BOS), **settings)
    for number, ranked in enumerate(found):
        alone = model.encode(torch.tensor([rows[number]]))
        (single,) = beam_search(model.start(alone), model.step, forbidden=(PAD, BOS), **settings)
        assert [hypothesis.tokens for hypothesis in single] == [hypothesis.tokens for hypothesis in ranked]
        for hypothesis in (hypothesis for hypothesis in ranked if hypothesis.finished):
            (forced,) = forced_score(model.start(alone), model.step, [hypothesis.tokens], bos=BOS, eos=EOS)
            assert hypothesis.token_logprobs == pytest.approx(forced, abs=1e-4)
            text = torch.tensor([[BOS, *hypothesis.tokens]])
            full = model(torch.tensor([rows[number]]), text).log_softmax(-1)
            goal = torch.tensor([[*hypothesis.tokens, EOS]])
            assert float(full.gather(-1, goal[:, :, None]).sum()) == pytest.approx(hypothesis.logprob, abs=1e-4)


@torch.no_grad()
def test_beam_of_one_is_greedy(model: Recurrent) -> None:
    rows = sources()
    found = beam_search(model.start(model.encode(*padded(rows))), model.step, bos=BOS, eos=EOS, beam=1, max_tokens=9)
    for row, (best,) in zip(rows, found, strict=True):
        state, token, written = model.start(model.encode(torch.tensor([row]))), BOS, list[int]()
        while len(written) < 9:
            logits, state = model.step(torch.tensor([token]), state)
            token = int(logits.argmax())
            if token == EOS:
                break
            written.append(token)
        assert best.tokens == written


@torch.no_grad()
def test_beams_share_one_memory() -> None:
    model = make({})
    state = model.start(model.encode(*padded(sources())))
    wide = state.select(torch.tensor([0, 0, 1, 1, 2, 2, 3, 3]))
    assert wide.memory is state.memory
    assert (wide.rows, state.rows) == (8, 4)
    fewer = wide.select(torch.tensor([2, 3, 7, 6]))
    assert fewer.memory is not None
    assert len(fewer.memory.states) == 2
    tokens = torch.tensor([4, 5, 6, 7])
    logits, _ = model.step(tokens, fewer)
    wanted, _ = model.step(torch.tensor([0, 0, 4, 5, 0, 0, 7, 6]), wide)
    torch.testing.assert_close(logits, wanted[[2, 3, 7, 6]])


@torch.no_grad()
@pytest.mark.parametrize("name", ["Sutskever", "RNNsearch, reversed"])
def test_reversal_is_the_other_order_of_the_same_tokens(name: str) -> None:
    model = make(SHAPES[name])
    forward = Recurrent(replace(model.config, reverse_source=False)).eval()
    forward.load_state_dict(model.state_dict())
    rows = sources()
    memory = model.encode(*padded(rows))
    for number, row in enumerate(rows):
        other = forward.encode(torch.tensor([row[::-1]]))
        for ours, theirs in zip(memory.start, other.start, strict=True):
            torch.testing.assert_close(ours.hidden[number], theirs.hidden[0])
        # What was read stands where its token stands, so that alignments point to the right place.
        torch.testing.assert_close(memory.states[number, : len(row)], other.states[0].flip(0))


@torch.no_grad()
def test_rnnsearch_is_its_equations() -> None:
    """Bahdanau 2015, section A.2, with torch's GRU; the output reads the state after the token (equation 4)."""
    model = make({})
    weights = model.state_dict()
    source, target = torch.tensor([[3, 9, 4, 12]]), torch.tensor([[BOS, 5, 7]])
    x, y = weights["embedding.weight"][source], weights["target_embedding.weight"][target]

    def cell(x: Tensor, h: Tensor, name: str, more: Tensor | float = 0.0) -> Tensor:
        given = x @ weights[f"{name}.input.weight"].T + weights[f"{name}.input.bias"] + more
        told = h @ weights[f"{name}.recurrent_weight"].T + weights[f"{name}.recurrent_bias"]
        (a, b, c), (d, e, f) = given.chunk(3, -1), told.chunk(3, -1)
        r, z = (a + d).sigmoid(), (b + e).sigmoid()
        return (1 - z) * (c + r * f).tanh() + z * h

    sides: list[Tensor] = []
    for number, order in enumerate((range(4), range(3, -1, -1))):
        h, states = torch.zeros(1, 8), dict[int, Tensor]()
        for t in order:
            h = states[t] = cell(x[:, t], h, f"encoder.stack.layers.{number}")
        sides.append(torch.stack([states[t] for t in range(4)], 1))
    annotations = torch.cat(sides, -1)
    s = (sides[1][:, 0] @ weights["encoder.bridge.weight"].T + weights["encoder.bridge.bias"]).tanh()
    attention = "decoder.cross_attention"
    keys = annotations @ weights[f"{attention}.key.weight"].T + weights[f"{attention}.key.bias"]
    logits: list[Tensor] = []
    for t in range(3):
        energy = (s @ weights[f"{attention}.query.weight"].T + keys[0]).tanh() @ weights[f"{attention}.direction"]
        c = energy.softmax(0) @ annotations[0]
        s = cell(y[:, t], s, "decoder.stack.layers.0", c @ weights["decoder.context_input.weight"].T)
        told = torch.cat((s, y[:, t], c[None]), -1) @ weights["readout.weight"].T + weights["readout.bias"]
        pairs = torch.maximum(told[:, 0::2], told[:, 1::2])
        logits.append(pairs @ weights["output.weight"].T + weights["output_bias"])
    torch.testing.assert_close(model(source, target), torch.stack(logits, 1))


@torch.no_grad()
def test_texts_in_one_row_are_texts_apart() -> None:
    model = make(LANGUAGE)
    texts = [TARGET[0, :4], TARGET[1, :3], TARGET[2, :2], TARGET[3, :5]]
    packed = torch.stack((torch.cat(texts[:2]), torch.cat((texts[2], texts[3]))))
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2], [0, 1, 0, 1, 2, 3, 4]])
    mask = causal() & documents(torch.tensor([[1, 1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 2, 2, 2]]))
    states = model.decode(packed, mask=mask, positions=positions)
    apart = [model.decode(text[None])[0] for text in texts]
    torch.testing.assert_close(states, torch.stack((torch.cat(apart[:2]), torch.cat(apart[2:]))))


@torch.no_grad()
def test_a_language_model_obeys_the_chain_rule() -> None:
    model = make(LANGUAGE)
    whole = model(TARGET).log_softmax(-1)
    state, total = model.start(sentences=4), torch.zeros(4)
    logits, state = model.step(TARGET[:, 0], state)
    for t in range(1, 9):
        total += logits.log_softmax(-1).gather(1, TARGET[:, t, None])[:, 0]
        logits, state = model.step(TARGET[:, t], state)
    torch.testing.assert_close(total, whole[:, :-1].gather(-1, TARGET[:, 1:, None]).sum((1, 2)), atol=1e-4, rtol=0)
    assert state.bytes == 4 * 2 * 2 * 8 * 4


@torch.no_grad()
def test_no_token_moves_what_was_before_it(model: Recurrent) -> None:
    memory = model.encode(*padded(sources()))
    other = TARGET.clone()
    other[:, 5:] = 3 + (other[:, 5:] - 2) % (V - 3)
    before, after = model.decode(TARGET, memory)[:, :5], model.decode(other, memory)[:, :5]
    assert torch.equal(before, after)


def test_rnnsearch_learns_to_turn_texts_around() -> None:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"vocab_size": 12, "d_hidden": 24, "d_embedding": 16, "d_readout": 16, "d_attention": 16}
    model = Recurrent(RecurrentConfig(initialisation="uniform", **sizes))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss = torch.zeros(())
    for _ in range(120):
        source = torch.randint(3, 12, (32, 4))
        goal = source.flip(1)
        given = torch.cat((torch.full((32, 1), BOS), goal[:, :-1]), 1)
        loss = cross_entropy(model(source, given).flatten(0, 1), goal.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 1  # chance: ln 9 = 2.2


def test_presets_have_the_papers_sizes() -> None:
    recurrent_weights = 8 * 4 * 1000 * 2000  # "64M are pure recurrent connections", and 320M in three tables
    biases = 8 * 2 * 4 * 1000
    assert count_parameters(configure("sutskever-lstm")) == recurrent_weights + 320_000 * 1000 + biases
    fields = [cast(RecurrentConfig, configure(name)) for name in ("rnnsearch", "rnnencdec")]
    assert [(c.vocab_size, c.d_embedding, c.d_hidden, c.d_readout) for c in fields] == [(30_000, 620, 1000, 500)] * 2
    assert [c.attention for c in fields] == ["additive", "none"]
    assert count_parameters(configure("rnnencdec-small")) < count_parameters(configure("rnnsearch-small")) < 470_000


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"d_hidden": 0}, "d_hidden = 0: at least 1 is needed"),
        ({"n_encoder_layers": -1}, "n_encoder_layers = -1: 0 or more is needed"),
        ({"cell": "rnn"}, 'cell "rnn" is none of lstm, gru'),
        ({"dropout": 1.0}, r"dropout = 1.0 is outside \[0, 1\)"),
        ({"n_encoder_layers": 0}, "attention belongs to a model with an encoder"),
        ({"bridge": "copy"}, "the encoder's 2 last states cannot begin 1 decoder layers"),
        ({"summary": "every-step"}, "a model with attention finds its own context at every step"),
        ({"tied_embeddings": True}, "what the output is made from has width 500, the embeddings 620"),
        ({"shared_embeddings": True, "source_vocab_size": 5}, "source_vocab_size 5 is not vocab_size 30000"),
    ],
)
def test_what_no_model_can_be_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecurrentConfig(**fields)
    with pytest.raises(UsageError, match=f'Preset "rnnsearch": .*{message}'):
        configure("rnnsearch", **fields)


def test_it_says_what_it_cannot_do() -> None:
    model = make({})
    with pytest.raises(ValueError, match="give it the encoder's memory"):
        model.start()
    with pytest.raises(ValueError, match="an encoder-decoder needs a target"):
        model(TARGET)
    with pytest.raises(ValueError, match="cannot obey the mask"):
        make(LANGUAGE).decode(TARGET, mask=sliding_window(3))
