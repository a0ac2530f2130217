"""Ultra-wideband ranging: distances to anchors in the world, longer without line of sight."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require, require_vector
from pegasus.base.frames import rotate
from pegasus.base.step_math import log
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import NoiseBlock, Sensor
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.environment import Environment

_Point = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class UwbReading(Reading):
    """Distances to A anchors."""

    distance: Array
    """Measured distances, -1 where there is none [m], shape (N, A)."""
    valid: BoolArray
    """Whether a distance has been measured, shape (N, A)."""


@dataclass(kw_only=True, eq=False)
class UWB(Sensor):
    """Ultra-wideband tag that measures its distance to fixed anchors by two-way ranging.

    Where the scene or another vehicle stands between tag and anchor, the signal arrives late: the distance is
    too long by an excess, here exponentially distributed and drawn for each reading. Alsindi, Alavi and
    Pahlavan 2009, "Measurement and modeling of ultrawideband TOA-based ranging in indoor multipath
    environments", find a positive, skewed excess there, and a small symmetric error in line of sight.
    """

    rate_hz: float = 10.0
    """Readings per second, each of all anchors [Hz]."""
    anchors: tuple[_Point, ...]
    """Positions of the anchors in the world [m]."""
    position: _Point = (0.0, 0.0, 0.0)
    """Position of the tag in the body frame [m]."""
    max_range: float = 100.0
    """Longest measurable distance [m]."""
    noise_sigma: float = 0.1
    """Standard deviation of the noise [m]."""
    nlos_bias: float = 0.5
    """Mean excess without line of sight [m]."""
    dropout: float = 0.0
    """Share of the distances that is missing in line of sight, 0 to 1."""
    nlos_dropout: float = 0.3
    """Share that is missing without line of sight, 0 to 1."""
    clearance: float = 0.1
    """Distance from an anchor within which nothing hides it, such as the wall that it is fixed to [m]."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        require(len(self.anchors) > 0, "anchors", self.anchors, "must hold one point [m] or more")
        for point in self.anchors:
            require_vector("anchors", point, unit="m")
        require_vector("position", self.position, unit="m")
        require(0 < self.max_range < math.inf, "max_range", self.max_range, "must be above 0 m and finite")
        for name in ("noise_sigma", "nlos_bias", "clearance"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 m and finite")
        for name in ("dropout", "nlos_dropout"):
            value = getattr(self, name)
            require(0 <= value <= 1, name, value, "must be from 0 to 1")

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Join a vehicle.

        Args:
            vehicle: The vehicle, from which rays are cast.
            environment: Not used.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._anchors = np.array(self.anchors, dtype=np.float64)
        self._normals = NoiseBlock(self.rngs, (len(self.anchors), 5))
        # Half the sum of two squared normal numbers is exponentially distributed, and above -log(p) with the
        # probability p.
        self._limits = [-log(p) if p > 0 else math.inf for p in (self.dropout, self.nlos_dropout)]

    def measure(self, state: VehicleState, t: float) -> UwbReading:
        """Return the distances; the vehicle must be in a simulation.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        tag = state.position + rotate(state.rotation, np.array([self.position]))
        away = self._anchors - tag[:, None]
        true = np.sqrt(away[..., 0] ** 2 + away[..., 1] ** 2 + away[..., 2] ** 2)
        hidden = self._hidden(tag, away, true)
        numbers = self._normals.take()
        excess = 0.5 * (numbers[..., 1] ** 2 + numbers[..., 2] ** 2)
        loss = 0.5 * (numbers[..., 3] ** 2 + numbers[..., 4] ** 2)
        distance = true + self.noise_sigma * numbers[..., 0] + np.where(hidden, self.nlos_bias * excess, 0.0)
        missing = loss >= np.where(hidden, self._limits[1], self._limits[0])
        valid = ~missing & (true <= self.max_range)
        return UwbReading(t, np.where(valid, np.maximum(distance, 0.0), -1.0), valid)

    def _hidden(self, tag: Array, away: Array, true: Array) -> BoolArray:
        """Return whether something stands between each tag and each anchor, shape (N, A)."""
        shape = true.shape
        reach = np.maximum(true - self.clearance, 0.0)
        asked = (reach > 0) & (true <= self.max_range)
        directions = away / np.where(true > 0, true, 1.0)[..., None]
        directions[true == 0] = 0.0, 0.0, 1.0
        # Every tag casts the same rays: to the anchors within reach of any of them.
        column = np.flatnonzero(asked.any(axis=0))
        hidden: BoolArray = np.zeros(shape, dtype=bool)
        if len(column):
            origins = np.repeat(tag, len(column), axis=0)
            rays = directions[:, column].reshape(-1, 3)
            hits = self.vehicle.manager.cast(self.vehicle, origins, rays, float(reach[asked].max()))
            hidden[:, column] = asked[:, column] & (hits.distance.reshape(len(tag), -1) < reach[:, column])
        return hidden
