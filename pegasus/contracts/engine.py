"""Contract of physics engines: bodies, wrenches, contacts, rays."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.errors import ConfigError
from pegasus.base.registry import Registry
from pegasus.scene.scene import Collider, Scene


@dataclass(frozen=True, eq=False)
class RigidBody:
    """Free rigid body; its mass properties do not depend on its colliders."""

    name: str
    """Unique name; the path of its prim where the engine has a stage."""
    mass: float
    """Mass [kg]."""
    center_of_mass: Array
    """Centre of mass in the body frame [m], shape (3,)."""
    inertia: Array
    """Inertia tensor about the centre of mass in the body frame [kg m^2], shape (3, 3)."""
    colliders: Sequence[Collider]
    """Collision shapes, posed in the body frame."""
    position: Array
    """Initial position of the body frame [m], shape (3,)."""
    orientation: Array
    """Initial orientation, unit quaternion xyzw, shape (4,)."""
    appearance: Callable[[], Path] | None = None
    """Gives the USD file that shows it, its default prim in the body frame; for engines that draw."""


@dataclass(frozen=True, eq=False)
class MovingBody:
    """Part of a mover: a body that moves as it is told, and that nothing pushes."""

    name: str
    """Unique name; the path of its prim where the engine has a stage."""
    colliders: Sequence[Collider]
    """Collision shapes, posed in the body frame; none for one that is only seen."""
    position: Array
    """Initial position of the body frame [m], shape (3,)."""
    orientation: Array
    """Initial orientation, unit quaternion xyzw, shape (4,)."""
    label: str = "mover"
    """Semantic class."""
    appearance: Callable[[], Path] | None = None
    """Gives the USD file that shows it, its default prim in the body frame; for engines that draw."""


@dataclass(eq=False)
class BodyState:
    """Poses and velocities of M bodies, in the order in which they were added."""

    position: Array
    """Origin of the body frame in the world [m], shape (M, 3)."""
    orientation: Array
    """Unit quaternion xyzw, body to world, shape (M, 4)."""
    velocity: Array
    """Velocity of the body frame's origin in the world [m/s], shape (M, 3)."""
    angular_velocity: Array
    """Angular velocity in the body frame [rad/s], shape (M, 3)."""

    @classmethod
    def zeros(cls, count: int) -> "BodyState":
        """Return the state of `count` level, motionless bodies at the origin, in one block of memory."""
        ends = np.cumsum(_WIDTHS[:-1]) * count
        parts = np.split(np.zeros(sum(_WIDTHS) * count), ends)
        state = cls(*(part.reshape(count, width) for part, width in zip(parts, _WIDTHS, strict=True)))
        state.orientation[:, 3] = 1.0
        return state

    def copy_of(self, source: "BodyState") -> Callable[[], None]:
        """Return a function that takes the values of another state, in one copy if both are blocks.

        Args:
            source: The other state.
        """
        target, given = (_block(vars(state).values()) for state in (self, source))
        if target is not None and given is not None:
            return functools.partial(target.__setitem__, slice(None), given)
        pairs = list(zip(vars(self).values(), vars(source).values(), strict=True))
        return functools.partial(_copy_each, pairs)


_WIDTHS = 3, 4, 3, 3
"""Numbers of a body in each array of a `BodyState`."""


def _block(arrays: Iterable[Array]) -> Array | None:
    """Return the block of memory that arrays fill, one after the other, if there is one."""
    parts = list(arrays)
    block: Any = parts[0].base
    if block is None or block.ndim != 1 or block.size != sum(part.size for part in parts):
        return None
    end = block.ctypes.data
    for part in parts:
        if part.base is not block or not part.flags.c_contiguous or (part.size and part.ctypes.data != end):
            return None
        end += part.nbytes
    return np.asarray(block)


def _copy_each(pairs: Sequence[tuple[Array, Array]]) -> None:
    for target, source in pairs:
        target[...] = source


BodyIds = IntArray
"""Handles of bodies, shape (K,): stable for a body's life, never used twice."""


@dataclass(frozen=True, eq=False)
class RayHits:
    """Nearest hits of K rays."""

    hit: BoolArray
    """Whether the ray met something within its range, shape (K,)."""
    distance: Array
    """Distance to the hit [m], infinite where there is none, shape (K,)."""
    normal: Array
    """Outward surface normal at the hit in the world, zero where there is none, shape (K, 3)."""
    body: IntArray
    """Handle of the body that was hit, -1 for the scene or no hit, shape (K,)."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts of the last step."""

    body: IntArray
    """Handle of the one body, shape (K,)."""
    other: IntArray
    """Handle of the other body, -1 for the scene, shape (K,)."""
    position: Array
    """Contact point in the world [m], shape (K, 3)."""
    normal: Array
    """Unit normal from `other` towards `body` in the world, shape (K, 3)."""
    force: Array
    """Force on `body` in the world [N], shape (K, 3)."""
    distance: Array
    """Gap between the surfaces, negative when they overlap [m], shape (K,)."""
    surface: npt.NDArray[np.str_]
    """Path of the scene's collider that `body` touches, empty where `other` is a body, shape (K,)."""


