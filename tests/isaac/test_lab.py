"""Tests of Pegasus vehicles in an Isaac Lab task, on stand-ins with MuJoCo as physics."""

import inspect
import sys

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.backends import PX4
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec
from pegasus.isaac.lab import LabEngine, LabVehicle
from pegasus.sensors import ImuReading
from tests.backends.px4_rig import PX4Tree, phases, processes
from tests.example_rig import load_example
from tests.isaac.contract import load
from tests.isaac.fakes import lab
from tests.isaac.test_contract import alike, public
from tests.isaac.test_isaac_examples import EXAMPLES
from tests.isaac.trials import MujocoOfStages


@pytest.fixture
def hover(monkeypatch):
    """Return the example, on the stand-ins of Isaac Lab."""
    lab.install()
    try:
        yield load_example(EXAMPLES / "lab_hover.py", monkeypatch)
    finally:
        lab.uninstall()


@pytest.fixture
def make(hover):
    """Return a function that makes the example's task, closed after the test."""
    made = []

    def make(count=3, **fields):
        cfg = hover.HoverCfg(**fields)
        cfg.scene.num_envs = count
        made.append(hover.HoverEnv(cfg))
        made[-1].reset()
        return made[-1]

    yield make
    for env in made:
        env.close()


def actions(env, speeds):
    """Return the actions for rotor speeds."""
    speeds = np.broadcast_to(speeds, (env.num_envs, 4))
    return lab.as_tensor(2.0 * speeds / env.drones.vehicle.motor.max_speed - 1.0, dtype=np.float32)


def test_the_stand_ins_are_called_as_isaac_lab_is():
    """A stand-in would accept a call that Isaac Lab rejects."""
    contract = load("6.2.0")
    for module, content in lab.members().items():
        for name, fake in content.items():
            key = f"{module}:{name}"
            if not inspect.isclass(fake):
                assert str(inspect.signature(fake)) == str(contract.modules[module][name].signature), key
                continue
            assert key in contract.classes, key
            if issubclass(fake, lab._Cfg):
                continue  # Its fields are bound to the contract when it is made.
            for part in set(public(fake)) - {"folds_decimation"}:
                member = contract.member(key, part)
                assert member is not None, f"{key}.{part}"
                if member.signature is not None:
                    assert alike(inspect.signature(getattr(fake, part)), member.signature), f"{key}.{part}"


def test_an_unknown_field_is_refused(hover):
    """A stand-in would accept a field that Isaac Lab lacks."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'linear_dampening'"):
        hover.PhysxRigidBodyCfg(linear_dampening=0.0)
    assert hover.HoverCfg(px4=True).px4


def test_lab_hover(hover, capsys):
    """The hand-made policy would not hover, as by a wrong sign, a wrong frame or doubled gravity."""
    cfg = hover.HoverCfg()
    cfg.scene.num_envs = 4
    heights = hover.fly(cfg, 900)
    assert heights.shape == (900, 4)
    assert np.abs(heights[-100:] - 2.0).max() < 0.1
    assert "4 drones are 2.0" in capsys.readouterr().out


@pytest.mark.parametrize("decimation", [1, 2])
def test_it_flies_as_in_a_simulation_of_its_own(make, decimation):
    """A wrench in a wrong frame, at a wrong point, or a step late would change the flight."""
    env = make(count=2, decimation=decimation)
    rng = np.random.default_rng(3)
    commands = rng.uniform(410.0, 530.0, (100, 4))
    for speeds in commands:
        env.step(actions(env, speeds))
    lab_state = env.drones.vehicle.state
    start = env.scene["drone"].data.default_root_pose.torch[:, :3] + env.scene.env_origins
    with Simulation("flat", engine=MujocoOfStages(), rate=250) as simulation:
        from pegasus.isaac.lab import HeldCommands

        held = HeldCommands()
        alone = simulation.add(Multirotor("iris", count=2, position=start, backends=[held]))
        for speeds in commands:
            held.values = np.tile(speeds, (2, 1))
            simulation.step(decimation)
        assert np.abs(alone.state.position - start).max() > 0.02
        # Isaac Lab's arrays are of single precision.
        np.testing.assert_allclose(lab_state.position, alone.state.position, atol=2e-5)
        np.testing.assert_allclose(lab_state.orientation, alone.state.orientation, atol=2e-5)
        np.testing.assert_allclose(lab_state.angular_velocity, alone.state.angular_velocity, atol=2e-4)
        assert env.drones.simulation.time == pytest.approx(simulation.time)


def test_sensors_read_what_the_bodies_do(make):
    """Readings of a body that Isaac Lab owns would be empty, or another body's."""
    env = make(count=2)
    vehicle = env.drones.vehicle
    speed = vehicle.thrust_curve.rotor_speed(
        np.full((1, 1), vehicle.mass * 9.81 / 4.0), np.full((1, 1), 1.225)
    )
    for _ in range(100):
        env.step(actions(env, speed))
    imu = vehicle.reading(ImuReading)
    assert imu.specific_force.shape == (2, 3)
    np.testing.assert_allclose(imu.specific_force[:, 2], 9.81, atol=0.5)
    assert {"imu", "gps", "barometer", "magnetometer"} <= set(vehicle.readings)
    # Rays hit the world, and pass through the vehicle.
    hits = vehicle.raycast(np.array([[0.0, 0.0, -1.0]]), 10.0)
    below = hits.distance * vehicle.state.rotation[:, 2, 2]
    np.testing.assert_allclose(below, vehicle.state.position[:, 2], atol=1e-3)


