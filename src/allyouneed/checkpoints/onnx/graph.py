"""An ONNX graph that grows by one operation at a time."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import torch
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper
from torch import Tensor

OPSET, IR_VERSION = 17, 8  # the oldest with layer norm as one operation, for the sake of older runtimes
LARGEST = 2**31 - 2**24  # bytes: a file of the format ends below 2 GiB
SHORT = 2**10  # bytes that stand in the graph's own file in any case
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL

# A value of the graph by its name, a weight of the model, or numbers as they are: whole ones are int64.
Operand = str | Tensor | int | float | Sequence[int]
Dimensions = Sequence[str | int]


class Graph:
    """Operations in the order in which they run. `weights` are the model's tensors by name; what is used of them is
    stored under that name, once.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self.stored: dict[str, Tensor] = {}
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []
        self._nodes: list[NodeProto] = []
        self._names = {id(tensor): name for name, tensor in weights.items()}
        self._numbers = count()

    def __call__(self, operation: str, *operands: Operand, **attributes: Any) -> str:
        """What an operation of the standard makes of its operands."""
        [out] = self._add(operation, operands, 1, attributes)
        return out

    def _add(self, operation: str, operands: Sequence[Operand], outs: int, attributes: dict[str, Any]) -> list[str]:
        # An operation has a name, too: older runtimes make those of fused ones from it, and take no two of one name.
        name = f"{operation}_{next(self._numbers)}"
        names = [name, *(f"{name}.{number}" for number in range(1, outs))]
        self._nodes.append(helper.make_node(operation, [*map(self._named, operands)], names, name, **attributes))
        return names

    def input(self, name: str, kind: int, shape: Dimensions) -> str:
        """What a run is given."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Dimensions) -> None:
        """What a run answers, always floats."""
        self._nodes.append(helper.make_node("Identity", [value], [name], name))
        self.outputs.append(helper.make_tensor_value_info(name, FLOAT, shape))

    def store(self, name: str, tensor: Tensor) -> str:
        """Numbers that are no weight of the model as they stand."""
        if name not in self.stored:
            self.stored[name] = tensor.detach().float()
        return name

    def turned(self, weight: Tensor) -> str:
        """A weight [out, in] as [in, out], which a product takes as it is."""
        return self.store(f"{self._names[id(weight)]}.T", weight.t())

    def choose(
        self, condition: str, first: Callable[[], Sequence[str]], second: Callable[[], Sequence[str]]
    ) -> list[str]:
        """The values that `first` adds operations for where the condition holds, else those of `second`: only those of
        one side run.
        """
        branches: dict[str, Any] = {"then_branch": self._branch(first), "else_branch": self._branch(second)}
        return self._add("If", [condition], len(branches["then_branch"].output), branches)

    def _branch(self, body: Callable[[], Sequence[str]]) -> GraphProto:
        outside, self._nodes = self._nodes, []
        outs = [self("Identity", value) for value in body()]
        nodes, self._nodes = self._nodes, outside
        return helper.make_graph(nodes, "branch", [], [helper.make_tensor_value_info(out, FLOAT, None) for out in outs])

    def _named(self, operand: Operand) -> str:
        if isinstance(operand, str):
            return operand
        if isinstance(operand, Tensor):
            return self.store(self._names[id(operand)], operand)
        kind = torch.float32 if isinstance(operand, float) else torch.int64
        self.stored.setdefault(str(operand), torch.tensor(operand, dtype=kind))
        return str(operand)

    def save(self, path: Path) -> None:
        """Writes the graph; where it is too large for one file, with its weights in another one beside it."""
        graph = helper.make_graph(self._nodes, path.stem, self.inputs, self.outputs)
        versions = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, ir_version=IR_VERSION, opset_imports=versions, producer_name="allyouneed")
        with ExitStack() as stack:
            beside = None
            if sum(tensor.nbytes for tensor in self.stored.values()) > LARGEST:
                beside = stack.enter_context(path.with_name(f"{path.name}_data").open("wb"))
            for name, tensor in self.stored.items():
                kind = FLOAT if tensor.is_floating_point() else INT
                stored = model.graph.initializer.add(name=name, dims=tensor.shape, data_type=kind)
                numbers = tensor.cpu().contiguous().numpy()
                if beside is None or numbers.nbytes < SHORT:
                    stored.raw_data = numbers.tobytes()
                    continue
                stored.data_location = TensorProto.EXTERNAL
                place = {"location": f"{path.name}_data", "offset": beside.tell(), "length": numbers.nbytes}
                for key, value in place.items():
                    stored.external_data.add(key=key, value=str(value))
                beside.write(numbers.data)
        path.write_bytes(model.SerializeToString())
