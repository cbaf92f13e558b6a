from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
import transformers
from tokenizers.pre_tokenizers import ByteLevel
from torch import Tensor

from allyouneed.checkpoints.gguf import load_gguf
from allyouneed.errors import InputError

# What the tiny files hold --------------------------------------------------------------------------------------------


def tokenizer_entries(writer: gguf.GGUFWriter) -> None:
    """A byte-level vocabulary of single bytes, some pairs, and three marks: 263 pieces."""
    alphabet = sorted(ByteLevel.alphabet())
    pairs = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("1", "2")]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list([*alphabet, *(left + right for left, right in pairs), "<begin>", "<end>", "<unk>"])
    writer.add_token_types([1] * 260 + [3] * 3)
    writer.add_token_merges([f"{left} {right}" for left, right in pairs])
    writer.add_bos_token_id(260)
    writer.add_eos_token_id(261)
    writer.add_unk_token_id(262)
    writer.add_add_bos_token(True)


def llama_names(name: str) -> str:
    """The converter's names of the independent library's tensors."""
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3 if "_norm" in name else gguf.MODEL_ARCH.LLAMA, 8)
    found = table.get_name(name, try_suffixes=(".weight", ".bias"))
    assert found is not None, name
    return found


def neighbours(rows: Tensor, n_heads: int) -> Tensor:
    """The row order in which "llama" files keep queries and keys: the pairs that are turned stand side by side."""
    halves = rows.unflatten(0, (n_heads, 2, -1))
    return halves.transpose(1, 2).flatten(0, 2)


def tiny(kind: str, **changes: Any) -> Any:
    """A random model of the independent library."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": 263, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": 64, "tie_word_embeddings": False, "initializer_range": 0.3,
        **({"head_dim": 16} if kind == "qwen3" else {}), **changes,
    }  # fmt: skip
    classes: dict[str, tuple[Any, Any]] = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    }
    config, model = classes[kind]
    built = model(config(**sizes)).eval()
    with torch.no_grad():
        for name, parameter in built.named_parameters():
            if "norm" in name or "bias" in name:
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return built


def tensors_of(model: Any, kind: str) -> dict[str, Tensor]:
    """The tensors as a file of this kind holds them."""
    tensors: dict[str, Tensor] = {}
    config = model.config
    for name, tensor in model.state_dict().items():
        if kind == "llama" and ("q_proj" in name or "k_proj" in name):
            tensor = neighbours(tensor, config.num_attention_heads if "q_proj" in name else config.num_key_value_heads)
        if not (name.startswith("lm_head") and config.tie_word_embeddings):
            tensors[llama_names(name)] = tensor
    return tensors


def write_model(
    path: Path,
    model: Any,
    kind: str = "llama",
    *,
    extra: Callable[[gguf.GGUFWriter], None] = lambda writer: None,
    tokenizer: Callable[[gguf.GGUFWriter], None] = tokenizer_entries,
    change: Callable[[dict[str, Any]], Any] = lambda tensors: None,
) -> Path:
    config = model.config
    writer = gguf.GGUFWriter(path, kind)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    if kind == "qwen3":
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    extra(writer)
    tokenizer(writer)
    tensors: dict[str, Any] = dict(tensors_of(model, kind))
    change(tensors)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor.numpy())
    return finish(writer, path)


def finish(writer: gguf.GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# Models --------------------------------------------------------------------------------------------------------------


def agree(path: Path, model: Any) -> None:
    """The same logits, and the same greedy text."""
    saved = load_gguf(path)
    tokens = torch.randint(0, 260, (2, 40), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        theirs = model(tokens).logits
        ours = saved.model.logits(saved.model.decode(tokens))
        assert (ours - theirs).abs().max() < 1e-4
        assert theirs.std() > 0.3
        written = model.generate(tokens[:1, :8], max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0)
        logits, state = saved.model.read(tokens[:1, :8], saved.model.start(sentences=1))
        for token in written[0, 8:].tolist():
            assert int(logits.argmax()) == token
            logits, state = saved.model.step(torch.tensor([token]), state)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("tied", [False, True])
def test_a_model_computes_what_the_independent_library_computes(tmp_path: Path, kind: str, tied: bool) -> None:
    model = tiny(kind, tie_word_embeddings=tied)
    agree(write_model(tmp_path / "m.gguf", model, kind), model)


def linear(writer: gguf.GGUFWriter) -> None:
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(4.0)


def yarn(writer: gguf.GGUFWriter) -> None:
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(4.0)
    writer.add_rope_scaling_orig_ctx_len(16)


@pytest.mark.parametrize("extra", [linear, yarn])
def test_scaled_positions_agree(tmp_path: Path, extra: Callable[[gguf.GGUFWriter], None]) -> None:
    scaling = {"rope_type": extra.__name__, "factor": 4.0, "rope_theta": 10_000.0}
    if extra is yarn:
        scaling["original_max_position_embeddings"] = 16
    model = tiny("llama", rope_parameters=scaling)
    agree(write_model(tmp_path / "m.gguf", model, extra=extra), model)


def divisors(model: Any) -> Tensor:
    """What a file holds of Llama 3.1's scaling."""
    plain = 500_000.0 ** -(torch.arange(0, 8, 2) / 8)
    return plain / model.model.rotary_emb.inv_freq


