"""Sensors: barometer, IMU, magnetometer and GPS."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pegasus import sensors
from pegasus.contracts.sensor import Sensor as CoreSensor
from pegasus.simulator.notices import require_known

__all__ = ["GPS", "IMU", "Barometer", "Magnetometer", "Sensor"]


class Sensor:
    """Sensor of a vehicle: that of the vehicle's file, unless it has an `update_rate` [Hz].

    Raises:
        ConfigError: If another key is given.
    """

    name: ClassVar[str]
    kind: ClassVar[Callable[..., CoreSensor]]

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        own = type(self).__name__
        require_known(
            own, given, ("update_rate",), f"write sensors={{...}} with pegasus.sensors.{self._our()}"
        )
        self.rate_hz: float | None = given.get("update_rate")
        """Readings per second [Hz]; None for the sensor of the vehicle's file."""

    def make(self) -> CoreSensor:
        """Return the sensor of Pegasus."""
        return type(self).kind() if self.rate_hz is None else type(self).kind(rate_hz=self.rate_hz)

    @classmethod
    def _our(cls) -> str:
        return cls.kind.__name__


class Barometer(Sensor):
    """Barometer."""

    name, kind = "barometer", sensors.Barometer


class IMU(Sensor):
    """Inertial measurement unit."""

    name, kind = "imu", sensors.IMU


class Magnetometer(Sensor):
    """Magnetometer."""

    name, kind = "magnetometer", sensors.Magnetometer


class GPS(Sensor):
    """GPS receiver."""

    name, kind = "gps", sensors.GPS
