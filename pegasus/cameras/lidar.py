"""Lidars: point clouds around a vehicle, with rays cast on first access."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.frames import multiply, rotate
from pegasus.cameras.capture import draw_seeds
from pegasus.cameras.lidar_model import LidarModel
from pegasus.cameras.lidar_scan import LidarScan, PointCloud, PoseHistory, ScanCapture
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import Sensor
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
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
class Lidar(LidarModel, Sensor):
    """Lidar on a vehicle: a spinning head of many lasers, or a solid-state one.

    A reading is due at the end of each scan. Each ray starts at the pose that the sensor had when it fired,
    while other vehicles have their poses of the stamp.
    """

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Attach the lidar to a vehicle.

        Args:
            vehicle: The vehicle, whose simulation casts the rays.
            environment: Unused.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        key = next((name for name, item in vehicle.sensors.items() if item is self), "lidar")
        self.prepare(f"lidar {key!r} of {vehicle.name!r}")
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
