"""Moving parts of the scene in a MuJoCo model: mocap bodies that nothing pushes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.frames import cross, matrix_from_quaternion, rotate, rotate_inverse
from pegasus.contracts.engine import BodyState, MovingBody
from pegasus.engines.mujoco_carriers import Carriers
from pegasus.engines.mujoco_contacts import MARGIN


@dataclass(frozen=True, eq=False)
class _Motion:
    """Poses and velocities of K moving parts in world axes."""

    position: Array
    rotation: Array
    velocity: Array
    spin: Array


class MovingParts:
    """Moving parts of a model, and their motion over a step.

    Args:
        model: The model: the world, `free` free bodies, then the moving parts.
        data: Its data.
        free: Number of free bodies.
    """

    def __init__(self, model: Any, data: Any, free: int) -> None:
        self._model, self._data = model, data
        self._bodies = slice(free + 1, model.nbody)
        self.count = model.nbody - free - 1
        """Number of moving parts K."""
        body = model.geom_bodyid
        self.owner: IntArray = np.where(body > free, 0, body)
        """Free body of each geom, from 1; 0 for the world and its moving parts."""
        self._part: IntArray = np.where(body > free, body - free - 1, -1)
        self._geoms = self._part >= 0
        reach = np.zeros(self.count)
        far = np.sqrt((model.geom_pos**2).sum(axis=1)) + model.geom_rbound
        np.maximum.at(reach, self._part[self._geoms], far[self._geoms])
        self._reach = reach
        self.now = self._end = _present(data)
        """Poses and velocities at the start of the step."""
        self._bounded, self._at_end = self.now, _in_world(self.now)
        self.drift = 0.0
        """Upper bound of the way of any point of a moving part in the step [m]."""
        self._drifts = np.zeros(self.count)
        self._set_margins()

    @property
    def moving(self) -> bool:
        """Whether any part moves in the step."""
        return self.drift > 0.0

    def jumps(self, now: BodyState) -> bool:
        """Return whether parts would be elsewhere than where the last step has left them."""
        same = np.array_equal(now.position, self.now.position) and np.array_equal(
            now.orientation, self.now.orientation
        )
        return not same

    def move(self, now: BodyState, end: BodyState) -> None:
        """Set poses and velocities at the start and at the end of the next step."""
        self.now, self._end = now, end
        self.place(0.0)

    def begin(self, dt: float) -> None:
        """Bound the motion over a step of dt [s]."""
        # A step begins where the last one ends.
        again = self.now is self._bounded
        self._at_start = self._at_end if again else _in_world(self.now)
        self._at_end, self._bounded = _in_world(self._end), self._end
        way = _lengths(self._end.position - self.now.position)
        turned = (self._at_end.rotation - self._at_start.rotation).reshape(-1, 9)
        # The Frobenius norm of the difference bounds the way of each point at unit distance.
        way = way + self._reach * _lengths(turned)
        for motion in (self._at_start, self._at_end):
            way = np.maximum(way, dt * (_lengths(motion.velocity) + self._reach * _lengths(motion.spin)))
        self._drifts = way
        self.drift = float(way.max(initial=0.0))
        self._set_margins()

    def finish(self) -> None:
        """End the step: the parts stand where it took them until they are moved again."""
        still = np.zeros((self.count, 3))
        state = BodyState(self._end.position, self._end.orientation, still, still)
        self.drift, self._drifts = 0.0, np.zeros(self.count)
        self.move(state, state)

    def place(self, time: float) -> None:
        """Put the parts into the model where they are after a part of the step, from 0 to 1."""
        if not self.count:
            return
        now, end = self.now, self._end
        position, orientation = now.position, now.orientation
        if time > 0.0:
            same = (now.orientation * end.orientation).sum(axis=1, keepdims=True) >= 0.0
            position = (1.0 - time) * position + time * end.position
            orientation = (1.0 - time) * orientation + time * np.where(same, 1.0, -1.0) * end.orientation
        self._data.mocap_pos[:] = position
        self._data.mocap_quat[:] = orientation[:, [3, 0, 1, 2]]

    def threatens(self, position: Array, reach: Array) -> BoolArray:
        """Return which free bodies a part may touch in the step, shape (M,).

        Args:
            position: Their origins [m], shape (M, 3).
            reach: Largest distance of a point of each from its origin [m], shape (M,).
        """
        apart = np.sqrt(((position[:, None] - self.now.position) ** 2).sum(axis=2))
        limit = reach[:, None] + self._reach + self._drifts + MARGIN
        found: BoolArray = ((apart <= limit) & (self._drifts > 0.0)).any(axis=1)
        return found

    def carriers(self, orientation: Array) -> Carriers | None:
        """Return the motion of the parts at the contacts of the model; None if no part moves.

        Args:
            orientation: Orientations of the free bodies, shape (M, 4).
        """
        if not self.moving:
            return None
        contact, data = self._data.contact, self._data
        parts = self._part[contact.geom]
        frames = contact.frame.reshape(-1, 3, 3)
        start, end = np.zeros((data.ncon, 3)), np.zeros((data.ncon, 3))
        # MuJoCo's relative velocity is that of the second geom less that of the first.
        for side, sign in ((0, -1.0), (1, 1.0)):
            rows = np.flatnonzero(parts[:, side] >= 0)
            for out, velocity in zip(
                (start, end), self._velocities(parts[rows, side], contact.pos[rows]), strict=True
            ):
                out[rows] = sign * (frames[rows] * velocity[:, None, :]).sum(axis=2)
        count, part = len(orientation), parts.max(axis=1)
        part[(self.owner[contact.geom] > 0).all(axis=1)] = -2

        def twist(rows: IntArray, part: IntArray) -> Array:
            # The origins of the free bodies, and angular velocities in their frames.
            _, linear = self._velocities(part, data.xpos[1 : count + 1][rows])
            turned = matrix_from_quaternion(orientation[rows])
            return np.hstack([linear, rotate_inverse(turned, self._at_end.spin[part])])

        return Carriers(part, start, end, twist)

    def _velocities(self, part: IntArray, points: Array) -> tuple[Array, Array]:
        """Return the velocities of points (K, 3) that move with parts, at the start and end of the step."""
        start, end = self._at_start, self._at_end
        arm = points - start.position[part]
        own = rotate_inverse(start.rotation[part], arm)
        return (
            start.velocity[part] + cross(start.spin[part], arm),
            end.velocity[part] + cross(end.spin[part], rotate(end.rotation[part], own)),
        )

    def _set_margins(self) -> None:
        """Have contacts found as far ahead as parts may come in the step."""
        model = self._model
        model.body_margin[self._bodies] = MARGIN + self._drifts
        model.geom_margin[self._geoms] = (MARGIN + self._drifts)[self._part[self._geoms]]


def add_mover(spec: Any, frame: Any, mover: MovingBody) -> Any:
    """Return a new moving part of a model, without shapes.

    Args:
        spec: The model.
        frame: Frame of the world that holds it.
        mover: The part.
    """
    element = spec.worldbody.add_body(name=mover.name, mocap=True)
    element.set_frame(frame)
    x, y, z, w = (float(c) for c in mover.orientation)
    element.pos, element.quat = mover.position, [w, x, y, z]
    return element


def _present(data: Any) -> BodyState:
    """Return the state of the moving parts as they stand in a model, at rest."""
    state = BodyState.zeros(len(data.mocap_pos))
    state.position[...] = data.mocap_pos
    state.orientation[...] = data.mocap_quat[:, [1, 2, 3, 0]]
    return state


def _in_world(state: BodyState) -> _Motion:
    rotation = matrix_from_quaternion(state.orientation)
    return _Motion(state.position, rotation, state.velocity, rotate(rotation, state.angular_velocity))


def _lengths(vectors: Array) -> Array:
    length: Array = np.sqrt((vectors * vectors).sum(axis=1))
    return length
