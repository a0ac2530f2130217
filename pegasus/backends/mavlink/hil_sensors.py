"""Which of a vehicle's sensors PX4 is told of, in which messages, and how late it must take them to be."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pegasus.arrays import Array, row_product
from pegasus.backends.mavlink.hil import SensorMessage, gps_message
from pegasus.backends.mavlink.hil_extras import flow_message, odometry_message, orientation_of, range_message
from pegasus.errors import ConfigError
from pegasus.frames import matrix_from_quaternion, normalize
from pegasus.sensors import (
    GPS,
    IMU,
    Airspeed,
    Barometer,
    ImuReading,
    Magnetometer,
    Odometry,
    OpticalFlow,
    Rangefinder,
    Sensor,
)
from pegasus.sensors.sensor import Reading

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor

_log = logging.getLogger(__name__)

Converter = Callable[[int, Any, int], NamedTuple]
"""From time [us], reading and row to a message."""

_TAKES: dict[type[Sensor], Callable[[SensorMessage, Any], None]] = {
    Magnetometer: SensorMessage.take_magnetometer,
    Barometer: SensorMessage.take_barometer,
    Airspeed: SensorMessage.take_airspeed,
}
_CONVERTS: dict[type[Sensor], Converter] = {
    GPS: gps_message,
    OpticalFlow: flow_message,
    Odometry: odometry_message,
}
_NEEDED: dict[str, tuple[type[Sensor], ...]] = {
    "GPS": (GPS, Odometry, OpticalFlow),
    "magnetometer": (Magnetometer,),
    "barometer": (Barometer,),
}
"""What PX4 does not arm without, and the sensors any of which will do for it."""
_NEEDED_WITH_WINGS: dict[str, tuple[type[Sensor], ...]] = {**_NEEDED, "airspeed sensor": (Airspeed,)}
_DELAYS: dict[type[Sensor], str] = {
    GPS: "EKF2_GPS_DELAY",
    Odometry: "EKF2_EV_DELAY",
    Airspeed: "EKF2_ASP_DELAY",
    OpticalFlow: "EKF2_OF_DELAY",
    Rangefinder: "EKF2_RNG_DELAY",
}
"""PX4's parameters for the age of readings when they come [ms]."""
_LONGEST_DELAY = 300.0
_HORIZON, _LEAST_HORIZON, _HORIZON_RATIO = "EKF2_DELAY_MAX", 200.0, 2.0
"""PX4's parameter for how long its estimator waits for readings [ms], its default, and what is set of it.

The estimator counts this in IMU samples of 10 ms, and takes them of 8 ms at 250 Hz: what is nearly as old as
it says would come too late, and be taken for newer than it is.
"""


class HilSensors:
    """The first sensor of each kind of a vehicle, and how its readings are sent.

    Args:
        vehicle: The vehicle.

    Raises:
        ConfigError: If it has no IMU.
    """

    def __init__(self, vehicle: "Multirotor") -> None:
        kinds: list[type[Sensor]] = [IMU, Rangefinder, *_TAKES, *_CONVERTS]
        first: dict[type[Sensor], str] = {}
        for name, sensor in vehicle.sensors.items():
            for kind in kinds:
                if isinstance(sensor, kind):
                    first.setdefault(kind, name)
        if IMU not in first:
            raise ConfigError(
                "has no IMU, by whose samples PX4 is clocked", field="sensors", value=vehicle.name
            )
        self._vehicle_name, self._kinds = vehicle.name, first.keys()
        self.imu = first[IMU]
        """Name of the IMU."""
        imu: Any = vehicle.sensors[self.imu]
        self.rate: float = imu.rate_hz
        """Samples of the IMU per second [Hz]."""
        turned = any(imu.orientation[:3])
        self._mounting = matrix_from_quaternion(normalize(np.array(imu.orientation))) if turned else None
        self._takes = {first[kind]: take for kind, take in _TAKES.items() if kind in first}
        self._converts: dict[str, Converter] = {
            first[kind]: convert for kind, convert in _CONVERTS.items() if kind in first
        }
        if Rangefinder in first:
            finder: Any = vehicle.sensors[first[Rangefinder]]
            orientation = orientation_of(finder.direction)
            self._converts[first[Rangefinder]] = partial(range_message, orientation=orientation)
        self.delays: dict[str, float] = {
            parameter: min(1e3 * getattr(vehicle.sensors[first[kind]], "latency", 0.0), _LONGEST_DELAY)
            for kind, parameter in _DELAYS.items()
            if kind in first
        }
        """PX4's parameters that say how old readings come, and how long they are waited for [ms]."""
        horizon = _HORIZON_RATIO * max(self.delays.values(), default=0.0)
        if horizon > _LEAST_HORIZON:
            self.delays[_HORIZON] = horizon

    def warn_of_missing(self, *, wings: bool) -> None:
        """Warn of each sensor that the vehicle lacks and PX4 does not arm without.

        Args:
            wings: Whether PX4 flies an airframe with wings, which needs an airspeed sensor.
        """
        for what, any_of in (_NEEDED_WITH_WINGS if wings else _NEEDED).items():
            if self._kinds.isdisjoint(any_of):
                _log.warning("vehicle %r has no %s: PX4 will not arm", self._vehicle_name, what)

    def take(
        self, readings: Mapping[str, Reading], messages: list[SensorMessage]
    ) -> tuple[ImuReading | None, list[tuple[Converter, Reading]]]:
        """Put readings into the sensor messages that they belong to.

        Args:
            readings: New readings by sensor name.
            messages: The sensor message of each copy of the vehicle.

        Returns:
            The sample of the IMU in the body frame, None if there is no new one, and those readings that
            have messages of their own.
        """
        imu: ImuReading | None = None
        others: list[tuple[Converter, Reading]] = []
        for name, reading in readings.items():
            if name == self.imu:
                assert isinstance(reading, ImuReading)
                imu = reading if self._mounting is None else in_body_frame(reading, self._mounting)
            elif (take := self._takes.get(name)) is not None:
                for message in messages:
                    take(message, reading)
            elif (convert := self._converts.get(name)) is not None:
                others.append((convert, reading))
        return imu, others


def in_body_frame(reading: ImuReading, mounting: Array) -> ImuReading:
    """Return a sample of an IMU in the body frame, which is what HIL_SENSOR holds.

    Args:
        reading: The sample in the frame of the IMU.
        mounting: Rotation matrix from the frame of the IMU to the body frame, shape (3, 3).
    """
    to_body = mounting.T
    return ImuReading(
        reading.stamp,
        row_product(reading.angular_velocity, to_body),
        row_product(reading.specific_force, to_body),
    )
