"""Tests of the step on the device of Isaac Lab's bodies, on the CPU as a device with arrays of its own."""

import logging
from dataclasses import fields

import numpy as np
import pytest
import yaml

from pegasus import Simulation
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec
from pegasus.contracts.state import VehicleState
from pegasus.core.assembly import vehicle_of
from pegasus.dynamics import Battery
from pegasus.isaac.lab import LabVehicle
from pegasus.sensors import IMU
from tests.isaac.fakes import lab
from tests.isaac.test_lab import actions, hover, make  # noqa: F401  (fixtures)
from tests.isaac.test_lab_terms import managed  # noqa: F401  (fixture)


def world(**wind):
    return WorldSpec(name="windy", generator={"model": "flat"}, wind=wind)


def bare_model():
    """Return the detailed Iris without its battery."""
    _, file = vehicle_of("iris")
    return {k: v for k, v in yaml.safe_load(file.read_text(encoding="utf-8")).items() if k != "battery"}


@pytest.fixture
def bare(hover):  # noqa: F811
    """Let the tasks fly that model; return options for two copies that differ, without sensors."""
    hover.MODEL = bare_model()
    return {"sensors": {}, "variation": {"motor.time_constant_up": np.array([0.012, 0.02])}}


def assert_same_states(drones, others):
    for field in fields(VehicleState):
        values = getattr(others.vehicle.state, field.name)
        np.testing.assert_array_equal(np.asarray(drones.state(field.name)), values, err_msg=field.name)
        np.testing.assert_array_equal(getattr(drones.vehicle.state, field.name), values, err_msg=field.name)


@pytest.mark.parametrize("decimation", [1, 2])
def test_it_flies_as_on_the_host(managed, bare, decimation, monkeypatch):  # noqa: F811
    """A conversion, a wrench or a reset on the device would differ, or the air there stand still."""
    options = {"decimation": decimation, "world": world(model="gusts", mean_velocity=[3.0, 1.0, 0.0]), **bare}
    host, env = managed(on_device=False, **options), managed(on_device=True, **options)
    host.reset()
    env.reset()
    rng = np.random.default_rng(4)
    commands = rng.uniform(420.0, 560.0, (90, 2, 4))
    for k, speeds in enumerate(commands):
        if k == 60:
            for task in (host, env):
                task._reset_idx(lab.as_tensor([1]))
            assert_same_states(env.drones, host.drones)
            assert np.abs(np.asarray(env.drones.state("rotor_speed"))).min(axis=1).tolist()[1] == 0.0
        expected = host.step(actions(host, speeds))
        with monkeypatch.context() as patch:
            # What the host route uses in each step.
            patch.setattr(Simulation, "advance", None)
            patch.setattr("pegasus.isaac.lab.LabEngine.read", None)
            seen = env.step(actions(env, speeds))
        np.testing.assert_array_equal(seen[0]["policy"], expected[0]["policy"])
        np.testing.assert_array_equal(seen[1], expected[1])
        if k in (0, 60):
            assert_same_states(env.drones, host.drones)
    assert_same_states(env.drones, host.drones)
    for name in ("applied_force", "applied_torque", "drag_force", "rotor_command"):
        np.testing.assert_array_equal(getattr(env.drones.vehicle, name), getattr(host.drones.vehicle, name))
    assert env.drones.simulation.time == host.drones.simulation.time
    state = env.drones.vehicle.state
    assert np.abs(state.velocity).max() > 0.1
    # The copies differ by their motors, and by the air at them.
    assert np.abs(state.rotor_speed[0] - state.rotor_speed[1]).max() > 1e-3


def test_a_direct_task_flies_as_on_the_host(make):  # noqa: F811
    """Calls of a task of the direct workflow would have no effect on the device, or states be old."""
    tasks = []
    for on_device in (False, True):
        env = make(count=2)
        env.drones.close()
        env.drones = LabVehicle(
            env, env.scene["drone"], "tests/plain_iris.yaml", on_device=on_device, sensors={}
        )
        tasks.append(env)
    host, env = tasks
    for speeds in np.random.default_rng(5).uniform(380.0, 640.0, (60, 2, 4)):
        for task in tasks:
            observation, *_ = task.step(actions(task, speeds))
        np.testing.assert_array_equal(
            observation["policy"][:, 3:6], np.float32(host.drones.state("velocity"))
        )
    assert_same_states(env.drones, host.drones)
    assert np.abs(np.asarray(env.drones.state("velocity"))).max() > 0.1
    with pytest.raises(ConfigError, match=r"speeds = \(2, 3\): must have the shape \(2, 4\)"):
        env.drones.set_rotor_speeds(np.zeros((2, 3)))
    with pytest.raises(ConfigError, match="field = 'speed': must be one of position, orientation"):
        env.drones.state("speed")


