"""Policies for PX4's module `mc_nn_control`: TensorFlow Lite files, and the C++ source that it compiles."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.errors import ConfigError, package_error
from pegasus.learn.policy_file import Layer, PolicyFile

_OPERATORS = {"Tanh": "TANH", "Relu": "RELU"}
"""Operators of TensorFlow Lite by those of ONNX."""


def layers_of(policy: PolicyFile) -> list[Layer]:
    """Return the layers of a policy's network.

    Args:
        policy: The policy.

    Raises:
        ConfigError: If the network is no chain of dense layers with Tanh or Relu.
    """
    try:
        import onnx
        from onnx import numpy_helper
    except ModuleNotFoundError as error:
        raise package_error(error) from None
    graph = onnx.load(str(policy.path)).graph
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    layers: list[Layer] = []
    name = graph.input[0].name
    for node in graph.node:
        transposed = {a.name: a.i for a in node.attribute}.get("transB", 0)
        if node.op_type == "Gemm" and node.input[0] == name and transposed == 1:
            layers.append(Layer(weights[node.input[1]], weights[node.input[2]], None))
        elif node.op_type in _OPERATORS and node.input[0] == name and layers:
            last = layers.pop()
            layers.append(Layer(last.weight, last.bias, node.op_type))
        else:
            raise ConfigError(
                "must be a chain of dense layers (Gemm) with Tanh or Relu",
                file=policy.path,
                field="network",
                value=node.op_type,
                remedy="write it by pegasus train",
            )
        name = node.output[0]
    return layers


def tflite_of(layers: Sequence[Layer]) -> bytes:
    """Return a network as a file of TensorFlow Lite: input (1, K), output (1, A), both float32.

    Args:
        layers: Its layers.
    """
    try:
        import flatbuffers
        from ai_edge_litert import schema_py_generated
    except ModuleNotFoundError as error:
        raise package_error(error) from None
    # Its generated annotations hold None for all lists.
    schema: Any = schema_py_generated
    graph = schema.SubGraphT()
    graph.tensors, graph.operators, model = [], [], schema.ModelT()
    # The first buffer is empty by convention.
    model.version, model.buffers, model.operatorCodes = 3, [schema.BufferT()], []

    def tensor(name: str, shape: Sequence[int], values: bytes | None = None) -> int:
        made = schema.TensorT()
        made.name, made.shape, made.type = name.encode(), list(shape), schema.TensorType.FLOAT32
        made.buffer = 0
        if values is not None:
            held = schema.BufferT()
            held.data = np.frombuffer(values, dtype=np.uint8)
            made.buffer = len(model.buffers)
            model.buffers.append(held)
        graph.tensors.append(made)
        return len(graph.tensors) - 1

    def operator(kind: str, inputs: Sequence[int], output: int) -> None:
        code = getattr(schema.BuiltinOperator, kind)
        codes = [c.builtinCode for c in model.operatorCodes]
        if code not in codes:
            entry = schema.OperatorCodeT()
            entry.builtinCode, entry.deprecatedBuiltinCode, entry.version = code, code, 1
            model.operatorCodes.append(entry)
            codes.append(code)
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs = codes.index(code), list(inputs), [output]
        if kind == "FULLY_CONNECTED":
            made.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
            made.builtinOptions = schema.FullyConnectedOptionsT()
        graph.operators.append(made)

    last = tensor("observation", (1, layers[0].weight.shape[1]))
    graph.inputs = [last]
    for k, layer in enumerate(layers):
        shape = layer.weight.shape
        weight = tensor(f"weight{k}", shape, np.ascontiguousarray(layer.weight, dtype="<f4").tobytes())
        bias = tensor(f"bias{k}", shape[:1], np.ascontiguousarray(layer.bias, dtype="<f4").tobytes())
        total = tensor(f"sum{k}", (1, shape[0]))
        operator("FULLY_CONNECTED", (last, weight, bias), total)
        last = total
        if layer.activation is not None:
            last = tensor(f"layer{k}", (1, shape[0]))
            operator(_OPERATORS[layer.activation], (total,), last)
    graph.outputs = [last]
    graph.name, model.subgraphs, model.description = b"policy", [graph], b"pegasus"
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def export_tflite(policy: str | Path, folder: str | Path) -> list[Path]:
    """Write a policy as `control_net.tflite`, and as `control_net.cpp` and `.hpp` of PX4's `mc_nn_control`.

    Args:
        policy: File of the policy, .onnx.
        folder: Folder of the files.

    Returns:
        The files.

    Raises:
        ConfigError: If the policy cannot be read or has another network, or a file cannot be written.
    """
    data, folder = tflite_of(layers_of(PolicyFile(policy))), Path(folder)
    lines = [", ".join(f"0x{byte:02x}" for byte in data[k : k + 12]) for k in range(0, len(data), 12)]
    body = ",\n\t".join(lines)
    texts = {
        "control_net.tflite": data,
        "control_net.cpp": (
            '#include "control_net.hpp"\n\n'
            f"alignas(16) const unsigned char control_net_tflite[] = {{\n\t{body}\n}};\n"
        ).encode(),
        "control_net.hpp": (
            "#pragma once\n\n#include <cstdint>\n\n"
            f"constexpr unsigned int control_net_tflite_size = {len(data)};\n"
            "extern const unsigned char control_net_tflite[];\n"
        ).encode(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in texts.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror}", file=folder, remedy="give a writable folder"
        ) from None
    return [folder / name for name in texts]
