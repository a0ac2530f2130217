"""Sensors of a vehicle for PX4: their HIL messages, and PX4's parameters for their delays."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pegasus.backends.mavlink.airframe import in_body_frame, orientation_of
from pegasus.backends.mavlink.local_axes import LocalAxes
from pegasus.backends.px4.hil import (
    SensorMessages,
    flow_message,
    gps_message,
    odometry_message,
    range_message,
)
from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, normalize
from pegasus.base.registry import ClassTable
from pegasus.contracts.reading import Reading
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.aircraft import as_aircraft
from pegasus.sensors import (
    GPS,
    IMU,
    Airspeed,
    Barometer,
    ImuReading,
    Magnetometer,
    Odometry,
    OdometryReading,
    OpticalFlow,
    Rangefinder,
)

_log = logging.getLogger(__name__)

Converter = Callable[..., Any]
"""Function from time [us], reading and row to a message; see `HilSource.limit` for its keyword `number`."""


@dataclass(frozen=True, eq=False)
class HilSource:
    """Path of the readings of a class of sensors to PX4."""

    take: Callable[[SensorMessages, Any], None] | None = None
    """Function that writes a reading into the HIL_SENSOR messages of all copies."""
    converter: Callable[[Any], Converter] | None = None
    """Function from the sensor to the converter of readings that have a message of their own."""
    provides: str | None = None
    """Name of what PX4 needs to arm, such as "GPS"."""
    delay: str | None = None
    """PX4 parameter for the age of a reading when it arrives [ms]."""
    limit: int = 1
    """Number of such sensors of a vehicle that PX4 takes, the first ones.

    Above 1 the converter of each but the first gets the keyword `number`, from 1.
    """


def _range_converter(finder: Rangefinder) -> Converter:
    return partial(range_message, orientation=orientation_of(finder.direction))


def _odometry_converter(sensor: Odometry) -> Converter:
    # An estimator that is not aligned with north would turn PX4's heading.
    def convert(time_usec: int, reading: OdometryReading, copy: int) -> Any:
        start = as_aircraft(sensor.vehicle).start
        axes = LocalAxes.at(sensor.environment.origin, start.position[copy].tolist())
        return odometry_message(time_usec, reading, copy, axes=axes)

    return convert


HIL_SOURCES: ClassTable[HilSource] = ClassTable(
    {
        Magnetometer: HilSource(take=SensorMessages.take_magnetometer, provides="magnetometer", limit=2),
        Barometer: HilSource(take=SensorMessages.take_barometer, provides="barometer"),
        Airspeed: HilSource(
            take=SensorMessages.take_airspeed, provides="airspeed sensor", delay="EKF2_ASP_DELAY"
        ),
        GPS: HilSource(converter=lambda _: gps_message, provides="GPS", delay="EKF2_GPS_DELAY", limit=2),
        OpticalFlow: HilSource(converter=lambda _: flow_message, provides="GPS", delay="EKF2_OF_DELAY"),
        Odometry: HilSource(converter=_odometry_converter, provides="GPS", delay="EKF2_EV_DELAY"),
        Rangefinder: HilSource(converter=_range_converter, delay="EKF2_RNG_DELAY"),
    }
)
"""Paths of readings to PX4 by the sensor's class; `register` adds those of a custom sensor."""
_NEEDED = ("GPS", "magnetometer", "barometer")
"""Sources that PX4 does not arm without; odometry or optical flow replaces the GPS."""
_MAX_IMUS = 3
_MAX_DELAY = 300.0
_HORIZON, _MIN_HORIZON, _HORIZON_RATIO = "EKF2_DELAY_MAX", 200.0, 2.0
"""PX4's parameter for the delay horizon of its estimator [ms], its default, and its ratio to the delays.

The estimator counts it in IMU samples of 10 ms, but uses samples of 8 ms at 250 Hz: readings nearly as old as
the horizon would be fused too late.
"""


