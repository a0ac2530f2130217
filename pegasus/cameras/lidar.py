"""Lidars: point clouds around a vehicle, with rays cast on first access."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require
from pegasus.base.frames import multiply, rotate
from pegasus.cameras.capture import draw_seeds, require_lag
from pegasus.cameras.lidar_scan import LidarScan, PointCloud, PoseHistory, ScanCapture, ScanSource
from pegasus.cameras.ray_step import euler_turn
from pegasus.cameras.reflectance import Reflectances
from pegasus.cameras.scan_patterns import ScanPattern, pattern_from_spec
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import Sensor
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.manager import manager_of
from pegasus.environment import Environment
from pegasus.scene.scene import Entity


@dataclass(frozen=True, eq=False)
class LidarReading(Reading):
    """Poses and scans of N lidars; rays are cast on first access.

    A scan covers the period that ends at its stamp.
    """

    position: Array
    """Positions of the sensors in the world at the stamp [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternions xyzw at the stamp, sensor (x forward, y left, z up) to world, shape (N, 4)."""
    capture: ScanCapture = field(metadata={"recorded": False})
    """Scene state that the rays are cast into."""

    @property
    def entities(self) -> Sequence[Entity]:
        """Entities that points can lie on, with path and labels, by index."""
        return self.capture.entities

    @property
    def clouds(self) -> tuple[PointCloud, ...]:
        """Point clouds of all copies, shape (N,)."""
        return tuple(self.cloud(copy) for copy in range(self.capture.count))

    def cloud(self, copy: int = 0) -> PointCloud:
        """Return the points of one copy, without casting the rays of the others.

        Args:
            copy: The copy of the vehicle.

        Raises:
            ConfigError: If there is no renderer, or the scene is empty.
        """
        return self.capture.cloud(copy)

    def scan(self, copy: int = 0) -> LidarScan:
        """Return the scan of one copy as a grid, lost echoes included.

        Args:
            copy: The copy of the vehicle.

        Raises:
            ConfigError: If there is no renderer, or the scene is empty.
        """
        return self.capture.scan(copy)


@dataclass(kw_only=True, eq=False)
class Lidar(Sensor):
    """Lidar on a vehicle: a spinning head of many lasers, or a solid-state one.

    A reading is due at the end of each scan. Each ray starts at the pose that the sensor had when it fired,
    while other vehicles have their poses of the stamp.
    """

    rate_hz: float = 10.0
    """Scans per second [Hz]: turns of a spinning head."""
    pattern: Any = "vlp16"
    """Scan pattern: a name from `LIDAR_PATTERNS`, a mapping with `model` and parameters, or a
    `ScanPattern`."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the sensor in the body frame [m]."""
    orientation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Roll, pitch and yaw on the body [rad]; zeros look forward."""
    min_range: float = 0.5
    """Minimum range [m]."""
    max_range: float = 100.0
    """Maximum range [m]."""
    noise_sigma: float = 0.02
    """Standard deviation of the noise at a distance of zero [m]."""
    proportional_noise: float = 0.0
    """Growth of the standard deviation with distance [m/m]."""
    dropout: float = 0.0
    """Probability that an echo is lost."""
    range_dropout: float = 0.0
    """Probability that an echo from `max_range` is lost, growing with the square of distance."""
    grazing_dropout: float = 0.0
    """Probability that an echo is lost at grazing incidence, growing as 1 - cos(incidence)."""
    min_intensity: float = 0.0
    """Detection threshold, as an intensity."""
    reference_range: float = 10.0
    """Distance at which a white surface at normal incidence has an intensity of 1 [m]."""
    motion_distortion: bool = True
    """Start each ray at the sensor's pose when it fires; otherwise all at the pose of the stamp."""
    hide_vehicle: bool = True
    """Let rays pass through the vehicle that carries the sensor."""
    lag: int = 1
    """Scans that logs and ROS 2 may wait for while the simulation steps on; 0 casts each at once."""

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
        require_lag(self.lag, "casts each scan")
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
            duration: Duration of the scan [s].
        """
        pattern: ScanPattern = self.pattern
        return pattern.directions(start, duration)

    def bind(self, vehicle: Vehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Attach the lidar to a vehicle.

        Args:
            vehicle: The vehicle, whose simulation casts the rays.
            environment: Unused.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        key = next((name for name, item in vehicle.sensors.items() if item is self), "lidar")
        self.name = f"lidar {key!r} of {vehicle.name!r}"
        """Name of the lidar in messages."""
        turn = euler_turn(*map(float, self.orientation))
        self.mount = np.array(self.position, dtype=np.float64), np.array([turn[k] for k in range(4)])
        """Position in the body frame [m], shape (3,), and quaternion xyzw to it, shape (4,)."""
        self.reflectances = Reflectances()
        """Reflectances of the materials hit so far."""
        self.source: ScanSource | None = None
        """Source of measured scans; rays are cast when None."""
        self._past: deque[tuple[float, Array, Array]] = deque()

    def reset_copies(self, rows: IntArray) -> None:
        """Let the scan under way be of the poses after the reset.

        Args:
            rows: Indices of the copies, shape (K,).
        """
        state = self.vehicle.state
        for k, (stamp, *poses) in enumerate(self._past):
            # Earlier readings keep the arrays.
            position, orientation = (pose.copy() for pose in poses)
            position[rows], orientation[rows] = state.position[rows], state.orientation[rows]
            self._past[k] = stamp, position, orientation

    def follow(self, state: VehicleState, t: float) -> None:
        """Record the pose, kept for the period of one scan.

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
        """Return the poses of the sensors, and the state into which their rays are cast.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        visuals = manager_of(self.vehicle).visuals
        seeds = draw_seeds(self.rngs)
        past = list(self._past) or [(t, state.position.copy(), state.orientation.copy())]
        stamps, positions, orientations = zip(*past, strict=True)
        capture = ScanCapture(
            self,
            visuals,
            self.vehicle.name,
            visuals.snapshot(t),
            PoseHistory(np.array(stamps), positions, orientations),
            seeds,
        )
        mount, turn = self.mount
        position = state.position + rotate(state.rotation, mount)
        return LidarReading(t, position, multiply(state.orientation, turn), capture)
