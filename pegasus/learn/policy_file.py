"""Files of policies: ONNX, with a description of what the policy observes and what its actions command."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.base.errors import ConfigError, package_error
from pegasus.contracts.vehicle import Vehicle
from pegasus.fleet.levels import LEVELS

_KEY = "pegasus.policy"
_FORMAT = 1


@dataclass(frozen=True)
class Description:
    """What a policy observes and commands."""

    terms: tuple[tuple[str, float], ...]
    """Terms of the observation, each with name and scale."""
    channels: tuple[str, ...]
    """Names of the commands of its actions, one for each: by default channels of the vehicle."""
    low: tuple[float, ...]
    """Commands for actions of -1, in the units of the channels."""
    high: tuple[float, ...]
    """Commands for actions of 1."""
    rest_speed: tuple[float, ...]
    """Rotor speeds that balanced the weight of the vehicle that it learnt with [rad/s]."""
    interval: float
    """Time between two actions [s]."""
    task: str
    """Name of the task."""
    vehicle: str
    """Name of the vehicle that it learnt with."""
    level: str = "channels"
    """What its actions command, as of `Fleet`: channels of the vehicle, or its controller by `rates`, ..."""


@dataclass(frozen=True)
class Layer:
    """Layer of a network: activation(weight x + bias)."""

    weight: Array
    """Shape (outputs, inputs)."""
    bias: Array
    """Shape (outputs,)."""
    activation: str | None
    """Operator of ONNX, such as `Tanh`; None for none."""


def write_policy(path: Path, layers: Sequence[Layer], description: Description) -> None:
    """Write a policy: input `observation` (N, K), output `action` (N, A), both float32.

    Args:
        path: File, `.onnx`.
        layers: Its layers.
        description: What it observes and commands.
    """
    # Not at the top: it is not needed to fly.
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ModuleNotFoundError as error:
        raise package_error(error) from None

    nodes, weights, name = [], [], "observation"
    for k, layer in enumerate(layers):
        last = k == len(layers) - 1
        weights += [
            numpy_helper.from_array(np.ascontiguousarray(layer.weight, dtype=np.float32), f"weight{k}"),
            numpy_helper.from_array(np.ascontiguousarray(layer.bias, dtype=np.float32), f"bias{k}"),
        ]
        output = "action" if last and layer.activation is None else f"sum{k}"
        nodes.append(helper.make_node("Gemm", [name, f"weight{k}", f"bias{k}"], [output], transB=1))
        name = output
        if layer.activation is not None:
            output = "action" if last else f"layer{k}"
            nodes.append(helper.make_node(layer.activation, [name], [output]))
            name = output
    wide, narrow = layers[0].weight.shape[1], layers[-1].weight.shape[0]
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["N", wide])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["N", narrow])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {_KEY: json.dumps({"format": _FORMAT, **asdict(description)})})
    onnx.checker.check_model(model)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(model.SerializeToString())
    part.replace(path)


class PolicyFile:
    """Policy of an ONNX file.

    Args:
        path: The file.

    Raises:
        ConfigError: If there is no such file, it is none of a policy, or onnxruntime is not installed.
    """

    saved_as = "value"

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            import onnxruntime
        except ModuleNotFoundError as error:
            raise package_error(error) from None
        if not self.path.is_file():
            raise ConfigError(
                "there is no such file",
                field="policy",
                value=str(path),
                remedy=f"looked in {self.path.resolve().parent}",
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                self.path.read_bytes(), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ConfigError(
                f"is not a file of ONNX: {str(error).splitlines()[0]}", field="policy", value=str(path)
            ) from None
        self.description = _described(self._session.get_modelmeta().custom_metadata_map, str(path))
        self._input = self._session.get_inputs()[0].name
        self.width: int = self._session.get_inputs()[0].shape[1]
        """Number of numbers that it observes."""

    def describe(self, vehicle: Vehicle) -> Description:
        """Return what it observes and commands, which is the same for all vehicles."""
        return self.description

    def reset(self, rows: BoolArray | None = None) -> None:
        """Do nothing: it has no memory."""

    def __call__(self, observation: Array) -> Array:
        """Return the actions, shape (N, A).

        Args:
            observation: Shape (N, K), float32.
        """
        return cast("Array", self._session.run(None, {self._input: observation})[0])

    def __reduce__(self) -> tuple[type["PolicyFile"], tuple[Path]]:
        return type(self), (self.path,)


def _described(metadata: Mapping[str, str], path: str) -> Description:
    """Return the description in the metadata of a file."""
    remedy = "write it by pegasus train, or by pegasus.learn.write_policy"
    if _KEY not in metadata:
        raise ConfigError(
            f"has no description: no metadata {_KEY}", field="policy", value=path, remedy=remedy
        )
    try:
        given = json.loads(metadata[_KEY])
        number = given.pop("format")
        if number != _FORMAT:
            raise ConfigError(
                f"has format {number}, not {_FORMAT}", field="policy", value=path, remedy=remedy
            )
        lists = {name: tuple(given[name]) for name in ("channels", "low", "high", "rest_speed")}
        terms = tuple((str(name), float(scale)) for name, scale in given["terms"])
        about = Description(**given | lists | {"terms": terms})
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(
            f"has a description that cannot be read: {error!r}", field="policy", value=path, remedy=remedy
        ) from None
    known = ", ".join(LEVELS)
    require(
        about.level in LEVELS, "policy", path, f"has the level {about.level!r}, which must be one of {known}"
    )
    return about
