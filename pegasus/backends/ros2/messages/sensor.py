"""Readings of sensors, units and constants as sensor_msgs has them."""

from collections.abc import Sequence
from typing import ClassVar

from pegasus.backends.ros2.description import Message, ros
from pegasus.backends.ros2.messages.geometry import Quaternion, Vector3
from pegasus.backends.ros2.messages.standard import Header


class Imu(Message, package="sensor_msgs"):
    """Inertial measurement; a first covariance of -1 says that the quantity is not measured."""

    header: Header = ros(Header)
    orientation: Quaternion = ros(Quaternion)
    orientation_covariance: Sequence[float] = ros("float64[9]")
    angular_velocity: Vector3 = ros(Vector3)
    angular_velocity_covariance: Sequence[float] = ros("float64[9]")
    linear_acceleration: Vector3 = ros(Vector3)
    linear_acceleration_covariance: Sequence[float] = ros("float64[9]")


class MagneticField(Message, package="sensor_msgs"):
    """Magnetic field [T]."""

    header: Header = ros(Header)
    magnetic_field: Vector3 = ros(Vector3)
    magnetic_field_covariance: Sequence[float] = ros("float64[9]")


class NavSatStatus(Message, package="sensor_msgs"):
    """Whether there is a fix, and by which satellites."""

    STATUS_UNKNOWN: ClassVar[int] = -2
    STATUS_NO_FIX: ClassVar[int] = -1
    STATUS_FIX: ClassVar[int] = 0
    STATUS_SBAS_FIX: ClassVar[int] = 1
    STATUS_GBAS_FIX: ClassVar[int] = 2
    SERVICE_GPS: ClassVar[int] = 1

    status: int = ros("int8", default=-2)
    service: int = ros("uint16")


class NavSatFix(Message, package="sensor_msgs"):
    """Latitude and longitude [deg], altitude above the ellipsoid [m]; covariance in ENU [m^2]."""

    COVARIANCE_TYPE_UNKNOWN: ClassVar[int] = 0
    COVARIANCE_TYPE_APPROXIMATED: ClassVar[int] = 1
    COVARIANCE_TYPE_DIAGONAL_KNOWN: ClassVar[int] = 2
    COVARIANCE_TYPE_KNOWN: ClassVar[int] = 3

    header: Header = ros(Header)
    status: NavSatStatus = ros(NavSatStatus)
    latitude: float = ros("float64")
    longitude: float = ros("float64")
    altitude: float = ros("float64")
    position_covariance: Sequence[float] = ros("float64[9]")
    position_covariance_type: int = ros("uint8")


class FluidPressure(Message, package="sensor_msgs"):
    """Absolute pressure [Pa]; a variance of zero means unknown."""

    header: Header = ros(Header)
    fluid_pressure: float = ros("float64")
    variance: float = ros("float64")


class Temperature(Message, package="sensor_msgs"):
    """Temperature [deg C]; a variance of zero means unknown."""

    header: Header = ros(Header)
    temperature: float = ros("float64")
    variance: float = ros("float64")


class Range(Message, package="sensor_msgs"):
    """Distance along a beam [m]; infinite where nothing is in reach."""

    ULTRASOUND: ClassVar[int] = 0
    INFRARED: ClassVar[int] = 1

    header: Header = ros(Header)
    radiation_type: int = ros("uint8")
    field_of_view: float = ros("float32")
    min_range: float = ros("float32")
    max_range: float = ros("float32")
    range: float = ros("float32")
    variance: float = ros("float32")


class BatteryState(Message, package="sensor_msgs"):
    """Battery: [V], [deg C], [A] below zero when discharging, [Ah]; NaN where not measured."""

    POWER_SUPPLY_STATUS_DISCHARGING: ClassVar[int] = 2
    POWER_SUPPLY_HEALTH_UNKNOWN: ClassVar[int] = 0
    POWER_SUPPLY_HEALTH_GOOD: ClassVar[int] = 1
    POWER_SUPPLY_TECHNOLOGY_UNKNOWN: ClassVar[int] = 0
    POWER_SUPPLY_TECHNOLOGY_LIPO: ClassVar[int] = 3

    header: Header = ros(Header)
    voltage: float = ros("float32")
    temperature: float = ros("float32")
    current: float = ros("float32")
    charge: float = ros("float32")
    capacity: float = ros("float32")
    design_capacity: float = ros("float32")
    percentage: float = ros("float32")
    power_supply_status: int = ros("uint8")
    power_supply_health: int = ros("uint8")
    power_supply_technology: int = ros("uint8")
    present: bool = ros("bool")
    cell_voltage: Sequence[float] = ros("float32[]")
    cell_temperature: Sequence[float] = ros("float32[]")
    location: str = ros("string")
    serial_number: str = ros("string")


