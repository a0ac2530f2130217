"""Tests of the terms for manager-based tasks of Isaac Lab, on stand-ins with MuJoCo as physics."""

from types import SimpleNamespace as Namespace

import numpy as np
import pytest

from pegasus import Multirotor
from pegasus.base.errors import ConfigError
from pegasus.sensors import ImuReading
from tests.isaac.fakes import lab
from tests.isaac.test_lab import actions, hover, make  # noqa: F401  (fixtures)


@pytest.fixture
def managed(hover):  # noqa: F811
    """Return a function that makes a manager-based task with the scene of the example."""
    from isaaclab.envs import ManagerBasedRLEnv, ManagerBasedRLEnvCfg
    from isaaclab.managers import (
        EventTermCfg,
        ObservationGroupCfg,
        ObservationTermCfg,
        RewardTermCfg,
        TerminationTermCfg,
    )
    from isaaclab.sim import SimulationCfg

    from pegasus.isaac import lab_terms

    def put_back(env, env_ids):
        drone = env.scene["drone"]
        pose = drone.data.default_root_pose.torch[env_ids].clone()
        pose[:, :3] += env.scene.env_origins[env_ids]
        rows = lab.as_tensor(np.arange(env.num_envs)[env_ids])
        drone.write_root_link_pose_to_sim_index(root_pose=pose, env_ids=rows)
        velocity = drone.data.default_root_vel.torch[env_ids].clone()
        drone.write_root_link_velocity_to_sim_index(root_velocity=velocity, env_ids=rows)

    def height(env):
        return lab_terms.vehicle_of(env).vehicle.state.position[:, 2]

    policy = ObservationGroupCfg()
    policy.position = ObservationTermCfg(func=lab_terms.state, params={"field": "position"})
    policy.velocity = ObservationTermCfg(func=lab_terms.state)
    away = TerminationTermCfg(func=lambda env: height(env) > 3.0)
    made = []

    def make_managed(count=2, decimation=1, model=hover.MODEL, channels=None, **options):
        policy.rates = ObservationTermCfg(func=lab_terms.reading)
        if options.get("sensors") == {}:
            policy.rates = ObservationTermCfg(func=lab_terms.state, params={"field": "angular_velocity"})
        action = lab_terms.RotorSpeedActionCfg(
            asset_name="drone", model=model, channels=channels, options=options
        )
        scene = hover.HoverSceneCfg(num_envs=count, env_spacing=3.0)
        scene.drone.spawn.usd_path = str(Multirotor(model).usd_file())
        cfg = ManagerBasedRLEnvCfg(
            sim=SimulationCfg(dt=1 / 250),
            decimation=decimation,
            episode_length_s=4.0,
            scene=scene,
            actions=Namespace(rotors=action),
            observations=Namespace(policy=policy),
            rewards=Namespace(high=RewardTermCfg(func=height, weight=1.0)),
            terminations=Namespace(away=away),
            events=Namespace(put_back=EventTermCfg(func=put_back, mode="reset")),
        )
        made.append(ManagerBasedRLEnv(cfg))
        made[-1].drones = made[-1].action_manager.get_term("rotors").drones
        return made[-1]

    yield make_managed
    for env in made:
        env.drones.close()


@pytest.mark.parametrize("decimation", [1, 2])
def test_it_flies_as_in_the_direct_workflow(make, managed, decimation):  # noqa: F811
    """Actions would have another scale, or a step be missed or taken twice."""
    direct, env = make(count=2, decimation=decimation), managed(decimation=decimation)
    env.reset()
    rng = np.random.default_rng(3)
    for speeds in rng.uniform(410.0, 530.0, (60, 4)):
        command = actions(direct, speeds)
        direct.step(command)
        observation, reward, *_ = env.step(command)
    state, expected = env.drones.vehicle.state, direct.drones.vehicle.state
    np.testing.assert_array_equal(state.position, expected.position)
    np.testing.assert_array_equal(state.orientation, expected.orientation)
    assert np.abs(state.velocity).max() > 0.1
    term = env.action_manager.get_term("rotors")
    np.testing.assert_array_equal(term.raw_actions, command)
    np.testing.assert_allclose(term.processed_actions, np.tile(speeds, (2, 1)), rtol=1e-5)
    seen = np.asarray(observation["policy"])
    assert seen.shape == (2, 9)
    np.testing.assert_allclose(seen[:, :3], state.position - env.scene.env_origins, atol=1e-5)
    np.testing.assert_allclose(seen[:, 3:6], state.velocity, atol=1e-6)
    rates = env.drones.vehicle.reading(ImuReading).angular_velocity
    np.testing.assert_allclose(seen[:, 6:], rates, rtol=1e-6)
    np.testing.assert_allclose(reward, state.position[:, 2] * env.step_dt, rtol=1e-5)


