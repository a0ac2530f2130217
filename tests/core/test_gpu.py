"""The kernels of the step on a GPU."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

import warp as wp

from pegasus import ConfigError, Multirotor
from pegasus.base.compiler import device_named, start_warp
from pegasus.core.columns import own_columns
from pegasus.core.programs import VehicleGroup
from tests.waits import LIMIT

start_warp()


def columns_of(vehicle, count):
    """Return columns of copies that fly apart."""
    columns = own_columns(count, vehicle.rotor_count, len(vehicle.channels))
    rng = np.random.default_rng(3)
    for name in ("velocity", "angular_velocity", "wind"):
        columns[name][...] = rng.normal(scale=2.0, size=columns[name].shape)
    columns["gravity"][:, 2], columns["air_density"][...] = -9.81, 1.2
    columns["rotor_speed"][...] = columns["command"][...] = 600.0
    columns["position"][:, 2] = 50.0
    return columns


def end_of_step(device, count=300):
    """Return the columns after a step on a device."""
    vehicle = Multirotor("iris", sensors={})
    columns = columns_of(vehicle, count)
    given = {
        name: wp.array(values.reshape(count, -1), dtype=wp.float64, device=device)
        for name, values in columns.items()
        if values.dtype == np.float64
    }
    alarm = wp.zeros(1, dtype=wp.float64, device=device)
    group = VehicleGroup([vehicle], vehicle.machines, given, count, alarm, device)
    group.advance(0.004, local_air=False)
    return {name: array.numpy() for name, array in given.items()}


@pytest.mark.skipif(not hasattr(wp, "compile_aot_module"), reason="Warp 1.9 can compile without a GPU")
@pytest.mark.skipif(sys.platform != "linux", reason="Warp has NVIDIA's compiler on Linux")
def test_every_kernel_of_a_flight_compiles_for_gpus():
    """If this fails, a step function uses what exists on CPUs only."""
    script = Path(__file__).with_name("gpu_kernels.py")
    made = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert made.returncode == 0, made.stderr
    lines = dict(line.split() for line in made.stdout.splitlines())
    for part in (
        "advance",
        "audit",
        "measured",
        "follow",
        "govern",
        "ControlFunction",
        "air_at",
        "take_motion",
        "reset_motion",
        "find_body_force",
        "updated",
    ):
        assert any(part in name and int(count) > 100 for name, count in lines.items()), part


@pytest.mark.skipif(not wp.get_cuda_devices(), reason="needs a GPU of NVIDIA")
def test_a_gpu_gives_the_same_step():
    """If this fails, results depend on the device. GPUs fuse products and sums, so that last bits differ."""
    expected, made = end_of_step("cpu"), end_of_step("cuda")
    for name, values in expected.items():
        np.testing.assert_allclose(made[name], values, rtol=1e-11, atol=1e-11, err_msg=name)
    assert np.abs(made["free_velocity"] - made["velocity"]).max() > 1e-3


def test_a_device_that_is_absent_is_refused_in_one_line():
    """If this fails, a wrong device ends in a traceback of Warp."""
    with pytest.raises(ConfigError, match=r"device = 'cuda:99': is not on this machine, which has cpu"):
        device_named("cuda:99")
