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
from pegasus.engines.mujoco_carriers import Carriers

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


def solve(
    model: Any,
    data: Any,
    dt: float,
    free: Array,
    wrench: Array,
    passing: BoolArray,
    colliding: BoolArray,
    bodies: npt.NDArray[np.int32],
    carriers: Carriers | None,
) -> Solution | None:
    """Return the velocities at the end of a step, or None if no contact acts.

    Args:
        model: The model.
        data: Its data with the constraints and islands of the start of the step.
        dt: Length of the step [s].
        free: Velocity of the free joints at the end of the step without contacts, shape (M, 6).
        wrench: Force and torque on the free joints without gyroscopic terms, shape (M, 6).
        passing: Contacts of bodies that are known to pass by each other, shape (K,).
        colliding: Bodies that may touch other bodies, shape (M,); `free` is in their pose at the start.
        bodies: Both bodies of each contact, -1 for the world, shape (K, 2).
        carriers: Moving parts of the world at the contacts; None if none moves.
    """
    early: BoolArray | None = None
    if colliding.any():
        early = np.asarray(np.append(colliding, False)[bodies].any(axis=1))
    step = _Step(model, data, dt, free, bodies, passing, colliding, carriers)
    closing = step.closing()
    if not closing.any():
        return None
    resting, force = step.solve(step.allowed, closing)
    acting = force[:, 0] > 0.0
    touching = np.zeros(len(colliding) + 1, dtype=bool)
    touching[bodies[acting]] = True
    at_start = colliding[:, None]
    motion = step.second_order(resting, acting, bodies, at_start)
    separation, work = np.zeros(motion.shape), np.zeros(len(motion))
    # What an island needs is done for it alone: it must not depend on what the others do.
    deep = closing & step.islands(step.gap < -_SLOP)
    if deep.any():
        corrected, push = step.solve(step.corrected(), deep, resting, force)
        if early is not None:
            # Both bodies are moved, though their contact may not act: they may be moving apart.
            touching[bodies[(push[:, 0] > 0.0) & early & deep[step.island]]] = True
        moved = deep[step.group][:, None]
        separation = np.where(moved, corrected - motion, 0.0)
        acting |= push[:, 0] > 0.0
        work = dt * (wrench * separation).sum(axis=1)
        separation[~colliding] = 0.0
        motion = np.where(moved, corrected, motion)
    rebound = step.rebound(force[:, 0] > 0.0, early)
    resting, force = step.dissipation(resting, force, work, touching[:-1], acting)
    bouncing = step.islands(rebound > 0.0)
    if bouncing.any():
        bounced, impulse = step.solve(
            np.where(rebound > 0.0, rebound, step.allowed), bouncing, resting, force
        )
        acting |= impulse[:, 0] > 0.0
        touching[bodies[impulse[:, 0] > 0.0]] = True
    if early is not None:
        # Impulses act at the start; the common motion of an island is free flight.
        lag = 0.5 * step.common(dt * step.free, touching[:-1], acting)
        motion = np.where(at_start, resting - lag, motion)
    velocity = resting
    if bouncing.any():
        change = bounced - resting
        gained = np.where(at_start, change, 0.0)
        share = step.share(resting, bounced, motion, gained, wrench)[:, None]
        velocity, motion = resting + share * change, motion + share * gained
        force = force + share[step.body] * (impulse - force)
    return Solution(velocity, motion, separation, force, touching[:-1], colliding)


