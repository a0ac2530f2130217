"""Snapshots: own parts, independence, forks, processes and observers."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pegasus import ConfigError, McapRecorder, Multirotor, Playback, Simulation, read_log
from pegasus.backends.scenario import scenario_simulation
from pegasus.cameras import Lidar, StereoCamera
from pegasus.config.files import load_scenario
from pegasus.control import GeometricController, trajectories
from pegasus.environment import ConstantWind
from pegasus.estimation import EKF
from pegasus.faults import MotorLoss, PayloadLoss, SensorDropouts
from pegasus.recording import EnergyAudit
from pegasus.sensors import Rangefinder
from tests.snapshot_rig import Integral, bits, own, require_same_bits

ROOT = Path(__file__).parents[2]


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


def test_forks_are_of_the_same_copies():
    """A fork with another seed flies with masses that were drawn by that seed."""

    def make(seed):
        sim = Simulation("flat", seed=seed)
        hold = GeometricController(trajectories.hold(height=2.0), spin_up=0.0)
        places, spread = (
            [(0, 0, 2), (4, 0, 2)],
            {"mass": {"normal": {"mean": 1.0, "std": 0.1, "relative": True}}},
        )
        sim.add(Multirotor("iris", count=2, position=places, backends=[hold], variation=spread))
        sim.step(30)
        return sim

    flown = []
    with make(0) as sim, make(1) as fork:
        taken = sim.snapshot()
        fork.restore(taken)
        for each in (sim, fork):
            each.step(50)
            iris = each.vehicles["iris"]
            flown.append(([own.mass for own in iris.parameters], iris.state.position.tolist()))
        assert flown[0] == flown[1]
        fork.reset()
        assert not fork.vehicles["iris"].is_refitted


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
