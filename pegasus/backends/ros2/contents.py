"""What each topic of a vehicle holds: units, frames and covariances as REP 103 and REP 105 have them.

A content is a message whose numbers change and whose rest does not: the rest is encoded once.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pegasus.backends.ros2.description import Message
from pegasus.backends.ros2.frame_tree import BASE_LINK, MAP, ODOM
from pegasus.backends.ros2.messages import (
    AccelStamped,
    BatteryState,
    FluidPressure,
    Header,
    Imu,
    MagneticField,
    NavSatFix,
    NavSatStatus,
    Odometry,
    PoseStamped,
    Range,
    TFMessage,
    TransformStamped,
    TwistStamped,
)
from pegasus.backends.ros2.qos import RELIABLE, SENSOR_DATA, QoS
from pegasus.frames import matrix_from_quaternion, rotate, rotate_inverse
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
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor

_STATE_RATE = 100.0
"""How often the true state and `/tf` are told unless a user wants more [Hz]."""
_NO_ORIENTATION = (-1.0, *[0.0] * 8)
"""Covariance that says that an IMU does not measure its orientation."""

_LINEAR, _ANGULAR = np.arange(3), np.arange(3, 6)

Numbers = Sequence[Sequence[float]]
"""Numbers of N messages, each in the order in which they stand in the message."""


class Content(NamedTuple):
    """What a topic holds."""

    topic: str
    """Its own name."""
    message: Callable[[str], Message]
    """From the prefix of a copy's frames, with its slash, to a message with all that does not change."""
    varying: tuple[str, ...]
    """The fields of it that change, in their order; the stamp is the first."""
    numbers: Callable[[Any], Numbers]
    """From state or reading to the numbers of the N copies."""
    qos: QoS
    rate: float | None = None
    """Its own rate [Hz]; None for as often as there is something new."""


def state_contents() -> list[Content]:
    """Return the topics that tell the true state of a vehicle."""
    return [
        Content(
            "state/pose",
            lambda _: PoseStamped(Header(frame_id=MAP)),
            ("header.stamp", "pose"),
            _pose,
            RELIABLE,
            _STATE_RATE,
        ),
        Content(
            "state/twist",
            lambda prefix: TwistStamped(Header(frame_id=prefix + BASE_LINK)),
            ("header.stamp", "twist"),
            _body_twist,
            RELIABLE,
            _STATE_RATE,
        ),
        Content(
            "state/twist_inertial",
            lambda _: TwistStamped(Header(frame_id=MAP)),
            ("header.stamp", "twist"),
            _inertial_twist,
            RELIABLE,
            _STATE_RATE,
        ),
        Content(
            "state/accel",
            lambda prefix: AccelStamped(Header(frame_id=prefix + BASE_LINK)),
            ("header.stamp", "accel"),
            _body_acceleration,
            RELIABLE,
            _STATE_RATE,
        ),
        Content(
            "odom",
            lambda prefix: Odometry(Header(frame_id=MAP), child_frame_id=prefix + BASE_LINK),
            ("header.stamp", "pose.pose", "twist.twist"),
            _odometry,
            RELIABLE,
            _STATE_RATE,
        ),
        Content(
            "/tf",
            lambda prefix: TFMessage(
                [TransformStamped(Header(frame_id=MAP), child_frame_id=prefix + BASE_LINK)]
            ),
            ("transforms.0.header.stamp", "transforms.0.transform"),
            _pose,
            RELIABLE,
            _STATE_RATE,
        ),
    ]


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


def _pose(state: VehicleState) -> Numbers:
    both: Numbers = np.concatenate((state.position, state.orientation), axis=1).tolist()
    return both


def _body_twist(state: VehicleState) -> Numbers:
    velocity = rotate_inverse(state.rotation, state.velocity)
    both: Numbers = np.concatenate((velocity, state.angular_velocity), axis=1).tolist()
    return both


def _inertial_twist(state: VehicleState) -> Numbers:
    angular_velocity = rotate(state.rotation, state.angular_velocity)
    both: Numbers = np.concatenate((state.velocity, angular_velocity), axis=1).tolist()
    return both


def _body_acceleration(state: VehicleState) -> Numbers:
    acceleration = rotate_inverse(state.rotation, state.acceleration)
    both: Numbers = np.concatenate((acceleration, state.angular_acceleration), axis=1).tolist()
    return both


def _odometry(state: VehicleState) -> Numbers:
    velocity = rotate_inverse(state.rotation, state.velocity)
    parts = state.position, state.orientation, velocity, state.angular_velocity
    all_four: Numbers = np.concatenate(parts, axis=1).tolist()
    return all_four


def _diagonal(variance: float) -> list[float]:
    return [variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance]


def _imu(topic: str, name: str, imu: IMU) -> list[Content]:
    rate = imu.gyroscope.noise_density**2 * imu.rate_hz
    force = imu.accelerometer.noise_density**2 * imu.rate_hz

    def numbers(reading: ImuReading) -> Numbers:
        both: Numbers = np.concatenate((reading.angular_velocity, reading.specific_force), axis=1).tolist()
        return both

    def message(prefix: str) -> Message:
        return Imu(
            Header(frame_id=prefix + name),
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

    def message(prefix: str) -> Message:
        return MagneticField(Header(frame_id=prefix + name), magnetic_field_covariance=_diagonal(variance))

    return [Content(topic, message, ("header.stamp", "magnetic_field"), numbers, SENSOR_DATA)]


def _gps(topic: str, name: str, _: GPS) -> list[Content]:
    def message(prefix: str) -> Message:
        return NavSatFix(
            Header(frame_id=prefix + name),
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
            lambda _: TwistStamped(Header(frame_id=MAP)),
            ("header.stamp", "twist"),
            velocity,
            SENSOR_DATA,
        ),
    ]


def _barometer(topic: str, name: str, barometer: Barometer) -> list[Content]:
    variance = barometer.noise_density**2 * barometer.rate_hz

    def message(prefix: str) -> Message:
        return FluidPressure(Header(frame_id=prefix + name), variance=variance)

    def numbers(reading: BarometerReading) -> Numbers:
        return [(pressure,) for pressure in reading.pressure.tolist()]

    return [Content(topic, message, ("header.stamp", "fluid_pressure"), numbers, SENSOR_DATA)]


def _airspeed(topic: str, name: str, airspeed: Airspeed) -> list[Content]:
    variance = airspeed.noise_density**2 * airspeed.rate_hz

    def message(prefix: str) -> Message:
        return FluidPressure(Header(frame_id=prefix + name), variance=variance)

    def numbers(reading: AirspeedReading) -> Numbers:
        return [(pressure,) for pressure in reading.differential_pressure.tolist()]

    return [Content(topic, message, ("header.stamp", "fluid_pressure"), numbers, SENSOR_DATA)]


def _range(topic: str, name: str, finder: Rangefinder) -> list[Content]:
    def message(prefix: str) -> Message:
        return Range(
            Header(frame_id=prefix + name),
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

    def message(prefix: str) -> Message:
        odometry = Odometry(Header(frame_id=prefix + ODOM), child_frame_id=prefix + BASE_LINK)
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
    def message(prefix: str) -> Message:
        return BatteryState(
            Header(frame_id=prefix + name),
            temperature=math.nan,
            capacity=capacity,
            design_capacity=capacity,
            power_supply_status=BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
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
