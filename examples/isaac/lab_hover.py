"""Isaac Lab task with vehicles of Pegasus: hover at a goal by commanding four rotor speeds.

Written for Isaac Lab 3.0.0, whose Python runs it: `python examples/isaac/lab_hover.py --num_envs 64`. On
Newton, the default here, it does not need Isaac Sim; `--physics isaacsim_physx` uses PhysX. Isaac Lab
provides bodies and contacts. Pegasus provides the wrench of rotor dynamics and drag, and the sensors; with
`--px4` each vehicle is flown by its own PX4, in lockstep.
"""

import argparse

import isaaclab.sim as sim_utils
import numpy as np
import torch
from isaaclab.app import add_launcher_args, launch_simulation
from isaaclab.assets import AssetBaseCfg, RigidObjectCfg
from isaaclab.envs import DirectRLEnv, DirectRLEnvCfg
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.sim import SimulationCfg
from isaaclab.utils import configclass
from isaaclab_newton.physics import MJWarpSolverCfg, NewtonCfg
from isaaclab_physx.sim.schemas import PhysxRigidBodyCfg

from pegasus import Multirotor
from pegasus.backends import PX4
from pegasus.control import trajectories
from pegasus.isaac.lab import LabVehicle
from pegasus.sensors import ImuReading

MODEL = "iris"
HEIGHT = 1.0
"""Height of the goal above the start [m]."""


@configclass
class HoverSceneCfg(InteractiveSceneCfg):
    """A ground and one drone in each environment, drawn and weighed as its model says."""

    # A slab: Isaac Lab's ground plane is on NVIDIA's asset server.
    ground = AssetBaseCfg(
        prim_path="/World/ground",
        spawn=sim_utils.CuboidCfg(
            size=(200.0, 200.0, 0.1), collision_props=sim_utils.UsdPhysicsCollisionCfg()
        ),
        init_state=AssetBaseCfg.InitialStateCfg(pos=(0.0, 0.0, -0.05)),
    )
    drone: RigidObjectCfg = RigidObjectCfg(
        prim_path="{ENV_REGEX_NS}/Drone",
        spawn=sim_utils.UsdFileCfg(
            usd_path=str(Multirotor(MODEL).usd_file()),
            # Drag is Pegasus's: PhysX adds none.
            rigid_props=PhysxRigidBodyCfg(linear_damping=0.0, angular_damping=0.0),
        ),
        init_state=RigidObjectCfg.InitialStateCfg(pos=(0.0, 0.0, 1.0)),
    )


@configclass
class HoverCfg(DirectRLEnvCfg):
    """The task: 250 actions a second, each a step of physics, so that rotors and sensors keep their rates."""

    decimation = 1
    episode_length_s = 4.0
    action_space = 4
    observation_space = 13
    sim: SimulationCfg = SimulationCfg(
        dt=1 / 250, render_interval=5, physics=NewtonCfg(solver_cfg=MJWarpSolverCfg(njmax=64, nconmax=32))
    )
    scene: HoverSceneCfg = HoverSceneCfg(num_envs=16, env_spacing=3.0)
    px4: bool = False
    """Whether PX4 flies the drones; the actions are then ignored."""


class HoverEnv(DirectRLEnv):
    """Hover at a goal above the start."""

    cfg: HoverCfg

    def __init__(self, cfg: HoverCfg, backends: tuple[PX4, ...] = (), **kwargs) -> None:
        super().__init__(cfg, **kwargs)
        if cfg.px4 and not backends:
            backends = (PX4(trajectory=trajectories.takeoff(height=HEIGHT)),)
        self._px4 = cfg.px4
        self.drones = LabVehicle(self, self.scene["drone"], MODEL, backends=backends)
        motor = self.drones.vehicle.motor
        self._lowest, self._range = motor.min_speed, motor.max_speed - motor.min_speed
        self._goal = self.drones.vehicle.state.position + np.array([0.0, 0.0, HEIGHT])

    def _pre_physics_step(self, actions) -> None:
        """Take actions of -1 to 1 for the whole range of rotor speeds."""
        if not self._px4:
            actions = actions.cpu().numpy().clip(-1.0, 1.0)
            self.drones.set_rotor_speeds(self._lowest + 0.5 * (actions + 1.0) * self._range)

    def _apply_action(self) -> None:
        self.drones.apply()

    def _get_observations(self) -> dict:
        """Return what a policy sees: way to the goal, velocity, attitude, and the gyroscope's own rates."""
        state = self.drones.vehicle.state
        seen = "imu" in self.drones.vehicle.readings
        rates = self.drones.vehicle.reading(ImuReading).angular_velocity if seen else state.angular_velocity
        parts = [self._goal - state.position, state.velocity, state.orientation, rates]
        return {"policy": self._tensor(np.concatenate(parts, axis=1))}

    def _get_rewards(self):
        state = self.drones.vehicle.state
        away = np.linalg.norm(self._goal - state.position, axis=1)
        return self._tensor((1.0 - np.tanh(away)) * self.step_dt)

    def _get_dones(self):
        self.drones.observe()
        state = self.drones.vehicle.state
        away = np.linalg.norm(self._goal - state.position, axis=1)
        # An autopilot knows of no reset.
        crashed = (away > 3.0) & (not self._px4)
        late = self.episode_length_buf >= self.max_episode_length
        return torch.as_tensor(crashed, device=self.device), late if not self._px4 else late & False

    def _reset_idx(self, env_ids) -> None:
        super()._reset_idx(env_ids)
        drone = self.scene["drone"]
        pose = drone.data.default_root_pose.torch[env_ids].clone()
        pose[:, :3] += self.scene.env_origins[env_ids]
        drone.write_root_link_pose_to_sim_index(root_pose=pose, env_ids=env_ids)
        velocity = drone.data.default_root_vel.torch[env_ids].clone()
        drone.write_root_link_velocity_to_sim_index(root_velocity=velocity, env_ids=env_ids)
        self.drones.reset(env_ids)

    def close(self) -> None:
        """End autopilots, then the task."""
        if hasattr(self, "drones"):
            self.drones.close()
        super().close()

    def _tensor(self, values):
        return torch.as_tensor(values, dtype=torch.float32, device=self.device)


