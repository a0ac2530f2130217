"""Contents of the topics of readings and true states: units, frames, covariances (REP 103, REP 105)."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pegasus.backends.ros2.frames import FrameNames, Frames
from pegasus.backends.ros2.graph import RELIABLE, SENSOR_DATA, QoS
from pegasus.backends.ros2.messages import Message, constants, message
from pegasus.backends.ros2.topics import TRANSFORMS
from pegasus.base.arrays import Array
from pegasus.base.frames import conjugate, matrix_from_quaternion, multiply, rotate, rotate_inverse
from pegasus.base.registry import ClassTable
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
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
    Odometry,
    OdometryReading,
    Rangefinder,
    RangeReading,
)
from pegasus.sensors.battery_monitor import BatteryMonitor, BatteryReading
from pegasus.sensors.gps import NO_FIX, RTK_FIXED, RTK_FLOAT

_NO_ORIENTATION = (-1.0, *[0.0] * 8)
"""Covariance of an IMU that does not measure its orientation."""
_LINEAR, _ANGULAR = np.arange(3), np.arange(3, 6)
STATE_RATE = 100.0
"""Default rate of the true state and of `/tf` [Hz]."""
STATE_TOPICS = (
    *("state/pose", "state/twist", "state/twist_inertial", "state/accel"),
    *("odom", "joint_states", TRANSFORMS),
)

Numbers = Sequence[Sequence[float]]
"""Numbers of N messages, each in the order of the message's fields; none where there is no message."""


class Content(NamedTuple):
    """Content of a topic whose messages differ only in some numbers."""

    topic: str
    """Default name of the topic."""
    message: Callable[[FrameNames], Message]
    """Function from the frame names of a copy to a message with its constant values."""
    varying: tuple[str, ...]
    """Paths of the fields that change, in their order; stamps come first."""
    numbers: Callable[[Any], Numbers]
    """Function from state or reading to the numbers of the N copies."""
    qos: QoS
    """Default quality of service."""
    rate: float | None = None
    """Default rate [Hz]; None for every new reading or state."""
    stamp_count: int = 1
    """Number of stamps, all of the same time; 0 if the numbers begin with them."""


class SensorTopics(NamedTuple):
    """Topics of a class of sensors."""

    topic: str
    """Topic of the first such sensor of a vehicle, such as `sensors/imu`."""
    contents: Callable[[str, str, Any], list[Content]]
    """Function from topic, name and sensor to the contents of its topics."""


def sensor_contents(vehicle: EquippedVehicle) -> dict[str, list[Content]]:
    """Return the topics of each sensor without images, by the sensor's name.

    The first sensor of a type has the topic of that type, such as `sensors/imu`; further ones have their own
    names instead.
    """
    contents: dict[str, list[Content]] = {}
    taken: set[str] = set()
    for name, sensor in vehicle.sensors.items():
        if (entry := SENSOR_TOPICS.find(sensor)) is None:
            continue
        topic = f"sensors/{name}" if entry.topic in taken else entry.topic
        # A further sensor may have the name of the first one's topic.
        topic = f"{topic}_2" if topic in taken else topic
        contents[name] = entry.contents(topic, name, sensor)
        taken.add(topic)
    return contents


def _diagonal(variance: float) -> list[float]:
    return [variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance]


def _rows(*parts: Array) -> Numbers:
    rows: Numbers = np.concatenate(parts, axis=1).tolist()
    return rows


def _imu(topic: str, name: str, imu: IMU) -> list[Content]:
    rate = imu.gyroscope.noise_density**2 * imu.rate_hz
    force = imu.accelerometer.noise_density**2 * imu.rate_hz

    def make(frames: FrameNames) -> Message:
        return message(
            "sensor_msgs/msg/Imu",
            header={"frame_id": frames.own(name)},
            orientation_covariance=_NO_ORIENTATION,
            angular_velocity_covariance=_diagonal(rate),
            linear_acceleration_covariance=_diagonal(force),
        )

    def numbers(reading: ImuReading) -> Numbers:
        return _rows(reading.angular_velocity, reading.specific_force)

    fields = ("header.stamp", "angular_velocity", "linear_acceleration")
    return [Content(topic, make, fields, numbers, SENSOR_DATA)]