class HilSensors:
    """Sensors of a vehicle that PX4 takes, with the conversion of their readings.

    Raises:
        ConfigError: If the vehicle has no IMU.
    """

    def __init__(self, vehicle: EquippedVehicle) -> None:
        found: dict[HilSource, list[str]] = {}
        imus = []
        for name, sensor in vehicle.sensors.items():
            if isinstance(sensor, IMU):
                imus.append((name, sensor))
            elif (source := HIL_SOURCES.find(sensor)) is not None:
                found.setdefault(source, []).append(name)
        if not imus:
            raise ConfigError("has no IMU, whose samples clock PX4", field="sensors", value=vehicle.name)
        self._vehicle_name = vehicle.name
        self._provided = {source.provides for source in found}
        self.imu = imus[0][0]
        """Name of the IMU whose samples clock PX4."""
        self.rate: float = imus[0][1].rate_hz
        """Its rate [Hz]."""
        self._imus = {name: (k, _mounting(imu)) for k, (name, imu) in enumerate(imus[:_MAX_IMUS])}
        self._takes: dict[str, tuple[int, Callable[[SensorMessages, Any], None]]] = {}
        self._converts: dict[str, Converter] = {}
        for source, names in found.items():
            for k, name in enumerate(names[: source.limit]):
                if source.take is not None:
                    self._takes[name] = k, source.take
                if source.converter is not None:
                    convert = source.converter(vehicle.sensors[name])
                    self._converts[name] = partial(convert, number=k) if k else convert
        numbers = [k for k, _ in (*self._imus.values(), *self._takes.values())]
        self.number_count = max(numbers) + 1
        """Number of `SensorMessages`, one for each number among sensors of one kind."""
        first = {source: names[0] for source, names in found.items()}
        self.delays: dict[str, float] = {
            source.delay: min(1e3 * getattr(vehicle.sensors[name], "latency", 0.0), _MAX_DELAY)
            for source, name in first.items()
            if source.delay is not None
        }
        """PX4 parameters for the age of readings, and for the time that PX4 waits for them [ms]."""
        horizon = _HORIZON_RATIO * max(self.delays.values(), default=0.0)
        if horizon > _MIN_HORIZON:
            self.delays[_HORIZON] = horizon

    def warn_of_missing(self, *, wings: bool) -> None:
        """Log a warning for each missing sensor that PX4 requires for arming.

        Args:
            wings: Whether the airframe has wings and needs an airspeed sensor.
        """
        for what in (*_NEEDED, "airspeed sensor") if wings else _NEEDED:
            if what not in self._provided:
                _log.warning("vehicle %r has no %s: PX4 will not arm", self._vehicle_name, what)

    def take(
        self, readings: Mapping[str, Reading], messages: Sequence[SensorMessages]
    ) -> tuple[ImuReading | None, list[tuple[Converter, Reading]]]:
        """Store readings in the sensor messages of their numbers.

        Returns:
            The new sample of the first IMU in the body frame or None, and the readings with messages of their
            own.
        """
        sample: ImuReading | None = None
        others: list[tuple[Converter, Reading]] = []
        for name, reading in readings.items():
            if name in self._imus:
                assert isinstance(reading, ImuReading)
                number, mounting = self._imus[name]
                reading = reading if mounting is None else in_body_frame(reading, mounting)
                if number == 0:
                    sample = reading
                else:
                    messages[number].take_imu(reading)
            elif name in self._takes:
                number, take = self._takes[name]
                take(messages[number], reading)
            elif (convert := self._converts.get(name)) is not None:
                others.append((convert, reading))
        return sample, others


def _mounting(imu: IMU) -> Array | None:
    """Return the rotation of an IMU's frame to the body frame, None if they are the same."""
    if not any(imu.orientation[:3]):
        return None
    return matrix_from_quaternion(normalize(np.array(imu.orientation)))
