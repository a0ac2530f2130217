"""Message types by their short names: strings that make a message of positional or named values."""

from pegasus.backends.ros2.messages import fields, message

_NAMES = {
    "builtin_interfaces": "Duration Time",
    "geometry_msgs": (
        "Accel AccelStamped Point PointStamped Pose PoseStamped PoseWithCovariance Quaternion "
        "Transform TransformStamped Twist TwistStamped TwistWithCovariance "
        "TwistWithCovarianceStamped Vector3 Vector3Stamped Wrench WrenchStamped"
    ),
    "nav_msgs": "Odometry Path",
    "rmw_dds_common": "Gid NodeEntitiesInfo ParticipantEntitiesInfo",
    "rosgraph_msgs": "Clock",
    "sensor_msgs": (
        "BatteryState CameraInfo CompressedImage FluidPressure Image Imu JointState Joy LaserScan "
        "MagneticField NavSatFix NavSatStatus PointCloud2 PointField Range RegionOfInterest "
        "Temperature"
    ),
    "std_msgs": (
        "Bool Float32MultiArray Float64 Float64MultiArray Header Int32 MultiArrayDimension "
        "MultiArrayLayout String"
    ),
    "tf2_msgs": "TFMessage",
    "trajectory_msgs": "MultiDOFJointTrajectory MultiDOFJointTrajectoryPoint",
}


class Kind(str):
    """A message type by its full name; calling it returns a message."""

    __slots__ = ()

    def __call__(self, *values, **named):
        """Return a message of positional values, in the order of the fields, and of named ones."""
        names = [field.name for field in fields(str(self))]
        return message(str(self), **dict(zip(names, values, strict=False)), **named)


KINDS = {name: Kind(f"{package}/msg/{name}") for package, names in _NAMES.items() for name in names.split()}
globals().update(KINDS)
