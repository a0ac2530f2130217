"""Task of flying through obstacles that a depth camera sees."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.fleet import Cylinders, DepthCamera, Fleet, World
from pegasus.learn.episodes import Draws, Episodes, length
from pegasus.learn.task import Task
from pegasus.learn.terms import Term
from pegasus.optics.lens import Pinhole


@dataclass(kw_only=True, eq=False)
class AvoidObstacles(Task):
    """Fly along a lane with pillars to a place at its end, by the images of a depth camera ahead.

    Pillars stand elsewhere in each episode. Touching one or the ground, or leaving the lane, ends an episode
    as failed; coming near the place at its end finishes it.
    """

    duration: float = 8.0
    reach: float = 8.0
    """Distance of the place to fly to [m]."""
    width: float = 3.0
    """Distance of the lane's edges from its middle [m]."""
    ceiling: float = 2.5
    """Height of the lane [m]."""
    height: float = 1.2
    """Height of start and end [m]."""
    pillars: int = 10
    """Number of pillars."""
    radius: tuple[float, float] = (0.12, 0.3)
    """Least and largest radius of the pillars [m]."""
    clear: float = 1.5
    """Length without pillars at both ends [m]."""
    tilt: float = 0.2
    """Largest tilt at the start [rad]."""
    speed: float = 0.5
    """Largest speed along each axis at the start [m/s]."""
    pace: float = 1.5
    """Speed at which it is to fly [m/s]."""
    precision: float = 0.5
    """Distance from the place at which it is reached [m]."""
    body: float = 0.08
    """Distance from a surface at which the vehicle is taken to have hit it [m]."""
    resolution: tuple[int, int] = (16, 12)
    """Width and height of the depth images [pixels]."""
    field_of_view: float = 1.6
    """Horizontal field of view of the camera [rad]."""
    sight: float = 5.0
    """Largest depth that it sees [m]."""

    discount: ClassVar[float] = 0.99
    observation: ClassVar = (
        Term("closeness"),
        Term("body_preview", 0.2),
        Term("upward"),
        Term("body_velocity", 0.3),
        Term("angular_velocity", 0.1),
        Term("rotor_speed", 1.67),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.pillars, int) and 1 <= self.pillars <= 100
        require(whole, "pillars", self.pillars, "must be a whole number from 1 to 100")
        require(0 < self.radius[0] <= self.radius[1], "radius", self.radius, "must be above 0 m, least first")
        between = 2.0 * self.clear < self.reach
        require(between, "clear", self.clear, f"must be below half of reach = {self.reach:g} m")

    def world(self, count: int) -> World:
        """Return ground and the pillars of N rows, which stand far away until episodes begin."""
        far = np.tile((0.0, 0.0, -100.0), (count, self.pillars, 1))
        radius = np.full((count, self.pillars), self.radius[0])
        return World(ground=0.0, cylinders=Cylinders(position=far, radius=radius, height=2.0 * self.ceiling))

    def senses(self, fleet: Fleet) -> Mapping[str, Callable[[], Array]]:
        """Return the depth camera, and the distance from the nearest surface."""
        camera = DepthCamera(
            fleet,
            resolution=self.resolution,
            lens=Pinhole(horizontal_fov=self.field_of_view),
            max_depth=self.sight,
        )

        def closeness() -> Array:
            seen: Array = 1.0 - camera.image().reshape(fleet.count, -1) / self.sight
            return seen

        return {"closeness": closeness, "clearance": lambda: fleet.state.clearance}

    def begin(self, draws: Draws) -> Mapping[str, npt.ArrayLike]:
        """Return states at the start of the lane, and pillars along it."""
        count, pillars = len(draws), self.pillars
        aside = 0.6 * self.width
        place, size = np.zeros((count, pillars, 3)), np.zeros((count, pillars, 3))
        place[..., 0] = draws.uniform(self.clear, self.reach - self.clear, pillars)
        place[..., 1] = draws.uniform(-self.width, self.width, pillars)
        size[..., 0] = draws.uniform(*self.radius, pillars)
        size[..., 1] = self.ceiling
        start = np.zeros((count, 3))
        start[:, 1] = draws.uniform(-aside, aside, 1)[:, 0]
        start[:, 2] = self.height
        self._ends = draws.uniform(-aside, aside, 1)[:, 0]
        return {
            "position": start,
            "orientation": draws.tilted(self.tilt),
            "velocity": draws.uniform(-self.speed, self.speed, 3),
            "cylinders.position": place.reshape(count, -1),
            "cylinders.size": size.reshape(count, -1),
        }

    def aim(self, episodes: Episodes, draws: Draws | None, rows: BoolArray) -> None:
        """Set the place to fly to, and the velocity towards it."""
        episodes.make_goal(position=(3,), velocity=(3,), preview=(1, 3))
        goal = episodes.goal
        if draws is not None:
            goal["position"][rows, 0] = self.reach
            goal["position"][rows, 1] = self._ends
            goal["position"][rows, 2] = self.height
            goal["preview"][rows, 0] = goal["position"][rows]
        way = episodes.position_error
        goal["velocity"][...] = way * (self.pace / np.maximum(length(way), 0.1))[:, None]

    def reward(self, episodes: Episodes) -> Array:
        """Return more for flying towards the end at its pace, calmly and apart from surfaces."""
        slip = length(episodes.goal["velocity"] - episodes.motion.velocity)
        missed = (
            np.minimum(slip, 3.0)
            + 0.03 * np.minimum(episodes.turn_rate, 20.0)
            + 0.1 * (1.0 - episodes.uprightness)
            + 0.05 * (episodes.action**2).mean(axis=1)
            + 3.0 * np.maximum(0.3 - episodes.sensed("clearance"), 0.0)
        )
        reward: Array = 0.05 + 0.1 * (1.5 - missed) + 20.0 * self.finished(episodes)
        return reward

    def failed(self, episodes: Episodes) -> BoolArray:
        """Return which have hit something or left the lane."""
        place = episodes.motion.position
        aside, high = abs(place[:, 1]) > self.width, place[:, 2] > self.ceiling
        beside = (place[:, 0] < -1.0) | (place[:, 0] > self.reach + 1.0)
        failed: BoolArray = (episodes.sensed("clearance") < self.body) | aside | high | beside
        return failed

    def finished(self, episodes: Episodes) -> BoolArray:
        """Return which have come to the end of the lane."""
        reached: BoolArray = episodes.distance < self.precision
        return reached

    def succeeded(self, episodes: Episodes) -> BoolArray:
        """Return which have come to the end of the lane: those that have not are too late."""
        return self.finished(episodes)
