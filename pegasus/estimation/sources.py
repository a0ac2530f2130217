"""Sensors of an estimator: those that it uses, their readings by time, and the numbers of its filter."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from pegasus.base.components import require
from pegasus.base.elementary import squared
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Quat, Vec3, normalized
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import Sensor
from pegasus.core.aircraft import Aircraft
from pegasus.environment.gravity import STANDARD_GRAVITY
from pegasus.estimation.filter_rows import (
    AIRSPEED,
    ANCHORS,
    CORE,
    DISTANCE,
    FIELD,
    FIX,
    FLOW,
    POSE,
    PRESSURE,
    SOURCE_COUNT,
    FilterParameters,
)
from pegasus.sensors.airspeed import Airspeed
from pegasus.sensors.barometer import Barometer
from pegasus.sensors.gps import GPS
from pegasus.sensors.imu import IMU
from pegasus.sensors.inertial_noise import InertialNoise
from pegasus.sensors.magnetometer import Magnetometer
from pegasus.sensors.odometry import Odometry
from pegasus.sensors.optical_flow import OpticalFlow
from pegasus.sensors.rangefinder import Rangefinder
from pegasus.sensors.uwb import UWB

KINDS: Mapping[type[Sensor], tuple[int, int, int]] = {
    GPS: (FIX, 6, 6),
    Barometer: (PRESSURE, 1, 1),
    Magnetometer: (FIELD, 3, 3),
    Rangefinder: (DISTANCE, 1, 0),
    OpticalFlow: (FLOW, 2, 0),
    Odometry: (POSE, 9, 4),
    UWB: (ANCHORS, 1, 0),
    Airspeed: (AIRSPEED, 1, 1),
}
"""Source of each class of sensors, the numbers in a reading (of `UWB` for each anchor), and those of its
errors that are states."""

UNKNOWN_POSITION = 1e3
"""Standard deviation of a position before the first fix [m]."""
KNOWN_POSITION = 1e-3
"""Standard deviation of the position at which a vehicle without GPS starts [m]."""
_MARGINS = {"rate": 0.02, "force": 0.3}
"""Motion at rest beyond noise and biases: of a vehicle that settles [rad/s], [m/s^2]."""


@dataclass
class Source:
    """Sensor that an estimator uses, with its readings that are still to come by their time."""

    name: str
    """Name of the sensor."""
    sensor: Sensor
    number: int
    """Number of the source, such as `FIX`."""
    freedom: int
    """Count of measured numbers in a reading."""
    first: int
    """First state of its errors."""
    waiting: deque[tuple[float, Reading]] = field(default_factory=deque)
    """Readings with the times that they are of [s]."""
    last: float = math.nan
    """Time of the last reading that was used [s]."""
    resets: int = 0
    """Resets of the frame of an odometry so far."""

    def add(self, reading: Reading) -> None:
        """Keep a reading until its time has come.

        Args:
            reading: The reading.
        """
        self.waiting.append((float(getattr(reading, "valid_at", reading.stamp)), reading))

    def take(self, time: float) -> tuple[float, Reading] | None:
        """Return the latest reading up to a time with its time; None without one.

        Args:
            time: The time [s].
        """
        found = None
        while self.waiting and self.waiting[0][0] <= time + 1e-9:
            found = self.waiting.popleft()
        return found

    def passed(self, time: float) -> int:
        """Return how many readings have passed since the last one that was used; 0 for the first.

        Args:
            time: Time of the reading that is used now [s].
        """
        elapsed = 0.0 if math.isnan(self.last) else (time - self.last) * self.sensor.rate_hz
        self.last = time
        return round(elapsed)

    def restart(self) -> None:
        """Forget all readings."""
        self.waiting.clear()
        self.last, self.resets = math.nan, 0


def sources_of(
    vehicle: Aircraft, names: tuple[str, ...] | None, *, wind: bool
) -> tuple[str, IMU, list[Source], int]:
    """Return the IMU and the other sensors that an estimator uses, and the number of states.

    Args:
        vehicle: The vehicle.
        names: Names of the sensors; all that it can use if None.
        wind: Whether the wind is a state, without which an airspeed is of no use.

    Raises:
        ConfigError: If there is no such sensor, it cannot be used, or two are of one kind.
    """
    sensors = {name: vehicle.sensors[name] for name in names} if names is not None else dict(vehicle.sensors)
    kinds: list[type[Sensor]] = [IMU, *(kind for kind in KINDS if wind or kind is not Airspeed)]
    found: dict[type[Sensor], str] = {}
    for name, sensor in sensors.items():
        kind = next((kind for kind in kinds if isinstance(sensor, kind)), None)
        if isinstance(sensor, Rangefinder) and not _looks_down(sensor):
            require(names is None, "sensors", name, "must look down, within 45 degrees of the body's -z")
            continue
        if kind is None:
            usable = ", ".join(one.__name__ for one in kinds) + (
                "" if wind else ", Airspeed (with wind: true)"
            )
            require(names is None, "sensors", name, f"must be a sensor of one of the classes {usable}")
        elif kind in found:
            raise ConfigError(
                "are sensors of one kind, of which the estimator takes one",
                field="sensors",
                value=f"{found[kind]}, {name}",
                remedy="name the sensors that it takes, such as sensors: [imu, gps, magnetometer]",
            )
        else:
            found[kind] = name
    if IMU not in found:
        raise _lacking("an IMU", "imu: {model: imu}", sensors)
    if Magnetometer not in found and Odometry not in found:
        needed = "a magnetometer or odometry, for its heading"
        raise _lacking(needed, "magnetometer: {model: magnetometer}", sensors)
    sources, size = [], CORE
    for kind, (number, freedom, states) in KINDS.items():
        if kind in found:
            sensor = sensors[found[kind]]
            if isinstance(sensor, UWB):
                freedom *= len(sensor.anchors)
            sources.append(Source(found[kind], sensor, number, freedom, size))
            size += states
    imu = sensors[found[IMU]]
    assert isinstance(imu, IMU)
    return found[IMU], imu, sources, size


def _looks_down(sensor: Rangefinder) -> bool:
    x, y, z = sensor.direction
    return -z > math.hypot(x, y)


def _lacking(what: str, line: str, sensors: Mapping[str, Sensor]) -> ConfigError:
    return ConfigError(
        f"needs {what}",
        field="estimator",
        value=f"sensors {', '.join(sensors) or 'none'}",
        remedy=f"add the sensor, such as {line}",
    )


def filter_parameters(
    imu: IMU,
    sources: list[Source],
    size: int,
    *,
    gate: float,
    gps_reset_time: float,
    known: bool,
    rest_time: float,
    vibration: float,
    scale: int,
    wind: int,
) -> FilterParameters:
    """Return the numbers of a filter.

    Args:
        imu: The IMU.
        sources: The other sensors.
        size: Number of states.
        gate: Gate of innovations [standard deviations].
        gps_reset_time: Time beyond the gate after which GPS gives the position anew [s].
        known: Whether it starts from the true state.
        rest_time: Time at rest for the first attitude [s].
        vibration: Density of further white noise of the accelerometer [m/s^2/sqrt(Hz)].
        scale: First state of the errors of scale; below 0 for none.
        wind: First state of the wind; below 0 for none.
    """
    gyroscope, accelerometer = (m.at_rate(imu.rate_hz) for m in (imu.gyroscope, imu.accelerometer))
    numbers = [source.number for source in sources]
    free = FIX in numbers and not known
    # Odometry or anchors would be right where GPS is not.
    alone = POSE not in numbers and ANCHORS not in numbers and math.isfinite(gps_reset_time)
    rate = next((source.sensor.rate_hz for source in sources if source.number == FIX), 0.0)
    position = UNKNOWN_POSITION if free else KNOWN_POSITION
    rests = {
        name: 5.0 * noise.white_sigma + 3.0 * (noise.bias_sigma + noise.turn_on_bias) + _MARGINS[name]
        for name, noise in (("rate", gyroscope), ("force", accelerometer))
    }
    variances: tuple[float, ...] = ()
    if scale >= 0:
        variances = (*scale_variances(imu.gyroscope), *scale_variances(imu.accelerometer))
        rests["force"] += 3.0 * STANDARD_GRAVITY * math.sqrt(max(variances[3:]))
    return FilterParameters(
        size=size,
        lag=lag_of(imu, sources),
        used=tuple(float(k in numbers) for k in range(SOURCE_COUNT)),
        mounting=normalized(Quat(*imu.orientation)),
        arm=Vec3(*imu.position),
        rate_variance=squared(gyroscope.white_sigma),
        force_variance=squared(accelerometer.white_sigma) + vibration * vibration * imu.rate_hz,
        rate_drive=squared(gyroscope.drive),
        force_drive=squared(accelerometer.drive),
        rate_bias_variance=squared(gyroscope.bias_sigma) + squared(gyroscope.turn_on_bias),
        force_bias_variance=squared(accelerometer.bias_sigma) + squared(accelerometer.turn_on_bias),
        known=int(known),
        samples=max(1, round(rest_time * imu.rate_hz)),
        rest_rate=rests["rate"],
        rest_force=rests["force"] + 5.0 * vibration * math.sqrt(imu.rate_hz),
        gate=gate * gate,
        gps_refusals=math.ceil(gps_reset_time * rate) if alone else 0,
        position_variance=Vec3(*[position * position] * 3),
        scale=scale,
        scale_variance=variances,
        wind=wind,
    )


def require_scale_errors(imu: IMU, name: str) -> None:
    """Require errors of scale of an IMU whose errors of scale are states.

    Args:
        imu: The IMU.
        name: Its name.

    Raises:
        ConfigError: If its gyroscope or its accelerometer has none.
    """
    for part in ("gyroscope", "accelerometer"):
        if min(scale_variances(getattr(imu, part))) == 0.0:
            raise ConfigError(
                f"the {part} of sensor {name!r} has no error of scale",
                field="estimator.scale_factors",
                value=True,
                remedy=f"give it one, such as {part}: {{scale_error_sigma: 0.005}}",
            )


def scale_variances(noise: InertialNoise) -> tuple[float, float, float]:
    """Return the variances of the errors of scale along the axes of an inertial sensor.

    Args:
        noise: Its errors; a fixed one counts as a deviation, like a turn-on bias.
    """
    sigma = noise.scale_error_sigma
    x, y, z = (fixed * fixed + sigma * sigma for fixed in noise.scale_error)
    return x, y, z


def lag_of(imu: IMU, sources: list[Source]) -> int:
    """Return the number of readings of the IMU in the longest latency of a sensor, rounded up.

    Args:
        imu: The IMU.
        sources: The other sensors.
    """
    latency = max((float(getattr(source.sensor, "latency", 0.0)) for source in sources), default=0.0)
    return math.ceil(latency * imu.rate_hz - 1e-9)
