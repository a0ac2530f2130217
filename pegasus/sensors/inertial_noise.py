"""Noise and systematic errors of gyroscopes and accelerometers: scale, misalignment, temperature."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pegasus.base.components import require, require_vector
from pegasus.base.step_math import Vec3, dot
from pegasus.sensors.noise import NoiseModel

Vector = tuple[float, float, float]
_ZERO = (0.0, 0.0, 0.0)
_ZEROS = (_ZERO, _ZERO, _ZERO)


@dataclass(frozen=True, kw_only=True)
class InertialNoise(NoiseModel):
    """Noise and systematic errors of three inertial sensors on the axes of an IMU.

    With the true value u and the deviation dT of the temperature from that of the calibration, they measure
    (I + diag(s + s_T dT) + M) u + b_T dT + noise. Source: Titterton and Weston 2004, "Strapdown Inertial
    Navigation Technology", 2nd edition, sec. 4.4.6 and 6.4; terms of higher order are left out.
    """

    scale_error: Vector = _ZERO
    """Relative error s of the scale of each axis."""
    scale_error_sigma: float = 0.0
    """Standard deviation of a further error of the scale of each axis, drawn at every start."""
    misalignment: tuple[Vector, Vector, Vector] = _ZEROS
    """Rows of M, with a diagonal of zeros: share of the other axes in each one, a small angle [rad]."""
    misalignment_sigma: float = 0.0
    """Standard deviation of further elements of M, drawn at every start [rad]."""
    temperature_bias: Vector = _ZERO
    """Change b_T of the bias with temperature [unit/K]."""
    temperature_bias_sigma: float = 0.0
    """Standard deviation of a further change on each axis, drawn at every start [unit/K]."""
    temperature_scale_error: Vector = _ZERO
    """Change s_T of the relative error of the scale with temperature [1/K]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_vector("scale_error", self.scale_error)
        above = min(self.scale_error) > -1
        require(above, "scale_error", self.scale_error, "must be above -1 on each axis")
        require_rows("misalignment", self.misalignment, unit="rad")
        diagonal = all(self.misalignment[k][k] == 0 for k in range(3))
        remedy = "give errors of scale as scale_error"
        require(diagonal, "misalignment", self.misalignment, "must have zeros on the diagonal", remedy)
        require_vector("temperature_bias", self.temperature_bias, unit="unit/K")
        require_vector("temperature_scale_error", self.temperature_scale_error, unit="1/K")
        for name in ("scale_error_sigma", "misalignment_sigma", "temperature_bias_sigma"):
            require_sigma(name, getattr(self, name))

    @property
    def warms(self) -> bool:
        """Whether the temperature has an effect."""
        given = (*self.temperature_bias, *self.temperature_scale_error, self.temperature_bias_sigma)
        return any(value != 0 for value in given)

    @property
    def errs(self) -> bool:
        """Whether there is any systematic error."""
        given = (*self.scale_error, self.scale_error_sigma, self.misalignment_sigma)
        return self.warms or any(value != 0 for value in (*given, *sum(self.misalignment, ())))

    @property
    def errors(self) -> "InertialErrors":
        """Systematic errors, for step functions."""
        x, y, z = (Vec3(*row) for row in self.misalignment)
        return InertialErrors(
            Vec3(*self.scale_error),
            x,
            y,
            z,
            Vec3(*self.temperature_bias),
            Vec3(*self.temperature_scale_error),
            self.scale_error_sigma,
            self.misalignment_sigma,
            self.temperature_bias_sigma,
        )


@dataclass(frozen=True, kw_only=True)
class Gyroscope(InertialNoise):
    """Noise, errors and range of a gyroscope; the default noise is that of an ICM-42688-P.

    Source: TDK InvenSense DS-000347, table 1: 0.0028 deg/s/sqrt(Hz), offset 0.5 deg/s. The random walk, which
    is not in the data sheet, gives the Allan deviation its minimum of 2.2 deg/h at 42 s.
    """

    noise_density: float = 4.8869e-5
    """Angular random walk [rad/s/sqrt(Hz)]."""
    bias_random_walk: float = 2.0e-6
    """Density of the noise that drives the bias [rad/s^2/sqrt(Hz)]."""
    bias_correlation_time: float = 1000.0
    """Time constant of the bias [s]."""
    turn_on_bias: float = 0.0087266
    """Standard deviation of the offset at every start [rad/s]."""
    range: float = math.radians(2000.0)
    """Largest measured angular rate on an axis; larger rates saturate [rad/s]."""
    g_sensitivity: tuple[Vector, Vector, Vector] = _ZEROS
    """Rows of G: rate measured per specific force along each axis [rad/s / (m/s^2)]."""
    g_sensitivity_sigma: float = 0.0
    """Standard deviation of further elements of G, drawn at every start [rad/s / (m/s^2)]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.range > 0, "range", self.range, "must be above 0 rad/s")
        require_rows("g_sensitivity", self.g_sensitivity, unit="rad/s / (m/s^2)")
        require_sigma("g_sensitivity_sigma", self.g_sensitivity_sigma)

    @property
    def errs(self) -> bool:
        """Whether there is any systematic error."""
        given = (*sum(self.g_sensitivity, ()), self.g_sensitivity_sigma)
        return super().errs or any(value != 0 for value in given)


@dataclass(frozen=True, kw_only=True)
class Accelerometer(InertialNoise):
    """Noise, errors and range of an accelerometer; the default noise is that of an ICM-42688-P.

    Source: TDK InvenSense DS-000347, table 2: 70 ug/sqrt(Hz), offset 20 mg. The random walk, which is not in
    the data sheet, gives the Allan deviation its minimum of 16 ug at 40 s.
    """

    noise_density: float = 6.8647e-4
    """Velocity random walk [m/s^2/sqrt(Hz)]."""
    bias_random_walk: float = 3.0e-5
    """Density of the noise that drives the bias [m/s^3/sqrt(Hz)]."""
    bias_correlation_time: float = 1000.0
    """Time constant of the bias [s]."""
    turn_on_bias: float = 0.196
    """Standard deviation of the offset at every start [m/s^2]."""
    range: float = 16 * 9.80665
    """Largest measured specific force on an axis; larger forces saturate [m/s^2]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.range > 0, "range", self.range, "must be above 0 m/s^2")


