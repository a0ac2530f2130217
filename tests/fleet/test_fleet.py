"""Tests of fleets: rows by themselves, episodes, forks, varied parameters, arrays and bad input."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.dynamics import Drag, QuadraticDrag
from pegasus.environment import ConstantWind, Environment
from pegasus.fleet import Fleet

HOVER = 590.0
"""About the speed of a hovering Iris [rad/s]."""


def flown(fleet, steps=20, seed=1):
    """Fly rows with commands of their own, those of a row depending on its number only."""
    for k in range(steps):
        rows = [np.random.default_rng((seed, k, row)).uniform(0.8, 1.2, 4) for row in range(fleet.count)]
        fleet.step(HOVER * np.array(rows), 5)
    return fleet


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_depends_on_itself_alone(dtype):
    """A row flies with the same bits in any number of rows, on several threads and as the last one."""
    one, few, many = (flown(Fleet("iris", count, dtype=dtype)) for count in (1, 21, 700))
    assert np.array_equal(one.state.position, few.state.position[:1])
    assert np.array_equal(few.state.position, many.state.position[:21])
    assert np.array_equal(few.columns["charge"][:, :21], many.columns["charge"][:, :21])


def test_not_a_number_stays_in_its_row():
    """A row whose state is not finite is reported as its own fault; no bit of its neighbours changes."""
    sound, sick = Fleet("iris", 19), Fleet("iris", 19)
    sick.state.velocity[4, 1] = np.nan
    sick.state.position[11] = np.inf
    for fleet in (sound, sick):
        flown(fleet)
    others = [row for row in range(19) if row not in (4, 11)]
    for name in ("position", "orientation", "velocity", "angular_velocity", "rotor_speed"):
        assert np.array_equal(getattr(sound.state, name)[others], getattr(sick.state, name)[others])
    assert np.flatnonzero(sick.state.fault).tolist() == [4, 11]
    sick.reset([4, 11])
    sick.step()
    assert not sick.state.fault.any()


def test_substeps_are_steps():
    """Ten steps in one launch have the bits of ten launches."""
    once, singly = Fleet("iris", 9), Fleet("iris", 9)
    once.step(np.full(4, 1.1 * HOVER), 10)
    for _ in range(10):
        singly.step(np.full(4, 1.1 * HOVER))
    assert np.array_equal(once.state.position, singly.state.position)
    assert once.state.step_count.tolist() == [10] * 9


def test_reset_by_mask():
    """A reset begins some rows anew, in a given state, and leaves the others as they are."""
    fleet = flown(Fleet("iris", 6))
    before = fleet.snapshot()
    mask = np.arange(6) % 2 == 0
    fleet.reset(mask, position=[[1, 2, 3], [4, 5, 6], [7, 8, 9]], rotor_speed=np.full(4, HOVER))
    assert fleet.state.position[mask].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert (fleet.state.rotor_speed[mask] == HOVER).all()
    assert not fleet.state.velocity[mask].any()
    assert fleet.state.step_count.tolist() == [0, 100] * 3
    assert (fleet.columns["charge"][0, :6][mask] == 1.0).all()
    for name, values in fleet.snapshot().items():
        assert np.array_equal(values[:, 1:6:2], before[name][:, 1:6:2])


def test_snapshot_and_fork():
    """A restored fleet, and a fork of some of its rows, fly on with the same bits."""
    fleet = flown(Fleet("iris", 12, vary={"mass": (1.4, 1.8)}, seed=4))
    kept, fork = fleet.snapshot(), fleet.fork([3, 3, 11])
    fleet.step(np.full(4, HOVER), 50)
    there = fleet.state.position.copy()
    fork.step(np.full(4, HOVER), 50)
    assert np.array_equal(fork.state.position, there[[3, 3, 11]])
    assert np.array_equal(fork.variation["mass"], fleet.variation["mass"][[3, 3, 11]])
    fleet.restore(kept)
    fleet.step(np.full(4, HOVER), 50)
    assert np.array_equal(fleet.state.position, there)
    with pytest.raises(ConfigError, match="snapshot: is not of a fleet"):
        fork.restore(kept)


def test_varied_rows_equal_varied_copies():
    """Rows have the parameters that copies of a varied vehicle draw with the same seed, and fly like them."""
    vary = {
        "mass": {"uniform": {"low": 0.9, "high": 1.1, "relative": True}},
        "inertia": np.linspace([0.02, 0.02, 0.04], [0.03, 0.03, 0.05], 10),
        "center_of_mass": {"uniform": {"low": -0.01, "high": 0.01}},
        "motor.time_constant_up": {"uniform": {"low": 0.01, "high": 0.05}},
        "drag.areas": {"uniform": {"low": 0.8, "high": 1.2, "relative": True}},
        "battery.charge": {"uniform": {"low": 0.5, "high": 1.0}},
    }
    fleet = Fleet("iris", 10, rate=250, dtype="float64", vary=vary, seed=7)
    with Simulation(seed=7) as sim:
        place = np.arange(30.0).reshape(10, 3) * 20 + (0, 0, 900)
        iris = sim.add(Multirotor("iris", count=10, position=place, variation=vary, sensors={}))
        for field, values in iris.variation.items():
            assert np.array_equal(fleet.variation[field], values)
        fleet.reset(position=place)
        sim.play()
        sim.run(duration=2.0)
        fleet.step(np.zeros(4), 500)
        assert np.array_equal(fleet.state.position, iris.state.position)
        assert iris.battery is not None
        assert np.array_equal(fleet.columns["charge"][0, :10], iris.battery.charge)
    pairs = Fleet("iris", 10, vary={"mass": (1.4, 1.8)})
    assert 1.4 <= pairs.variation["mass"].min() < pairs.variation["mass"].max() <= 1.8


def test_own_models():
    """A vehicle with models of its own flies in a fleet by their laws."""
    fleets = [
        Fleet(Multirotor("iris", drag=drag), 3)
        for drag in (None, QuadraticDrag(areas=(1.0, 1.0, 1.0), drag_coefficient=2.0))
    ]
    for fleet in fleets:
        fleet.reset(velocity=(10, 0, 0))
        fleet.step(np.full(4, HOVER), 200)
    assert fleets[1].state.velocity[0, 0] < 0.9 * fleets[0].state.velocity[0, 0]


def cubed(_p, velocity, *_):
    """Return a drag by the power operator, which has other bits on each processor."""
    return Vec3(-(velocity[0] ** 3), 0.0, 0.0), Vec3(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PowerDrag(Drag):
    """Drag whose law cannot be compiled."""

    law: ClassVar = staticmethod(cubed)


def test_a_law_that_cannot_be_traced_is_named():
    """A user's law that cannot be compiled is refused with its file and line."""
    with pytest.raises(
        ConfigError, match=r"test_fleet.py:\d+: `return Vec3\(-\(velocity\[0\] \*\* 3\)"
    ) as caught:
        Fleet(Multirotor("iris", drag=PowerDrag()), 2)
    assert "\n" not in str(caught.value)


