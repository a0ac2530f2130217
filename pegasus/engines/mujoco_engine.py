"""Rigid-body physics by MuJoCo: the standalone engine.

Bodies that touch nothing move as the caller computed, or by RK4 with the wrench held over the step. Contacts
are rigid, with Coulomb friction and restitution; the surface of the scene decides both.
"""

import logging
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.system import free_memory
from pegasus.contracts.engine import (
    NO_CONTACTS,
    BodyIds,
    BodyState,
    Contacts,
    MovingBody,
    RayHits,
    RigidBody,
)
from pegasus.engines.mujoco_contacts import FRICTION_STIFFNESS
from pegasus.engines.mujoco_geoms import MujocoGeoms
from pegasus.engines.mujoco_motion import BodyMotion
from pegasus.engines.mujoco_movers import add_mover
from pegasus.engines.mujoco_rays import SEEN_GROUPS, cast_rays
from pegasus.engines.mujoco_rest import ContactRecord
from pegasus.engines.mujoco_wheels import WHEEL_NUMBERS
from pegasus.scene.scene import Scene

_log = logging.getLogger(__name__)

# The solver decides on a warm start for all bodies together, so one body's contacts would change another's
# bits; without auto-reset a diverging body remains detectable as NaN.
_DISABLED = int(mujoco.mjtDisableBit.mjDSBL_WARMSTART | mujoco.mjtDisableBit.mjDSBL_AUTORESET)

# Number of world geoms from which MuJoCo's sleeping is enabled. Vehicles never sleep, but MuJoCo then skips
# the poses of static geoms.
_MANY_GEOMS = 64

# Memory for the contacts of each body, some hundred at a time. MuJoCo's default grows with the square of the
# number of bodies: 29 GB for 4096.
_ARENA_PER_BODY = 2**18  # [bytes]


