"""Rigid contacts with Coulomb friction and restitution: velocities after a step, by MuJoCo's convex solver.

MuJoCo's solver minimises 1/2 |a - a_free|^2 + s(J a - a_ref). With a nearly rigid regularisation, and
reference accelerations that state the velocities J v which the step may end with, this is one step of rigid
contact dynamics: nothing is stored in springs, so that no contact returns more energy than it took.

The convex problem alone lets a sliding contact lift off with the velocity mu |v_t|. Subtracting this velocity
from the one that is asked for, until both agree, yields Coulomb's law (De Saxcé and Feng 1998; Acary et al.
2011).
"""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray

MARGIN = 0.02
"""Gap below which two surfaces have a contact that limits their approach [m]."""
SOLVER_PARAMETERS = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""Impedance (MuJoCo's solimp) of a contact: a resting body yields by a ten-thousandth of the free motion."""
_YIELDING = 1.0 - SOLVER_PARAMETERS[0]
FRICTION_STIFFNESS = 100.0
"""Stiffness of friction relative to the normal direction (MuJoCo's impratio)."""

# Fixed-point iteration between slip and lift-off: largest number, and tolerances of the velocity. In sliding
# the error decreases by mu^2 / (1 + mu^2) a round: small changes in the first rounds are enlarged for it.
_ROUNDS = 25
_UNDAMPED_ROUNDS = 6
_ENLARGED_ROUNDS = 3
_SMALL_CHANGE = 0.02
_RELATIVE_TOLERANCE, _TOLERANCE = 1e-5, 1e-9  # -, m/s
# Depth that is not corrected [m], part of a greater depth that is corrected in a step, and its largest speed.
_SLOP = 1e-5
_CORRECTION = 0.2
_FASTEST_CORRECTION = 1.0  # [m/s]
# Limit of the acceleration that corrects smaller depths, which stem from the yielding of contacts [m/s^2].
_SETTLING = 0.005
_SMALL_GAP = 1e-7  # [m]
# Impact speed below which nothing rebounds [m/s]: from a height of 50 nanometres.
_SLOWEST_REBOUND = 0.001
_NO_OBSTACLE = 1e6  # [m]


def contact_parameters(restitution: float) -> tuple[float, float]:
    """Return MuJoCo's solref of a geom, which carries the coefficient of restitution to its contacts.

    The engine computes the reference accelerations itself; MuJoCo only mixes these numbers for two geoms.
    """
    return 1.0, 1.0 + restitution


@dataclass(frozen=True, eq=False)
class Solution:
    """Velocities at the end of a step with contacts, and the contact forces."""

    velocity: Array
    """Velocity of the free joints at the end of the step, shape (M, 6).

    Of bodies that collide with each other: after all impulses, which act in the pose at the start.
    """
    motion: Array
    """Velocity with which poses move during the step, shape (M, 6)."""
    separation: Array
    """Velocity added to that motion by which overlapping bodies are separated, shape (M, 6)."""
    force: Array
    """Mean contact force in the contact frame [N], shape (K, 3)."""
    touching: BoolArray
    """Whether a contact acts on a body, shape (M,)."""
    colliding: BoolArray
    """True for bodies that may touch another body, shape (M,)."""


class ContactRecord:
    """Contacts with a force or an overlap.

    Args:
        model: The model.
        geom: The two geoms of each contact, shape (N, 2).
        distance: Gaps between the surfaces [m], shape (N,).
        position: Contact points in the world [m], shape (N, 3).
        frame: Unit normal and tangents, shape (N, 9).
        force: Forces in these frames [N], shape (N, 3).
    """

    def __init__(
        self, model: Any, geom: IntArray, distance: Array, position: Array, frame: Array, force: Array
    ) -> None:
        kept = (force[:, 0] > 0.0) | (distance <= 0.0)
        axes = frame[kept].reshape(-1, 3, 3)
        self.geom = geom[kept]
        """The two geoms of each contact, shape (K, 2)."""
        self.body = model.geom_bodyid[self.geom]
        """The two bodies of each contact, 0 for the world, shape (K, 2)."""
        self.position = position[kept]
        """Contact points in the world [m], shape (K, 3)."""
        self.normal = axes[:, 0]
        """Unit normals from the first body to the second, shape (K, 3)."""
        self.force = (force[kept][:, :, None] * axes).sum(axis=1)
        """Forces on the second body in the world [N], shape (K, 3)."""
        self.distance = distance[kept]
        """Gaps between the surfaces, negative when they overlap [m], shape (K,)."""


def solve(
    model: Any, data: Any, dt: float, free: Array, wrench: Array, passing: BoolArray, colliding: BoolArray
) -> Solution | None:
    """Return the velocities at the end of a step, or None if no contact acts.

    Args:
        model: The model.
        data: Its data with the constraints and islands of the start of the step.
        dt: Length of the step [s].
        free: Velocity of the free joints at the end of the step without contacts, shape (M, 6).
        wrench: Force and torque on the free joints without gyroscopic terms, shape (M, 6).
        passing: Bodies that are known to pass by all obstacles, shape (M,).
        colliding: Bodies that may touch other bodies, shape (M,); `free` is in their pose at the start.
    """
    bodies = model.geom_bodyid[data.contact.geom] - 1
    early = _of_contacts(colliding, bodies)
    step = _Step(model, data, dt, free, bodies, _of_contacts(passing, bodies), early, colliding)
    if not step.closing():
        return None
    every = np.ones(data.nisland + 1, dtype=bool)
    resting, force = step.solve(step.allowed, every)
    acting = force[:, 0] > 0.0
    touching = np.zeros(model.nbody, dtype=bool)
    touching[bodies[acting]] = True
    at_start = colliding[:, None]
    motion = step.second_order(resting, acting, bodies, at_start)
    separation = np.zeros(motion.shape)
    # What an island needs is done for it alone: it must not depend on what the others do.
    deep = step.islands(step.gap < -_SLOP)
    if deep.any():
        corrected, push = step.solve(step.corrected(), deep, resting, force)
        if early is not None:
            # Both bodies are moved, though their contact may not act: they may be moving apart.
            touching[bodies[(push[:, 0] > 0.0) & early & deep[step.island]]] = True
        moved = deep[data.tree_island + 1][:, None]
        separation = np.where(moved, corrected - motion, 0.0)
        resting *= step.paying(resting, dt * (wrench * separation).sum(axis=1))
        separation[~colliding] = 0.0
        motion = np.where(moved, np.where(at_start, resting, corrected), motion)
    velocity = resting
    rebound = step.rebound(acting, early)
    bouncing = step.islands(rebound > 0.0)
    if bouncing.any():
        bounced, impulse = step.solve(
            np.where(rebound > 0.0, rebound, step.allowed), bouncing, resting, force
        )
        touching[bodies[impulse[:, 0] > 0.0]] = True
        change = bounced - resting
        share = step.share(resting, bounced, motion, np.where(at_start, change, 0.0), wrench)
        velocity = resting + share[:, None] * change
        motion = np.where(at_start, velocity, motion)
        of_contact = share[np.max(bodies, axis=1)][:, None]
        force = force + of_contact * (impulse - force)
    return Solution(velocity, motion, separation, force, touching[:-1], colliding)


def _of_contacts(chosen: BoolArray, bodies: npt.NDArray[np.int32]) -> BoolArray | None:
    """Return which contacts some bodies (M,) have, given both bodies of each, shape (K,); None if none."""
    if not chosen.any():
        return None
    found: BoolArray = np.append(chosen, False)[bodies]
    return np.asarray(found.any(axis=1))


class _Step:
    """One step of contact dynamics: its free motion, its contacts, and solutions for wanted velocities."""

    def __init__(
        self,
        model: Any,
        data: Any,
        dt: float,
        free: Array,
        bodies: npt.NDArray[np.int32],
        ignored: BoolArray | None,
        early: BoolArray | None,
        colliding: BoolArray,
    ) -> None:
        self._model, self._data, self._dt = model, data, dt
        self._colliding = None if early is None else colliding
        self.island: IntArray = data.tree_island[bodies.max(axis=1)] + 1
        """Island of each contact, from 1, shape (K,); 0 for bodies without constraints."""
        contact = data.contact
        self._count = data.ncon
        self._velocity = data.qvel.copy()
        self._free = (free.ravel() - self._velocity) / dt
        self._friction = contact.friction[:, 0].copy()
        self._restitution = contact.solref[:, 1] - 1.0
        self.gap: Array = contact.dist.copy()
        """Gaps between the surfaces [m], shape (K,)."""
        self._start = self._project(self._velocity)
        self._acceleration = self._project(self._free)
        if ignored is not None:
            self.gap[ignored] = _NO_OBSTACLE
        self.allowed = np.where(
            self.gap > 0.0, -self.gap / dt, np.minimum(-_CORRECTION * self.gap / dt, _SETTLING * dt)
        )

    def closing(self) -> bool:
        """Return whether free motion would close the gap of a contact."""
        end = self._start[:, 0] + self._dt * self._acceleration[:, 0]
        return bool((end < self.allowed).any())

    def islands(self, contacts: BoolArray) -> BoolArray:
        """Return which islands have one of some contacts (K,), shape (I + 1,)."""
        found = np.zeros(self._data.nisland + 1, dtype=bool)
        found[self.island[contacts]] = True
        return found

    def solve(
        self, wanted: Array, islands: BoolArray, velocity: Array | None = None, force: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the velocities (M, 6) and contact forces (K, 3) for least normal velocities.

        Args:
            wanted: Least normal velocities [m/s], shape (K,).
            islands: Islands to solve, shape (I + 1,); an island is done when its own contacts agree.
            velocity: Velocities of the others, shape (M, 6).
            force: Forces of the others, shape (K, 3).
        """
        data, dt = self._data, self._dt
        left, group = islands, data.tree_island + 1
        found, forces = data.qacc.reshape(-1, 6).copy(), np.zeros((self._count, 3))
        warm = data.qacc_warmstart.reshape(-1, 6).copy()
        reference = data.efc_aref.reshape(-1, 3)
        reference[:, 1:] = self._start[:, 1:] / -dt
        lift = self._lift(self._start + dt * self._acceleration)
        enlarged = np.minimum(self._friction * self._friction, 0.5)
        data.qacc_smooth[:] = self._free
        mujoco.mj_mulM(self._model, data, data.qfrc_smooth, data.qacc_smooth)
        for round_number in range(_ROUNDS):
            reference[:, 0] = (wanted - lift - self._start[:, 0]) / dt
            mujoco.mj_fwdConstraint(self._model, data)
            wished = self._lift(self._start + dt * self._project(data.qacc))
            change = wished - lift
            moving = np.abs(change) > _RELATIVE_TOLERANCE * wished + _TOLERANCE
            last = round_number + 1 == _ROUNDS or not moving.any()
            if last or data.nisland > 1:
                ends = left if last else left & ~self.islands(moving)
                rows, contacts = ends[group], ends[self.island]
                found[rows] = warm[rows] = data.qacc.reshape(-1, 6)[rows]
                forces[contacts] = data.efc_force.reshape(-1, 3)[contacts]
                left = left & ~ends
            if not left.any():
                break
            change[~moving] = 0.0
            if round_number < _ENLARGED_ROUNDS:
                change += np.where(np.abs(change) < _SMALL_CHANGE * wished, enlarged * change, 0.0)
            elif round_number >= _UNDAMPED_ROUNDS:
                change *= 0.5
            lift += change
        data.qacc[:], data.qacc_warmstart[:] = found.ravel(), warm.ravel()
        solved: Array = (self._velocity + dt * data.qacc).reshape(-1, 6)
        if self._colliding is not None:
            # Its accelerations agree with its forces, which keep the momentum, to the tolerance only.
            change = np.zeros((1, self._velocity.size))
            mujoco.mj_solveM(self._model, data, change, data.qfrc_constraint[None])
            kept = (self._velocity + dt * (self._free + change[0])).reshape(-1, 6)
            solved[self._colliding] = kept[self._colliding]
        if velocity is not None and force is not None:
            solved = np.where(islands[group][:, None], solved, velocity)
            forces = np.where(islands[self.island][:, None], forces, force)
        return solved, forces

    def _lift(self, velocity: Array) -> Array:
        """Return the velocity with which the convex problem lifts sliding contacts [m/s], shape (K,)."""
        x, y = velocity[:, 1], velocity[:, 2]
        lift: Array = self._friction * np.sqrt(x * x + y * y)
        return lift

    def second_order(
        self, end: Array, acting: BoolArray, bodies: npt.NDArray[np.int32], first_order: BoolArray
    ) -> Array:
        """Return the mean velocity of bodies whose contacts last, of others that at the end, shape (M, 6).

        Args:
            end: Velocity at the end of the step, shape (M, 6).
            acting: Contacts with a force, shape (K,).
            bodies: Both bodies of each contact, shape (K, 2).
            first_order: Bodies that move with the velocity at the end in any case, shape (M, 1).
        """
        mean = 0.5 * (self._velocity.reshape(-1, 6) + end)
        gap = self._dt * self._project(mean.ravel())[:, 0]
        ends = (gap < self.allowed * self._dt - _SMALL_GAP) | (
            acting & (np.abs(self._start[:, 0]) * self._dt > _SMALL_GAP)
        )
        late = np.zeros(self._model.nbody, dtype=bool)
        late[bodies[ends]] = True
        motion: Array = np.where(late[:-1, None] | first_order, end, mean)
        return motion

    def corrected(self) -> Array:
        """Return the least normal velocities of the pose, which separate overlapping surfaces, shape (K,)."""
        pushing = np.minimum(_CORRECTION / self._dt * (-_SLOP - self.gap), _FASTEST_CORRECTION)
        wanted: Array = np.where(self.gap < -_SLOP, pushing, self.allowed)
        return wanted

    def paying(self, velocity: Array, work: Array) -> Array:
        """Return factors of velocities that take the energy of a correction from the motion, shape (M, 1).

        Bodies that touch each other share it.

        Args:
            velocity: Velocity of the free joints, shape (M, 6).
            work: Work of the wrench along the correction [J], shape (M,).
        """
        group = self._data.tree_island + 1
        energy = group_sums(group, _energies(self._model, self._data, velocity))
        left = np.maximum(energy + np.minimum(group_sums(group, work), 0.0), 0.0)
        factor: Array = np.sqrt(left / np.maximum(energy, 1e-300))[group, None]
        return factor

    def rebound(self, acting: BoolArray, early: BoolArray | None) -> Array:
        """Return the normal velocities after rebounds, shape (K,); 0 for contacts that do not rebound.

        The velocity of an impact is that with which the gap closes under the free acceleration, so that the
        instant of the impact within the step makes no energy.

        Args:
            acting: Contacts with a force, shape (K,).
            early: Contacts whose impulses act at the start of the step, before the gap is closed, (K,).
        """
        if not self._restitution.any():
            return np.zeros(self._count)
        start, acceleration = self._start[:, 0], self._acceleration[:, 0]
        approaching = acting & (self._restitution > 0.0) & (start + self._dt * acceleration < 0.0)
        way = np.maximum(self.gap, 0.0)
        if early is not None:
            way[early] = 0.0
        impact = np.sqrt(np.maximum(start**2 - 2.0 * acceleration * way, 0.0))
        # The contact yields by its regularisation.
        speed = (self._restitution + _YIELDING * (1.0 + self._restitution)) * impact
        rebounding = approaching & (impact > _SLOWEST_REBOUND)
        return np.where(rebounding, speed, 0.0)

    def share(self, resting: Array, bounced: Array, motion: Array, change: Array, wrench: Array) -> Array:
        """Return the part of the rebound of each body that makes no energy, shape (M,).

        Newton's law of restitution with friction can make energy (Kane 1984). Any mixture with the motion
        without rebound, which only loses energy, is a solution too.

        Args:
            resting: Velocity without rebound, shape (M, 6).
            bounced: Velocity with the whole rebound, shape (M, 6).
            motion: Velocity with which poses move without rebound, shape (M, 6).
            change: Change of that velocity by the whole rebound, shape (M, 6).
            wrench: Force and torque, shape (M, 6).
        """
        model, data = self._model, self._data
        group = data.tree_island + 1
        budget = _energies(model, data, self._velocity.reshape(-1, 6))
        budget += self._dt * (wrench * motion).sum(axis=1)
        half = _energies(model, data, 0.5 * (resting + bounced))
        least, most = _energies(model, data, resting), _energies(model, data, bounced)
        # Work of the wrench along the change of the motion is done as well.
        gain = self._dt * (wrench * change).sum(axis=1)
        half -= 0.5 * gain
        most -= gain
        budget, low, high, half = (group_sums(group, energy) for energy in (budget, least, most, half))
        # Kinetic energy is quadratic in the share: low + b s + c s^2.
        c = 2.0 * (low + high) - 4.0 * half
        b = high - low - c
        root = np.sqrt(np.maximum(b * b + 4.0 * c * (budget - low), 0.0))
        limit = np.clip((root - b) / np.maximum(2.0 * c, 1e-300), 0.0, 1.0)
        share: Array = np.where(high > budget, limit, 1.0)[group]
        return share

    def _project(self, velocity: Array) -> Array:
        """Return J v in the contact frames, shape (K, 3)."""
        result = np.zeros(3 * self._count)
        mujoco.mj_mulJacVec(self._model, self._data, result, velocity)
        return result.reshape(-1, 3)


def group_sums(group: IntArray, values: Array) -> Array:
    """Return the sum of the values of each group."""
    return np.asarray(np.bincount(group, weights=values), dtype=float)


def _energies(model: Any, data: Any, velocity: Array) -> Array:
    """Return the kinetic energy of each body [J], shape (M,)."""
    momentum = np.zeros(velocity.size)
    mujoco.mj_mulM(model, data, momentum, velocity.ravel())
    energy: Array = 0.5 * (velocity * momentum.reshape(-1, 6)).sum(axis=1)
    return energy
