"""What each topic of a sensor holds: units, frames and covariances as REP 103 and REP 105 have them.

A content is a message whose numbers change and whose rest does not: the rest is encoded once.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pegasus.backends.ros2.description import Message
from pegasus.backends.ros2.frame_names import FrameNames
from pegasus.backends.ros2.messages import (
    BatteryState,
    FluidPressure,
    Header,
    Imu,
    MagneticField,
    NavSatFix,
    NavSatStatus,
    Odometry,
    Range,
    TwistStamped,
)
from pegasus.backends.ros2.qos import RELIABLE, SENSOR_DATA, QoS
from pegasus.frames import matrix_from_quaternion, rotate_inverse
from pegasus.sensors import (
    GPS,
    IMU,
    Airspeed,
    AirspeedReading,
    Barometer,
    BarometerReading,
    GpsReading,
    ImuReading,
    Magnetometer,
    MagnetometerReading,
    OdometryReading,
    Rangefinder,
    RangeReading,
    Sensor,
)
from pegasus.sensors import Odometry as OdometrySensor
from pegasus.sensors.battery_monitor import BatteryMonitor, BatteryReading

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor

_NO_ORIENTATION = (-1.0, *[0.0] * 8)
"""Covariance that says that an IMU does not measure its orientation."""

_LINEAR, _ANGULAR = np.arange(3), np.arange(3, 6)

Numbers = Sequence[Sequence[float]]
"""Numbers of N messages, each in the order in which they stand in the message."""


class Content(NamedTuple):
    """What a topic holds."""

    topic: str
    """Its own name."""
    message: Callable[[FrameNames], Message]
    """From the names of a copy's frames to a message with all that does not change."""
    varying: tuple[str, ...]
    """The fields of it that change, in their order; stamps are the first."""
    numbers: Callable[[Any], Numbers]
    """From state or reading to the numbers of the N copies."""
    qos: QoS
    rate: float | None = None
    """Its own rate [Hz]; None for as often as there is something new."""
    stamp_count: int = 1
    """Number of stamps, all of the same time."""


def sensor_contents(vehicle: "Multirotor") -> dict[str, list[Content]]:
    """Return the topics of each sensor without pictures, by its name.

    The first of a kind has the topic of that kind, such as `sensors/imu`; a further one has its own name
    there.

    Args:
        vehicle: The vehicle.
    """
    contents: dict[str, list[Content]] = {}
    taken: set[str] = set()
    for name, sensor in vehicle.sensors.items():
        for kind, (topic, make) in _MAKERS.items():
            if isinstance(sensor, kind):
                own = name if topic in taken else topic
                # The further one may be called as the topic of the first.
                own = f"{own}_2" if own in taken else own
                contents[name] = make(f"sensors/{own}", name, sensor)
                taken.add(own)
        if isinstance(sensor, BatteryMonitor) and vehicle.battery is not None:
            contents[name] = _battery("battery", name, vehicle.battery.battery.capacity)
    return contents


def _diagonal(variance: float) -> list[float]:
    return [variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance]


def _imu(topic: str, name: str, imu: IMU) -> list[Content]:
    rate = imu.gyroscope.noise_density**2 * imu.rate_hz
    force = imu.accelerometer.noise_density**2 * imu.rate_hz

    def numbers(reading: ImuReading) -> Numbers:
        both: Numbers = np.concatenate((reading.angular_velocity, reading.specific_force), axis=1).tolist()
        return both

    def message(frames: FrameNames) -> Message:
        return Imu(
            Header(frame_id=frames.own(name)),
            orientation_covariance=_NO_ORIENTATION,
            angular_velocity_covariance=_diagonal(rate),
            linear_acceleration_covariance=_diagonal(force),
        )

    return [
        Content(
            topic, message, ("header.stamp", "angular_velocity", "linear_acceleration"), numbers, SENSOR_DATA
        )
    ]


def _magnetometer(topic: str, name: str, magnetometer: Magnetometer) -> list[Content]:
    variance = magnetometer.noise_density**2 * magnetometer.rate_hz

    def numbers(reading: MagnetometerReading) -> Numbers:
        field: Numbers = reading.magnetic_field.tolist()
        return field

    def message(frames: FrameNames) -> Message:
        return MagneticField(Header(frame_id=frames.own(name)), magnetic_field_covariance=_diagonal(variance))

    return [Content(topic, message, ("header.stamp", "magnetic_field"), numbers, SENSOR_DATA)]


