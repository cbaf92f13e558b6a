import struct
import tracemalloc
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Q

from allyouneed.checkpoints.gguf import open_gguf
from allyouneed.checkpoints.gguf_blocks import KINDS
from allyouneed.errors import InputError


def finish(writer: gguf.GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_token_list([f"piece {number}" for number in range(40)])
    writer.add_tensor("output_norm.weight", np.ones(32, np.float32))
    writer.add_tensor("token_embd.weight", np.ones((40, 32), np.float16))
    return finish(writer, path)


# Blocks --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Q.Q8_0, Q.Q4_0, Q.Q4_1, Q.F16, Q.BF16, Q.F32])
def test_blocks_become_the_numbers_that_the_reference_makes(kind: Q) -> None:
    numbers = np.random.default_rng(0).normal(size=(6, 128)).astype(np.float32)
    raw = np.ascontiguousarray(gguf.quants.quantize(numbers, kind)).view(np.uint8)
    ours = KINDS[kind].expand(raw.reshape(-1, KINDS[kind].size)).reshape(numbers.shape)
    np.testing.assert_array_equal(ours, gguf.quants.dequantize(raw, kind))
    assert np.abs(ours - numbers).max() < 0.4


@pytest.mark.parametrize(("kind", "halves"), [(Q.Q4_K, [0, 2]), (Q.Q6_K, [208])])
def test_blocks_of_256_become_the_numbers_that_the_reference_makes(kind: Q, halves: list[int]) -> None:
    random = np.random.default_rng(0)
    raw = random.integers(0, 256, (50, KINDS[kind].size), dtype=np.uint8)
    for place in halves:
        raw[:, place : place + 2] = random.normal(size=(50, 1)).astype(np.float16).view(np.uint8)
    np.testing.assert_allclose(KINDS[kind].expand(raw), gguf.quants.dequantize(raw, kind), rtol=1e-6, atol=1e-6)


# Files ---------------------------------------------------------------------------------------------------------------


def test_metadata_and_tensors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "some.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint8("a", 200)
    writer.add_int8("b", -3)
    writer.add_uint64("c", 1 << 40)
    writer.add_float64("d", 0.1)
    writer.add_bool("e", True)
    writer.add_string("f", "é한")
    writer.add_array("g", [1, -2, 3])
    writer.add_array("h", ["x", "y"])
    writer.add_array("i", [True, False])
    writer.add_custom_alignment(64)
    numbers = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    writer.add_tensor("exact", numbers)
    writer.add_tensor("half", numbers.astype(np.float16))
    writer.add_tensor("blocks", gguf.quants.quantize(np.ones((2, 64), np.float32), Q.Q8_0), raw_dtype=Q.Q8_0)
    file = open_gguf(finish(writer, path))
    assert {key: file.metadata[key] for key in "abcdefghi"} == {
        "a": 200, "b": -3, "c": 1 << 40, "d": 0.1, "e": True, "f": "é한", "g": [1, -2, 3], "h": ["x", "y"],
        "i": [True, False],
    }  # fmt: skip
    assert list(file.tensors) == ["exact", "half", "blocks"]
    assert torch.equal(file.tensors["exact"], torch.from_numpy(numbers))
    assert torch.equal(file.tensors["half"], torch.from_numpy(numbers))
    assert torch.allclose(file.tensors["blocks"], torch.ones(2, 64), rtol=1e-3)


def test_float32_is_read_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("large", np.ones((1024, 1024), np.float32))
    finish(writer, path)
    tracemalloc.start()
    tensor = open_gguf(path).tensors["large"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e6  # the tensor has 4 MiB
    tensor.zero_()
    assert bool(open_gguf(path).tensors["large"].all())  # the file itself is never written to


def test_a_missing_file_is_named_with_the_nearest(whole: Path) -> None:
    with pytest.raises(InputError, match=r'There is no file .*tinny.gguf. Did you mean "tiny.gguf"\?'):
        open_gguf(whole.with_name("tinny.gguf"))


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"GGML\x03\0\0\0", r"is no GGUF file: it begins with b'GGML', not with b'GGUF'"),
        (b"GGUF" + struct.pack("<I", 1), "is of GGUF version 1, and version 2 or 3"),
        (b"GGUF" + struct.pack(">I", 3), "is in big-endian byte order, and version 2 or 3 in little-endian"),
        (b"", "is cut short: it has 0 bytes and ends within its header"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, head: bytes, message: str) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(head)
    with pytest.raises(InputError, match=message):
        open_gguf(path)


def test_a_file_that_is_cut_short_says_where(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    path = tmp_path / "cut.gguf"
    table = content.index(b"output_norm.weight")
    for size, within in ((20, "header"), (200, "metadata"), (table, "table of tensors"), (-1, r"the tensor \S+")):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=f"is cut short: it has [0-9,]+ bytes and ends within .*{within}"):
            open_gguf(path)


def test_wherever_a_file_is_cut_there_is_one_sentence(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    path = tmp_path / "cut.gguf"
    for size in range(0, len(content) - 1, 61):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match="is cut short"):
            open_gguf(path)


def test_an_unknown_format_of_weights_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("w", np.zeros((1, 176), np.uint8), raw_dtype=Q.Q5_K)
    with pytest.raises(
        InputError, match=r'w is stored as Q5_K, which is none of F32, .*, BF16. Did you mean "Q\d_K"\?'
    ):
        open_gguf(finish(writer, path))


def test_a_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2) + b"\xff\xfe" + bytes(20))
    with pytest.raises(InputError, match=r"is damaged: byte [0-9]+ .* is not UTF-8"):
        open_gguf(path)
