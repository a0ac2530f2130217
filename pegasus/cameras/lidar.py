"""Lidars: points on what is around a vehicle, cast when somebody looks at them."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasus.arrays import Array
from pegasus.cameras.reflectance import Reflectances
from pegasus.cameras.scan_patterns import ScanPattern, pattern_from_spec
from pegasus.cameras.sweep import LidarScan, PointCloud, ScanSource, Sweep, Track
from pegasus.components import require
from pegasus.frames import matrix_from_quaternion, multiply, quaternion_from_euler, rotate
from pegasus.sensors.sensor import Reading, Sensor
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor
    from pegasus.scene.scene import Entity

_SEEDS = 2**63


@dataclass(frozen=True, eq=False)
class LidarReading(Reading):
    """Where N lidars are, and what they have measured; rays are cast when they are first asked for.

    A scan shows the time up to its stamp, whenever it is looked at.
    """

    position: Array
    """Where the sensors are in the world at the stamp [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternions xyzw at the stamp, sensor (x forward, y left, z up) to world, shape (N, 4)."""
    sweep: Sweep = field(metadata={"recorded": False})
    """What the rays are cast from."""

    @property
    def entities(self) -> "Sequence[Entity]":
        """Everything that points can lie on, with its path and labels, by index."""
        return self.sweep.entities

    @property
    def clouds(self) -> tuple[PointCloud, ...]:
        """The points of every copy, N clouds."""
        return tuple(self.cloud(copy) for copy in range(self.sweep.count))

    def cloud(self, copy: int = 0) -> PointCloud:
        """Return the points of one copy, without casting the rays of the others.

        Args:
            copy: The copy of the vehicle.

        Raises:
            ConfigError: If there is no renderer, or nothing to see.
        """
        return self.sweep.cloud(copy)

    def scan(self, copy: int = 0) -> LidarScan:
        """Return the scan of one copy as a grid, with what did not come back.

        Args:
            copy: The copy of the vehicle.

        Raises:
            ConfigError: If there is no renderer, or nothing to see.
        """
        return self.sweep.scan(copy)


@dataclass(kw_only=True, eq=False)
class Lidar(Sensor):
    """Lidar on a vehicle: a spinning head of many lasers, or a solid state one.

    A reading is given at the end of each scan. Its rays are cast when somebody looks: from where the sensor
    was when each of them fired, while the other vehicles stand where they are at the stamp.
    """

    rate_hz: float = 10.0
    """Scans per second [Hz]; of a spinning head, its turns."""
    pattern: Any = "vlp16"
    """Which way its rays go: a name from `KNOWN_PATTERNS`, a mapping with `model` and parameters, or a
    `ScanPattern`."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Place of the sensor in the body frame [m]."""
    orientation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Roll, pitch and yaw on the body [rad]; zeros look forward."""
    min_range: float = 0.5
    """Shortest distance that it tells [m]."""
    max_range: float = 100.0
    """Longest distance that it tells [m]."""
    noise_sigma: float = 0.02
    """Standard deviation of the noise at a distance of zero [m]."""
    proportional_noise: float = 0.0
    """What the standard deviation grows by with each metre of distance."""
    dropout: float = 0.0
    """Probability that an echo is lost."""
    range_dropout: float = 0.0
    """Probability that an echo from `max_range` is lost; it grows with the square of distance."""
    grazing_dropout: float = 0.0
    """Probability that an echo is lost where the ray grazes a surface; it grows as 1 - cos(incidence)."""
    min_intensity: float = 0.0
    """Weakest echo that is heard, as an intensity."""
    reference_range: float = 10.0
    """Distance at which a white surface, met squarely, gives an intensity of 1 [m]."""
    motion_distortion: bool = True
    """Whether rays start where the sensor is when they fire; else all where it is at the stamp."""
    hide_vehicle: bool = True
    """Whether rays pass through the vehicle that carries the sensor."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        self.pattern = pattern_from_spec(self.pattern)
        for name in ("position", "orientation"):
            value = getattr(self, name)
            finite = np.shape(value) == (3,) and all(map(math.isfinite, value))
            require(finite, name, value, "must hold three finite numbers")
        shortest = self.min_range
        require(0 <= shortest < math.inf, "min_range", shortest, "must be at least 0 m and finite")
        allowed = f"must be above min_range of {shortest:g} m and finite"
        require(shortest < self.max_range < math.inf, "max_range", self.max_range, allowed)
        for name in ("noise_sigma", "proportional_noise", "min_intensity"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")
        for name in ("dropout", "range_dropout", "grazing_dropout"):
            value = getattr(self, name)
            require(0 <= value <= 1, name, value, "must be a probability, from 0 to 1")
        far = self.reference_range
        require(0 < far < math.inf, "reference_range", far, "must be above 0 m and finite")

    @property
    def shape(self) -> tuple[int, int]:
        """Rings R and columns C of a scan."""
        pattern: ScanPattern = self.pattern
        return pattern.shape

    def directions(self, start: float, duration: float) -> Array:
        """Return the unit directions of a scan in the sensor's frame, column by column, shape (C, R, 3).

        Args:
            start: Time at which the scan begins [s].
            duration: How long it takes [s].
        """
        pattern: ScanPattern = self.pattern
        return pattern.directions(start, duration)

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle.

        Args:
            vehicle: The vehicle, whose simulation casts the rays.
            environment: Not used.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._vehicle = vehicle
        key = next((name for name, item in vehicle.sensors.items() if item is self), "lidar")
        self.name = f"lidar {key!r} of {vehicle.name!r}"
        """The lidar, as messages name it."""
        self._mount, self._turn = np.array(self.position), quaternion_from_euler(*self.orientation)
        self.mounting: Array = matrix_from_quaternion(self._turn)
        """Sensor to body, shape (3, 3)."""
        self.reflectances = Reflectances()
        """Reflectances of what the rays have met so far."""
        self.source: ScanSource | None = None
        """What measures in place of rays; None to cast them."""
        self._past: deque[tuple[float, Array, Array]] = deque()

    def follow(self, state: VehicleState, t: float) -> None:
        """Keep the poses of the last scan.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        if not self.motion_distortion:
            return
        past = self._past
        past.append((t, state.position.copy(), state.orientation.copy()))
        begin = t - 1.0 / self.rate_hz
        while len(past) > 1 and past[1][0] <= begin:
            past.popleft()

    def measure(self, state: VehicleState, t: float) -> LidarReading:
        """Return where the sensors are, and what their rays can be cast from.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        visuals = self._vehicle.visuals
        seeds: list[int] = [int(rng.integers(_SEEDS)) for rng in self.rngs]
        past = list(self._past) or [(t, state.position.copy(), state.orientation.copy())]
        stamps, positions, orientations = zip(*past, strict=True)
        sweep = Sweep(
            self,
            visuals,
            self._vehicle.name,
            visuals.snapshot(t),
            Track(np.array(stamps), positions, orientations),
            seeds,
        )
        position = state.position + rotate(state.rotation, self._mount)
        return LidarReading(t, position, multiply(state.orientation, self._turn), sweep)
