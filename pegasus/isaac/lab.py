"""Isaac Lab 3.0: rotors, drag, sensors and autopilots of Pegasus on the bodies of a task.

Isaac Lab owns the bodies and steps physics; Pegasus reads their states and applies one wrench per step.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import finite_numbers, require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, rotate, rotate_inverse
from pegasus.config.scenario import WorldSpec
from pegasus.contracts.backend import Backend
from pegasus.contracts.engine import (
    NO_CONTACTS,
    BodyIds,
    BodyState,
    Contacts,
    Engine,
    MovingBody,
    RayHits,
    RigidBody,
)
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.assembly import engine_of
from pegasus.core.multirotor import Multirotor
from pegasus.core.simulation import Simulation
from pegasus.isaac.lab_device import LabDevice, host_need, require_device
from pegasus.scene.scene import Scene

if TYPE_CHECKING:
    from isaaclab.assets import RigidObject
    from isaaclab.envs import DirectRLEnv, ManagerBasedEnv

_log = logging.getLogger(__name__)
_TOLERANCE = 1e-3
"""Relative tolerance of masses and inertias of the asset."""


class RotorSpeeds(Backend):
    """Backend that commands the rotor speeds set by a task, such as the actions of a policy."""

    drives = True

    def bind(self, vehicle: Vehicle) -> None:
        """Start with rotors at rest."""
        self.speeds: Array = np.zeros((vehicle.count, len(vehicle.channels)))

    def command(self, t: float) -> Array:
        """Return the rotor speeds [rad/s], shape (N, R)."""
        return self.speeds


class LabEngine(Engine):
    """Engine on an Isaac Lab asset with one rigid body in each environment.

    Isaac Lab's gravity stays on, so the weight is subtracted from the applied force. Contacts act, but are
    not reported. Rays hit the world of the simulation, not other vehicles.

    Args:
        asset: Asset of the scene.
        gravity: Gravity of Isaac Lab [m/s^2], shape (3,).
    """

    def __init__(self, asset: "RigidObject", *, gravity: npt.ArrayLike = (0.0, 0.0, -9.81)) -> None:
        if not hasattr(asset, "write_root_link_pose_to_sim_index"):
            raise ConfigError(
                "is not a rigid object of Isaac Lab 3",
                field="asset",
                value=type(asset).__name__,
                remedy="use Isaac Lab 3.0 or newer, and a RigidObjectCfg in the scene",
            )
        require(asset.num_bodies == 1, "bodies of the asset", asset.num_bodies, "must be one rigid body")
        self._asset, self._gravity = asset, finite_numbers("gravity", gravity, (3,))
        self.weight: Array = np.zeros((asset.num_instances, 3))
        """Weights that Isaac Lab applies, world [N], shape (N, 3)."""
        self._scene: Scene | None = None
        self._rays: Engine | None = None

    def load(self, scene: Scene) -> None:
        """Set the world that rays hit; Isaac Lab keeps its own scene."""
        self._scene, self._rays = scene, None

    def add_bodies(self, bodies: Sequence[RigidBody]) -> BodyIds:
        """Use the bodies of the asset as those of the vehicles, at their present poses.

        Raises:
            ConfigError: If their number or their mass properties differ from those of the asset.
        """
        count = self._asset.num_instances
        require(len(bodies) == count, "count", len(bodies), f"must be the {count} environments, at once")
        mass = _numbers(self._asset.data.body_mass).reshape(count)
        inertia = _numbers(self._asset.data.body_inertia).reshape(count, 3, 3)
        center = _numbers(self._asset.data.body_com_pos_b).reshape(count, 3)
        for k, body in enumerate(bodies):
            _require_same("mass", mass[k], body.mass)
            # PhysX gives moments along the principal axes.
            _require_same(
                "principal moments", np.linalg.eigvalsh(inertia[k]), np.linalg.eigvalsh(body.inertia)
            )
            _require_same("center of mass", 1.0 + center[k], 1.0 + body.center_of_mass)
        self.weight = mass[:, None] * self._gravity
        return np.arange(count, dtype=np.int64)

    def remove_bodies(self, ids: BodyIds) -> None:
        """Do nothing: Isaac Lab keeps the bodies."""

    def roll(self, friction: Array, angle: Array) -> None:
        """Do nothing: PhysX has one friction for all directions, with which tyres slide."""

    def refit_bodies(self, ids: BodyIds, bodies: Sequence[RigidBody]) -> None:
        """Raise a ConfigError: mass properties are fixed here.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            "cannot be changed during a run in Isaac Sim", field="mass", remedy="use the engine mujoco"
        )

    def add_movers(self, movers: Sequence[MovingBody]) -> BodyIds:
        """Raise a ConfigError: the task moves what is in its scene.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            "are moved by the task in Isaac Lab", field="movers", remedy="leave them out of the world"
        )

    def remove_movers(self, ids: BodyIds) -> None:
        """Do nothing: there are none."""

    def move(self, now: BodyState, end: BodyState) -> None:
        """Do nothing: there is nothing to move."""

    def read(self, out: BodyState) -> None:
        """Write poses and velocities of all bodies into `out`."""
        if len(out.position) == 0:
            return
        pose = _numbers(self._asset.data.root_link_pose_w)
        motion = _numbers(self._asset.data.root_link_vel_w)
        out.position[...], out.orientation[...] = pose[:, :3], pose[:, 3:]
        out.velocity[...] = motion[:, :3]
        out.angular_velocity[...] = rotate_inverse(matrix_from_quaternion(out.orientation), motion[:, 3:])

    def write(self, ids: BodyIds, state: BodyState) -> None:
        """Set poses and velocities of some bodies; rows of `state` follow `ids`."""
        turning = rotate(matrix_from_quaternion(state.orientation), state.angular_velocity)
        rows = ids.tolist()
        self._asset.write_root_link_pose_to_sim_index(
            root_pose=self._array(np.hstack([state.position, state.orientation]), "transformf"), env_ids=rows
        )
        self._asset.write_root_link_velocity_to_sim_index(
            root_velocity=self._array(np.hstack([state.velocity, turning]), "spatial_vectorf"), env_ids=rows
        )

    def apply(self, force: Array, torque: Array, free: BodyState | None = None) -> None:
        """Set the wrench of the next step: force (world) and torque (body) at the centre of mass, (N, 3).

        `free` is not used: PhysX integrates the wrench itself.
        """
        rotation = matrix_from_quaternion(_numbers(self._asset.data.root_link_pose_w)[:, 3:])
        pushed = rotate_inverse(rotation, force - self.weight)
        self._asset.instantaneous_wrench_composer.set_forces_and_torques_index(
            forces=self._array(pushed[:, None], "vec3f"), torques=self._array(torque[:, None], "vec3f")
        )

    def step(self, dt: float) -> None:
        """Raise an error: Isaac Lab steps physics.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError("the task of Isaac Lab steps this simulation", field="step")

    def raycast(self, origins: Array, directions: Array, max_range: float, *, skip: IntArray) -> RayHits:
        """Cast K rays into the world; they pass through all vehicles."""
        if self._rays is None:
            assert self._scene is not None
            self._rays = engine_of("mujoco", 1.0)
            self._rays.load(self._scene)
        return self._rays.raycast(origins, directions, max_range, skip=np.full(len(origins), -1))

    def contacts(self) -> Contacts:
        """Return no contacts: Isaac Lab's contact sensors report them."""
        return NO_CONTACTS

    def close(self) -> None:
        """Free the engine for rays; the bodies remain."""
        if self._rays is not None:
            self._rays.close()
            self._rays = None

    def _array(self, values: Array, kind: str) -> Any:
        """Return numbers as a Warp array on the device of the asset; the last axis is one item."""
        import warp as wp

        return wp.array(values.astype(np.float32), dtype=getattr(wp, kind), device=self._asset.device)


