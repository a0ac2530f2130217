"""Tests of policies as TensorFlow Lite, read back by its public interpreter."""

import re
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("onnx", reason="pip install pegasus-multirotor[gym]")
pytest.importorskip("onnxruntime", reason="pip install pegasus-multirotor[policy]")
pytest.importorskip("ai_edge_litert", reason="pip install pegasus-multirotor[tflite]")

from pegasus import ConfigError
from pegasus.cli.main import main
from pegasus.learn.policy_file import Description, Layer, PolicyFile, write_policy
from pegasus.learn.tflite_file import export_tflite

DESCRIPTION = Description(
    terms=(("position_error", 1.0), ("rotation", 1.0), ("velocity", 0.5)),
    channels=("rotor_0", "rotor_1", "rotor_2", "rotor_3"),
    low=(0.0,) * 4,
    high=(1000.0,) * 4,
    rest_speed=(500.0,) * 4,
    interval=0.01,
    task="hover",
    vehicle="iris",
)


def policy(path, *, activation="Tanh", wide=15):
    """Write a policy with random weights."""
    rng = np.random.default_rng(1)
    sizes = (wide, 64, 32, 4)
    layers = [
        Layer(rng.normal(0, 0.3, (b, a)), rng.normal(0, 0.1, b), activation if b != 4 else None)
        for a, b in pairwise(sizes)
    ]
    write_policy(path, layers, DESCRIPTION)
    return path


def evaluated(data, observations):
    """Return the outputs of a network by TensorFlow Lite's interpreter."""
    from ai_edge_litert.interpreter import Interpreter

    net = Interpreter(model_content=data)
    net.allocate_tensors()
    found = []
    for row in observations:
        net.set_tensor(net.get_input_details()[0]["index"], row[None])
        net.invoke()
        found.append(net.get_tensor(net.get_output_details()[0]["index"])[0].copy())
    return np.array(found)


@pytest.mark.parametrize("activation", ["Tanh", "Relu"])
def test_the_interpreter_gives_the_same_actions(tmp_path, activation):
    """The public interpreter gives the actions of ONNX to single precision, and the C++ array is the file."""
    path = policy(tmp_path / "policy.onnx", activation=activation)
    files = export_tflite(path, tmp_path / "px4")
    assert [file.name for file in files] == ["control_net.tflite", "control_net.cpp", "control_net.hpp"]
    data = files[0].read_bytes()
    observations = np.random.default_rng(2).normal(0, 1, (50, 15)).astype(np.float32)
    expected = PolicyFile(path)(observations)
    # Sums of up to 64 products in another order: 64 roundings of values up to 3 [2^-24 each].
    np.testing.assert_allclose(evaluated(data, observations), expected, atol=64 * 3 * 2.0**-24)
    source = files[1].read_text()
    array = bytes(int(byte, 16) for byte in re.findall(r"0x([0-9a-f]{2})", source))
    assert array == data
    assert f"control_net_tflite_size = {len(data)};" in files[2].read_text()


def test_other_networks_are_refused(tmp_path):
    """An operator that the exporter does not know is named."""
    path = policy(tmp_path / "policy.onnx", activation="Sigmoid")
    with pytest.raises(
        ConfigError, match=r"policy.onnx: network = 'Sigmoid': must be a chain of dense layers"
    ):
        export_tflite(path, tmp_path / "px4")


def test_the_command_writes_and_says_what_goes_in(tmp_path, monkeypatch, capsys):
    """The command prints the order of the observation, and operators that PX4's module lacks."""
    path = policy(tmp_path / "policy.onnx")
    monkeypatch.setattr(
        "sys.argv", ["pegasus", "export", str(path), "--to", "tflite", "--out", str(tmp_path / "px4")]
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    shown = capsys.readouterr().out
    assert "observation: position_error x 1, rotation x 1, velocity x 0.5" in shown
    assert "AddTanh" in shown
    monkeypatch.setattr("sys.argv", ["pegasus", "export", str(path), "--to", "raptor"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "--to = 'raptor': must be tflite" in capsys.readouterr().err
