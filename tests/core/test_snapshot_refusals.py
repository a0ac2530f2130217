"""Snapshots that are refused, and restores into simulations that do not fit."""

import pickle
from pathlib import Path

import pytest

from pegasus import Backend, ConfigError, Multirotor, Playback, Simulation
from pegasus.backends import PX4, ROS2, ArduPilot
from pegasus.contracts.engine import Engine
from pegasus.control import GeometricController, trajectories
from tests.snapshot_rig import Deciding, bits, own


def test_parts_that_cannot_be_saved_are_named():
    """A part whose state is elsewhere is restored in silence, or its refusal does not say what to do."""

    class Remote(Backend):
        outside = True

    class Writing(Backend):
        def bind(self, vehicle):
            self.log = [Path(__file__).open()]  # noqa: SIM115

    assert PX4.outside
    assert ArduPilot.outside
    assert ROS2.outside
    with own(backends=[Remote()]) as sim:
        sim.step()
        with pytest.raises(
            ConfigError, match=r"^Remote of vehicle 'iris': has a state in another program.*reset"
        ):
            sim.snapshot()
    with own(backends=[Writing()]) as sim:
        sim.step()
        with pytest.raises(
            ConfigError, match=r"iris\.backends\.1\.log\.0 = 'TextIOWrapper': cannot be saved; give"
        ):
            sim.snapshot()
        sim.vehicles["iris"].backends[1].log[0].close()


def test_engines_that_cannot_be_saved_refuse():
    """A physics engine with contacts of its own gives a snapshot that goes on differently."""

    class Other(Engine):
        pass

    with pytest.raises(ConfigError, match=r"engine = 'Other': keeps contacts of its own.*engine mujoco"):
        Other().save_state()
    with pytest.raises(ConfigError, match=r"engine = 'Other': keeps contacts of its own.*engine mujoco"):
        Other().restore_state({})


def test_restore_needs_a_simulation_that_is_built_alike():
    """A state is put into a simulation with other vehicles or parts, in silence."""
    with own() as sim:
        sim.step()
        taken = sim.snapshot()
    with Simulation("flat", seed=1) as empty:
        with pytest.raises(
            ConfigError, match=r"^vehicles = \[\]: is not that of the snapshot: \['iris'\]; restore"
        ):
            empty.restore(taken)
        empty.add(Multirotor("iris", position=(0, 0, 2)))
        with pytest.raises(
            ConfigError, match=r"^vehicle 'iris' = .*is not that of the snapshot: .*'Integral'"
        ):
            empty.restore(taken)
    with own() as other, Simulation("flat", rate=500.0) as faster:
        with pytest.raises(ConfigError, match=r"^rate = 500.0: is not that of the snapshot: 250.0"):
            faster.restore(taken)
        assert other.playback is Playback.STOPPED
        with pytest.raises(RuntimeError, match="no state of a run"):
            other.snapshot()


def test_a_restore_that_fails_leaves_no_half_state():
    """A simulation goes on from half a state after an error."""

    def make(rule):
        sim = Simulation("flat", seed=1)
        backend = Deciding()
        sim.add(Multirotor("iris", position=(0, 0, 2), backends=[backend]))
        sim.step(20)
        backend.rule = rule
        return sim

    with make(lambda: 1) as sim:
        pickled = pickle.dumps(sim.snapshot())
    with make(None) as sim:
        first = bits(sim, 0)
        with pytest.raises(ConfigError, match=r"^iris\.backends\.0\.rule = .*was not pickled"):
            sim.restore(pickle.loads(pickled))
        assert sim.playback is Playback.STOPPED
        sim.step(20)
        assert bits(sim, 0) == first


def test_nothing_is_saved_within_a_step():
    """A snapshot from within a step holds half of it."""

    class Saving(Backend):
        def publish(self, t, state, readings):
            sim.snapshot()

    with (
        own(backends=[Saving()]) as sim,
        pytest.raises(RuntimeError, match="an observer or backend cannot save its simulation; do so after"),
    ):
        sim.step()


def test_values_that_do_not_pickle_are_named():
    """A snapshot is pickled without a function that it needs, or the error does not say which one."""

    def make():
        sim = Simulation("flat")
        path = trajectories.function(lambda t: (0.0, 0.0, 2.0 + 0.1 * t))
        pilot = GeometricController(path, spin_up=0.0)
        sim.add(Multirotor("iris", position=(0, 0, 2), backends=[pilot]))
        return sim

    with make() as sim:
        sim.step(20)
        taken = sim.snapshot()
        uninterrupted = bits(sim, 20)
    with make() as sim:
        sim.restore(taken)
        assert bits(sim, 20) == uninterrupted
    with pytest.raises(
        ConfigError,
        match=r"iris\.backends\.0\.trajectory = .*: cannot be pickled: .*; define classes and",
    ):
        pickle.dumps(taken)
