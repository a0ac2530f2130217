"""Where things are and how they move: geometry_msgs, tf2_msgs, nav_msgs, trajectory_msgs."""

from collections.abc import Sequence

from pegasus.backends.ros2.description import Message, ros
from pegasus.backends.ros2.messages.standard import Duration, Header


class Vector3(Message, package="geometry_msgs"):
    """Vector."""

    x: float = ros("float64")
    y: float = ros("float64")
    z: float = ros("float64")


class Point(Message, package="geometry_msgs"):
    """Point."""

    x: float = ros("float64")
    y: float = ros("float64")
    z: float = ros("float64")


class Quaternion(Message, package="geometry_msgs"):
    """Orientation."""

    x: float = ros("float64", default=0.0)
    y: float = ros("float64", default=0.0)
    z: float = ros("float64", default=0.0)
    w: float = ros("float64", default=1.0)


class Pose(Message, package="geometry_msgs"):
    """Position and orientation."""

    position: Point = ros(Point)
    orientation: Quaternion = ros(Quaternion)


class PoseStamped(Message, package="geometry_msgs"):
    """Pose with its time and frame."""

    header: Header = ros(Header)
    pose: Pose = ros(Pose)


class PoseWithCovariance(Message, package="geometry_msgs"):
    """Pose and its covariance: x, y, z and rotations about them."""

    pose: Pose = ros(Pose)
    covariance: Sequence[float] = ros("float64[36]")


class Twist(Message, package="geometry_msgs"):
    """Velocity, linear and angular."""

    linear: Vector3 = ros(Vector3)
    angular: Vector3 = ros(Vector3)


class TwistStamped(Message, package="geometry_msgs"):
    """Velocity with its time and frame."""

    header: Header = ros(Header)
    twist: Twist = ros(Twist)


class TwistWithCovariance(Message, package="geometry_msgs"):
    """Velocity and its covariance."""

    twist: Twist = ros(Twist)
    covariance: Sequence[float] = ros("float64[36]")


class TwistWithCovarianceStamped(Message, package="geometry_msgs"):
    """Velocity and its covariance with time and frame."""

    header: Header = ros(Header)
    twist: TwistWithCovariance = ros(TwistWithCovariance)


class Accel(Message, package="geometry_msgs"):
    """Acceleration, linear and angular."""

    linear: Vector3 = ros(Vector3)
    angular: Vector3 = ros(Vector3)


class AccelStamped(Message, package="geometry_msgs"):
    """Acceleration with its time and frame."""

    header: Header = ros(Header)
    accel: Accel = ros(Accel)


class Wrench(Message, package="geometry_msgs"):
    """Force and torque."""

    force: Vector3 = ros(Vector3)
    torque: Vector3 = ros(Vector3)


class WrenchStamped(Message, package="geometry_msgs"):
    """Force and torque with their time and frame."""

    header: Header = ros(Header)
    wrench: Wrench = ros(Wrench)


class Vector3Stamped(Message, package="geometry_msgs"):
    """Vector with its time and frame."""

    header: Header = ros(Header)
    vector: Vector3 = ros(Vector3)


class PointStamped(Message, package="geometry_msgs"):
    """Point with its time and frame."""

    header: Header = ros(Header)
    point: Point = ros(Point)


class Transform(Message, package="geometry_msgs"):
    """Translation and rotation."""

    translation: Vector3 = ros(Vector3)
    rotation: Quaternion = ros(Quaternion)


class TransformStamped(Message, package="geometry_msgs"):
    """Transform from a frame to its child."""

    header: Header = ros(Header)
    child_frame_id: str = ros("string")
    transform: Transform = ros(Transform)


class TFMessage(Message, package="tf2_msgs"):
    """Transforms."""

    transforms: list[TransformStamped] = ros(TransformStamped, "[]")


class Odometry(Message, package="nav_msgs"):
    """Pose in the header's frame, velocity in the child's."""

    header: Header = ros(Header)
    child_frame_id: str = ros("string")
    pose: PoseWithCovariance = ros(PoseWithCovariance)
    twist: TwistWithCovariance = ros(TwistWithCovariance)


class Path(Message, package="nav_msgs"):
    """Poses one after the other."""

    header: Header = ros(Header)
    poses: list[PoseStamped] = ros(PoseStamped, "[]")


class MultiDOFJointTrajectoryPoint(Message, package="trajectory_msgs"):
    """Where each joint is at a time, and how it moves."""

    transforms: list[Transform] = ros(Transform, "[]")
    velocities: list[Twist] = ros(Twist, "[]")
    accelerations: list[Twist] = ros(Twist, "[]")
    time_from_start: Duration = ros(Duration)


class MultiDOFJointTrajectory(Message, package="trajectory_msgs"):
    """Trajectory of joints that move in space."""

    header: Header = ros(Header)
    joint_names: list[str] = ros("string[]")
    points: list[MultiDOFJointTrajectoryPoint] = ros(MultiDOFJointTrajectoryPoint, "[]")