def _magnetometer(topic: str, name: str, magnetometer: Magnetometer) -> list[Content]:
    variance = magnetometer.noise_density**2 * magnetometer.rate_hz

    def make(frames: FrameNames) -> Message:
        return message(
            "sensor_msgs/msg/MagneticField",
            header={"frame_id": frames.own(name)},
            magnetic_field_covariance=_diagonal(variance),
        )

    def numbers(reading: MagnetometerReading) -> Numbers:
        return _rows(reading.magnetic_field)

    return [Content(topic, make, ("header.stamp", "magnetic_field"), numbers, SENSOR_DATA)]


def _gps(topic: str, name: str, _: GPS) -> list[Content]:
    status = constants("sensor_msgs/msg/NavSatStatus")

    def make(frames: FrameNames) -> Message:
        kind = "sensor_msgs/msg/NavSatFix"
        return message(
            kind,
            header={"frame_id": frames.own(name)},
            status={"service": status.SERVICE_GPS},
            position_covariance_type=constants(kind).COVARIANCE_TYPE_APPROXIMATED,
        )

    # Corrections of a base station on the ground are an augmentation of that kind.
    states = {
        NO_FIX: status.STATUS_NO_FIX,
        RTK_FLOAT: status.STATUS_GBAS_FIX,
        RTK_FIXED: status.STATUS_GBAS_FIX,
    }

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
                states.get(fix, status.STATUS_FIX),
                latitude,
                longitude,
                altitude,
                *(horizontal, 0.0, 0.0, 0.0, horizontal, 0.0, 0.0, 0.0, vertical),
            )
            for fix, latitude, longitude, altitude, horizontal, vertical in rows
        ]

    def velocity(reading: GpsReading) -> Numbers:
        return _rows(reading.velocity, np.zeros_like(reading.velocity))

    def twist(frames: FrameNames) -> Message:
        return message("geometry_msgs/msg/TwistStamped", header={"frame_id": frames.map})

    fields = ("header.stamp", "status.status", "latitude", "longitude", "altitude", "position_covariance")
    return [
        Content(topic, make, fields, numbers, SENSOR_DATA),
        Content(f"{topic}_twist", twist, ("header.stamp", "twist"), velocity, SENSOR_DATA),
    ]


def _barometer(topic: str, name: str, barometer: Barometer) -> list[Content]:
    def numbers(reading: BarometerReading) -> Numbers:
        return [(pressure,) for pressure in reading.pressure.tolist()]

    return [_pressure(topic, name, barometer.noise_density**2 * barometer.rate_hz, numbers)]


def _airspeed(topic: str, name: str, airspeed: Airspeed) -> list[Content]:
    def numbers(reading: AirspeedReading) -> Numbers:
        return [(pressure,) for pressure in reading.differential_pressure.tolist()]

    return [_pressure(topic, name, airspeed.noise_density**2 * airspeed.rate_hz, numbers)]


def _pressure(topic: str, name: str, variance: float, numbers: Callable[[Any], Numbers]) -> Content:
    def make(frames: FrameNames) -> Message:
        head = {"frame_id": frames.own(name)}
        return message("sensor_msgs/msg/FluidPressure", header=head, variance=variance)

    return Content(topic, make, ("header.stamp", "fluid_pressure"), numbers, SENSOR_DATA)