NO_CONTACTS = Contacts(
    np.zeros(0, dtype=np.int64),
    np.zeros(0, dtype=np.int64),
    np.zeros((0, 3)),
    np.zeros((0, 3)),
    np.zeros((0, 3)),
    np.zeros(0),
    np.zeros(0, dtype=np.str_),
)
"""No contact."""


class Engine(Protocol):
    """Physics of rigid bodies; SI units, world ENU, quaternions xyzw, float64 NumPy.

    Arrays over all bodies (`read`, `apply`) have one row per living body in the order of their adding.
    """

    def load(self, scene: Scene) -> None:
        """Replace the world by the colliders of a scene; bodies are gone."""

    def add_bodies(self, bodies: Sequence[RigidBody]) -> BodyIds:
        """Add bodies, also while running; no other body is disturbed. Return their handles, shape (K,)."""

    def remove_bodies(self, ids: BodyIds) -> None:
        """Remove bodies; no other body is disturbed."""

    def refit_bodies(self, ids: BodyIds, bodies: Sequence[RigidBody]) -> None:
        """Give bodies other mass properties, also while running; poses and velocities are kept."""

    def add_movers(self, movers: Sequence[MovingBody]) -> BodyIds:
        """Add parts of the scene that move, also while running. Return their handles, shape (K,).

        Rays and contacts report them as the scene, contacts with the path of the collider.
        """

    def remove_movers(self, ids: BodyIds) -> None:
        """Remove moving parts of the scene; no body is disturbed."""

    def move(self, now: BodyState, end: BodyState) -> None:
        """Set the motion of all moving parts of the scene over the next step, in the order of their adding.

        Args:
            now: Poses and velocities at the start of the step, which hold at once.
            end: Poses and velocities at its end.
        """

    def read(self, out: BodyState) -> None:
        """Write poses and velocities of all bodies into `out`."""

    def write(self, ids: BodyIds, state: BodyState) -> None:
        """Set poses and velocities of some bodies (teleport, reset); rows of `state` follow `ids`."""

    def apply(self, force: Array, torque: Array, free: BodyState | None = None) -> None:
        """Set the wrench that acts on all bodies during the next step, at the centre of mass.

        Force in the world frame and torque in the body frame, each of shape (M, 3) and held in its frame. The
        engine adds nothing of its own but contacts: gravity, which varies with altitude, is in the force.

        Args:
            force: Mean force of the step [N], shape (M, 3).
            torque: Mean torque of the step [N m], shape (M, 3).
            free: State of each body at the end of the step if it touches nothing. An engine that can do so
                ends the step of such a body in exactly this state; others integrate the wrench. None if the
                engine shall integrate the wrench.

        The engine reads the arrays until the end of the next step.
        """

    def roll(self, friction: Array, angle: Array) -> None:
        """Set friction and steering of all wheels from the next step on, in the order of their adding.

        It is called for bodies with wheels only: colliders with `rolling`.

        Args:
            friction: Coefficients of rolling friction with brakes, shape (W,).
            angle: Steering angles about the z axis of the body [rad], shape (W,).
        """

    def step(self, dt: float) -> None:
        """Advance by dt [s]."""

    def raycast(self, origins: Array, directions: Array, max_range: float, *, skip: IntArray) -> RayHits:
        """Cast K rays; `skip` holds for each ray the handle of a body that it passes through, or -1."""

    def contacts(self) -> Contacts:
        """Return the contacts of the last step, or of where bodies stand that have just been added."""

    def save_state(self) -> Any:
        """Return a copy of its state between two steps: plain values and arrays.

        Raises:
            ConfigError: If the engine cannot be saved.
        """
        raise no_snapshots(self)

    def restore_state(self, state: Any) -> None:
        """Take a state that an engine with the same world and bodies has saved.

        Raises:
            ConfigError: If the engine cannot be saved.
        """
        raise no_snapshots(self)

    def close(self) -> None:
        """Free all resources; calling it twice is allowed."""


ENGINES: Registry[Engine] = Registry(
    "physics engine",
    group="pegasus.engines",
    shipped={"mujoco": "pegasus.engines.mujoco_engine:MujocoEngine"},
)
"""Physics engines by name; each is made without arguments."""
DEFAULT_ENGINE = "mujoco"
"""Engine of standalone simulations."""


def no_snapshots(engine: object) -> ConfigError:
    """Return the error of an engine whose state cannot be saved.

    Args:
        engine: The engine.
    """
    return ConfigError(
        "keeps contacts of its own, so that its state cannot be saved or restored",
        field="engine",
        value=type(engine).__name__,
        remedy=f"use the engine {DEFAULT_ENGINE}",
    )
