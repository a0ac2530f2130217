"""Snapshots: own parts, independence, forks, observers, and what is refused."""

import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pegasus import Backend, ConfigError, McapRecorder, Multirotor, Playback, Simulation, read_log
from pegasus.backends import PX4, ROS2, ArduPilot
from pegasus.backends.scenario import scenario_simulation
from pegasus.cameras import Lidar, StereoCamera
from pegasus.config.files import load_scenario
from pegasus.contracts.engine import Engine
from pegasus.control import GeometricController, trajectories
from pegasus.environment import ConstantWind
from pegasus.estimation import EKF
from pegasus.faults import MotorLoss, PayloadLoss, SensorDropouts
from pegasus.recording import EnergyAudit
from pegasus.sensors import Rangefinder, Reading, Sensor
from tests.snapshot_rig import bits, require_same_bits

ROOT = Path(__file__).parents[2]


class Drifting(Sensor):
    """Sensor in Python with a state of its own, a random stream and a reference to another part."""

    rate_hz = 50.0

    def bind(self, vehicle, environment, rng):
        super().bind(vehicle, environment, rng)
        self.drift, self.past, self.source = np.zeros(vehicle.count), [], vehicle.sensors["imu"]
        self.now = None

    def measure(self, state, t):
        self.drift = self.drift + self.rng.standard_normal(self.count)
        self.past.append(self.drift)
        self.now = state.position if self.now is None else self.now
        assert self.source.vehicle is self.vehicle
        assert np.shares_memory(self.now, self.vehicle.columns["position"])
        return OwnReading(t, self.drift + sum(part.sum() for part in self.past), self.now[:, 2].copy())


@dataclasses.dataclass(frozen=True, eq=False)
class OwnReading(Reading):
    drift: np.ndarray
    height: np.ndarray


class Integral(Backend):
    """Driver in Python: an integral of the height, and a file if it has one."""

    drives = True

    def bind(self, vehicle):
        self.vehicle, self.sum = vehicle, np.zeros((vehicle.count, 1))

    def start(self):
        self.sum[...] = 0.0

    def publish(self, t, state, readings):
        self.sum += 0.004 * (3.0 - state.position[:, 2:])

    def command(self, t):
        return np.full((self.vehicle.count, 4), 640.0) + 5.0 * self.sum


class Deciding(Integral):
    """Driver with a function that it may get during a run."""

    def start(self):
        super().start()
        self.rule = None


def own(seed=1, backends=(), **parts):
    sim = Simulation("flat", seed=seed)
    parts.setdefault("extra_sensors", {"own": Drifting()})
    sim.add(Multirotor("iris", position=(0, 0, 2), backends=[Integral(), *backends], **parts))
    return sim


def gusty(seed=0):
    sim = Simulation("flat", seed=seed, wind={"model": "dryden", "mean_velocity": [5.0, 0.0, 0.0]})
    hold = GeometricController(trajectories.hold(height=2.0), spin_up=0.0)
    sim.add(Multirotor("iris", position=(0, 0, 2), backends=[hold], extra_sensors={"own": Rangefinder()}))
    return sim


def test_parts_in_python_go_on_with_the_same_bits():
    """An attribute of a user's own sensor or backend is not saved, or is shared with the snapshot."""
    require_same_bits(own, 60, 60)


def test_objects_of_the_simulation_stay():
    """A script's own handles of vehicles, sensors, controllers and faults are of no use after a restore."""
    with own(estimator=EKF()) as sim:
        sim.step(3)
        vehicle = sim.vehicles["iris"]
        injection = vehicle.inject(MotorLoss(1, start=5.0))
        parts = [vehicle, vehicle.sensors["imu"], *vehicle.backends, vehicle.estimator, vehicle.state]
        sim.restore(sim.snapshot())
        again = [vehicle, vehicle.sensors["imu"], *vehicle.backends, vehicle.estimator, vehicle.state]
        assert all(one is other for one, other in zip(parts, again, strict=True))
        assert vehicle.heal(injection) == [injection.label]


def test_snapshot_does_not_change():
    """Later steps, or a simulation into which it was restored, write into a snapshot."""
    with own(estimator=EKF()) as sim:
        sim.vehicles["iris"].inject(SensorDropouts("gps"))
        sim.step(60)
        taken = sim.snapshot()
        before = pickle.dumps(taken)
        sim.step(40)
        sim.restore(taken)
        sim.step(40)
        assert pickle.dumps(taken) == before