def _gps(topic: str, name: str, _: GPS) -> list[Content]:
    def message(frames: FrameNames) -> Message:
        return NavSatFix(
            Header(frame_id=frames.own(name)),
            status=NavSatStatus(service=NavSatStatus.SERVICE_GPS),
            position_covariance_type=NavSatFix.COVARIANCE_TYPE_APPROXIMATED,
        )

    def numbers(reading: GpsReading) -> Numbers:
        rows = zip(
            reading.fix_type.tolist(),
            reading.latitude.tolist(),
            reading.longitude.tolist(),
            reading.altitude.tolist(),
            (reading.eph**2).tolist(),
            (reading.epv**2).tolist(),
            strict=True,
        )
        return [
            (
                NavSatStatus.STATUS_FIX if fix else NavSatStatus.STATUS_NO_FIX,
                latitude,
                longitude,
                altitude,
                *(horizontal, 0.0, 0.0, 0.0, horizontal, 0.0, 0.0, 0.0, vertical),
            )
            for fix, latitude, longitude, altitude, horizontal, vertical in rows
        ]

    def velocity(reading: GpsReading) -> Numbers:
        columns = np.zeros((len(reading.velocity), 6))
        columns[:, :3] = reading.velocity
        rows: Numbers = columns.tolist()
        return rows

    fields = ("header.stamp", "status.status", "latitude", "longitude", "altitude", "position_covariance")
    return [
        Content(topic, message, fields, numbers, SENSOR_DATA),
        Content(
            f"{topic}_twist",
            lambda frames: TwistStamped(Header(frame_id=frames.map)),
            ("header.stamp", "twist"),
            velocity,
            SENSOR_DATA,
        ),
    ]


def _barometer(topic: str, name: str, barometer: Barometer) -> list[Content]:
    variance = barometer.noise_density**2 * barometer.rate_hz

    def message(frames: FrameNames) -> Message:
        return FluidPressure(Header(frame_id=frames.own(name)), variance=variance)

    def numbers(reading: BarometerReading) -> Numbers:
        return [(pressure,) for pressure in reading.pressure.tolist()]

    return [Content(topic, message, ("header.stamp", "fluid_pressure"), numbers, SENSOR_DATA)]


def _airspeed(topic: str, name: str, airspeed: Airspeed) -> list[Content]:
    variance = airspeed.noise_density**2 * airspeed.rate_hz

    def message(frames: FrameNames) -> Message:
        return FluidPressure(Header(frame_id=frames.own(name)), variance=variance)

    def numbers(reading: AirspeedReading) -> Numbers:
        return [(pressure,) for pressure in reading.differential_pressure.tolist()]

    return [Content(topic, message, ("header.stamp", "fluid_pressure"), numbers, SENSOR_DATA)]


def _range(topic: str, name: str, finder: Rangefinder) -> list[Content]:
    def message(frames: FrameNames) -> Message:
        return Range(
            Header(frame_id=frames.own(name)),
            radiation_type=Range.ULTRASOUND if finder.ray_count > 1 else Range.INFRARED,
            field_of_view=finder.cone_angle,
            min_range=finder.min_range,
            max_range=finder.max_range,
        )

    def numbers(reading: RangeReading) -> Numbers:
        middle = (reading.min_range + reading.max_range) / 2
        return [
            (distance if valid else math.inf if distance > middle else -math.inf, sigma * sigma)
            for distance, valid in zip(reading.distance.tolist(), reading.valid.tolist(), strict=True)
            for sigma in (finder.noise_sigma + finder.proportional_noise * distance,)
        ]

    return [Content(topic, message, ("header.stamp", "range", "variance"), numbers, SENSOR_DATA)]


def _estimate(topic: str, _: str, sensor: OdometrySensor) -> list[Content]:
    velocity = sensor.velocity_noise_density**2 * sensor.rate_hz
    rate = sensor.angular_velocity_noise_density**2 * sensor.rate_hz

    def message(frames: FrameNames) -> Message:
        odometry = Odometry(Header(frame_id=frames.odom), child_frame_id=frames.base_link)
        odometry.twist.covariance = np.diag([velocity] * 3 + [rate] * 3).ravel().tolist()
        return odometry

    def numbers(reading: OdometryReading) -> Numbers:
        covariance = np.zeros((len(reading.position), 6, 6))
        covariance[:, _LINEAR, _LINEAR] = reading.position_variance
        covariance[:, _ANGULAR, _ANGULAR] = reading.orientation_variance
        parts = (
            reading.position,
            reading.orientation,
            covariance.reshape(-1, 36),
            rotate_inverse(matrix_from_quaternion(reading.orientation), reading.velocity),
            reading.angular_velocity,
        )
        rows: Numbers = np.concatenate(parts, axis=1).tolist()
        return rows

    fields = ("header.stamp", "pose.pose", "pose.covariance", "twist.twist")
    return [Content(topic, message, fields, numbers, SENSOR_DATA)]


def _battery(topic: str, name: str, capacity: float) -> list[Content]:
    def message(frames: FrameNames) -> Message:
        return BatteryState(
            Header(frame_id=frames.own(name)),
            temperature=math.nan,
            capacity=capacity,
            design_capacity=capacity,
            power_supply_status=BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
            power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO,
            present=True,
        )

    def numbers(reading: BatteryReading) -> Numbers:
        columns = np.stack(
            (reading.voltage, -reading.current, reading.charge * capacity, reading.charge), axis=1
        )
        rows: Numbers = columns.tolist()
        return rows

    return [
        Content(
            topic,
            message,
            ("header.stamp", "voltage", "current", "charge", "percentage"),
            numbers,
            RELIABLE,
        )
    ]


_MAKERS: dict[type[Sensor], tuple[str, Callable[[str, str, Any], list[Content]]]] = {
    IMU: ("imu", _imu),
    Magnetometer: ("mag", _magnetometer),
    GPS: ("gps", _gps),
    Barometer: ("barometer", _barometer),
    Airspeed: ("diff_pressure", _airspeed),
    Rangefinder: ("range", _range),
    OdometrySensor: ("odometry", _estimate),
}
