"""Models as ONNX graphs, for onnxruntime: in a browser, on a phone, or in a program of another language."""

from pathlib import Path
from typing import Any

from torch import nn

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.checkpoints.huggingface import described
from allyouneed.checkpoints.huggingface.files import CONFIG, write_json
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.checkpoints.huggingface.tokens import check_vocabulary, mark_ids, write_tokenizer
from allyouneed.errors import UsageError
from allyouneed.models.config import TransformerConfig
from allyouneed.models.transformer import Transformer
from allyouneed.text.vocabulary import Vocabulary

ALONE, ENCODER, DECODER = "model.onnx", "encoder_model.onnx", "decoder_model_merged.onnx"
SCRIPT = "run.py"


def save_onnx(folder: Path, model: nn.Module, tokenizer: Vocabulary) -> None:
    """Writes a folder that onnxruntime runs without torch and this package, whole or not at all: the graphs under the
    names of Optimum, the tokenizer, a card with all inputs and outputs, and a script that runs the model.

    Raises `Refused` with every reason why the model is no such graph, UsageError where the package onnx is missing,
    and InputError where the tokenizer belongs to another model, or the disk is full.
    """
    problems = reasons(model) if isinstance(model, Transformer) else ["it is no Transformer"]
    if problems or not isinstance(model, Transformer):
        raise Refused("This model cannot be written as an ONNX graph", problems)
    config = model.config
    check_vocabulary(tokenizer, config, folder)
    try:
        from allyouneed.checkpoints.onnx.card import card  # it and the graphs need the package onnx, an extra
        from allyouneed.checkpoints.onnx.stacks import decoder_graph, encoder_graph
    except ModuleNotFoundError as missing:
        raise UsageError(f'This format needs {missing.name}: pip install "allyouneed[export]".') from missing
    if config.is_encoder_decoder:
        graphs = {ENCODER: encoder_graph(model), DECODER: decoder_graph(model)}
    else:
        graphs = {ALONE: encoder_graph(model) if config.line == "encoder" else decoder_graph(model)}
    values = config_values(config, tokenizer)
    with staged_folder(folder) as staging:
        for name, graph in graphs.items():
            graph.save(staging / name)
        write_json(staging / CONFIG, values)
        write_tokenizer(staging, tokenizer, config)
        (staging / SCRIPT).write_text(Path(__file__).with_name(f"run_{config.line}.py").read_text("utf-8"), "utf-8")
        (staging / "README.md").write_text(card(folder.name, config, graphs, values.get("model_type")), "utf-8")


def reasons(model: Transformer) -> list[str]:
    """Why a model is not written as a graph; empty where it is."""
    config = model.config
    said = {
        'positions "shaw"': config.positions == "shaw",
        "a mixture of experts": config.n_experts > 0,
        "halting": config.halting,
        f'reach "{config.reach}"': config.reach != "full",
    }
    return [reason for reason, holds in said.items() if holds]


def config_values(config: TransformerConfig, tokenizer: Vocabulary) -> dict[str, Any]:
    """The `config.json` of the family of the Hugging Face layout that holds the model; where none does, the marks."""
    try:
        return described(config, tokenizer, None)[1]
    except Refused:
        return {**mark_ids(tokenizer, config), "vocab_size": config.vocab_size}
