"""Rigid-body physics by MuJoCo: the standalone engine.

Free flight is integrated by RK4 with the wrench held over the step, in float64. Contacts are MuJoCo's soft
constraints with elliptic friction cones; the surface of the scene decides friction and restitution.
"""

import logging
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from pegasus.arrays import Array, IntArray
from pegasus.components import require
from pegasus.engines.engine import BodyIds, BodyState, Contacts, RayHits, RigidBody
from pegasus.engines.mujoco_geoms import MujocoGeoms
from pegasus.engines.mujoco_rays import SEEN_GROUPS, cast_rays
from pegasus.errors import ConfigError
from pegasus.frames import cross, matrix_from_quaternion, rotate_inverse
from pegasus.machine import free_memory
from pegasus.scene.scene import Scene

_log = logging.getLogger(__name__)

# Friction is this much stiffer than the normal direction. Where a body rests, the impedance d is near 0.5,
# and (1 - d) / d / 1000 of the pull along a slope is left to creep: less than 2 micrometres a second.
_FRICTION_STIFFNESS = 1000.0

# The solver decides on a warm start for all bodies together, and so would let one body's contacts change
# another's bits; without auto-reset a diverging body stays visible as NaN.
_DISABLED = int(mujoco.mjtDisableBit.mjDSBL_WARMSTART | mujoco.mjtDisableBit.mjDSBL_AUTORESET)

# From this many bodies on, or geoms of the world, looking ahead for collisions costs less than looking for
# them in every step.
_FLEET = 32
_CROWDED = 1000
# From this many geoms of the world on MuJoCo may put bodies to sleep, though none of ours does: it then no
# longer computes the poses of what is at rest in every step.
_MANY_GEOMS = 64
_LOOK_DISTANCE = 0.4  # [m]
_LOOK_INTERVAL = 10  # steps between two looks while something is near

# Room for the contacts of each body, some hundred at a time. What MuJoCo would set aside by itself grows with
# the square of the number of bodies: 29 GB for 4096.
_ARENA_PER_BODY = 2**18  # [bytes]