def test_arrays_are_shared():
    """The state is handed out without a copy, to NumPy and by DLPack, and what is written there flies."""
    fleet = Fleet("iris", 5)
    taken = np.from_dlpack(fleet.state.position)
    assert taken.shape == (5, 3)
    assert np.shares_memory(taken, fleet.columns["position"])
    fleet.state.position[2] = (1, 2, 3)
    fleet.command[...] = HOVER
    fleet.step()
    assert abs(taken[2] - (1, 2, 3)).max() < 1e-3
    assert all(values.ctypes.data % 64 == 0 for values in fleet.columns.values())


@pytest.mark.parametrize("package", ["torch", "jax"])
def test_arrays_of_learners(package):
    """Torch and JAX take the state by DLPack."""
    module = pytest.importorskip(package)
    fleet = flown(Fleet("iris", 5))
    taken = (module if package == "torch" else module.numpy).from_dlpack(fleet.columns["position"])
    assert np.array_equal(np.asarray(taken)[:, :5].T, fleet.state.position)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "count = 0: must be a whole number from 1 up"),
        ({"device": "tpu"}, "device = 'tpu': is not on this machine"),
        ({"dtype": "float16"}, "dtype = 'float16': must be float32 or float64"),
        ({"rate": 0.5}, "rate = 0.5: must be a rate"),
        ({"seed": -1}, "seed = -1: must be a whole number"),
        ({"model": "irs"}, "did you mean iris"),
        ({"vary": {"mas": (1, 2)}}, r"variation.mas: cannot differ .*did you mean mass"),
        ({"vary": {"mass": (2, 1)}}, "must not be above high"),
        ({"vary": {"mass": [1.0, 2.0]}}, "one entry for each of the 3 copies"),
        ({"vary": {"mass": [1.5, 1.5, 1e5]}}, "copy 2"),
    ],
)
def test_bad_arguments(arguments, message):
    """What a fleet cannot be made of is refused in one line."""
    with pytest.raises(ConfigError, match=message) as caught:
        Fleet(**{"model": "iris", "count": 3} | arguments)
    assert "\n" not in str(caught.value)