def llama3() -> Any:
    scaling = {
        "rope_type": "llama3", "factor": 8.0, "rope_theta": 500_000.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }  # fmt: skip
    return tiny("llama", rope_parameters=scaling)


def test_llama3_scaling_is_found_again_in_its_frequencies(tmp_path: Path) -> None:
    model = llama3()
    path = write_model(
        tmp_path / "m.gguf", model, change=lambda all: all.update({"rope_freqs.weight": divisors(model)})
    )
    agree(path, model)
    assert load_gguf(path).config.rotary_factor == 8


def test_frequencies_of_another_kind_are_refused(tmp_path: Path) -> None:
    model = llama3()
    odd = divisors(model) + torch.tensor([0.0, 0.5, 0.0, 0.0])
    path = write_model(tmp_path / "m.gguf", model, change=lambda all: all.update({"rope_freqs.weight": odd}))
    with pytest.raises(
        InputError, match=r"m.gguf: it asks .*rope_freqs.weight is not what Llama 3.1 makes of a factor 8"
    ):
        load_gguf(path)


def test_experts_are_taken_apart(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = transformers.MixtralConfig(
        vocab_size=263, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, num_local_experts=4, initializer_range=0.3,
        sliding_window=None,
    )  # fmt: skip
    model: Any = transformers.MixtralForCausalLM(config).eval()
    experts = model.model.layers[0].mlp.experts

    def extra(writer: gguf.GGUFWriter) -> None:
        writer.add_expert_count(4)
        writer.add_expert_used_count(2)

    def change(tensors: dict[str, Tensor]) -> None:
        gate, up = experts.gate_up_proj.detach().chunk(2, 1)
        tensors["blk.0.ffn_gate_exps.weight"], tensors["blk.0.ffn_up_exps.weight"] = gate.clone(), up.clone()
        tensors["blk.0.ffn_down_exps.weight"] = experts.down_proj.detach()
        tensors["blk.0.ffn_gate_inp.weight"] = model.model.layers[0].mlp.gate.weight.detach()

    shown = {name: value for name, value in model.state_dict().items() if "experts" not in name and "gate" not in name}
    model.state_dict = lambda: shown  # the rest is put in by `change`
    agree(write_model(tmp_path / "m.gguf", model, extra=extra, change=change), model)


# What is refused -----------------------------------------------------------------------------------------------------


def without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda tensors: tensors.pop(name)


def with_tensor(name: str, tensor: Tensor) -> Callable[[dict[str, Any]], Any]:
    return lambda tensors: tensors.update({name: tensor})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("blk.1.ffn_up.weight"), "has no tensor blk.1.ffn_up.weight"),
        (
            with_tensor("blk.9.x", torch.zeros(2)),
            "holds a tensor blk.9.x that a model of its architecture has no place",
        ),
        (with_tensor("output_norm.weight", torch.zeros(31)), r"output_norm.weight has the shape \[31\], .* \[32\]"),
        (
            with_tensor("output_norm.weight", torch.full((32,), torch.nan)),
            "output_norm.weight holds values that are not",
        ),
        (with_tensor("token_embd.weight", torch.zeros(200, 32)), "263 pieces, but its embedding only 200 rows"),
    ],
)
def test_tensors_that_do_not_fit_are_named(tmp_path: Path, change: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_gguf(write_model(tmp_path / "m.gguf", tiny("llama"), change=change))


def one_of_three_parts(writer: gguf.GGUFWriter) -> None:
    writer.add_uint16("split.count", 3)


def scaled_logits(writer: gguf.GGUFWriter) -> None:
    writer.add_logit_scale(0.5)


def long_rope(writer: gguf.GGUFWriter) -> None:
    writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)


def narrow_values(writer: gguf.GGUFWriter) -> None:
    writer.add_value_length(4)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (one_of_three_parts, "is one of 3 parts: join them"),
        (scaled_logits, r"logit_scale is 0\.5, and here it can only be 1\.0"),
        (long_rope, 'the rope scaling is "longrope"'),
        (narrow_values, r"attention\.value_length is 4, and here it can only be 8"),
    ],
)
def test_settings_that_cannot_be_met_are_refused(
    tmp_path: Path, extra: Callable[[gguf.GGUFWriter], None], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load_gguf(write_model(tmp_path / "m.gguf", tiny("llama"), extra=extra))


def test_an_unknown_architecture_is_refused_with_the_nearest(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "qwen")
    with pytest.raises(InputError, match=r'architecture "qwen", none of llama, qwen2, qwen3. Did you mean "qwen\d"\?'):
        load_gguf(finish(writer, tmp_path / "m.gguf"))


def test_missing_sizes_are_all_named(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    with pytest.raises(InputError, match=r"llama.embedding_length is missing; .*llama.context_length is missing"):
        load_gguf(finish(writer, tmp_path / "m.gguf"))
