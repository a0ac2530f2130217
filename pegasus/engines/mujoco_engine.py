"""Rigid-body physics by MuJoCo: the standalone engine.

Free flight is integrated by RK4 with the wrench held over the step, in float64. Contacts are MuJoCo's soft
constraints with elliptic friction cones; the surface of the scene decides friction and restitution.
"""

import itertools
import logging
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from pegasus.arrays import Array, IntArray
from pegasus.components import require
from pegasus.engines.contact_response import contact_response
from pegasus.engines.engine import BodyIds, BodyState, Contacts, RayHits, RigidBody
from pegasus.frames import cross, matrix_from_quaternion, rotate_inverse
from pegasus.scene.scene import Collider, ColliderShape, Scene

_log = logging.getLogger(__name__)

# Impedance close to one: contacts neither creep nor lose the restitution that is asked for.
_IMPEDANCE = (0.99, 0.99, 0.001, 0.5, 2.0)
# Friction is this much stiffer than the normal direction, so that a body at rest on a slope stays there.
_FRICTION_STIFFNESS = 100.0
_FLAT_MESH_THICKNESS = 0.05

# The solver decides on a warm start for all bodies together, and so would let one body's contacts change
# another's bits; without auto-reset a diverging body stays visible as NaN.
_DISABLED = int(mujoco.mjtDisableBit.mjDSBL_WARMSTART | mujoco.mjtDisableBit.mjDSBL_AUTORESET)

# From this many bodies on, looking ahead for collisions costs less than looking for them in every step.
_FLEET = 32
_LOOK_DISTANCE = 0.4  # [m]
_LOOK_INTERVAL = 10  # steps between two looks while something is near

_GEOM_TYPES = {
    ColliderShape.BOX: mujoco.mjtGeom.mjGEOM_BOX,
    ColliderShape.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
    ColliderShape.ELLIPSOID: mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    ColliderShape.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    ColliderShape.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
    ColliderShape.PLANE: mujoco.mjtGeom.mjGEOM_PLANE,
    ColliderShape.MESH: mujoco.mjtGeom.mjGEOM_MESH,
}


