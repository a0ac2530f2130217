"""Fleets on a GPU: their programs compile without one, and all else runs on Warp's arrays of the CPU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from pegasus import ConfigError
from pegasus.base import compiler
from pegasus.base.tracing.emission import source_of_trace
from pegasus.base.tracing.launches import kernel_of_text
from pegasus.fleet import Fleet

CASES = [("crazyflie", "channels"), ("iris", "reference"), ("standard_vtol", "channels")]
COMPILES = hasattr(wp, "compile_aot_module")


@pytest.mark.skipif(not COMPILES, reason="this version of Warp compiles for present GPUs only")
@pytest.mark.parametrize(("name", "level"), CASES)
def test_steps_compile_for_gpus_with_their_state_in_registers(name: str, level: str, tmp_path: Path) -> None:
    """A fleet on a GPU would not start, or go to memory for its state in each step."""
    made = Fleet(name, 16, level=level)._trace
    kernel = kernel_of_text(f"{made.key}_ptx", source_of_trace(made, single=True, lanes=1, planar=True))
    kernel.module.options |= {"block_dim": 256, "optimization_level": 3}
    wp.compile_aot_module(kernel.module, arch=80, module_dir=tmp_path, use_ptx=True)
    (file,) = tmp_path.glob("*.ptx")
    text = file.read_text()
    assert "fma.rn.f32" in text
    assert "st.local" not in text
    numbers = sum(max(c.width, 1) for c, _ in made.outputs)
    # One store for each number of the state, after all steps of the launch.
    assert text.count("st.global") + text.count("st.f32") <= numbers + 2


def test_a_missing_gpu_is_named_in_one_line() -> None:
    """Whoever asks for a GPU would get a message of a compiler, or silently the CPU."""
    if wp.is_cuda_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ConfigError, match="device = 'cuda': is not on this machine, which has cpu"):
        Fleet("iris", 4, device="cuda")


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Return equal fleets: on the CPU, and with arrays of Warp as on a GPU, but in the CPU's memory."""
    monkeypatch.setattr(compiler, "device_named", lambda _: "cpu")
    fleets = (
        Fleet("iris", 21, vary={"mass": (1.4, 1.6)}),
        Fleet("iris", 21, vary={"mass": (1.4, 1.6)}, device="cuda"),
    )
    assert isinstance(fleets[1].state.position, wp.array)
    return fleets


def state_of(fleet: Fleet) -> dict[str, Any]:
    """Return the state as arrays of NumPy."""
    names = ("position", "orientation", "velocity", "angular_velocity", "rotor_speed", "fault", "step_count")
    found = {name: getattr(fleet.state, name) for name in names}
    return {name: x.numpy() if isinstance(x, wp.array) else np.array(x) for name, x in found.items()}


def assert_equal(fleets: tuple[Fleet, Fleet]) -> None:
    """Assert that two fleets have the same state."""
    one, other = map(state_of, fleets)
    for name, values in one.items():
        assert np.array_equal(values, other[name]), name


def test_arrays_on_a_device_are_stepped_reset_and_restored_as_those_of_numpy(pair: Any) -> None:
    """Training on a GPU would fly from other states than training on the CPU."""
    speeds = np.random.default_rng(0).uniform(500.0, 650.0, (21, 4))
    mask = np.arange(21) % 3 == 0
    for fleet in pair:
        fleet.reset(rotor_speed=np.full(4, 590.0))
        fleet.step(speeds, substeps=7)
        fleet.reset(mask, position=(0.0, 1.0, 2.0), rotor_speed=speeds[mask])
        kept = fleet.snapshot()
        fleet.step(np.full(4, 600.0), substeps=3)
    assert_equal(pair)
    assert np.ptp(state_of(pair[1])["position"][:, 2]) > 0.1
    pair[1].step(np.full(4, 400.0))
    pair[1].restore(kept)
    pair[1].step(wp.array(np.full((21, 4), 600.0, np.float32)), substeps=3)
    assert_equal(pair)


def test_forks_on_a_device_have_the_rows_that_were_asked_for(pair: Any) -> None:
    """A search over futures would start from other rows."""
    for fleet in pair:
        fleet.reset(rotor_speed=np.full(4, 590.0))
        fleet.step(np.full(4, 620.0), substeps=5)
    forks = tuple(fleet.fork([3, 3, 20]) for fleet in pair)
    for fleet in forks:
        fleet.step(np.full(4, 500.0), substeps=2)
    assert_equal(forks)


def test_a_device_refuses_derivatives_and_commands_of_another_shape(pair: Any) -> None:
    """A wrong command would be cut or stretched over the rows."""
    pair[1].device = "cuda:0"
    with pytest.raises(ConfigError, match="gives no derivatives"):
        pair[1].vjp({"velocity": np.ones((21, 3))})
    with pytest.raises(ConfigError, match=r"must have the shape \(21, 4\)"):
        pair[1].step(wp.zeros((4, 21), dtype=wp.float32))