class JointState(Message, package="sensor_msgs"):
    """Positions, velocities and efforts of joints."""

    header: Header = ros(Header)
    name: list[str] = ros("string[]")
    position: Sequence[float] = ros("float64[]")
    velocity: Sequence[float] = ros("float64[]")
    effort: Sequence[float] = ros("float64[]")


class Joy(Message, package="sensor_msgs"):
    """Sticks and buttons of a joystick."""

    header: Header = ros(Header)
    axes: Sequence[float] = ros("float32[]")
    buttons: Sequence[int] = ros("int32[]")


class Image(Message, package="sensor_msgs"):
    """Picture: rows of pixels as the encoding says, such as `rgb8` or `32FC1`."""

    header: Header = ros(Header)
    height: int = ros("uint32")
    width: int = ros("uint32")
    encoding: str = ros("string")
    is_bigendian: int = ros("uint8")
    step: int = ros("uint32")
    data: bytes = ros("uint8[]")


class CompressedImage(Message, package="sensor_msgs"):
    """Picture in a file format, such as `jpeg`."""

    header: Header = ros(Header)
    format: str = ros("string")
    data: bytes = ros("uint8[]")


class RegionOfInterest(Message, package="sensor_msgs"):
    """Part of a picture [px]; all zero for the whole."""

    x_offset: int = ros("uint32")
    y_offset: int = ros("uint32")
    height: int = ros("uint32")
    width: int = ros("uint32")
    do_rectify: bool = ros("bool")


class CameraInfo(Message, package="sensor_msgs"):
    """Calibration of a camera: distortion, intrinsic, rectification and projection matrices, row by row."""

    header: Header = ros(Header)
    height: int = ros("uint32")
    width: int = ros("uint32")
    distortion_model: str = ros("string")
    d: Sequence[float] = ros("float64[]")
    k: Sequence[float] = ros("float64[9]")
    r: Sequence[float] = ros("float64[9]")
    p: Sequence[float] = ros("float64[12]")
    binning_x: int = ros("uint32")
    binning_y: int = ros("uint32")
    roi: RegionOfInterest = ros(RegionOfInterest)


class PointField(Message, package="sensor_msgs"):
    """What a point of a cloud holds at which offset [byte]."""

    INT8: ClassVar[int] = 1
    UINT8: ClassVar[int] = 2
    INT16: ClassVar[int] = 3
    UINT16: ClassVar[int] = 4
    INT32: ClassVar[int] = 5
    UINT32: ClassVar[int] = 6
    FLOAT32: ClassVar[int] = 7
    FLOAT64: ClassVar[int] = 8

    name: str = ros("string")
    offset: int = ros("uint32")
    datatype: int = ros("uint8")
    count: int = ros("uint32")


class PointCloud2(Message, package="sensor_msgs"):
    """Points, each as its fields say."""

    header: Header = ros(Header)
    height: int = ros("uint32")
    width: int = ros("uint32")
    fields: list[PointField] = ros(PointField, "[]")
    is_bigendian: bool = ros("bool")
    point_step: int = ros("uint32")
    row_step: int = ros("uint32")
    data: bytes = ros("uint8[]")
    is_dense: bool = ros("bool")


class LaserScan(Message, package="sensor_msgs"):
    """Distances of a turning beam [m]."""

    header: Header = ros(Header)
    angle_min: float = ros("float32")
    angle_max: float = ros("float32")
    angle_increment: float = ros("float32")
    time_increment: float = ros("float32")
    scan_time: float = ros("float32")
    range_min: float = ros("float32")
    range_max: float = ros("float32")
    ranges: Sequence[float] = ros("float32[]")
    intensities: Sequence[float] = ros("float32[]")