@pytest.mark.parametrize(
    ("options", "need"),
    [
        ({}, r"sensors \(none with sensors=\{\}\)"),
        (
            {
                "sensors": {},
                "world": world(model="dryden", mean_velocity=[3.0, 0.0, 0.0]),
            },
            "turb",
        ),
    ],
)
def test_what_needs_the_host_is_refused_in_one_line(make, options, need):  # noqa: F811
    """Sensors would never be read, or turbulence be left out, without a word."""
    env = make(count=2)
    with pytest.raises(ConfigError, match=f"on_device = True: {need}.* would need the host") as error:
        LabVehicle(env, env.scene["drone"], bare_model(), on_device=True, **options)
    assert "\n" not in str(error.value)


def test_batteries_discharge_as_on_the_host(managed, caplog):  # noqa: F811
    """The voltage would stay that of a full battery, or a low one be hidden."""
    options = {"sensors": {}, "battery": Battery(cell_count=3, capacity=0.02, charge=0.3, resistance=0.02)}
    host, env = managed(on_device=False, **options), managed(on_device=True, **options)
    for task in (host, env):
        task.reset()
        with caplog.at_level(logging.WARNING):
            for _ in range(260):
                task.step(actions(task, 480.0))
    assert_same_states(env.drones, host.drones)
    for name in ("charge", "voltage", "current", "temperature", "empty", "low"):
        found, expected = (getattr(task.drones.vehicle.battery, name) for task in (env, host))
        np.testing.assert_array_equal(found, expected)
    assert host.drones.vehicle.battery.low.all()
    lines = [record.getMessage() for record in caplog.records if "batteries low" in record.getMessage()]
    assert len(lines) == 2, lines
    from pegasus.isaac import lab_terms

    with pytest.raises(
        ConfigError, match="sensor = 'battery': is not read while the step runs on the device"
    ):
        lab_terms.reading(env, sensor="battery", field="voltage", size=1)


def test_a_gpu_is_used_where_nothing_needs_the_host(make, caplog):  # noqa: F811
    """Training on a GPU would copy states in each step, or sensors fall silent there."""
    env = make(count=2)
    asset = env.scene["drone"]
    asset.device = "cuda:7"
    with caplog.at_level(logging.WARNING):
        drones = LabVehicle(env, asset, bare_model(), sensors={"imu": IMU()})
    drones.close()
    (line,) = [record.getMessage() for record in caplog.records if "the step runs" in record.getMessage()]
    assert line == "iris: the step runs on the host, not on cuda:7, for sensors (none with sensors={})"
    LabVehicle(env, asset, bare_model(), sensors={}, on_device=False).close()
    with pytest.raises(ConfigError, match="device = 'cuda:7': is not on this machine"):
        LabVehicle(env, asset, bare_model(), sensors={})


def test_later_needs_of_the_host_are_refused(managed, bare):  # noqa: F811
    """A disturbance of a vehicle on the device would have no effect."""
    env = managed(on_device=True, **bare)
    env.reset()
    env.step(actions(env, 450.0))
    env.drones.vehicle.disturb(force=(1.0, 0.0, 0.0))
    with pytest.raises(ConfigError, match="a disturbance would need the host"):
        env.step(actions(env, 450.0))
    env.drones.vehicle.disturb()
    env.step(actions(env, 450.0))


def apply_for_a_second(drones):
    for _ in range(251):
        drones.apply()


def test_a_command_that_is_not_finite_is_reported(managed, bare):  # noqa: F811
    """A policy that has diverged would fly on with states that are no numbers."""
    env = managed(on_device=True, **bare)
    env.reset()
    env.step(actions(env, 450.0))
    speeds = np.full((2, 4), 450.0)
    speeds[1, 2] = np.nan
    env.drones.set_rotor_speeds(speeds)
    env.drones.apply()
    with pytest.raises(ConfigError, match="channel rotor_2 = nan: must be finite"):
        _ = env.drones.vehicle
    env._reset_idx(lab.as_tensor([1]))
    env.step(actions(env, 450.0))
    assert np.isfinite(env.drones.vehicle.state.position).all()
    env.drones.set_rotor_speeds(speeds)
    with pytest.raises(ConfigError, match="channel rotor_2 = nan: must be finite"):
        apply_for_a_second(env.drones)
