"""ROS 2 message types declared for Cyclone DDS's own serializer, independent of Pegasus."""

from dataclasses import dataclass

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final
from cyclonedds.idl.types import (
    array,
    bounded_str,
    float32,
    float64,
    int8,
    int32,
    sequence,
    uint8,
    uint16,
    uint32,
)


@dataclass
@final
class Time(IdlStruct, typename="builtin_interfaces.msg.dds_.Time_"):
    sec: int32
    nanosec: uint32


@dataclass
@final
class Duration(IdlStruct, typename="builtin_interfaces.msg.dds_.Duration_"):
    sec: int32
    nanosec: uint32


@dataclass
@final
class Clock(IdlStruct, typename="rosgraph_msgs.msg.dds_.Clock_"):
    clock: Time


@dataclass
@final
class Header(IdlStruct, typename="std_msgs.msg.dds_.Header_"):
    stamp: Time
    frame_id: str


@dataclass
@final
class String(IdlStruct, typename="std_msgs.msg.dds_.String_"):
    data: str


@dataclass
@final
class Bool(IdlStruct, typename="std_msgs.msg.dds_.Bool_"):
    data: bool


@dataclass
@final
class Float64(IdlStruct, typename="std_msgs.msg.dds_.Float64_"):
    data: float64


@dataclass
@final
class MultiArrayDimension(IdlStruct, typename="std_msgs.msg.dds_.MultiArrayDimension_"):
    label: str
    size: uint32
    stride: uint32


@dataclass
@final
class MultiArrayLayout(IdlStruct, typename="std_msgs.msg.dds_.MultiArrayLayout_"):
    dim: sequence[MultiArrayDimension]
    data_offset: uint32


@dataclass
@final
class Float64MultiArray(IdlStruct, typename="std_msgs.msg.dds_.Float64MultiArray_"):
    layout: MultiArrayLayout
    data: sequence[float64]


@dataclass
@final
class Vector3(IdlStruct, typename="geometry_msgs.msg.dds_.Vector3_"):
    x: float64
    y: float64
    z: float64


@dataclass
@final
class Point(IdlStruct, typename="geometry_msgs.msg.dds_.Point_"):
    x: float64
    y: float64
    z: float64


@dataclass
@final
class Quaternion(IdlStruct, typename="geometry_msgs.msg.dds_.Quaternion_"):
    x: float64
    y: float64
    z: float64
    w: float64


@dataclass
@final
class Pose(IdlStruct, typename="geometry_msgs.msg.dds_.Pose_"):
    position: Point
    orientation: Quaternion


@dataclass
@final
class PoseStamped(IdlStruct, typename="geometry_msgs.msg.dds_.PoseStamped_"):
    header: Header
    pose: Pose


@dataclass
@final
class PoseWithCovariance(IdlStruct, typename="geometry_msgs.msg.dds_.PoseWithCovariance_"):
    pose: Pose
    covariance: array[float64, 36]


@dataclass
@final
class Twist(IdlStruct, typename="geometry_msgs.msg.dds_.Twist_"):
    linear: Vector3
    angular: Vector3


@dataclass
@final
class TwistStamped(IdlStruct, typename="geometry_msgs.msg.dds_.TwistStamped_"):
    header: Header
    twist: Twist


@dataclass
@final
class TwistWithCovariance(IdlStruct, typename="geometry_msgs.msg.dds_.TwistWithCovariance_"):
    twist: Twist
    covariance: array[float64, 36]


@dataclass
@final
class Accel(IdlStruct, typename="geometry_msgs.msg.dds_.Accel_"):
    linear: Vector3
    angular: Vector3


@dataclass
@final
class AccelStamped(IdlStruct, typename="geometry_msgs.msg.dds_.AccelStamped_"):
    header: Header
    accel: Accel


@dataclass
@final
class Wrench(IdlStruct, typename="geometry_msgs.msg.dds_.Wrench_"):
    force: Vector3
    torque: Vector3


@dataclass
@final
class WrenchStamped(IdlStruct, typename="geometry_msgs.msg.dds_.WrenchStamped_"):
    header: Header
    wrench: Wrench


@dataclass
@final
class Transform(IdlStruct, typename="geometry_msgs.msg.dds_.Transform_"):
    translation: Vector3
    rotation: Quaternion


@dataclass
@final
class TransformStamped(IdlStruct, typename="geometry_msgs.msg.dds_.TransformStamped_"):
    header: Header
    child_frame_id: str
    transform: Transform


@dataclass
@final
class TFMessage(IdlStruct, typename="tf2_msgs.msg.dds_.TFMessage_"):
    transforms: sequence[TransformStamped]


@dataclass
@final
class Odometry(IdlStruct, typename="nav_msgs.msg.dds_.Odometry_"):
    header: Header
    child_frame_id: str
    pose: PoseWithCovariance
    twist: TwistWithCovariance