def test_a_reset_of_one_leaves_the_others_alone(make):
    """A reset copy would measure the jump as an acceleration, or affect its neighbours."""
    env = make(count=3)
    for _ in range(50):
        env.step(actions(env, 800.0))
    state = env.drones.vehicle.state
    before, speeds = state.position.copy(), state.rotor_speed.copy()
    env._reset_idx(lab.as_tensor([1]))
    start = env.scene["drone"].data.default_root_pose.torch[:, :3] + env.scene.env_origins
    np.testing.assert_allclose(state.position[1], start[1], atol=1e-6)
    assert (state.rotor_speed[1] == 0).all()
    assert (state.velocity[1] == 0).all()
    for other in (0, 2):
        np.testing.assert_array_equal(state.position[other], before[other])
        np.testing.assert_array_equal(state.rotor_speed[other], speeds[other])
    env.step(actions(env, 0.0))
    assert np.abs(state.acceleration[1]).max() < 10.0


def test_the_episode_of_a_drone_ends(make):
    """A drone that has left its area would not be reset."""
    env = make(count=2)
    died = np.zeros(2, dtype=bool)
    for _ in range(400):
        _, _, terminated, _, _ = env.step(actions(env, [[718.0] * 4, [480.0] * 4]))
        died |= np.asarray(terminated)
        if died[0]:
            break
    assert died.tolist() == [True, False]
    assert env.drones.vehicle.state.position[0, 2] == pytest.approx(1.0, abs=1e-3)


def test_px4_flies_in_lockstep(hover, tmp_path):
    """PX4 would wait for a step that Isaac Lab never makes, or outlive the task."""
    tree = PX4Tree(tmp_path / "PX4-Autopilot")
    tree.say("--mission hover --ready 1")
    px4 = PX4(tree.folder)
    px4.run_folder = tmp_path / "run"
    before = processes(tree.folder)
    cfg = hover.HoverCfg(px4=True)
    cfg.scene.num_envs = 2
    heights = hover.fly(cfg, 1500, (px4,))
    for number in (0, 1):
        at = phases(px4.run_folder / f"px4_{px4.first_instance + number}.log")
        assert {"CONNECTED", "ARMED", "TAKEOFF"} <= set(at)
    # They fall to the ground first, since PX4 arms later.
    assert heights[250].max() < 0.3
    assert heights[-1].min() > 0.8
    assert set(processes(tree.folder)) <= set(before)


def test_what_does_not_fit_is_said_in_one_line(make):
    """A task on a wrong body, or with a force held too long, would run without an error."""
    env = make(count=2)
    asset = env.scene["drone"]
    with pytest.raises(ConfigError, match="mass of the asset") as error:
        LabVehicle(env, asset, "crazyflie")
    assert "\n" not in str(error.value)
    env.drones._held = None
    with pytest.raises(ConfigError, match="a backend drives"):
        env.drones.set_rotor_speeds(np.zeros((2, 4)))
    with pytest.raises(ConfigError, match="is not a rigid object of Isaac Lab 3"):
        LabEngine(object())
    with pytest.raises(ConfigError, match="steps this simulation"):
        env.drones.simulation.engine.step(0.004)
    lab.PhysicsManager.folds_decimation = True
    with pytest.raises(ConfigError, match="set decimation to 1"):
        make(count=1, decimation=4)
    assert make(count=1).drones.vehicle.count == 1


def test_movers_that_nothing_touches_are_left_out(make):
    """A world with a windsock would be refused, or one with a platform be flown without it."""
    env = make(count=1)
    drones = LabVehicle(env, env.scene["drone"], "iris", world="airfield", sensors={})
    assert drones.simulation.movers.names == ["windsock"]
    drones.apply()
    drones.close()
    motion = {"model": "waypoints", "times": [0.0, 4.0], "points": [[-3.0, 0.0, 0.5], [0.0, 0.0, 0.5]]}
    platform = {"name": "platform", "box": [2.0, 2.0, 0.2], "motion": motion}
    world = WorldSpec.model_validate({"name": "deck", "generator": {"model": "flat"}, "movers": [platform]})
    with pytest.raises(ConfigError, match="movers: are moved by the task in Isaac Lab") as error:
        LabVehicle(env, env.scene["drone"], "iris", world=world)
    assert "\n" not in str(error.value)


def test_no_module_of_isaac_lab_is_needed_elsewhere():
    """Without Isaac Lab, pegasus.isaac.lab could not be imported."""
    assert not any(name.partition(".")[0] in lab.ROOTS for name in sys.modules)
