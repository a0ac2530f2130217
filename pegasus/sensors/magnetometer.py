"""Magnetometer: the Earth's field in the body frame, disturbed by the vehicle's own iron."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array, row_product
from pegasus.components import require
from pegasus.frames import rotate_inverse
from pegasus.sensors.noise import NoiseModel, NoiseProcess
from pegasus.sensors.sensor import Reading, Sensor
from pegasus.state import VehicleState
from pegasus.vectors import require_vector

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor

_Row = tuple[float, float, float]


def measured_field(field: Array, *, rotation: Array, soft_iron: Array, hard_iron: Array) -> Array:
    """Return S R^T B + h, the field that an ideal magnetometer on a vehicle of iron reads [T], shape (N, 3).

    Source: Renaudin et al. 2010, "Complete Triaxis Magnetometer Calibration in the Magnetic Domain".

    Args:
        field: Earth's magnetic field B in the world [T], shape (N, 3).
        rotation: Rotation matrix R body to world, shape (N, 3, 3).
        soft_iron: Matrix S that iron magnetised by the field itself distorts it with, shape (3, 3).
        hard_iron: Field h of what is magnetised for good, in the body frame [T], shape (3,).
    """
    return row_product(rotate_inverse(rotation, field), soft_iron.T) + hard_iron


@dataclass(frozen=True, eq=False)
class MagnetometerReading(Reading):
    """Magnetic field in the body frame (FLU)."""

    magnetic_field: Array
    """Magnetic field [T], shape (N, 3)."""


@dataclass(kw_only=True, eq=False)
class Magnetometer(Sensor):
    """Three-axis magnetometer; the default noise is that of Pegasus, turned from gauss to tesla."""

    rate_hz: float = 50.0
    """Readings per second [Hz]."""
    noise_density: float = 0.4e-7
    """Density of the white noise [T/sqrt(Hz)]."""
    bias_random_walk: float = 6.4e-10
    """Density of the noise that drives the bias [T/s/sqrt(Hz)]."""
    bias_correlation_time: float = 600.0
    """Time constant of the bias [s]."""
    turn_on_bias: float = 0.0
    """Standard deviation of the offset at every start [T]."""
    hard_iron: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Constant field of the vehicle itself, in the body frame [T]."""
    soft_iron: tuple[_Row, _Row, _Row] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    """Rows of the matrix that the vehicle distorts the Earth's field with; also scale and misalignment."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        self._noise_model()
        require_vector("hard_iron", self.hard_iron, unit="T")
        require(len(self.soft_iron) == 3, "soft_iron", self.soft_iron, "must hold three rows")
        for row in self.soft_iron:
            require_vector("soft_iron", row)

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle; draw biases anew.

        Args:
            vehicle: The vehicle; its count is used.
            environment: Magnetic field.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._soft, self._hard = np.array(self.soft_iron), np.array(self.hard_iron)
        self._noise = NoiseProcess((self._noise_model(),), rate_hz=self.rate_hz, rngs=self.rngs)

    def measure(self, state: VehicleState, t: float) -> MagnetometerReading:
        """Return the magnetic field.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        earth = self.environment.magnetic_field_at(state.position)
        field = measured_field(earth, rotation=state.rotation, soft_iron=self._soft, hard_iron=self._hard)
        field += self._noise.sample()[0]
        return MagnetometerReading(t, field)

    def _noise_model(self) -> NoiseModel:
        return NoiseModel(
            noise_density=self.noise_density,
            bias_random_walk=self.bias_random_walk,
            bias_correlation_time=self.bias_correlation_time,
            turn_on_bias=self.turn_on_bias,
        )