def test_an_episode_that_ends_leaves_the_others_alone(managed):
    """A reset copy would measure the jump as an acceleration, or its rotors go on turning."""
    env = managed()
    observation, _ = env.reset()
    np.testing.assert_array_equal(observation["policy"][:, 6:], 0.0)
    for _ in range(400):
        observation, _, died, _, _ = env.step(actions(env, [[718.0] * 4, [480.0] * 4]))
        if np.asarray(died).any():
            break
    assert np.asarray(died).tolist() == [True, False]
    state = env.drones.vehicle.state
    np.testing.assert_allclose(np.asarray(observation["policy"])[0, :3], [0.0, 0.0, 1.0], atol=1e-5)
    assert (state.rotor_speed[0] == 0).all()
    assert (state.rotor_speed[1] > 100.0).all()
    assert np.abs(state.acceleration[0]).max() == 0.0
    env.step(actions(env, 0.0))
    assert np.abs(state.acceleration[0]).max() < 11.0


def test_a_backend_drives_it(managed):
    """A task with an autopilot would ask for actions that have no effect."""
    from pegasus.control import GeometricController, trajectories

    env = managed(backends=[GeometricController(trajectories.hold(height=1.5))])
    env.reset()
    assert env.action_manager.total_action_dim == 0
    for _ in range(900):
        env.step(lab.zeros((2, 0)))
    np.testing.assert_allclose(env.drones.vehicle.state.position[:, 2], 1.5, atol=0.1)


def test_actions_command_channels_by_name(managed):
    """Nacelles and flaps would not follow the actions, or a channel take the action of another one."""
    names = ["elevator", "rotor_1", "left_tilt"]
    env = managed(model="tiltrotor", channels=names)
    env.reset()
    assert env.action_manager.total_action_dim == 3
    vehicle = env.drones.vehicle
    known = [channel.name for channel in vehicle.channels]
    places = [known.index(name) for name in names]
    rest = np.array([[channel.idle for channel in vehicle.channels]] * 2)
    for _ in range(60):
        env.step(lab.as_tensor(np.array([[0.5, 0.2, -1.0], [2.0, -1.0, 0.1]], dtype=np.float32)))
    expected = rest.copy()
    # Elevator +-0.53 rad, rotor 0 to 1500 rad/s, tilt +-1.5 rad; what is beyond is clipped.
    expected[:, places] = [[0.265, 900.0, -1.5], [0.53, 0.0, 0.15]]
    np.testing.assert_allclose(vehicle.columns["command"], expected, rtol=1e-6)
    joints = vehicle.columns["joint_angle"]
    tilt = list(vehicle.spec.joints).index("left_tilt")
    assert joints[0, tilt] < -0.5
    assert joints[1, tilt] == pytest.approx(0.15, abs=0.01)
    assert vehicle.state.rotor_speed[0].tolist().index(vehicle.state.rotor_speed[0].max()) == 1
    # A reset brings joints to rest, and leaves the other copy alone.
    before = joints[0].copy()
    env.drones.reset([1])
    np.testing.assert_array_equal(joints[0], before)
    np.testing.assert_array_equal(joints[1], 0.0)


def test_all_channels_are_commanded_by_default(managed):
    """An aircraft could not be flown without a list of its channels."""
    env = managed(count=1, model="plane")
    vehicle = env.drones.vehicle
    assert env.action_manager.total_action_dim == len(vehicle.channels) == 8
    env.step(lab.as_tensor(np.ones((1, 8), dtype=np.float32)))
    np.testing.assert_allclose(vehicle.columns["command"], [[c.high for c in vehicle.channels]], rtol=1e-6)
    # Calls of the direct workflow set rotors alone, or channels by name.
    env.drones.set_rotor_speeds([[100.0]])
    env.drones.set_commands([[0.1, 0.5]], ["rudder", "brake"])
    env.drones.apply()
    known = [channel.name for channel in vehicle.channels]
    found = {name: float(vehicle.columns["command"][0, known.index(name)]) for name in known}
    assert (found["rotor_0"], found["rudder"], found["brake"]) == (100.0, 0.1, 0.5)
    assert found["elevator"] == pytest.approx(0.53)


@pytest.mark.parametrize(
    ("channels", "problem"),
    [
        (["rotor_0", "flap"], "channels = 'flap': is not one of rotor_0, "),
        (["elevator", "elevator"], "channels = 'elevator': is named twice"),
    ],
)
def test_a_wrong_channel_is_said_in_one_line(managed, channels, problem):
    """An action would have no effect."""
    with pytest.raises(ConfigError, match=problem) as error:
        managed(model="plane", channels=channels)
    assert "\n" not in str(error.value)


def test_an_aircraft_is_refused_on_the_device(managed):
    """A step on a GPU would leave its joints out."""
    with pytest.raises(ConfigError, match="channels besides those of the rotors would need the host"):
        managed(model="plane", sensors={}, on_device=True)


def test_what_does_not_fit_is_said_in_one_line(managed):
    """A wrong observation would be zeros for ever."""
    from pegasus.isaac import lab_terms

    env = managed()
    with pytest.raises(ConfigError, match="sensor = 'sonar': is not on this vehicle, which has imu, gps"):
        lab_terms.reading(env, sensor="sonar")
    env.step(actions(env, 400.0))
    with pytest.raises(ConfigError, match=r"size = 4: must be 3 for imu\.angular_velocity"):
        lab_terms.reading(env, size=4)
