"""Motion of the free bodies of a MuJoCo model: given free flight, and rigid contacts where bodies touch."""

import copy
from typing import Any

import mujoco
import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.frames import cross, matrix_from_quaternion, rotate, rotate_inverse
from pegasus.contracts.engine import BodyState
from pegasus.engines.mujoco_contacts import Solution, group_sums, solve
from pegasus.engines.mujoco_movers import MovingParts
from pegasus.engines.mujoco_proximity import Levels, Proximity
from pegasus.engines.mujoco_rest import ContactRecord, Found, Rest, at_rest, both
from pegasus.engines.mujoco_sweep import Path, Travel, travel
from pegasus.engines.mujoco_tumbling import Tumbling
from pegasus.engines.mujoco_wheels import Wheels

_NO_CONTACTS = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)


class BodyMotion:
    """State of the free bodies of a model, and their steps.

    Args:
        model: The model; body 0 is the world, then come the free bodies, then moving parts of the world.
        data: Its data, from which the state is taken.
    """

    def __init__(self, model: Any, data: Any) -> None:
        self._model, self._data = model, data
        self._count = model.njnt
        bodies = slice(1, self._count + 1)
        self.parts = MovingParts(model, data, self._count)
        """Moving parts of the world."""
        self.state = BodyState.zeros(self._count)
        self._end = BodyState.zeros(self._count)
        self._pose = data.qpos.reshape(-1, 7)
        self._velocity = data.qvel.reshape(-1, 6)
        self._take_from_model(self.state)
        self._force, self._torque = np.zeros((self._count, 3)), np.zeros((self._count, 3))
        self._free: BodyState | None = None
        # The states that were last taken and read, and the copies to and from them.
        self._given: BodyState | None = None
        self._read: BodyState | None = None
        self._take_free = self._write_out = self._fly = self.state.copy_of(self._end)
        self._rest: Rest | None = None
        self._center_of_mass = model.body_ipos[bodies]
        self._mass = model.body_mass[bodies, None].copy()
        self._tumbling = Tumbling(model, self._count)
        self._wheels = Wheels(model, self.parts.owner)
        self._has_offset = bool(self._center_of_mass.any())
        self._in_model = False
        self._proximity = Proximity(model, data, self.state, self._end, self.parts.owner)
        self._no_body = np.zeros(self._count, dtype=bool)
        self._asleep = self._no_body
        self._contacts: Found | None = None
        self._reported: tuple[object, object, object] = (None, None, None)
        self._report: ContactRecord | None = None
        self._record_overlaps()

    @property
    def contacts(self) -> ContactRecord | None:
        """Contacts of the last step, or of the initial poses; None if there are none.

        The same object as long as nothing has changed.
        """
        found, rest = self._contacts, self._rest
        last = self._reported
        if found is not last[0] or rest is not last[1] or self._asleep is not last[2]:
            self._reported = found, rest, self._asleep
            if rest is not None and self._asleep.any():
                found = both(found, rest.contacts(self._asleep))
            self._report = None if found is None else ContactRecord(self.parts.owner, *found)
        return self._report

    def apply(self, force: Array, torque: Array, free: BodyState | None) -> None:
        """Set the wrench of the next steps, and the state at the end of the next one without contacts."""
        self._force, self._torque, self._free = force, torque, free
        if free is not None and free is not self._given:
            self._given, self._take_free = free, self._end.copy_of(free)

    def read(self, out: BodyState) -> None:
        """Write poses and velocities of all bodies."""
        if out is not self._read:
            self._read, self._write_out = out, out.copy_of(self.state)
        self._write_out()

    def write(self, rows: IntArray, state: BodyState) -> None:
        """Set poses and velocities of some bodies."""
        ours = self.state
        ours.position[rows], ours.orientation[rows] = state.position, state.orientation
        ours.velocity[rows], ours.angular_velocity[rows] = state.velocity, state.angular_velocity
        self._in_model, self._rest = False, None
        self._proximity.forget(rows)

    def save_state(self) -> dict[str, Any]:
        """Return a copy of the state between two steps."""
        rest = self._rest
        saved = {
            "state": vars(self.state),
            "contacts": self._contacts,
            "asleep": self._asleep,
            "rest": None if rest is None else rest.save_state(),
            "proximity": self._proximity.save_state(),
        }
        return copy.deepcopy(saved)

    def restore_state(self, state: dict[str, Any]) -> None:
        """Take a saved state of the same bodies."""
        state = copy.deepcopy(state)
        self.state.copy_of(BodyState(**state["state"]))()
        self._contacts, self._asleep, rest = state["contacts"], state["asleep"], state["rest"]
        self._rest = None if rest is None else Rest.restored(rest, self._model.geom_bodyid)
        self._proximity.restore_state(state["proximity"])
        self._in_model, self._free, self._reported = False, None, (None, None, None)

    def update_model(self) -> None:
        """Put the state into the model, with the poses of all geoms."""
        if self._in_model:
            return
        self._put_state()
        self._put_velocity()
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        self._in_model = True

    def move(self, now: BodyState, end: BodyState) -> None:
        """Set the motion of the moving parts of the world over the next step."""
        if self.parts.jumps(now):
            self._rest = None
            self._proximity.forget(slice(None))
        self.parts.move(now, end)
        self._in_model = False

    def roll(self, friction: Array, angle: Array) -> None:
        """Set friction and steering of all wheels; see `Engine.roll`."""
        if self._wheels.set(friction, angle):
            self._rest = None

    def step(self, dt: float) -> None:
        """Advance by dt [s]."""
        if not self.parts.count:
            self._advance(dt)
            return
        self.parts.begin(dt)
        self._advance(dt)
        self.parts.finish()
        self._in_model = False

    def _advance(self, dt: float) -> None:
        free, force, torque, rest = self._free, self._force, self._torque, self._rest
        self._free = None
        resting = self._no_body if rest is None else rest.remaining(dt, force, torque, free)
        if rest is not None and self.parts.moving:
            # Bodies that wake must come to rest anew.
            rest.bodies = resting = resting & ~self.parts.threatens(
                self.state.position, self._proximity.reach
            )
        if rest is not None and resting.all():
            return
        if free is None:
            self._integrate(dt)
        else:
            self._take_free()
        self._contacts, self._asleep, self._in_model = None, self._no_body, False
        if self._proximity.far(dt, self.parts.drift):
            self._rest = None
            self._fly()
            return
        near = self._proximity.near(at_start=self._put_state)
        if rest is not None and resting.any():
            rest.bodies = self._asleep = resting & self._proximity.alone()
            near &= ~self._asleep
            for name, values in vars(self._end).items():
                values[self._asleep] = vars(self.state)[name][self._asleep]
        if not near.any():
            self._fly()
            return
        still = self._step_near(near, dt)
        if still.any() and self._contacts is not None:
            found = self._contacts
            if rest is not None and self._asleep.any():
                found = both(found, rest.contacts(self._asleep))
            self._rest = Rest(still | self._asleep, dt, force, torque, free, found, self.parts.owner)

    def _step_near(self, near: BoolArray, dt: float) -> BoolArray:
        """Advance by dt [s] where some bodies may touch something. Return which remain at rest, (M,)."""
        proximity, state, free = self._proximity, self.state, self._end
        levels = proximity.levels(near, free.position - state.position, proximity.motion)
        swept = bool(levels.each().any())
        if not swept and not self._detect(near):
            proximity.widen(near)
            self._fly()
            return self._no_body
        path = self._free_path(self._central(state), self._central(free), dt)
        blocked = self._no_body
        if swept:
            blocked = self._travel(path, levels, fixed=self._no_body, overlap=_TOUCH).stopped
            self._detect(near)
        solution = self._solved(path, levels, blocked) if self._data.ncon else None
        still = self._no_body
        if solution is None:
            if not swept:
                proximity.widen(near)
        else:
            still = at_rest(path.start, solution)
            self._take_contacts(path, solution)
        pose = state.position[still], state.orientation[still]
        self._fly()
        self._move(path, (path.touching | blocked) & ~still, still)
        state.position[still], state.orientation[still] = pose
        state.velocity[still] = state.angular_velocity[still] = 0.0
        return still

    def _detect(self, near: BoolArray) -> int:
        """Find the contacts of some bodies (M,) at the start of a step. Return their number."""
        self._put_state()
        self.parts.place(0.0)
        self._proximity.detect(near)
        return int(self._data.ncon)

    def _solved(self, path: Path, levels: Levels, blocked: BoolArray) -> Solution | None:
        """Return the solution of the contacts at the start, with velocities of the centres of mass.

        Args:
            path: Paths in free flight.
            levels: How often they were checked.
            blocked: Bodies that met something on them, shape (M,).
        """
        model, data, start = self._model, self._data, path.start
        pairs = self.parts.owner[data.contact.geom]
        passing = levels.between(pairs - 1) > 0
        if passing.any():
            passing &= ~np.append(False, blocked)[pairs].any(axis=1)
        two = (pairs[:, 0] > 0) & (pairs[:, 1] > 0)
        colliding, spin = self._no_body, path.spin
        if two.any():
            # Impulses between bodies act in the pose at the start: there both gain opposite angular momenta.
            colliding = np.isin(np.arange(1, self._count + 1), pairs[two])
            at_start = self._tumbling.spin(start.orientation, path.momenta(self._tumbling)[1])
            spin = np.where(colliding[:, None], at_start, spin)
        # MuJoCo's velocities are those of the origins of the body frames.
        free = np.hstack([path.velocity, spin])
        wrench = np.hstack([self._force, self._torque])
        if self._has_offset:
            rotation = matrix_from_quaternion(start.orientation)
            free[:, :3] -= rotate(rotation, cross(spin, self._center_of_mass))
            wrench[:, 3:] += cross(self._center_of_mass, rotate_inverse(rotation, self._force))
        self._put_velocity()
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_factorM(model, data)
        self._wheels.align(data, start.orientation)
        mujoco.mj_makeConstraint(model, data)
        mujoco.mj_island(model, data)
        carriers = self.parts.carriers(start.orientation)
        solution = solve(
            model, data, path.dt, free, wrench, passing, colliding, (pairs - 1).astype(np.int32), carriers
        )
        self._record(np.zeros((data.ncon, 3)) if solution is None else solution.force)
        if solution is not None and self._has_offset:
            for velocity in (solution.velocity, solution.motion, solution.separation):
                velocity[:, :3] += rotate(rotation, cross(velocity[:, 3:], self._center_of_mass))
        return solution

    def _free_path(self, start: BodyState, end: BodyState, dt: float) -> Path:
        """Return the paths of all bodies in free flight, given the states of the centres of mass."""
        return Path(
            dt=dt,
            start=start,
            end=end,
            position=start.position,
            way=end.position - start.position,
            velocity=end.velocity,
            spin=end.angular_velocity,
            turning=end.angular_velocity,
            touching=self._no_body,
            colliding=self._no_body,
        )

    def _take_contacts(self, path: Path, solution: Solution) -> None:
        """Let the touching bodies take the paths that their contacts leave them."""
        path.touching, path.colliding = solution.touching, solution.touching & solution.colliding
        touching, colliding = path.touching[:, None], path.colliding[:, None]
        path.way = np.where(touching, path.dt * solution.motion[:, :3], path.way)
        path.velocity = np.where(touching, solution.velocity[:, :3], path.velocity)
        path.spin = np.where(touching, solution.velocity[:, 3:], path.spin)
        path.turning = np.where(touching, solution.motion[:, 3:], path.turning)
        if colliding.any():
            apart, momentum = self._apart(solution, path.start, path.dt)
            path.position = path.position + np.where(colliding, apart, 0.0)
            first, last = path.momenta(self._tumbling)
            path.kept_momenta = np.where(colliding, momentum, first), np.where(colliding, momentum, last)

    def _move(self, path: Path, moving: BoolArray, still: BoolArray) -> None:
        """Set the states of some bodies (M,) after a step, given those that do not move (M,)."""
        if not moving.any():
            return
        motion = self._proximity.motion_of(path.way / path.dt, path.turning, path.dt)
        levels = self._proximity.levels(moving, path.way, motion)
        velocity, spin = path.velocity, path.spin
        if not levels.each().any():
            position, orientation = self._placed(path, np.ones(self._count), np.zeros((self._count, 3)))
            self._set(moving, position, orientation, velocity, self._spin(path, orientation))
            return
        travel = self._travel(path, levels, fixed=still, overlap=_OVERLAP)
        position, orientation = self._placed(path, travel.part, travel.drift)
        spin = self._spin(path, orientation)
        scale = self._work_factors(path, travel, spin)[:, None]
        velocity = velocity - (1.0 - scale) * travel.relative(velocity)
        self._set(moving | travel.stopped, position, orientation, velocity, scale * spin)

    def _travel(self, path: Path, levels: Levels, *, fixed: BoolArray, overlap: float) -> Travel:
        """Return how far the bodies get on their paths."""

        def place(time: float, part: Array, drift: Array) -> None:
            self.parts.place(time)
            position, orientation = self._placed(path, part, drift)
            if self._has_offset:
                rotation = matrix_from_quaternion(orientation)
                position = position - rotate(rotation, self._center_of_mass)
            self._put(position, orientation)

        mass = self._mass[:, 0]
        return travel(self._proximity, levels, path.way, mass, place, fixed=fixed, overlap=overlap)

    def _placed(self, path: Path, part: Array, drift: Array) -> tuple[Array, Array]:
        """Return positions and orientations after parts (M,) of their paths and further ways (M, 3) [m]."""
        way, orientation, by_contact = part[:, None], path.start.orientation, path.turned_by_contact
        if not by_contact.all():
            first, last = path.momenta(self._tumbling)
            mean = first + 0.5 * way * (last - first)
            orientation = self._tumbling.turned(orientation, mean, part * path.dt)
        if by_contact.any():
            # MuJoCo's exponential map: the bits of NumPy's sine may depend on the number of rows.
            self._put(path.start.position, path.start.orientation)
            motion = np.hstack([np.zeros((self._count, 3)), way * path.dt * path.turning])
            mujoco.mj_integratePos(self._model, self._data.qpos, motion.ravel(), 1.0)
            orientation = np.where(by_contact[:, None], self._pose[:, [4, 5, 6, 3]], orientation)
        return path.position + way * path.way + drift, orientation

    def _spin(self, path: Path, orientation: Array) -> Array:
        """Return the angular velocities at the end of a step, given the orientations (M, 4), shape (M, 3)."""
        by_contact = path.turned_by_contact
        if by_contact.all():
            return path.spin
        free = self._tumbling.spin(orientation, path.momenta(self._tumbling)[1])
        return np.where(by_contact[:, None], path.spin, free)

    def _apart(self, solution: Solution, start: BodyState, dt: float) -> tuple[Array, Array]:
        """Return ways that separate overlapping bodies [m], and angular momenta [N m s], shape (M, 3) each.

        Bodies that move gain angular momentum by being moved apart. It is taken from their spin; they are not
        moved if that would make energy.
        """
        tumbling, velocity, spin = self._tumbling, solution.velocity[:, :3], solution.velocity[:, 3:]
        momentum = tumbling.momentum(start.orientation, spin)
        way = dt * solution.separation[:, :3]
        if not way.any():
            return way, momentum
        group = np.where(solution.touching, self._data.tree_island + 1, 0)
        total = [group_sums(group, axis) for axis in (self._mass * velocity).T]
        mass = np.maximum(group_sums(group, self._mass[:, 0]), 1e-300)
        common = np.stack(total, axis=-1) / mass[:, None]
        left = momentum - self._mass * cross(way, velocity - common[group])
        before, after = (
            group_sums(group, tumbling.energies(rate))
            for rate in (spin, tumbling.spin(start.orientation, left))
        )
        moved = (after <= before)[group, None]
        return np.where(moved, way, 0.0), np.where(moved, left, momentum)

    def _work_factors(self, path: Path, travel: Travel, spin: Array) -> Array:
        """Return factors of velocities without the work of the wrench on ways not covered, shape (M,).

        Bodies that move on together have one factor, of their velocities relative to each other: the work on
        their common way is done.
        """
        velocity, force = travel.relative(path.velocity), travel.relative(self._force / self._mass)
        energy = 0.5 * (self._mass * velocity * velocity).sum(axis=1) + self._tumbling.energies(spin)
        power = (self._mass * force * path.way).sum(axis=1) / path.dt
        power = power + (self._torque * path.turning).sum(axis=1)
        work = group_sums(travel.group, (1.0 - travel.part) * path.dt * power)
        energy = group_sums(travel.group, energy)
        left = np.maximum(energy - np.maximum(work, 0.0), 0.0)
        scale: Array = np.sqrt(left / np.maximum(energy, 1e-300))[travel.group]
        return scale

    def _central(self, state: BodyState) -> BodyState:
        """Return a copy of a state with positions and velocities of the centres of mass."""
        position, velocity = state.position.copy(), state.velocity.copy()
        if self._has_offset:
            rotation = matrix_from_quaternion(state.orientation)
            position += rotate(rotation, self._center_of_mass)
            velocity += rotate(rotation, cross(state.angular_velocity, self._center_of_mass))
        return BodyState(position, state.orientation.copy(), velocity, state.angular_velocity.copy())

    def _set(
        self, rows: BoolArray, position: Array, orientation: Array, velocity: Array, spin: Array
    ) -> None:
        """Set the states of some bodies (M,), given positions and velocities of all centres of mass."""
        if self._has_offset:
            rotation = matrix_from_quaternion(orientation)
            position = position - rotate(rotation, self._center_of_mass)
            velocity = velocity - rotate(rotation, cross(spin, self._center_of_mass))
        state = self.state
        state.position[rows], state.orientation[rows] = position[rows], orientation[rows]
        state.velocity[rows], state.angular_velocity[rows] = velocity[rows], spin[rows]
        self._in_model = False

    def _integrate(self, dt: float) -> None:
        """Compute the state at the end of a step without contacts, by RK4 with the wrench held."""
        self.update_model()
        applied = self._data.qfrc_applied.reshape(-1, 6)
        applied[:, 3:] = self._torque
        if self._has_offset:
            # Acts at the centre of mass also while the body turns.
            self._data.xfrc_applied[1 : self._count + 1, :3] = self._force
        else:
            applied[:, :3] = self._force
        option = self._model.opt
        allowed = option.disableflags
        option.timestep, option.disableflags = dt, allowed | _NO_CONTACTS
        mujoco.mj_step(self._model, self._data)
        option.disableflags = allowed
        self._take_from_model(self._end)

    def _put_state(self) -> None:
        self._put(self.state.position, self.state.orientation)

    def _put_velocity(self) -> None:
        self._velocity[:, :3], self._velocity[:, 3:] = self.state.velocity, self.state.angular_velocity

    def _put(self, position: Array, orientation: Array) -> None:
        self._pose[:, :3] = position
        self._pose[:, 3] = orientation[:, 3]
        self._pose[:, 4:] = orientation[:, :3]

    def _take_from_model(self, state: BodyState) -> None:
        state.position[...] = self._pose[:, :3]
        state.orientation[:, :3] = self._pose[:, 4:]
        state.orientation[:, 3] = self._pose[:, 3]
        state.velocity[...] = self._velocity[:, :3]
        state.angular_velocity[...] = self._velocity[:, 3:]

    def _record_overlaps(self) -> None:
        """Record the contacts of the present poses, without forces."""
        self.update_model()
        self._proximity.detect(~self._no_body)
        if self._data.ncon:
            self._record(np.zeros((self._data.ncon, 3)))

    def _record(self, force: Array) -> None:
        """Keep the present contacts and their forces, shape (K, 3)."""
        contact = self._data.contact
        gap, position, frame = contact.dist.copy(), contact.pos.copy(), contact.frame.copy()
        self._contacts = contact.geom.copy(), gap, position, frame, force


_TOUCH = 1e-9
"""Growth of an overlap above which free flight is not free [m]."""
_OVERLAP = 0.0001
"""Growth of an overlap that ends the path of a body [m]."""