def hover(observation, env: HoverEnv):
    """Return the actions of a hand-made policy: a PD law on height, level by damping the rates."""
    vehicle = env.drones.vehicle
    seen = observation.cpu().numpy()
    away, velocity, rates = seen[:, :3], seen[:, 3:6], seen[:, 10:13]
    up = vehicle.state.rotation[:, :, 2]
    tilt = np.cross(up, [0.0, 0.0, 1.0])
    lateral = 0.15 * away[:, :2] - 0.25 * velocity[:, :2]
    wanted = np.stack([-lateral[:, 1], lateral[:, 0]], axis=1)
    error = np.einsum("nji,nj->ni", vehicle.state.rotation, np.pad(tilt[:, :2] + wanted, ((0, 0), (0, 1))))
    thrust = vehicle.mass * (9.81 + 4.0 * away[:, 2] - 3.0 * velocity[:, 2])
    torque = vehicle.inertia.diagonal() * (60.0 * error - 14.0 * rates)
    # Force and torque to squared rotor speeds, by the rotors that the model has.
    curve, layout = vehicle.thrust_curve, vehicle.layout
    # Thrust and torque of a rotor at 1000 rad/s in still air, by the square of the speed.
    density = vehicle.environment.air_density(vehicle.state.position[:1])[:, None]
    full, drag = curve.thrust(np.full((1, 1), 1e3), np.zeros((1, 1)), density)
    wrench = layout.thrust_map(vehicle.center_of_mass) + drag / full * layout.torque_map()
    squares = np.column_stack([thrust, torque]) @ np.linalg.pinv(wrench[:, 2:]) / (full / 1e6)
    speeds = np.sqrt(squares.clip(0.0))
    motor = vehicle.motor
    actions = 2.0 * (speeds - motor.min_speed) / (motor.max_speed - motor.min_speed) - 1.0
    return torch.as_tensor(actions, dtype=torch.float32, device=env.device)


def fly(cfg: HoverCfg, steps: int, backends: tuple[PX4, ...] = ()) -> np.ndarray:
    """Run the task by the hand-made policy; return the heights after each step [m], shape (K, N)."""
    env = HoverEnv(cfg, backends)
    try:
        observation, _ = env.reset()
        heights = []
        idle = torch.zeros((env.num_envs, 4), device=env.device)
        for _ in range(steps):
            actions = idle if cfg.px4 else hover(observation["policy"], env)
            observation, *_ = env.step(actions)
            heights.append(env.drones.vehicle.state.position[:, 2].copy())
    finally:
        env.close()
    print(f"{cfg.scene.num_envs} drones are {np.mean(heights[-1]):.2f} m high after {steps * cfg.sim.dt:g} s")
    return np.array(heights)


def main() -> None:
    """Fly as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num_envs", type=int, default=16)
    parser.add_argument("--steps", type=int, default=750)
    parser.add_argument("--px4", action="store_true")
    parser.add_argument("--physics", default="newton_mjwarp", choices=["newton_mjwarp", "isaacsim_physx"])
    add_launcher_args(parser)
    arguments = parser.parse_args()
    cfg = HoverCfg(px4=arguments.px4)
    cfg.scene.num_envs, cfg.sim.device = arguments.num_envs, arguments.device
    with launch_simulation(cfg, arguments):
        fly(cfg, arguments.steps)


if __name__ == "__main__":
    main()