class MujocoEngine:
    """Engine on MuJoCo; see `pegasus.contracts.engine.Engine` for the contract.

    Raises:
        ConfigError: If the installed MuJoCo is older than 4.0.
    """

    def __init__(self) -> None:
        if not hasattr(mujoco.mjtEnableBit, "mjENBL_SPECULATIVE"):
            raise ConfigError(
                "needs MuJoCo 4.0 or newer",
                field="engine",
                value=f"mujoco {mujoco.__version__}",
                remedy='use engine="isaac" inside Isaac Sim, elsewhere pip install "mujoco>=4.0,<5"',
            )
        # MuJoCo's default is a log file in the current folder.
        mujoco.set_mju_user_warning(_log.warning)
        self._spec = mujoco.MjSpec()
        self._model: Any = None
        self._data: Any = None
        self._motion: BodyMotion | None = None
        self._found: ContactRecord | None = None
        self._contacts = NO_CONTACTS
        self._bodies: dict[int, Any] = {}
        # Bodies that were added together, by their common frame: MuJoCo deletes a frame in one operation,
        # single bodies in quadratic time.
        self._batches: list[tuple[Any, set[int]]] = []
        self._world_arena = 0
        self._ids = np.zeros(0, dtype=np.int64)
        self._next_id = 0
        self._geoms = MujocoGeoms(self._spec)
        # Moving parts of the scene by handle, and their frame in the model, which comes after all bodies.
        self._movers: dict[int, MovingBody] = {}
        self._mover_frame: Any = None
        self._written: list[int] = []
        # Path of each geom of the scene, and an empty text for geoms of bodies.
        self._paths = np.zeros(1, dtype=np.str_)
        # Model and data of the original meshes for ray casts; contacts use approximations.
        self._surfaces: tuple[Any, Any] | None = None

    def load(self, scene: Scene) -> None:
        """Replace the world by the colliders of a scene, and remove all bodies."""
        spec = mujoco.MjSpec()
        spec.nuser_geom = WHEEL_NUMBERS
        option = spec.option
        option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.impratio = FRICTION_STIFFNESS
        # One code path for any number of bodies, so that a body's bits do not depend on the others.
        option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
        option.gravity = [0.0, 0.0, 0.0]
        option.disableflags = _DISABLED
        self._spec, self._model, self._data, self._motion = spec, None, None, None
        self._bodies, self._batches, self._ids = {}, [], np.zeros(0, dtype=np.int64)
        self._movers, self._mover_frame, self._written = {}, None, []
        self._geoms = MujocoGeoms(spec)
        self._surfaces = None
        if (surfaces := self._geoms.add_world(scene.colliders)) is not None:
            self._surfaces = surfaces, mujoco.MjData(surfaces)
            mujoco.mj_kinematics(*self._surfaces)
        if len(spec.worldbody.geoms) > _MANY_GEOMS:
            option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        self._compile()
        self._world_arena = int(self._model.narena)

    def add_bodies(self, bodies: Sequence[RigidBody]) -> BodyIds:
        """Add bodies, also while running, without affecting others. Return their handles, shape (K,).

        Raises:
            ConfigError: If a name is taken, or the memory is insufficient.
        """
        self._require_memory(len(bodies))
        ids = np.arange(self._next_id, self._next_id + len(bodies), dtype=np.int64)
        self._require_free([body.name for body in bodies])
        added: list[Any] = []
        frame = self._spec.worldbody.add_frame()
        try:
            for body in bodies:
                added.append(self._spec.worldbody.add_body(name=body.name))
                added[-1].set_frame(frame)
                self._describe(added[-1], body)
            self._compile()
        except Exception:
            self._spec.delete(frame)
            self._compile()
            raise
        finally:
            self._geoms.forget_arrays()
        self._next_id += len(bodies)
        self._bodies.update(zip(ids.tolist(), added, strict=True))
        self._batches.append((frame, set(ids.tolist())))
        self._ids = np.concatenate([self._ids, ids])
        return ids

    def remove_bodies(self, ids: BodyIds) -> None:
        """Remove bodies without affecting others."""
        leaving = set(ids.tolist())
        for frame, batch in self._batches:
            if batch <= leaving:
                self._spec.delete(frame)
            else:
                for handle in batch & leaving:
                    self._spec.delete(self._bodies[handle])
            batch -= leaving
        self._batches = [(frame, batch) for frame, batch in self._batches if batch]
        for handle in leaving:
            del self._bodies[handle]
        self._ids = self._ids[~np.isin(self._ids, ids)]
        self._compile()

    def refit_bodies(self, ids: BodyIds, bodies: Sequence[RigidBody]) -> None:
        """Give bodies other mass properties; poses and velocities are kept."""
        for handle, body in zip(ids.tolist(), bodies, strict=True):
            _weigh(self._bodies[handle], body)
        self._compile()

    def add_movers(self, movers: Sequence[MovingBody]) -> BodyIds:
        """Add moving parts of the scene, also while running. Return their handles, shape (K,).

        Raises:
            ConfigError: If a name is taken.
        """
        self._require_free([mover.name for mover in movers])
        ids = np.arange(self._next_id, self._next_id + len(movers), dtype=np.int64)
        self._next_id += len(movers)
        before = dict(self._movers)
        self._movers.update(zip(ids.tolist(), movers, strict=True))
        try:
            self._compile()
        except Exception:
            self._movers = before
            self._compile()
            raise
        return ids

    def remove_movers(self, ids: BodyIds) -> None:
        """Remove moving parts of the scene; no body is disturbed."""
        for handle in ids.tolist():
            del self._movers[handle]
        self._compile()

    def move(self, now: BodyState, end: BodyState) -> None:
        """Set the motion of all moving parts of the scene over the next step; see `Engine.move`."""
        self._running().move(now, end)

    def read(self, out: BodyState) -> None:
        """Write poses and velocities of all bodies into `out`."""
        self._running().read(out)

    def write(self, ids: BodyIds, state: BodyState) -> None:
        """Set poses and velocities of some bodies (teleport, reset); rows of `state` follow `ids`."""
        self._running().write(np.searchsorted(self._ids, ids), state)

    def apply(self, force: Array, torque: Array, free: BodyState | None = None) -> None:
        """Set the wrench of the next steps: force (world) and torque (body) at the centre of mass, (M, 3).

        Bodies that touch nothing end the next step in exactly the state `free`, if given. The arrays are read
        in the steps, and must not change before.
        """
        self._running().apply(force, torque, free)

    def roll(self, friction: Array, angle: Array) -> None:
        """Set friction and steering of all wheels; see `Engine.roll`."""
        self._running().roll(friction, angle)

    def step(self, dt: float) -> None:
        """Advance by dt [s]."""
        self._running().step(dt)

    def save_state(self) -> dict[str, Any]:
        """Return a copy of the state of all bodies, with their contacts and bounds of their distances."""
        return self._running().save_state()

    def restore_state(self, state: dict[str, Any]) -> None:
        """Take a state that an engine with the same world and bodies has saved."""
        self._running().restore_state(state)

    def raycast(self, origins: Array, directions: Array, max_range: float, *, skip: IntArray) -> RayHits:
        """Cast K rays; `skip` holds for each ray the handle of a body that it passes through, or -1.

        Rays that follow each other and share origin and skipped body are cast together.
        """
        self._running().update_model()
        directions = np.ascontiguousarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))
        excluded = [self._bodies[handle].id if handle >= 0 else -1 for handle in skip.tolist()]
        geom, distance, normal = cast_rays(
            self._model, self._data, origins, directions, max_range, excluded, groups=SEEN_GROUPS
        )
        if self._surfaces is not None:
            none = [-1] * len(origins)
            on_mesh = cast_rays(*self._surfaces, origins, directions, max_range, none)
            nearer = (on_mesh[0] >= 0) & ((geom < 0) | (on_mesh[1] < distance))
            # The first geom, like all geoms of the world, belongs to the static body.
            geom = np.where(nearer, 0, geom)
            distance = np.where(nearer, on_mesh[1], distance)
            normal = np.where(nearer[:, None], on_mesh[2], normal)
        hit = (geom >= 0) & (distance <= max_range)
        body = np.full(len(hit), -1)
        body[hit] = self._handle_of_geom(geom[hit].astype(np.int64))
        return RayHits(
            hit=hit,
            distance=np.where(hit, distance, math.inf),
            normal=np.where(hit[:, None], normal, 0.0),
            body=body,
        )

    def contacts(self) -> Contacts:
        """Return the contacts of the last step, or of the initial poses of bodies just added.

        The same object as long as nothing has changed.
        """
        found = self._running().contacts
        if found is not self._found:
            self._found, self._contacts = found, self._named(found)
        return self._contacts

    def close(self) -> None:
        """Free all resources; calling it twice is allowed."""
        self._model = self._data = self._motion = None
        self._bodies, self._batches, self._ids = {}, [], np.zeros(0, dtype=np.int64)

    def _named(self, found: ContactRecord | None) -> Contacts:
        """Return contacts with the handles of their bodies."""
        if found is None or not len(found.distance):
            return NO_CONTACTS
        handles = np.concatenate([[-1], self._ids])[found.body]
        # MuJoCo's normal points from the first geom to the second, and its force acts on the second; a
        # contact with the scene is reported with the body first.
        first, second = handles[:, 0], handles[:, 1]
        scene_second = second < 0
        sign = np.where(scene_second, -1.0, 1.0)[:, None]
        return Contacts(
            body=np.where(scene_second, first, second),
            other=np.where(scene_second, second, first),
            position=found.position,
            normal=sign * found.normal,
            force=sign * found.force,
            distance=found.distance,
            surface=np.where(scene_second, self._paths[found.geom[:, 1]], self._paths[found.geom[:, 0]]),
        )

    def _arena(self, bodies: int) -> int:
        """Return the memory for contacts and constraints of a number of bodies [bytes]."""
        return self._world_arena + _ARENA_PER_BODY * bodies

    def _require_memory(self, added: int) -> None:
        needed, free = self._arena(len(self._bodies) + added), free_memory()
        require(
            needed < free,
            "number of vehicles",
            len(self._bodies) + added,
            f"needs {needed / 1e9:.1f} GB of memory, but only {free / 1e9:.1f} GB are free",
            "add fewer vehicles",
        )

    def _compile(self) -> None:
        self._write_movers()
        if self._model is None:
            self._model = self._spec.compile()
            self._data = mujoco.MjData(self._model)
        else:
            self._running().update_model()
            self._spec.memory = self._arena(len(self._spec.bodies) - 1)
            self._model, self._data = self._spec.recompile(self._model, self._data)
        # The solver's stopping criterion is scaled by this statistic of the whole model. A constant keeps the
        # precision of a contact when other vehicles are added.
        self._model.stat.meaninertia = 1.0
        self._motion = BodyMotion(self._model, self._data)
        paths = self._geoms.world_paths
        between = self._model.ngeom - len(paths) - len(self._geoms.mover_paths)
        self._paths = np.array([*paths, *[""] * between, *self._geoms.mover_paths], dtype=np.str_)

    def _running(self) -> BodyMotion:
        assert self._motion is not None
        return self._motion

    def _handle_of_geom(self, geom: IntArray) -> IntArray:
        handles = np.concatenate([[-1], self._ids])
        found: IntArray = handles[self._running().parts.owner[geom]]
        return found

    def _require_free(self, added: Sequence[str]) -> None:
        known = [element.name for element in self._bodies.values()]
        known += [mover.name for mover in self._movers.values()]
        for name, count in Counter([*known, *added]).items():
            require(count == 1, "body name", name, "is taken", "choose another")

    def _write_movers(self) -> None:
        """Write the moving parts of the scene into the model, where they are, after all bodies."""
        if self._motion is not None:
            now = self._motion.parts.now
            for handle, place, turn in zip(self._written, now.position, now.orientation, strict=False):
                if handle in self._movers:
                    self._movers[handle] = replace(self._movers[handle], position=place, orientation=turn)
        self._written = list(self._movers)
        if self._mover_frame is not None:
            self._spec.delete(self._mover_frame)
        self._mover_frame, self._geoms.mover_paths = None, []
        if not self._movers:
            return
        self._mover_frame = self._spec.worldbody.add_frame()
        for mover in self._movers.values():
            element = add_mover(self._spec, self._mover_frame, mover)
            for collider in mover.colliders:
                self._geoms.add_to_mover(element, collider)
        self._geoms.forget_arrays()

    def _describe(self, element: Any, body: RigidBody) -> None:
        """Set pose, mass properties and colliders of a new body of the model."""
        x, y, z, w = (float(c) for c in body.orientation)
        element.pos, element.quat = body.position, [w, x, y, z]
        element.add_freejoint()
        element.sleep = mujoco.mjtSleepPolicy.mjSLEEP_NEVER
        _weigh(element, body)
        for collider in body.colliders:
            self._geoms.add_to_body(element, collider)
        self._geoms.add_to_fields(element, body.colliders)
        self._geoms.add_enclosing_box(element, body.colliders)


def _weigh(element: Any, body: RigidBody) -> None:
    """Set the mass properties of a body of the model."""
    inertia = body.inertia
    element.mass = body.mass
    element.ipos = body.center_of_mass
    if np.any(inertia - np.diag(np.diag(inertia))):
        element.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        element.inertia = [0.0] * 3
    else:
        # With a diagonal inertia MuJoCo keeps the body's axes and uses code that is a third faster.
        element.inertia = np.diag(inertia)
        element.fullinertia = [np.nan] * 6
        element.iquat = [1.0, 0.0, 0.0, 0.0]
    element.explicitinertial = True