@dataclass
@final
class MultiDOFJointTrajectoryPoint(
    IdlStruct, typename="trajectory_msgs.msg.dds_.MultiDOFJointTrajectoryPoint_"
):
    transforms: sequence[Transform]
    velocities: sequence[Twist]
    accelerations: sequence[Twist]
    time_from_start: Duration


@dataclass
@final
class MultiDOFJointTrajectory(IdlStruct, typename="trajectory_msgs.msg.dds_.MultiDOFJointTrajectory_"):
    header: Header
    joint_names: sequence[str]
    points: sequence[MultiDOFJointTrajectoryPoint]


@dataclass
@final
class Imu(IdlStruct, typename="sensor_msgs.msg.dds_.Imu_"):
    header: Header
    orientation: Quaternion
    orientation_covariance: array[float64, 9]
    angular_velocity: Vector3
    angular_velocity_covariance: array[float64, 9]
    linear_acceleration: Vector3
    linear_acceleration_covariance: array[float64, 9]


@dataclass
@final
class MagneticField(IdlStruct, typename="sensor_msgs.msg.dds_.MagneticField_"):
    header: Header
    magnetic_field: Vector3
    magnetic_field_covariance: array[float64, 9]


@dataclass
@final
class NavSatStatus(IdlStruct, typename="sensor_msgs.msg.dds_.NavSatStatus_"):
    status: int8
    service: uint16


@dataclass
@final
class NavSatFix(IdlStruct, typename="sensor_msgs.msg.dds_.NavSatFix_"):
    header: Header
    status: NavSatStatus
    latitude: float64
    longitude: float64
    altitude: float64
    position_covariance: array[float64, 9]
    position_covariance_type: uint8


@dataclass
@final
class FluidPressure(IdlStruct, typename="sensor_msgs.msg.dds_.FluidPressure_"):
    header: Header
    fluid_pressure: float64
    variance: float64


@dataclass
@final
class Range(IdlStruct, typename="sensor_msgs.msg.dds_.Range_"):
    header: Header
    radiation_type: uint8
    field_of_view: float32
    min_range: float32
    max_range: float32
    range: float32
    variance: float32


@dataclass
@final
class BatteryState(IdlStruct, typename="sensor_msgs.msg.dds_.BatteryState_"):
    header: Header
    voltage: float32
    temperature: float32
    current: float32
    charge: float32
    capacity: float32
    design_capacity: float32
    percentage: float32
    power_supply_status: uint8
    power_supply_health: uint8
    power_supply_technology: uint8
    present: bool
    cell_voltage: sequence[float32]
    cell_temperature: sequence[float32]
    location: str
    serial_number: str


@dataclass
@final
class Image(IdlStruct, typename="sensor_msgs.msg.dds_.Image_"):
    header: Header
    height: uint32
    width: uint32
    encoding: str
    is_bigendian: uint8
    step: uint32
    data: sequence[uint8]


@dataclass
@final
class RegionOfInterest(IdlStruct, typename="sensor_msgs.msg.dds_.RegionOfInterest_"):
    x_offset: uint32
    y_offset: uint32
    height: uint32
    width: uint32
    do_rectify: bool


@dataclass
@final
class CameraInfo(IdlStruct, typename="sensor_msgs.msg.dds_.CameraInfo_"):
    header: Header
    height: uint32
    width: uint32
    distortion_model: str
    d: sequence[float64]
    k: array[float64, 9]
    r: array[float64, 9]
    p: array[float64, 12]
    binning_x: uint32
    binning_y: uint32
    roi: RegionOfInterest


@dataclass
@final
class PointField(IdlStruct, typename="sensor_msgs.msg.dds_.PointField_"):
    name: str
    offset: uint32
    datatype: uint8
    count: uint32


@dataclass
@final
class PointCloud2(IdlStruct, typename="sensor_msgs.msg.dds_.PointCloud2_"):
    header: Header
    height: uint32
    width: uint32
    fields: sequence[PointField]
    is_bigendian: bool
    point_step: uint32
    row_step: uint32
    data: sequence[uint8]
    is_dense: bool


@dataclass
@final
class Gid(IdlStruct, typename="rmw_dds_common.msg.dds_.Gid_"):
    data: array[uint8, 16]


@dataclass
@final
class NodeEntitiesInfo(IdlStruct, typename="rmw_dds_common.msg.dds_.NodeEntitiesInfo_"):
    node_namespace: bounded_str[256]
    node_name: bounded_str[256]
    reader_gid_seq: sequence[Gid]
    writer_gid_seq: sequence[Gid]


@dataclass
@final
class ParticipantEntitiesInfo(IdlStruct, typename="rmw_dds_common.msg.dds_.ParticipantEntitiesInfo_"):
    gid: Gid
    node_entities_info_seq: sequence[NodeEntitiesInfo]