class MujocoEngine:
    """Engine on MuJoCo; see `pegasus.engines.engine.Engine` for the contract."""

    def __init__(self) -> None:
        # MuJoCo's own way is a file in whatever folder is the current one.
        mujoco.set_mju_user_warning(_log.warning)
        self._spec = mujoco.MjSpec()
        self._model: Any = None
        self._data: Any = None
        self._option: Any = None
        self._bodies: dict[int, Any] = {}
        self._ids = np.zeros(0, dtype=np.int64)
        self._next_id = 0
        self._meshes: dict[int, tuple[str, Collider]] = {}
        self._poses_stale = False
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
        self._spec, self._model, self._data = spec, None, None
        self._bodies, self._meshes, self._ids = {}, {}, np.zeros(0, dtype=np.int64)
        for collider in scene.colliders:
            # The scene's surface has priority: it alone sets friction and restitution of a contact.
            self._add_geom(spec.worldbody, collider, priority=1)
        self._compile()

    def add_bodies(self, bodies: Sequence[RigidBody]) -> BodyIds:
        """Add bodies, also while running; no other body is disturbed. Return their handles, shape (K,)."""
        ids = np.arange(self._next_id, self._next_id + len(bodies), dtype=np.int64)
        names = [element.name for element in self._bodies.values()] + [body.name for body in bodies]
        for name, count in Counter(names).items():
            require(count == 1, "body name", name, "is taken", "choose another")
        added: list[Any] = []
        try:
            for body in bodies:
                added.append(self._spec.worldbody.add_body(name=body.name))
                self._describe(added[-1], body)
            self._compile()
        except Exception:
            for element in added:
                self._spec.delete(element)
            self._compile()
            raise
        self._next_id += len(bodies)
        self._bodies.update(zip(ids.tolist(), added, strict=True))
        self._ids = np.concatenate([self._ids, ids])
        return ids

    def remove_bodies(self, ids: BodyIds) -> None:
        """Remove bodies; no other body is disturbed."""
        for handle in ids.tolist():
            self._spec.delete(self._bodies.pop(handle))
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
        if len(self._ids) >= _FLEET:
            self._skip_collisions_in_free_flight(dt)
        mujoco.mj_step(self._model, self._data)
        self._poses_stale = True

    def raycast(self, origins: Array, directions: Array, max_range: float, *, skip: IntArray) -> RayHits:
        """Cast K rays; `skip` holds for each ray the handle of a body that it passes through, or -1.

        Rays that follow each other and share origin and skipped body are cast together.
        """
        self._refresh_poses()
        count = len(origins)
        directions = np.ascontiguousarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))
        geom, distance = np.full(count, -1, dtype=np.int32), np.zeros(count)
        normal = np.zeros((count, 3))
        changes = np.any(origins[1:] != origins[:-1], axis=1) | (skip[1:] != skip[:-1])
        edges = [0, *(np.flatnonzero(changes) + 1).tolist(), count]
        for a, b in itertools.pairwise(edges):
            if a == b:
                continue
            excluded = self._bodies[int(skip[a])].id if skip[a] >= 0 else -1
            origin = np.ascontiguousarray(origins[a])
            if b - a == 1:
                # Many rays prepare themselves by looking at every body, which does not pay for one.
                distance[a] = mujoco.mj_ray(
                    self._model, self._data, origin, directions[a], None, True, excluded, geom[a:b], normal[a]
                )
                continue
            mujoco.mj_multiRay(
                self._model,
                self._data,
                origin,
                directions[a:b].ravel(),
                None,
                True,
                excluded,
                geom[a:b],
                distance[a:b],
                normal[a:b].reshape(-1),
                b - a,
                max_range,
            )
        hit = (geom >= 0) & (distance <= max_range)
        body = np.where(hit, self._handle_of_geom(np.maximum(geom, 0)), -1)
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
        self._bodies, self._ids = {}, np.zeros(0, dtype=np.int64)

    def _compile(self) -> None:
        if self._model is None:
            self._model = self._spec.compile()
            self._data = mujoco.MjData(self._model)
        else:
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
            self._add_geom(element, collider, priority=0)

    def _add_geom(self, parent: Any, collider: Collider, *, priority: int) -> None:
        x, y, z, w = (float(c) for c in collider.orientation)
        size = [*collider.size, 0.0, 0.0, 0.0][:3]
        extra: dict[str, Any] = {}
        if collider.shape is ColliderShape.PLANE:
            size = [0.0, 0.0, 1.0]
        elif collider.shape is ColliderShape.MESH:
            extra["meshname"] = self._add_mesh(collider)
        parent.add_geom(
            type=_GEOM_TYPES[collider.shape],
            size=size,
            pos=collider.position,
            quat=[w, x, y, z],
            condim=3,
            friction=[collider.material.dynamic_friction, 0.005, 0.0001],
            solref=contact_response(collider.material),
            solimp=_IMPEDANCE,
            priority=priority,
            **extra,
        )

    def _add_mesh(self, collider: Collider) -> str:
        """Add the mesh of a collider to the model, once; it collides as its convex hull."""
        assert collider.vertices is not None
        assert collider.faces is not None
        if (known := self._meshes.get(id(collider))) is not None:
            return known[0]
        name = f"mesh{len(self._meshes)}"
        # Kept beside its name, so that no other collider can take its identity.
        self._meshes[id(collider)] = name, collider
        vertices, faces = np.asarray(collider.vertices, dtype=np.float64), np.asarray(collider.faces)
        center = vertices.mean(axis=0)
        _, extent, axes = np.linalg.svd(vertices - center, full_matrices=False)
        require(extent[1] > 1e-9, collider.path, len(vertices), "collision mesh must span more than a line")
        if extent[2] < 1e-6 * extent[0]:
            # A flat mesh has no hull: give it thickness behind the side that its triangles face.
            a, b, c = (vertices[faces[0, k]] for k in range(3))
            normal = axes[2] if np.dot(np.cross(b - a, c - a), axes[2]) > 0 else -axes[2]
            vertices = np.concatenate([vertices, vertices - normal * _FLAT_MESH_THICKNESS])
        self._spec.add_mesh(
            name=name,
            uservert=vertices.ravel(),
            userface=faces.ravel().astype(np.int32),
            inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX,
        )
        return name


def _largest_norm(vectors: Array) -> float:
    """Return the length of the longest of M vectors, shape (M, 3)."""
    return math.sqrt(float(np.max(vectors[:, 0] ** 2 + vectors[:, 1] ** 2 + vectors[:, 2] ** 2)))
