"""Episodes of many rows: what tasks and observations see of them, and the random numbers that begin them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.base.errors import ConfigError
from pegasus.base.random_numbers import next_keys

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Motion(Protocol):
    """Motion of N vehicles, as `FleetState` and `VehicleState` hold it."""

    @property
    def position(self) -> Array:
        """Positions in the world [m], shape (N, 3)."""

    @property
    def orientation(self) -> Array:
        """Unit quaternions xyzw, body to world, shape (N, 4)."""

    @property
    def velocity(self) -> Array:
        """Velocities in the world [m/s], shape (N, 3)."""

    @property
    def angular_velocity(self) -> Array:
        """Angular velocities in the body frame [rad/s], shape (N, 3)."""

    @property
    def rotor_speed(self) -> Array:
        """Speeds of the rotors [rad/s], shape (N, R)."""


@dataclass
class Episodes:
    """Episodes of N rows, each with its time, its goal and the last action."""

    motion: Motion
    """Motion of the vehicles, live."""
    rest_speed: Array
    """Rotor speeds that balance the weight [rad/s], shape (R,)."""
    action: Array
    """Last actions, from -1 to 1, shape (N, A)."""
    time: Array
    """Time since the beginning of each episode [s], shape (N,)."""
    goal: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    """What the task asks for, by name: arrays of N rows, such as `position` [m] and `velocity` [m/s]."""

    def __post_init__(self) -> None:
        self.integral: Array = np.zeros((len(self.time), 3))
        """Integrals of the vectors to the goal since the beginning, world [m s], shape (N, 3)."""
        self.senses: Mapping[str, Callable[[], Array]] = {}
        """Functions of what the rows measure, by name."""

    def __len__(self) -> int:
        return len(self.time)

    def make_goal(self, **shapes: tuple[int, ...]) -> None:
        """Make the goal, of zeros, unless it is made.

        Args:
            shapes: Shape of the numbers of a row by name; () for one number.
        """
        if not self.goal:
            self.goal |= {name: np.zeros((len(self), *shape)) for name, shape in shapes.items()}

    def begin(self, rows: BoolArray) -> None:
        """Begin episodes anew, without their goals.

        Args:
            rows: The rows, shape (N,).
        """
        self.action[rows] = 0.0
        self.time[rows] = 0.0
        self.integral[rows] = 0.0

    def integrate(self, dt: float, rows: BoolArray) -> None:
        """Add to the integrals, which stay within 1 m s.

        Args:
            dt: Time since the last call [s].
            rows: The rows, shape (N,).
        """
        self.integral[rows] = np.clip(self.integral + self.position_error * dt, -1.0, 1.0)[rows]

    def sensed(self, name: str) -> Array:
        """Return what the rows measure by a name, shape (N, ...).

        Raises:
            ConfigError: If nothing measures it.
        """
        if name not in self.senses:
            raise ConfigError(
                "is not measured here", field="sense", value=name, remedy="give it by `Task.senses`"
            )
        return self.senses[name]()

    @property
    def position_error(self) -> Array:
        """Vectors from the vehicle to the goal, world [m], shape (N, 3)."""
        error: Array = self.goal["position"] - self.motion.position
        return error

    @property
    def distance(self) -> Array:
        """Distances to the goal [m], shape (N,)."""
        return length(self.position_error)

    @property
    def speed(self) -> Array:
        """Speeds [m/s], shape (N,)."""
        return length(self.motion.velocity)

    @property
    def turn_rate(self) -> Array:
        """Sizes of the angular velocities [rad/s], shape (N,)."""
        return length(self.motion.angular_velocity)

    @property
    def uprightness(self) -> Array:
        """Cosines of the tilt, shape (N,)."""
        x, y = self.motion.orientation[:, 0], self.motion.orientation[:, 1]
        upright: Array = 1.0 - 2.0 * (x * x + y * y)
        return upright


def length(vectors: Array) -> Array:
    """Return the lengths of vectors.

    Args:
        vectors: Shape (N, 3).
    """
    x, y, z = vectors.T
    size: Array = np.sqrt(x * x + y * y + z * z)
    return size


class Draws:
    """Random numbers of the beginnings of episodes: those of a row depend on seed, row and episode only.

    Args:
        keys: A key for each of K rows.
    """

    def __init__(self, keys: npt.NDArray[np.uint64]) -> None:
        self._keys, self._used = keys, 0

    def __len__(self) -> int:
        return len(self._keys)

    def uniform(self, low: npt.ArrayLike, high: npt.ArrayLike, size: int) -> Array:
        """Return numbers between limits, shape (K, size).

        Args:
            low: Lower limit, or one for each of the numbers.
            high: Upper limit.
            size: Number of numbers of each row.
        """
        places = np.arange(self._used + 1, self._used + size + 1, dtype=np.uint64) * _GOLDEN
        self._used += size
        words = next_keys(self._keys[:, None] + places)
        shares = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        least = np.asarray(low)
        numbers: Array = least + (np.asarray(high) - least) * shares
        return numbers

    def directions(self) -> Array:
        """Return unit vectors without a preferred direction, shape (K, 3)."""
        height = self.uniform(-1.0, 1.0, 1)[:, 0]
        sine, cosine = sine_and_cosine(self.uniform(-np.pi, np.pi, 1)[:, 0])
        aside = np.sqrt(1.0 - height * height)
        return np.stack([aside * cosine, aside * sine, height], axis=1)

    def tilted(self, angle: float) -> Array:
        """Return unit quaternions xyzw turned by up to an angle about any axis, shape (K, 4).

        Args:
            angle: Largest angle [rad].
        """
        sine, cosine = sine_and_cosine(0.5 * self.uniform(0.0, angle, 1))
        return np.concatenate([self.directions() * sine, cosine], axis=1)


class Keys:
    """Keys of the random numbers of N rows, anew for each episode.

    Args:
        seed: Seed of all.
        count: Number of rows N.
    """

    def __init__(self, seed: int, count: int) -> None:
        rows = np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN
        self._keys = next_keys(next_keys(np.full(count, seed, dtype=np.uint64)) ^ next_keys(rows))

    def begin(self, rows: BoolArray) -> Draws:
        """Return the random numbers for the next episodes of some rows.

        Args:
            rows: The rows, shape (N,).
        """
        self._keys[rows] = next_keys(self._keys[rows])
        return Draws(self._keys[rows])
