"""Engine on the bodies of a task of Isaac Lab 3.0."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import finite_numbers, require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, rotate, rotate_inverse
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
from pegasus.core.assembly import engine_of
from pegasus.scene.scene import Scene

if TYPE_CHECKING:
    from isaaclab.assets import RigidObject

_TOLERANCE = 1e-3
"""Relative tolerance of masses and inertias of the asset."""


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
            remedy="spawn it from Aircraft(model).usd_file()",
        )