def test_bad_calls():
    """Commands and states that are not finite, or have another shape, are refused with row and field."""
    fleet = Fleet("iris", 3)
    wrong = np.full((3, 4), HOVER)
    wrong[1, 2] = np.nan
    for call, message in (
        (lambda: fleet.step(wrong), r"command, row 1, rotor_2 \[rad/s\].*nan: must be finite"),
        (lambda: fleet.step(np.ones(3)), r"command = \(3,\): must have the shape \(3, 4\), or \(4,\)"),
        (lambda: fleet.step(np.ones(4), 0), "substeps = 0: must be a whole number from 1 up"),
        (lambda: fleet.reset([3]), "copies"),
        (lambda: fleet.reset(positon=(0, 0, 1)), "did you mean position"),
        (lambda: fleet.reset(position=(0, 0, np.inf)), "position.*must be finite numbers of shape"),
        (lambda: fleet.reset([0, 1], position=np.ones((3, 3))), r"position = \(3, 3\): .*shape \(2, 3\)"),
        (lambda: fleet.reset(orientation=(0, 0, 0, 2)), "orientation = 2.0: must have length 1"),
        (lambda: fleet.fork([3]), "rows"),
    ):
        with pytest.raises(ConfigError, match=message):
            call()
    fleet.command[...] = HOVER
    fleet.step()
    assert np.isfinite(fleet.state.position).all()


def test_wind_and_delay_of_rows():
    """A row flies in a wind of its own as in that of a simulation, and has its commands late by its delay."""
    place, wind = (0.0, 0.0, 900.0), (4.0, -1.0, 0.5)
    same = Environment(wind=ConstantWind(mean_velocity=wind))
    fleets = [
        Fleet("iris", 2, dtype="float64", vary={"wind": [wind, (0, 0, 0)]}),
        Fleet("iris", 2, dtype="float64", environment=same),
    ]
    with Simulation(rate=500, wind={"mean_velocity": list(wind)}) as sim:
        iris = sim.add(Multirotor("iris", position=place, sensors={}))
        sim.play()
        sim.run(duration=2.0)
        for fleet in fleets:
            fleet.reset(position=place)
            fleet.step(np.zeros(4), 1000)
            assert np.array_equal(fleet.state.position[0], iris.state.position[0])
    assert fleets[0].state.velocity[0, 0] > fleets[0].state.velocity[1, 0] + 0.1
    late = Fleet("iris", 3, dtype="float64", vary={"delay": [0.0, 0.01, 0.02]})
    speeds = []
    for k in range(30):
        late.step(np.full(4, HOVER) if k % 2 == 0 else np.full(4, 0.5 * HOVER))
        speeds.append(late.state.rotor_speed[:, 0].copy())
    first = np.array(speeds)
    assert not first[:5, 1].any()
    assert not first[:10, 2].any()
    assert np.array_equal(first[5:, 1], first[:-5, 0])
    assert np.array_equal(first[10:, 2], first[:-10, 0])
    drawn = Fleet("iris", 4, vary={"wind": ((-3, -3, 0), (3, 3, 0)), "delay": (0.0, 0.02)}, seed=3)
    assert drawn.variation["wind"].shape == (4, 3)
    assert not drawn.variation["wind"][:, 2].any()
    assert 0 < drawn.variation["delay"].max() <= 0.02
    with pytest.raises(ConfigError, match=r"vary\.delay = .*must be from 0 to 0\.1 s"):
        Fleet("iris", 2, vary={"delay": [0.0, 0.2]})
    with pytest.raises(ConfigError, match=r"vary.wind.*shape \(2, 3\)"):
        Fleet("iris", 2, vary={"wind": [1.0, 2.0]})