class LabVehicle:
    """Multirotor in a task of Isaac Lab, with one copy in each environment.

    A task of the direct workflow creates it after `super().__init__`, and calls `apply` in `_apply_action`,
    `observe` in `_get_dones`, `reset` in `_reset_idx` and `close` in `close`; for manager-based tasks there
    are terms in `pegasus.isaac.lab_terms`. `vehicle` has states and readings as NumPy arrays, in the world
    frame of Isaac Lab; readings are taken at the start of each step. If the step runs on the device, `state`
    gives its tensors, and each use of `vehicle` after a step copies the state to the host.

    Args:
        env: The task.
        asset: Its asset, spawned from `Multirotor(model).usd_file()`.
        model: Name of a shipped vehicle, path of a YAML file, or the contents of such a file.
        world: World of the simulation, for gravity, air, wind, magnetic field and rays.
        seed: Seed of sensors and wind.
        backends: Backends, such as PX4; if none drives, `set_rotor_speeds` commands the rotors.
        on_device: Run the step on the device of the asset, without copies through the host. None: if that is
            a GPU and nothing needs the host, such as sensors, backends or turbulence.
        **options: Arguments of `Multirotor`, such as sensors or drag.

    Raises:
        ConfigError: If the asset differs from the model, physics runs several steps at once, or `on_device`
            is True and something needs the host.
    """

    def __init__(
        self,
        env: "DirectRLEnv | ManagerBasedEnv",
        asset: "RigidObject",
        model: Any,
        *,
        world: str | WorldSpec = "flat",
        seed: int = 0,
        backends: Sequence[Backend] = (),
        on_device: bool | None = None,
        **options: Any,
    ) -> None:
        if env.cfg.decimation > 1 and env.sim.physics_manager.handles_decimation():
            raise ConfigError(
                "physics runs all steps of an action at once, with a constant force",
                field="decimation",
                value=env.cfg.decimation,
                remedy="set decimation to 1, or use PhysX",
            )
        engine = LabEngine(asset, gravity=env.cfg.sim.gravity)
        start = BodyState.zeros(asset.num_instances)
        engine.read(start)
        self._held = None if any(backend.drives for backend in backends) else RotorSpeeds()
        self._stepped, self._backends = False, tuple(backends)
        self._device: LabDevice | None = None
        self.simulation = Simulation(world, engine=engine, rate=1.0 / env.physics_dt, seed=seed)
        try:
            self._vehicle = self.simulation.add(
                Multirotor(
                    model,
                    count=asset.num_instances,
                    position=start.position,
                    backends=[*backends, *([self._held] if self._held is not None else [])],
                    **options,
                )
            )
            self.simulation.play()
            if self._runs_on_device(on_device, str(asset.device)):
                self._device = LabDevice(self.simulation, self._vehicle, asset, engine.weight)
        except BaseException:
            self.simulation.close()
            raise

    def _runs_on_device(self, wanted: bool | None, device: str) -> bool:
        """Return whether to run the step on the device of the asset; say why not, on a GPU."""
        if wanted is False or (wanted is None and device == "cpu"):
            return False
        need = host_need(self.simulation, self._vehicle, self._backends)
        if wanted is None and need is not None:
            _log.warning("%s: the step runs on the host, not on %s, for %s", self._vehicle.name, device, need)
            return False
        require_device(need)
        return True

    @property
    def vehicle(self) -> Multirotor:
        """The vehicle; if the step runs on the device, with the state copied from there."""
        if self._device is not None:
            self._device.download()
        return self._vehicle

    @property
    def on_device(self) -> bool:
        """The step runs on the device of the asset."""
        return self._device is not None

    def state(self, field: str) -> Any:
        """Return an array of the true state after the last physics step, shape (N, ...).

        It is a float64 tensor of the device if the step runs there, else an array of NumPy; later steps
        change it.

        Args:
            field: Name of an array of `VehicleState`, such as `position`.
        """
        if self._device is not None:
            return self._device.state(field)
        return getattr(self._vehicle.state, field)

    @property
    def is_commanded(self) -> bool:
        """`set_rotor_speeds` commands the rotors: no backend drives the vehicle."""
        return self._held is not None

    def set_rotor_speeds(self, speeds: Any) -> None:
        """Set the rotor speeds until the next call.

        Args:
            speeds: Rotor speeds, array or tensor [rad/s], shape (N, R).

        Raises:
            ConfigError: If a backend drives the vehicle, or a number or the shape is wrong.
        """
        if self._held is None:
            raise ConfigError("a backend drives this vehicle", field="speeds")
        if self._device is not None:
            self._device.set_rotor_speeds(speeds)
            return
        values = speeds.detach().cpu().numpy() if hasattr(speeds, "detach") else speeds
        shape = (self._vehicle.count, self._vehicle.rotor_count)
        self._held.speeds = finite_numbers("speeds", values, shape).copy()

    def apply(self) -> None:
        """Run the pipeline before a physics step: sensors, backends, and the applied wrench."""
        self.observe()
        if self._device is None:
            self._stepped = self.simulation.advance()
            return
        require_device(host_need(self.simulation, self._vehicle, self._backends))
        self._device.advance()
        self._stepped = True

    def observe(self) -> None:
        """Read the state after the last physics step; a second call has no effect."""
        if self._stepped:
            self._stepped = False
            if self._device is not None:
                self._device.observe()
            else:
                self.simulation.observe_step()

    def reset(self, env_ids: Any) -> None:
        """Take over the poses of copies that a task has reset, with rotors at rest and no acceleration.

        Sensors and wind keep their time. Do not reset a vehicle flown by an autopilot, which has no reset.

        Args:
            env_ids: Numbers of the environments, list or tensor.
        """
        if self._device is not None:
            self._device.reset(env_ids)
            return
        rows = np.asarray(env_ids.detach().cpu().numpy() if hasattr(env_ids, "detach") else env_ids)
        now, columns = BodyState.zeros(self._vehicle.count), self._vehicle.columns
        self.simulation.engine.read(now)
        columns["position"][rows], columns["orientation"][rows] = now.position[rows], now.orientation[rows]
        for name in ("velocity", "angular_velocity"):
            columns[name][rows] = columns[f"last_{name}"][rows] = getattr(now, name)[rows]
        columns["rotation"][rows] = matrix_from_quaternion(now.orientation[rows])
        for name in ("acceleration", "angular_acceleration", "rotor_speed", "motor_state"):
            columns[name][rows] = 0.0
        if self._held is not None:
            self._held.speeds[rows] = 0.0

    def close(self) -> None:
        """Stop the backends; a second call has no effect."""
        self.simulation.close()


def _numbers(array: Any) -> Array:
    """Return an array of Isaac Lab as NumPy array in double precision."""
    return np.asarray(array.torch.detach().cpu().numpy(), dtype=np.float64)


def _require_same(name: str, given: npt.ArrayLike, needed: npt.ArrayLike) -> None:
    found, wanted = np.asarray(given, dtype=np.float64), np.asarray(needed, dtype=np.float64)
    if not np.allclose(found, wanted, rtol=_TOLERANCE, atol=0.0):
        raise ConfigError(
            f"differs from that of the model, {np.round(wanted, 6).tolist()}",
            field=f"{name} of the asset",
            value=np.round(found, 6).tolist(),
            remedy="spawn it from Multirotor(model).usd_file()",
        )