def _range(topic: str, name: str, finder: Rangefinder) -> list[Content]:
    def make(frames: FrameNames) -> Message:
        kind = "sensor_msgs/msg/Range"
        types = constants(kind)
        return message(
            kind,
            header={"frame_id": frames.own(name)},
            radiation_type=types.ULTRASOUND if finder.ray_count > 1 else types.INFRARED,
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

    return [Content(topic, make, ("header.stamp", "range", "variance"), numbers, SENSOR_DATA)]


def _estimate(topic: str, _: str, sensor: Odometry) -> list[Content]:
    velocity = sensor.velocity_noise_density**2 * sensor.rate_hz
    rate = sensor.angular_velocity_noise_density**2 * sensor.rate_hz

    def make(frames: FrameNames) -> Message:
        return message(
            "nav_msgs/msg/Odometry",
            header={"frame_id": frames.odom},
            child_frame_id=frames.base_link,
            twist={"covariance": np.diag([velocity] * 3 + [rate] * 3)},
        )

    def numbers(reading: OdometryReading) -> Numbers:
        covariance = np.zeros((len(reading.position), 6, 6))
        covariance[:, _LINEAR, _LINEAR] = reading.position_variance
        covariance[:, _ANGULAR, _ANGULAR] = reading.orientation_variance
        return _rows(
            reading.position,
            reading.orientation,
            covariance.reshape(-1, 36),
            rotate_inverse(matrix_from_quaternion(reading.orientation), reading.velocity),
            reading.angular_velocity,
        )

    fields = ("header.stamp", "pose.pose", "pose.covariance", "twist.twist")
    return [Content(topic, make, fields, numbers, SENSOR_DATA)]


def _battery(topic: str, name: str, monitor: BatteryMonitor) -> list[Content]:
    capacity = monitor.capacity

    def make(frames: FrameNames) -> Message:
        kind = "sensor_msgs/msg/BatteryState"
        return message(
            kind,
            header={"frame_id": frames.own(name)},
            temperature=math.nan,
            capacity=capacity,
            design_capacity=capacity,
            power_supply_status=constants(kind).POWER_SUPPLY_STATUS_DISCHARGING,
            power_supply_technology=constants(kind).POWER_SUPPLY_TECHNOLOGY_LIPO,
            present=True,
        )

    def numbers(reading: BatteryReading) -> Numbers:
        columns = (reading.voltage, -reading.current, reading.charge * capacity, reading.charge)
        rows: Numbers = np.stack(columns, axis=1).tolist()
        return rows

    fields = ("header.stamp", "voltage", "current", "charge", "percentage")
    return [Content(topic, make, fields, numbers, RELIABLE)]


SENSOR_TOPICS: ClassTable[SensorTopics] = ClassTable(
    {
        IMU: SensorTopics("sensors/imu", _imu),
        Magnetometer: SensorTopics("sensors/mag", _magnetometer),
        GPS: SensorTopics("sensors/gps", _gps),
        Barometer: SensorTopics("sensors/barometer", _barometer),
        Airspeed: SensorTopics("sensors/diff_pressure", _airspeed),
        Rangefinder: SensorTopics("sensors/range", _range),
        Odometry: SensorTopics("sensors/odometry", _estimate),
        BatteryMonitor: SensorTopics("battery", _battery),
    }
)
"""Topics of sensors by their class; `register` adds those of a custom sensor."""


class Variances(NamedTuple):
    """Variances that the true odometry states: along x, y and z, then about x, y and z."""

    pose: tuple[float, ...]
    """Variances of the pose [m^2, rad^2], six numbers."""
    twist: tuple[float, ...]
    """Variances of the twist [m^2/s^2, rad^2/s^2], six numbers."""


def state_contents(vehicle: EquippedVehicle, frames: Frames, variances: Variances) -> list[Content]:
    """Return the topics of the true state of a vehicle, those of `STATE_TOPICS`.

    Args:
        vehicle: The vehicle; its frame `odom` is that of its first external estimator, else equal to the map.
        frames: Names and tree of its frames.
        variances: Variances that the odometry states.
    """
    estimator = next((s for _, s in vehicle.sensors.items() if isinstance(s, Odometry)), None)

    def map_to_odom(state: VehicleState) -> Array:
        if estimator is None:
            return np.tile((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (len(state.position), 1))
        return np.concatenate(estimator.frame_pose(), axis=1)

    def odom_to_base(state: VehicleState) -> Array:
        return _pose(state) if estimator is None else _relative(map_to_odom(state), _pose(state))

    def odometry(names: FrameNames) -> Message:
        return message(
            "nav_msgs/msg/Odometry",
            header={"frame_id": names.odom if frames.tree == "odom" else names.map},
            child_frame_id=names.base_link,
            pose={"covariance": np.diag(variances.pose)},
            twist={"covariance": np.diag(variances.twist)},
        )

    pose = odom_to_base if frames.tree == "odom" else _pose
    edges = {
        "full": [_Edge("map", "odom", map_to_odom), _Edge("odom", "base_link", odom_to_base)],
        "odom": [_Edge("odom", "base_link", odom_to_base)],
        "map": [_Edge("map", "base_link", _pose)],
    }[frames.tree]
    if frames.tree == "map" and estimator is not None:
        edges.append(_Edge("map", "odom", map_to_odom))
    return [
        _stamped("pose", "PoseStamped", "map", "pose", lambda state: _rows(_pose(state))),
        _stamped("twist", "TwistStamped", "base_link", "twist", lambda state: _rows(_body_twist(state))),
        _stamped("twist_inertial", "TwistStamped", "map", "twist", _inertial_twist),
        _stamped("accel", "AccelStamped", "base_link", "accel", _body_acceleration),
        Content(
            "odom",
            odometry,
            ("header.stamp", "pose.pose", "twist.twist"),
            lambda state: _rows(pose(state), _body_twist(state)),
            RELIABLE,
            STATE_RATE,
        ),
        _transforms(edges),
        *_joint_states(vehicle),
    ]


def _joint_states(vehicle: EquippedVehicle) -> list[Content]:
    """Return the topic of the angles of joints, if there are any."""
    names = list(vehicle.parameters[0].airframe.hinges)

    def make(_: FrameNames) -> Message:
        return message("sensor_msgs/msg/JointState", name=names, position=[0.0] * len(names))

    def numbers(_: VehicleState) -> Numbers:
        angles: Numbers = vehicle.columns["joint_angle"].tolist()
        return angles

    fields = ("header.stamp", "position")
    return [Content("joint_states", make, fields, numbers, RELIABLE, STATE_RATE)] if names else []


def _stamped(
    topic: str, kind: str, frame: str, field: str, numbers: Callable[[VehicleState], Numbers]
) -> Content:
    def make(names: FrameNames) -> Message:
        return message(f"geometry_msgs/msg/{kind}", header={"frame_id": getattr(names, frame)})

    return Content(f"state/{topic}", make, ("header.stamp", field), numbers, RELIABLE, STATE_RATE)


class _Edge(NamedTuple):
    """Transform of the tree, child to parent."""

    parent: str
    child: str
    pose: Callable[[VehicleState], Array]


def _transforms(edges: Sequence[_Edge]) -> Content:
    def make(names: FrameNames) -> Message:
        transforms = [
            {
                "header": {"frame_id": getattr(names, edge.parent)},
                "child_frame_id": getattr(names, edge.child),
            }
            for edge in edges
        ]
        return message("tf2_msgs/msg/TFMessage", transforms=transforms)

    paths = [f"transforms.{i}" for i in range(len(edges))]
    return Content(
        TRANSFORMS,
        make,
        (*(f"{path}.header.stamp" for path in paths), *(f"{path}.transform" for path in paths)),
        lambda state: _rows(*(edge.pose(state) for edge in edges)),
        RELIABLE,
        STATE_RATE,
        stamp_count=len(edges),
    )


def _pose(state: VehicleState) -> Array:
    return np.concatenate((state.position, state.orientation), axis=1)


def _relative(frame: Array, pose: Array) -> Array:
    """Return poses relative to other poses: position and quaternion xyzw, shape (N, 7)."""
    offset = rotate_inverse(matrix_from_quaternion(frame[:, 3:]), pose[:, :3] - frame[:, :3])
    turn = multiply(conjugate(frame[:, 3:]), pose[:, 3:])
    return np.concatenate((offset, turn), axis=1)


def _body_twist(state: VehicleState) -> Array:
    velocity = rotate_inverse(state.rotation, state.velocity)
    return np.concatenate((velocity, state.angular_velocity), axis=1)


def _inertial_twist(state: VehicleState) -> Numbers:
    return _rows(state.velocity, rotate(state.rotation, state.angular_velocity))


def _body_acceleration(state: VehicleState) -> Numbers:
    return _rows(rotate_inverse(state.rotation, state.acceleration), state.angular_acceleration)