@dataclass(frozen=True, kw_only=True)
class Thermal:
    """Temperature of an IMU: its electronics heat it above the air by a first-order warm-up.

    It changes the readings by the temperature coefficients of gyroscope and accelerometer only.
    """

    self_heating: float = 15.0
    """Excess over the temperature of the air once it is warm [K]."""
    warm_up_time: float = 300.0
    """Time constant [s]."""
    initial_heating: float = 0.0
    """Excess over the temperature of the air at the start [K]: 0 when it has just been switched on."""
    reference_temperature: float = 298.15
    """Temperature of the calibration, at which the errors of temperature are zero [K]."""

    def __post_init__(self) -> None:
        for name in ("self_heating", "initial_heating"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 K and finite")
        for name, unit in (("warm_up_time", "s"), ("reference_temperature", "K")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")


@dataclass(frozen=True)
class InertialErrors:
    """Systematic errors of three inertial sensors, as in `InertialNoise`."""

    scale_error: Vec3
    misalignment_x: Vec3
    misalignment_y: Vec3
    misalignment_z: Vec3
    """Rows of M [rad]."""
    temperature_bias: Vec3
    """[unit/K]"""
    temperature_scale_error: Vec3
    """[1/K]"""
    scale_error_sigma: float
    misalignment_sigma: float
    """[rad]"""
    temperature_bias_sigma: float
    """[unit/K]"""


@dataclass(frozen=True)
class InertialSystem:
    """What gyroscope and accelerometer of an IMU share."""

    warms: int
    """1 if the temperature has an effect."""
    standard: int
    """1 if the air is that of `standard_air`."""
    altitude: float
    """Altitude of the world's origin above mean sea level [m]."""
    self_heating: float
    initial_heating: float
    """Excess over the temperature of the air when warm, and at the start [K]."""
    remaining: float
    """Fraction of a deviation of the temperature that remains after a reading."""
    reference_temperature: float
    """Temperature of the calibration [K]."""
    g_sensitivity_x: Vec3
    g_sensitivity_y: Vec3
    g_sensitivity_z: Vec3
    """Rows of the gyroscope's matrix G [rad/s / (m/s^2)]."""
    g_sensitivity_sigma: float
    """Standard deviation of further elements of G [rad/s / (m/s^2)]."""


def calibration_row(misalignment: Vec3, sigma: float, normal: Vec3, axis: int, scale_error: float) -> Vec3:
    """Return a row of I + diag(s) + M with errors drawn at the start.

    Args:
        misalignment: Row of M [rad].
        sigma: Standard deviation of the further errors of the row's two other elements [rad].
        normal: Standard normal numbers.
        axis: Number of the row.
        scale_error: Relative error of its scale.
    """
    row = misalignment + normal * sigma
    if axis == 0:
        return Vec3(1.0 + scale_error, row[1], row[2])
    if axis == 1:
        return Vec3(row[0], 1.0 + scale_error, row[2])
    return Vec3(row[0], row[1], 1.0 + scale_error)


def of_rows(x: Vec3, y: Vec3, z: Vec3, v: Vec3) -> Vec3:
    """Return the product of a matrix, given by its rows, and a vector."""
    return Vec3(dot(x, v), dot(y, v), dot(z, v))


def require_sigma(name: str, value: float) -> None:
    """Raise a ConfigError unless a standard deviation is finite and not negative."""
    require(0 <= value < math.inf, name, value, "must be at least 0 and finite")


def require_rows(name: str, rows: Sequence[Sequence[float]], *, unit: str = "") -> None:
    """Raise a ConfigError unless a value holds three rows of a matrix."""
    require(len(rows) == 3, name, rows, "must hold three rows")
    for row in rows:
        require_vector(name, row, unit=unit)
