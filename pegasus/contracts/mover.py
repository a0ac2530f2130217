"""Contract of movers: objects such as platforms, doors and cars that move by a function of time alone."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import conjugate, matrix_from_quaternion, multiply, rotate_inverse
from pegasus.base.frames import rotation_vector_from_quaternion as rotation_vector
from pegasus.base.registry import Registry
from pegasus.contracts.engine import BodyState
from pegasus.contracts.renderer import RenderObject
from pegasus.environment import Environment
from pegasus.scene.scene import Collider

_HALF_STEP = 1e-4
"""Half of the interval of numerical derivatives [s]."""


class Mover(ABC):
    """Object of K rigid parts whose poses are a function of simulation time.

    It is drawn, hit by rays, labelled, and carries or pushes vehicles; nothing pushes it. As its poses depend
    on nothing but the time, it has no state. A subclass sets `name`, `objects` and `shapes`, and implements
    `poses`.
    """

    name: str
    """Unique name, such as "platform"; its prim is /World/platform."""
    objects: Sequence[RenderObject]
    """Parts that are drawn and labelled; they belong to one entity or to several."""
    shapes: Sequence[Sequence[Collider]]
    """Collision shapes of each part in its frame; vehicles pass through a part without any."""
    _last: tuple[float, BodyState] | None = None
    """Time and motion that were last asked for: physics, recorders and renderers ask for the same."""

    def bind(self, environment: Environment) -> None:  # noqa: B027
        """Use an environment; called when it is added to a simulation.

        Args:
            environment: Wind and air of the simulation.
        """

    @abstractmethod
    def poses(self, t: float) -> tuple[Array, Array]:
        """Return the poses of the parts, continuous in time: the same for the same time, whatever happened.

        Args:
            t: Simulation time [s], from 0 on.

        Returns:
            Positions in the world [m], shape (K, 3), and unit quaternions xyzw, part to world, shape (K, 4).
        """

    def motion(self, t: float) -> BodyState:
        """Return poses and velocities of the parts, K of them; velocities are differences of `poses`.

        Args:
            t: Simulation time [s].
        """
        if self._last is not None and self._last[0] == t:
            return self._last[1]
        position, orientation = self.poses(t)
        begin, end = max(t - _HALF_STEP, 0.0), t + _HALF_STEP
        (p, q), (p_end, q_end) = self.poses(begin), self.poses(end)
        turned = multiply(q_end, conjugate(q))
        # Both signs of a quaternion are the same orientation; the shorter rotation has w > 0.
        turned = np.where(turned[:, 3:] < 0.0, -turned, turned)
        spin = rotation_vector(turned) / (end - begin)
        motion = BodyState(
            position,
            orientation,
            (p_end - p) / (end - begin),
            rotate_inverse(matrix_from_quaternion(orientation), spin),
        )
        self._last = t, motion
        return motion

    def transforms(self, t: float) -> Array:
        """Return the poses of the parts as matrices, part to world, shape (K, 4, 4).

        Args:
            t: Simulation time [s].
        """
        position, orientation = self.poses(t)
        transforms = np.zeros((len(position), 4, 4))
        transforms[:, :3, :3], transforms[:, :3, 3] = matrix_from_quaternion(orientation), position
        transforms[:, 3, 3] = 1.0
        return transforms


class Motion(ABC):
    """Motion of a rigid object: its pose as a function of time; a custom one is a dataclass."""

    def bind(self, environment: Environment) -> None:  # noqa: B027
        """Use an environment; called when its mover is added to a simulation.

        Args:
            environment: Wind and air of the simulation.
        """

    @abstractmethod
    def pose(self, t: float) -> tuple[Array, Array]:
        """Return position [m], shape (3,), and orientation, unit quaternion xyzw, shape (4,).

        Args:
            t: Simulation time [s], from 0 on.
        """


MOTIONS: Registry[Motion] = Registry(
    "motion",
    group="pegasus.motions",
    shipped={
        "hinge": "pegasus.movers.motions:Hinge",
        "oscillation": "pegasus.movers.motions:Oscillation",
        "trajectory": "pegasus.movers.motions:AlongTrajectory",
        "waypoints": "pegasus.movers.motions:TimedWaypoints",
        "windsock": "pegasus.movers.motions:Windsock",
    },
)
"""Motions by their name in YAML."""
