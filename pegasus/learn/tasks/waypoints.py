"""Task of flying an aircraft through waypoints."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.base.frames import matrix_from_quaternion, multiply, rotate
from pegasus.core.aircraft import Aircraft
from pegasus.core.trim import trim
from pegasus.fleet import Fleet
from pegasus.learn.episodes import Draws, Episodes
from pegasus.learn.learning import Learning
from pegasus.learn.task import Task
from pegasus.learn.terms import Term


@dataclass(kw_only=True, eq=False)
class FixedWingWaypoints(Task):
    """Fly an aircraft through waypoints in turn, from trimmed flight.

    Each channel of the vehicle has an action, in their order; they change the commands of trimmed flight.
    """

    vehicle: Any = "plane"
    substeps: int = 25
    duration: float = 40.0
    airspeed: float = 15.0
    """Airspeed of the trimmed flight at the start [m/s]."""
    waypoints: int = 4
    """Number of waypoints."""
    leg: tuple[float, float] = (60.0, 100.0)
    """Least and largest horizontal distance between waypoints [m]."""
    bend: float = 1.0
    """Largest change of direction between legs [rad]."""
    climb: float = 8.0
    """Largest difference of the heights of waypoints [m]."""
    radius: float = 8.0
    """Distance at which a waypoint is reached [m]."""
    height: float = 60.0
    """Height above the ground at the start [m]."""
    reach: float = 200.0
    """Distance from the next waypoint at which an episode has failed [m]."""

    learning: ClassVar = Learning(discount=0.99, last_rate=2e-4, steps=3_000_000, starts=200, success=0.95)
    room: ClassVar = 1000.0
    observation: ClassVar = (
        Term("body_preview", 0.02),
        Term("upward"),
        Term("body_velocity", 0.1),
        Term("angular_velocity", 0.5),
        Term("rotor_speed"),
        Term("action"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.waypoints, int | np.integer) and self.waypoints >= 1
        require(whole, "waypoints", self.waypoints, "must be a whole number from 1 up")
        given = self.vehicle
        vehicle = given if isinstance(given, Aircraft) else Aircraft(given)
        self._trim = trim(vehicle, self.airspeed, environment=self.environment)
        self._rotors, self._joints = vehicle.state.rotor_speed.shape[1], len(vehicle.spec.joints)

    def rest_command(self, fleet: Fleet) -> Array:
        """Return the commands of trimmed flight by channel, shape (U,)."""
        return self._trim.command

    def begin(self, draws: Draws) -> Mapping[str, npt.ArrayLike]:
        """Return states of trimmed flight in any direction, a little tilted."""
        trimmed, count = self._trim, len(draws)
        self._course = draws.uniform(-math.pi, math.pi, 1)[:, 0]
        heading = np.zeros((count, 4))
        heading[:, 2], heading[:, 3] = sine_and_cosine(0.5 * self._course)
        level = multiply(heading, np.broadcast_to(trimmed.orientation, (count, 4)))
        velocity = rotate(matrix_from_quaternion(level), np.broadcast_to(trimmed.velocity, (count, 3)))
        return {
            "position": (0.0, 0.0, self.height),
            "orientation": multiply(level, draws.tilted(0.2)),
            "velocity": velocity + draws.uniform(-1.0, 1.0, 3),
            "rotor_speed": trimmed.command[: self._rotors],
            "joint_angle": trimmed.command[len(trimmed.command) - self._joints :],
        }

    def aim(self, episodes: Episodes, draws: Draws | None, rows: BoolArray) -> None:
        """Go on to the next waypoint where one was reached."""
        goal, last = episodes.goal, self.waypoints - 1
        numbers = dict.fromkeys(("reached", "distance", "progress", "turned"), ())
        episodes.make_goal(route=(self.waypoints, 3), preview=(2, 3), position=(3,), **numbers)
        if draws is not None:
            goal["route"][rows] = self._route(draws)
            goal["reached"][rows] = goal["progress"][rows] = goal["turned"][rows] = 0.0
        else:
            distance = episodes.distance
            goal["progress"][...] = goal["distance"] - distance
            goal["turned"][...] = distance < self.radius
            goal["reached"] += goal["turned"]
        every, following = np.arange(len(episodes)), goal["reached"].astype(int)
        for k in range(2):
            goal["preview"][:, k] = goal["route"][every, np.minimum(following + k, last)]
        goal["position"][...] = goal["preview"][:, 0]
        goal["distance"][...] = episodes.distance

    def _route(self, draws: Draws) -> Array:
        """Return the waypoints of new episodes, shape (K, W, 3)."""
        count = self.waypoints
        bends = draws.uniform(-self.bend, self.bend, count)
        sine, cosine = sine_and_cosine(self._course[:, None] + np.cumsum(bends, axis=1))
        legs = draws.uniform(*self.leg, count)
        heights = self.height + draws.uniform(-0.5 * self.climb, 0.5 * self.climb, count)
        places = [np.cumsum(legs * along, axis=1) for along in (cosine, sine)]
        return np.stack([*places, heights], axis=-1)

    def reward(self, episodes: Episodes) -> Array:
        """Return the progress towards the next waypoint [10 m], more for reaching it, less for failing."""
        goal, turning = episodes.goal, episodes.turn_rate
        gain = 0.1 * goal["progress"] + goal["turned"] - 0.005 * np.minimum(turning, 10.0)
        reward: Array = gain - 0.005 * (episodes.action**2).mean(axis=1) - 5.0 * self.failed(episodes)
        return reward

    def failed(self, episodes: Episodes) -> BoolArray:
        """Return which are on the ground or far away."""
        low = episodes.motion.position[:, 2] < 0.0
        failed: BoolArray = low | (episodes.distance > self.reach)
        return failed

    def finished(self, episodes: Episodes) -> BoolArray:
        """Return which have reached all waypoints."""
        done: BoolArray = episodes.goal["reached"] >= self.waypoints
        return done

    def succeeded(self, episodes: Episodes) -> BoolArray:
        """Return which have reached all waypoints."""
        return self.finished(episodes)