class MujocoEngine:
    """Engine on MuJoCo; see `pegasus.engines.engine.Engine` for the contract.

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
        # MuJoCo's own way is a file in whatever folder is the current one.
        mujoco.set_mju_user_warning(_log.warning)
        self._spec = mujoco.MjSpec()
        self._model: Any = None
        self._data: Any = None
        self._option: Any = None
        self._bodies: dict[int, Any] = {}
        # Bodies that came together, by their common frame: MuJoCo deletes a frame at once, single bodies in
        # a time that grows with the square of their number.
        self._batches: list[tuple[Any, set[int]]] = []
        self._world_arena = 0
        self._ids = np.zeros(0, dtype=np.int64)
        self._next_id = 0
        self._geoms = MujocoGeoms(self._spec)
        # Model and data of the meshes that rays meet in place of what stands for them in contacts.
        self._surfaces: tuple[Any, Any] | None = None
        self._poses_stale = False
        self._looks_ahead = False
        self._reach = 0.0
        self._free_distance, self._steps_to_next_look = -1.0, 0

    def load(self, scene: Scene) -> None:
        """Replace the world by the colliders of a scene; bodies are gone."""
        spec = mujoco.MjSpec()
        option = spec.option
        option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.impratio = _FRICTION_STIFFNESS
        # One code path whatever the number of bodies, or a body's bits would depend on how many others fly.
        option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
        option.gravity = [0.0, 0.0, 0.0]
        option.disableflags = int(
            mujoco.mjtDisableBit.mjDSBL_WARMSTART | mujoco.mjtDisableBit.mjDSBL_AUTORESET
        )
        # What would be behind a wall after a step meets it within the step.
        option.enableflags = int(mujoco.mjtEnableBit.mjENBL_SPECULATIVE)
        self._spec, self._model, self._data = spec, None, None
        self._bodies, self._batches, self._ids = {}, [], np.zeros(0, dtype=np.int64)
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
        """Add bodies, also while running; no other body is disturbed. Return their handles, shape (K,).

        Raises:
            ConfigError: If a name is taken, or there is not enough memory.
        """
        self._require_memory(len(bodies))
        ids = np.arange(self._next_id, self._next_id + len(bodies), dtype=np.int64)
        names = [element.name for element in self._bodies.values()] + [body.name for body in bodies]
        for name, count in Counter(names).items():
            require(count == 1, "body name", name, "is taken", "choose another")
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
        """Remove bodies; no other body is disturbed."""
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

    def read(self, out: BodyState) -> None:
        """Write poses and velocities of all bodies into `out`."""
        out.position[...] = self._pose[:, :3]
        out.orientation[:, :3] = self._pose[:, 4:]
        out.orientation[:, 3] = self._pose[:, 3]
        out.velocity[...] = self._velocity[:, :3]
        out.angular_velocity[...] = self._velocity[:, 3:]

    def write(self, ids: BodyIds, state: BodyState) -> None:
        """Set poses and velocities of some bodies (teleport, reset); rows of `state` follow `ids`."""
        rows = np.searchsorted(self._ids, ids)
        self._pose[rows, :3] = state.position
        self._pose[rows, 3] = state.orientation[:, 3]
        self._pose[rows, 4:] = state.orientation[:, :3]
        self._velocity[rows, :3] = state.velocity
        self._velocity[rows, 3:] = state.angular_velocity
        self._free_distance, self._steps_to_next_look = -1.0, 0
        self._poses_stale = True

    def apply(self, force: Array, torque: Array) -> None:
        """Set the wrench of the next step: force (world) and torque (body) at the centre of mass, (M, 3)."""
        # The generalised force of a free joint is just that, but about the body frame's origin; it costs a
        # third of MuJoCo's own wrench on a body.
        self._wrench[:, :3] = force
        self._wrench[:, 3:] = torque
        if self._has_offset:
            rotation = matrix_from_quaternion(self._pose[:, [4, 5, 6, 3]])
            self._wrench[:, 3:] += cross(self._center_of_mass, rotate_inverse(rotation, force))

    def step(self, dt: float) -> None:
        """Advance by dt [s]."""
        self._option.timestep = dt
        if self._looks_ahead:
            self._skip_collisions_in_free_flight(dt)
        mujoco.mj_step(self._model, self._data)
        self._poses_stale = True

    def raycast(self, origins: Array, directions: Array, max_range: float, *, skip: IntArray) -> RayHits:
        """Cast K rays; `skip` holds for each ray the handle of a body that it passes through, or -1.

        Rays that follow each other and share origin and skipped body are cast together.
        """
        self._refresh_poses()
        directions = np.ascontiguousarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))
        excluded = [self._bodies[handle].id if handle >= 0 else -1 for handle in skip.tolist()]
        if self._surfaces is None:
            geom, distance, normal = cast_rays(
                self._model, self._data, origins, directions, max_range, excluded
            )
        else:
            geom, distance, normal = cast_rays(
                self._model, self._data, origins, directions, max_range, excluded, groups=SEEN_GROUPS
            )
            none = [-1] * len(origins)
            on_mesh = cast_rays(*self._surfaces, origins, directions, max_range, none)
            nearer = (on_mesh[0] >= 0) & ((geom < 0) | (on_mesh[1] < distance))
            # Like all geoms of the world, the first one belongs to the body that is at rest.
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
        """Return the contacts of the last step, or of where bodies stand that have just been added."""
        contact = self._data.contact
        count = self._data.ncon
        if count == 0:
            none = np.zeros(0, dtype=np.int64)
            nowhere = np.zeros((0, 3))
            return Contacts(none, none, nowhere, nowhere, nowhere, np.zeros(0))
        # MuJoCo's normal points from the first geom to the second and its force acts on the second.
        other, body = (self._handle_of_geom(contact.geom[:, k].astype(np.int64)) for k in (0, 1))
        frame = contact.frame.reshape(-1, 3, 3)
        force = np.zeros((count, 3))
        local = np.zeros(6)
        for i in range(count):
            mujoco.mj_contactForce(self._model, self._data, i, local)
            force[i] = local[:3] @ frame[i]
        # A contact with the scene is told from the body's side.
        scene_second = (body < 0)[:, None]
        return Contacts(
            body=np.where(body < 0, other, body),
            other=np.where(body < 0, body, other),
            position=contact.pos.copy(),
            normal=np.where(scene_second, -frame[:, 0], frame[:, 0]),
            force=np.where(scene_second, -force, force),
            distance=contact.dist.copy(),
        )

    def close(self) -> None:
        """Free what the engine holds; calling it twice is allowed."""
        self._model = self._data = self._option = None
        self._pose = self._velocity = self._wrench = np.zeros((0, 7))
        self._bodies, self._batches, self._ids = {}, [], np.zeros(0, dtype=np.int64)

    def _arena(self, bodies: int) -> int:
        """Return the memory for contacts and constraints of a number of bodies [bytes]."""
        return self._world_arena + _ARENA_PER_BODY * bodies

    def _require_memory(self, added: int) -> None:
        needed, free = self._arena(len(self._bodies) + added), free_memory()
        require(
            needed < free,
            "number of vehicles",
            len(self._bodies) + added,
            f"takes {needed / 1e9:.1f} GB of memory where {free / 1e9:.1f} GB are free",
            "add fewer",
        )

    def _compile(self) -> None:
        if self._model is None:
            self._model = self._spec.compile()
            self._data = mujoco.MjData(self._model)
        else:
            self._spec.memory = self._arena(len(self._spec.bodies) - 1)
            self._model, self._data = self._spec.recompile(self._model, self._data)
        # The solver's stopping rule is scaled by these statistics of the whole model; left as they come, a
        # contact would be solved to another precision as soon as a vehicle joins elsewhere.
        self._model.stat.meaninertia = 1.0
        self._option = self._model.opt
        self._pose = self._data.qpos.reshape(-1, 7)
        self._velocity = self._data.qvel.reshape(-1, 6)
        self._wrench = self._data.qfrc_applied.reshape(-1, 6)
        # Static geometry sits in body 0, so the free bodies are all that follow it.
        self._center_of_mass = self._model.body_ipos[1:]
        self._has_offset = bool(self._center_of_mass.any())
        self._poses_stale = True
        # The farthest that a point of a body lies from its origin, for bounding how fast it moves.
        offset = np.linalg.norm(self._model.geom_pos, axis=1) + self._model.geom_rbound
        self._reach = float(np.max(offset[self._model.geom_bodyid > 0], initial=0.0))
        self._free_distance, self._steps_to_next_look = -1.0, 0
        still = int(self._model.body_geomnum[0])
        moving = self._model.nbody - 1
        self._looks_ahead = moving >= _FLEET or (moving > 0 and still >= _CROWDED)
        # The contacts of where everything stands now.
        mujoco.mj_forward(self._model, self._data)
        inertia = self._model.body_inertia[1:]
        self._least_mass = float(np.min(self._model.body_mass[1:], initial=math.inf))
        self._least_inertia = float(np.min(inertia, initial=math.inf))
        self._inertia_ratio = float(np.max(inertia, initial=0.0)) / self._least_inertia

    def _skip_collisions_in_free_flight(self, dt: float) -> None:
        """Switch collision detection off for as long as nothing can possibly touch.

        RK4 looks for collisions four times a step, a third of its time. So the look is taken once with every
        shape grown, and not again before the fastest body could have used up the distance found free.
        """
        speed, spin = (_largest_norm(v) for v in (self._velocity[:, :3], self._velocity[:, 3:]))
        push, twist = (_largest_norm(w) for w in (self._wrench[:, :3], self._wrench[:, 3:]))
        # Bounds of how fast a body can get within the step; its gyroscopic torque is no more than J w^2.
        speed += push / self._least_mass * dt
        spin += (twist / self._least_inertia + spin * spin * self._inertia_ratio) * dt
        # Two bodies may approach each other.
        travel = 2 * dt * (speed + spin * self._reach)
        self._free_distance -= travel
        self._steps_to_next_look -= 1
        if self._free_distance < 0 and self._steps_to_next_look <= 0:
            self._refresh_poses()
            self._allow_contacts(True)
            self._model.geom_margin[:] = self._model.body_margin[:] = _LOOK_DISTANCE / 2
            mujoco.mj_collision(self._model, self._data)
            self._model.geom_margin[:] = self._model.body_margin[:] = 0.0
            if self._data.ncon == 0:
                self._free_distance = _LOOK_DISTANCE - travel
            else:
                self._steps_to_next_look = _LOOK_INTERVAL
        self._allow_contacts(self._free_distance < 0)

    def _allow_contacts(self, allowed: bool) -> None:
        self._option.disableflags = _DISABLED if allowed else _DISABLED | mujoco.mjtDisableBit.mjDSBL_CONTACT

    def _refresh_poses(self) -> None:
        if self._poses_stale:
            mujoco.mj_kinematics(self._model, self._data)
            mujoco.mj_comPos(self._model, self._data)
            self._poses_stale = False

    def _handle_of_geom(self, geom: IntArray) -> IntArray:
        handles = np.concatenate([[-1], self._ids])
        found: IntArray = handles[self._model.geom_bodyid[geom]]
        return found

    def _describe(self, element: Any, body: RigidBody) -> None:
        """Give a new body of the model its pose, mass properties and colliders."""
        x, y, z, w = (float(c) for c in body.orientation)
        element.pos, element.quat = body.position, [w, x, y, z]
        element.add_freejoint()
        element.sleep = mujoco.mjtSleepPolicy.mjSLEEP_NEVER
        inertia = body.inertia
        element.mass = body.mass
        element.ipos = body.center_of_mass
        if np.any(inertia - np.diag(np.diag(inertia))):
            element.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        else:
            # Said like this, MuJoCo keeps the body's axes and takes a path that is a third faster.
            element.inertia = np.diag(inertia)
        element.explicitinertial = True
        for collider in body.colliders:
            self._geoms.add_to_body(element, collider)
        self._geoms.add_to_fields(element, body.colliders)


def _largest_norm(vectors: Array) -> float:
    """Return the length of the longest of M vectors, shape (M, 3)."""
    return math.sqrt(float(np.max(vectors[:, 0] ** 2 + vectors[:, 1] ** 2 + vectors[:, 2] ** 2)))