def test_another_process_goes_on_with_the_same_bits(tmp_path):
    """A pickled snapshot needs something of the process that took it."""
    spec, path = load_scenario("relay")
    with scenario_simulation(spec, path) as sim:
        sim.step(600)
        (tmp_path / "snapshot").write_bytes(pickle.dumps(sim.snapshot()))
        uninterrupted = bits(sim, 100)
    program = (
        "import pickle, sys\n"
        "from pegasus.backends.scenario import scenario_simulation\n"
        "from pegasus.config.files import load_scenario\n"
        "from tests.snapshot_rig import bits\n"
        "with scenario_simulation(*load_scenario('relay')) as sim:\n"
        "    sim.restore(pickle.load(open(sys.argv[1], 'rb')))\n"
        "    print(bits(sim, 100))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "snapshot")]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    assert found.stdout.strip() == uninterrupted


def test_images_and_scans_are_of_the_other_simulation():
    """A reading that was taken before a snapshot is rendered in the simulation that it came from."""

    def make():
        sim = Simulation("courtyard", seed=4)
        cameras = {
            "stereo": StereoCamera(rate_hz=20.0, resolution=(16, 12), outputs=("rgb", "motion_vectors")),
            "lidar": Lidar(rate_hz=20.0, pattern={"model": "raster", "row_count": 3, "column_count": 8}),
        }
        sim.add(Multirotor("iris", position=(0, 0, 2), backends=[Integral()], extra_sensors=cameras))
        return sim

    def seen(sim):
        readings = sim.vehicles["iris"].readings
        stereo, scan = readings["stereo"], readings["lidar"].scan(0)
        return [stereo.rgb, stereo.motion_vectors, stereo.right.rgb, *vars(scan).values()]

    with make() as sim:
        sim.step(40)
        taken = sim.snapshot()
    with make() as one, make() as other:
        one.step(40)
        other.restore(taken)
        for steps in (0, 30):
            one.step(steps)
            other.step(steps)
            for wanted, found in zip(seen(one), seen(other), strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_another_wind_is_replaced():
    """A wind that was put in place of the saved one stays, or gusts begin anew."""
    with gusty() as sim:
        sim.step(30)
        taken = sim.snapshot()
        uninterrupted = bits(sim, 30)
        sim.environment.wind = ConstantWind((0.0, 0.0, 0.0))
        sim.step(5)
        sim.restore(taken)
        assert bits(sim, 30) == uninterrupted


def test_contacts_are_found_after_a_far_flight():
    """The engine trusts in distances of where the vehicle was before it was restored."""
    with Simulation("courtyard") as sim:
        iris = sim.add(Multirotor("iris", position=(0, 0, 0.18)))
        sim.step(2)
        taken = sim.snapshot()
        uninterrupted = bits(sim, 100)
        assert iris.in_contact.all()
        iris.place((0, 0, 500.0))
        sim.step(2)
        sim.restore(taken)
        assert bits(sim, 100) == uninterrupted


def test_fault_after_a_snapshot_is_undone():
    """A fault that was injected, or a mass that was lost, after a snapshot outlives its restore."""
    with own(extra_sensors={}) as sim:
        sim.step(5)
        taken = sim.snapshot()
        uninterrupted = bits(sim, 20)
        sim.vehicles["iris"].inject(PayloadLoss(mass=0.3))
        sim.step(5)
        assert sim.vehicles["iris"].is_refitted
        sim.restore(taken)
        assert not sim.vehicles["iris"].faults.injections
        assert bits(sim, 20) == uninterrupted


def test_another_seed_gives_another_future_of_the_same_state():
    """Forks with other seeds repeat the noise and gusts of the original, or begin with other states."""
    with gusty(0) as sim:
        sim.step(50)
        taken = sim.snapshot()
    states, readings = [], []
    for seed in (0, 1, 2, 1):
        with gusty(seed) as sim:
            sim.restore(taken)
            iris = sim.vehicles["iris"]
            np.testing.assert_array_equal(iris.state.position, taken.columns["iris"]["position"])
            bias = iris.sensors["imu"].rows["rate_bias"].copy()
            sim.step(50)
            states.append((iris.state.position.tolist(), bias.tolist()))
            readings.append([repr(vars(iris.readings[name])) for name in ("imu", "barometer", "own")])
    assert states[1] == states[3]
    assert readings[1] == readings[3]
    assert len({str(position) for position, _ in states}) == 3
    assert len({str(bias) for _, bias in states}) == 1
    assert all(len({each[k] for each in readings}) == 3 for k in range(3))


def test_log_begins_at_the_restored_time(tmp_path):
    """A recorder misses steps after a restore, or a log goes back in time."""
    recorder = McapRecorder(tmp_path / "flight.mcap")
    with own() as sim:
        sim.step(50)
        taken = sim.snapshot()
        sim.add_observer(recorder)
        sim.step(10)
        with pytest.raises(
            ConfigError, match=r"observer = 'McapRecorder': has observed the run up to 0.24 s; .*"
        ):
            sim.restore(taken)
        sim.stop()
        sim.restore(taken)
        assert sim.playback is Playback.PAUSED
        sim.step(25)
    time = read_log(tmp_path / "flight.mcap")["iris/state"].time
    np.testing.assert_allclose([time[0], time[-1]], [0.2, 0.296], atol=1e-12)


def test_energy_is_balanced_from_a_snapshot_on():
    """The energy that a step adds up is not that of the restored state."""
    uninterrupted, restored = EnergyAudit(), EnergyAudit()
    with own() as sim:
        sim.step(50)
        taken = sim.snapshot()
        sim.add_observer(uninterrupted)
        sim.step(100)
    with own() as sim:
        sim.add_observer(restored)
        sim.restore(taken)
        sim.step(100)
    assert restored.balances()["iris"].gross > 1.0
    assert restored.balances() == uninterrupted.balances()


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