class _Step:
    """One step of contact dynamics: its free motion, its contacts, and solutions for wanted velocities."""

    def __init__(
        self,
        model: Any,
        data: Any,
        dt: float,
        free: Array,
        bodies: npt.NDArray[np.int32],
        passing: BoolArray,
        colliding: BoolArray,
        carriers: Carriers | None,
    ) -> None:
        self._model, self._data, self._dt, self._colliding = model, data, dt, colliding
        self.group: IntArray = data.tree_island + 1
        """Island of each body, from 1, shape (M,); 0 for bodies without constraints."""
        self.body = bodies.max(axis=1)
        """A body of each contact, shape (K,)."""
        self.island = self.group[self.body]
        """Island of each contact, shape (K,)."""
        self._with_world = bodies.min(axis=1) < 0
        contact = data.contact
        self._count = data.ncon
        self._velocity = data.qvel.copy()
        self.free: Array = (free.ravel() - self._velocity) / dt
        """Accelerations without contacts, shape (6 M,)."""
        self._friction = contact.friction[:, 0].copy()
        self._rolling = contact.friction[:, 1] / contact.friction[:, 0]
        """Friction in the second direction by that in the first, less than 1 under wheels, shape (K,)."""
        self._restitution = contact.solref[:, 1] - 1.0
        self.gap: Array = contact.dist.copy()
        """Gaps between the surfaces [m], shape (K,)."""
        self._start = self._began = self._project(self._velocity)
        self._carriers = carriers
        self._carried, self._driven = np.zeros((len(colliding), 6)), np.zeros(data.nisland + 1, dtype=bool)
        if carriers is not None:
            self._carried, self._driven = carriers.frames(self.island, self.group)
            # Velocities of contacts are relative to what the world's part has at the end of the step.
            self._began = self._start + carriers.start
            self._start = self._start + carriers.end
        self._acceleration = self._project(self.free)
        self.gap[passing] = _NO_OBSTACLE
        self.allowed = np.where(
            self.gap > 0.0, -self.gap / dt, np.minimum(-_CORRECTION * self.gap / dt, _SETTLING * dt)
        )

    def closing(self) -> BoolArray:
        """Return the islands in which free motion would close the gap of a contact, shape (I + 1,)."""
        return self.islands(self._start[:, 0] + self._dt * self._acceleration[:, 0] < self.allowed)

    def islands(self, contacts: BoolArray) -> BoolArray:
        """Return which islands have one of some contacts (K,), shape (I + 1,)."""
        found = np.zeros(self._data.nisland + 1, dtype=bool)
        if contacts.any():
            found[self.island[contacts]] = True
        return found

    def solve(
        self, wanted: Array, islands: BoolArray, velocity: Array | None = None, force: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the velocities (M, 6) and contact forces (K, 3) for least normal velocities.

        Args:
            wanted: Least normal velocities [m/s], shape (K,).
            islands: Islands to solve, shape (I + 1,); an island is done when its own contacts agree.
            velocity: Velocities of the others, shape (M, 6); those of free motion if None.
            force: Forces of the others, shape (K, 3).
        """
        data, dt = self._data, self._dt
        left, group = islands, self.group
        found, forces = self.free.reshape(-1, 6).copy(), np.zeros((self._count, 3))
        pushes = np.zeros(found.shape)
        reference = data.efc_aref.reshape(-1, 3)
        reference[:, 1:] = self._start[:, 1:] / -dt
        lift = self._lift(self._start + dt * self._acceleration)
        enlarged = np.minimum(self._friction * self._friction, 0.5)
        data.qacc_smooth[:] = self.free
        mujoco.mj_mulM(self._model, data, data.qfrc_smooth, data.qacc_smooth)
        for round_number in range(_ROUNDS):
            reference[:, 0] = (wanted - lift - self._start[:, 0]) / dt
            mujoco.mj_fwdConstraint(self._model, data)
            wished = self._lift(self._start + dt * self._project(data.qacc))
            change = wished - lift
            moving = np.abs(change) > _RELATIVE_TOLERANCE * wished + _TOLERANCE
            ends = left if round_number + 1 == _ROUNDS else left & ~self.islands(moving)
            if ends.any():
                rows, contacts = ends[group], ends[self.island]
                found[rows] = data.qacc.reshape(-1, 6)[rows]
                pushes[rows] = data.qfrc_constraint.reshape(-1, 6)[rows]
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
        solved: Array = self._velocity.reshape(-1, 6) + dt * found
        if self._colliding.any():
            # Its accelerations agree with its forces, which keep the momentum, to the tolerance only.
            change = np.zeros((1, self._velocity.size))
            mujoco.mj_solveM(self._model, data, change, pushes.reshape(1, -1))
            kept = (self._velocity + dt * (self.free + change[0])).reshape(-1, 6)
            solved[self._colliding] = kept[self._colliding]
        if velocity is not None and force is not None:
            solved = np.where(islands[group][:, None], solved, velocity)
            forces = np.where(islands[self.island][:, None], forces, force)
        return solved, forces

    def _lift(self, velocity: Array) -> Array:
        """Return the velocity with which the convex problem lifts sliding contacts [m/s], shape (K,)."""
        x, y = velocity[:, 1], self._rolling * velocity[:, 2]
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
        speed = self._project(mean.ravel())[:, 0]
        if self._carriers is not None:
            speed = speed + 0.5 * (self._carriers.start + self._carriers.end)[:, 0]
        gap = self._dt * speed
        ends = (gap < self.allowed * self._dt - _SMALL_GAP) | (
            acting & (np.abs(self._began[:, 0]) * self._dt > _SMALL_GAP)
        )
        late = np.zeros(len(end) + 1, dtype=bool)
        late[bodies[ends]] = True
        motion: Array = np.where(late[:-1, None] | first_order, end, mean)
        return motion

    def corrected(self) -> Array:
        """Return the least normal velocities of the pose, which separate overlapping surfaces, shape (K,)."""
        pushing = np.minimum(_CORRECTION / self._dt * (-_SLOP - self.gap), _FASTEST_CORRECTION)
        wanted: Array = np.where(self.gap < -_SLOP, pushing, self.allowed)
        return wanted

    def dissipation(
        self, velocity: Array, force: Array, work: Array, touching: BoolArray, acting: BoolArray
    ) -> tuple[Array, Array]:
        """Return velocities from which the energy of a correction is taken, (M, 6), and forces, (K, 3).

        Contacts without rebound only take energy, also where the iteration does not converge. Bodies that
        touch each other share it; their common velocity remains.

        Args:
            velocity: Velocity of the free joints, shape (M, 6).
            force: Contact forces, shape (K, 3).
            work: Work of the wrench along the correction [J], shape (M,).
            touching: Bodies on which a contact acts, shape (M,).
            acting: Contacts that act, shape (K,).
        """
        group = np.where(touching, self.group, 0)
        # A moving part of the world does work in the frame of the world, none in its own.
        on_world = self.islands(acting & self._with_world)[self.group]
        common = self.common(velocity, touching, acting)
        common = common + np.where(on_world[:, None], self._carried, 0.0)
        own = velocity - common
        free = (self._velocity + self._dt * self.free).reshape(-1, 6) - common
        most, energy = (self._energies(group, values) for values in (free, own))
        left = np.maximum(np.minimum(energy, most) + np.minimum(group_sums(group, work), 0.0), 0.0)
        owing = touching & (left < energy)[group] & ~self._driven[self.group]
        if not owing.any():
            return velocity, force
        # A part of all impulses keeps momentum and angular momentum. Energy is quadratic in it.
        c = 2.0 * (most + energy) - 4.0 * self._energies(group, 0.5 * (free + own))
        part = np.clip((c - (energy - most)) / np.maximum(c, 1e-300), 0.0, 1.0)
        part = np.where(touching & (energy > most)[group], part[group], 1.0)[:, None]
        own = np.where(part < 1.0, free + part * (own - free), own)
        scale = np.sqrt(left / np.maximum(np.minimum(energy, most), 1e-300))[group, None]
        return np.where(owing[:, None], common + scale * own, velocity), part[self.body] * force

    def common(self, velocity: Array, touching: BoolArray, acting: BoolArray) -> Array:
        """Return the velocity of the centre of mass of the touching bodies of each island, shape (M, 6).

        It is zero where the world acts on one of them.

        Args:
            velocity: Velocity of the free joints, shape (M, 6) or (6 M,).
            touching: Bodies on which a contact acts, shape (M,).
            acting: Contacts that act, shape (K,).
        """
        if not self._colliding.any():
            return np.zeros((len(touching), 6))
        alone = touching & ~self.islands(acting & self._with_world)[self.group]
        group = np.where(alone, self.group, 0)
        momentum = self._momenta(velocity)
        mass = np.maximum(group_sums(group, self._model.body_mass[1 : len(group) + 1]), 1e-300)
        axes = [(group_sums(group, axis) / mass)[group] for axis in momentum[:, :3].T]
        return np.where(alone[:, None], np.stack([*axes, *np.zeros((3, len(group)))], axis=-1), 0.0)

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
        group, start = self.group, self._velocity.reshape(-1, 6) - self._carried
        resting, bounced, motion = (values - self._carried for values in (resting, bounced, motion))
        # Work of the wrench along the change of the motion is done as well.
        work, gain = (group_sums(group, self._dt * (wrench * way).sum(axis=1)) for way in (motion, change))
        budget = self._energies(group, start) + work
        low, high = self._energies(group, resting), self._energies(group, bounced) - gain
        half = self._energies(group, 0.5 * (resting + bounced)) - 0.5 * gain
        # Kinetic energy is quadratic in the share: low + b s + c s^2.
        c = 2.0 * (low + high) - 4.0 * half
        b = high - low - c
        root = np.sqrt(np.maximum(b * b + 4.0 * c * (budget - low), 0.0))
        limit = np.clip((root - b) / np.maximum(2.0 * c, 1e-300), 0.0, 1.0)
        share: Array = np.where((high > budget) & ~self._driven, limit, 1.0)[group]
        return share

    def _energies(self, group: IntArray, velocity: Array) -> Array:
        """Return the kinetic energy of each group of bodies [J], given their velocities (M, 6)."""
        return group_sums(group, 0.5 * (velocity * self._momenta(velocity)).sum(axis=1))

    def _momenta(self, velocity: Array) -> Array:
        """Return the generalised momentum of each body, shape (M, 6), that of translation first."""
        momentum = np.zeros(velocity.size)
        mujoco.mj_mulM(self._model, self._data, momentum, velocity.ravel())
        return momentum.reshape(-1, 6)

    def _project(self, velocity: Array) -> Array:
        """Return J v in the contact frames, shape (K, 3)."""
        result = np.zeros(3 * self._count)
        mujoco.mj_mulJacVec(self._model, self._data, result, velocity)
        return result.reshape(-1, 3)


def group_sums(group: IntArray, values: Array) -> Array:
    """Return the sum of the values of each group."""
    return np.asarray(np.bincount(group, weights=values), dtype=float)
