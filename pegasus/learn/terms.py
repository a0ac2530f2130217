"""Observations of policies by named terms, which the file of a policy lists."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.learn.episodes import Episodes

Law = Callable[[Episodes], Array]
"""Function of the episodes that returns numbers of shape (N, K)."""


def rotation(episodes: Episodes) -> Array:
    """Return the rotation matrices body to world, row by row, shape (N, 9)."""
    x, y, z, w = episodes.motion.orientation.T
    entries = [
        *(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        *(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        *(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    ]
    return np.stack(entries, axis=1)


def position_error(episodes: Episodes) -> Array:
    """Return the vectors to the goal, world [m], shape (N, 3)."""
    return episodes.position_error


def position_integral(episodes: Episodes) -> Array:
    """Return the integrals of the vectors to the goal, each from -1 to 1, world [m s], shape (N, 3)."""
    return episodes.integral


def velocity(episodes: Episodes) -> Array:
    """Return the velocities, world [m/s], shape (N, 3)."""
    return episodes.motion.velocity


def velocity_error(episodes: Episodes) -> Array:
    """Return the velocities that lack to those of the goal, world [m/s], shape (N, 3)."""
    error: Array = episodes.goal["velocity"] - episodes.motion.velocity
    return error


def angular_velocity(episodes: Episodes) -> Array:
    """Return the angular velocities in the body frame [rad/s], shape (N, 3)."""
    return episodes.motion.angular_velocity


def rotor_speed(episodes: Episodes) -> Array:
    """Return the speeds of the rotors beyond those of hover, by these, shape (N, R)."""
    excess: Array = episodes.motion.rotor_speed / episodes.rest_speed - 1.0
    return excess


def action(episodes: Episodes) -> Array:
    """Return the last actions, shape (N, A)."""
    return episodes.action


def preview(episodes: Episodes) -> Array:
    """Return the vectors to the coming places of the goal, world [m], shape (N, 3 K)."""
    ahead = episodes.goal["preview"] - episodes.motion.position[:, None]
    return ahead.reshape(len(ahead), -1)


def in_body(episodes: Episodes, vectors: Array) -> Array:
    """Return vectors of the world in the body frame, side by side, shape (N, 3 K).

    Args:
        episodes: The episodes.
        vectors: Shape (N, K, 3).
    """
    x, y, z = np.moveaxis(vectors, -1, 0)
    r = rotation(episodes)[:, :, None]
    axes = [x * r[:, k] + y * r[:, 3 + k] + z * r[:, 6 + k] for k in range(3)]
    return np.stack(axes, axis=-1).reshape(len(vectors), -1)


def upward(episodes: Episodes) -> Array:
    """Return the upward vertical in the body frame, shape (N, 3)."""
    return rotation(episodes)[:, 6:]


def body_velocity(episodes: Episodes) -> Array:
    """Return the velocities in the body frame [m/s], shape (N, 3)."""
    return in_body(episodes, episodes.motion.velocity[:, None])


def body_preview(episodes: Episodes) -> Array:
    """Return the vectors to the coming places of the goal, body frame [m], shape (N, 3 K)."""
    return in_body(episodes, episodes.goal["preview"] - episodes.motion.position[:, None])


def gate_corners(episodes: Episodes) -> Array:
    """Return the vectors to the corners of the next two gates, body frame [m], shape (N, 24)."""
    corners = episodes.goal["corners"] - episodes.motion.position[:, None, None]
    return in_body(episodes, corners.reshape(len(corners), -1, 3))


def closeness(episodes: Episodes) -> Array:
    """Return depth images, 0 at the largest depth and 1 at the camera, row by row, shape (N, W H)."""
    return episodes.sensed("closeness")


def neighbours(episodes: Episodes) -> Array:
    """Return the vectors to the other vehicles of the swarm, world [m], shape (N, 3 K)."""
    ways = episodes.goal["neighbours"] - episodes.motion.position[:, None]
    return ways.reshape(len(ways), -1)


def neighbour_velocities(episodes: Episodes) -> Array:
    """Return their velocities by that of the vehicle, world [m/s], shape (N, 3 K)."""
    relative = episodes.goal["neighbour_velocities"] - episodes.motion.velocity[:, None]
    return relative.reshape(len(relative), -1)


LAWS: Mapping[str, Law] = {
    law.__name__: law
    for law in (
        *(position_error, position_integral, velocity_error, rotation, velocity, angular_velocity),
        *(rotor_speed, action, preview, upward, body_velocity, body_preview, gate_corners),
        *(closeness, neighbours, neighbour_velocities),
    )
}
"""Terms by the names that files of policies have."""


@dataclass(frozen=True)
class Term:
    """Term of an observation, times its scale."""

    law: str | Law
    """Name of a shipped term, or a function of the episodes, shape (N, K)."""
    scale: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.law, str):
            require(self.law in LAWS, "term", self.law, f"must be one of {', '.join(LAWS)}, or a function")
        require(np.isfinite(self.scale), "scale", self.scale, "must be finite")

    @property
    def name(self) -> str:
        """Its name."""
        return self.law if isinstance(self.law, str) else self.law.__name__

    def __call__(self, episodes: Episodes) -> Array:
        """Return the numbers, shape (N, K)."""
        law = LAWS[self.law] if isinstance(self.law, str) else self.law
        return law(episodes) * self.scale


def observed(terms: Sequence[Term], episodes: Episodes) -> Array:
    """Return the terms side by side, shape (N, K), float32."""
    return cast("Array", np.concatenate([term(episodes) for term in terms], axis=1, dtype=np.float32))


def term_of(entry: tuple[str, float], own: Mapping[str, Law]) -> Term:
    """Return a term that a file of a policy lists.

    Args:
        entry: Its name and scale.
        own: Functions of the user's own, by name.

    Raises:
        ConfigError: If no term has that name.
    """
    name, scale = entry
    if name not in own:
        require(
            name in LAWS, "terms", name, "must be a shipped term, or one that is given", "give terms={...}"
        )
    return Term(own.get(name, name), scale)
