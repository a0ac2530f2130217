"""What the topics of a vehicle's true state hold, and its frames in the tree of transforms (REP 105)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pegasus.arrays import Array
from pegasus.backends.ros2.contents import Content, Numbers
from pegasus.backends.ros2.frame_names import FrameNames, Frames
from pegasus.backends.ros2.messages import (
    AccelStamped,
    Header,
    Odometry,
    PoseStamped,
    TFMessage,
    TransformStamped,
    TwistStamped,
)
from pegasus.backends.ros2.qos import RELIABLE
from pegasus.backends.ros2.topics import TRANSFORMS
from pegasus.frames import conjugate, matrix_from_quaternion, multiply, rotate, rotate_inverse
from pegasus.sensors import Odometry as OdometrySensor
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor

_STATE_RATE = 100.0
"""How often the true state and `/tf` are told unless a user wants more [Hz]."""
STATE_TOPICS = ("state/pose", "state/twist", "state/twist_inertial", "state/accel", "odom", TRANSFORMS)


class Variances(NamedTuple):
    """Variances that the true odometry states: along x, y and z, then about x, y and z."""

    pose: tuple[float, ...]
    """Of the pose [m^2, rad^2], six numbers."""
    twist: tuple[float, ...]
    """Of the twist [m^2/s^2, rad^2/s^2], six numbers."""


def state_contents(vehicle: "Multirotor", frames: Frames, variances: Variances) -> list[Content]:
    """Return the topics that tell the true state of a vehicle, those of `STATE_TOPICS`.

    Args:
        vehicle: The vehicle; the frame `odom` is that of its first external estimator, else that of the map.
        frames: How frames hang together.
        variances: What the odometry states.
    """
    estimator = next((s for s in vehicle.sensors.values() if isinstance(s, OdometrySensor)), None)

    def of_map(state: VehicleState) -> Array:
        if estimator is None:
            return np.tile((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (len(state.position), 1))
        return np.concatenate(estimator.frame_pose(), axis=1)

    def in_odom(state: VehicleState) -> Array:
        return _pose(state) if estimator is None else _relative(of_map(state), _pose(state))

    def odometry(names: FrameNames) -> Odometry:
        message = Odometry(
            Header(frame_id=names.odom if frames.tree == "odom" else names.map),
            child_frame_id=names.base_link,
        )
        message.pose.covariance = np.diag(variances.pose).ravel().tolist()
        message.twist.covariance = np.diag(variances.twist).ravel().tolist()
        return message

    seen = in_odom if frames.tree == "odom" else _pose
    edges = {
        "full": [_Edge("map", "odom", of_map), _Edge("odom", "base_link", in_odom)],
        "odom": [_Edge("odom", "base_link", in_odom)],
        "map": [_Edge("map", "base_link", _pose)],
    }[frames.tree]
    if frames.tree == "map" and estimator is not None:
        edges.append(_Edge("map", "odom", of_map))
    return [
        Content(
            "state/pose",
            lambda names: PoseStamped(Header(frame_id=names.map)),
            ("header.stamp", "pose"),
            lambda state: _rows(_pose(state)),
            RELIABLE,
            _STATE_RATE,
        ),
        Content(
            "state/twist",
            lambda names: TwistStamped(Header(frame_id=names.base_link)),
            ("header.stamp", "twist"),
            lambda state: _rows(_body_twist(state)),
            RELIABLE,
            _STATE_RATE,
        ),
        Content(
            "state/twist_inertial",
            lambda names: TwistStamped(Header(frame_id=names.map)),
            ("header.stamp", "twist"),
            _inertial_twist,
            RELIABLE,
            _STATE_RATE,
        ),
        Content(
            "state/accel",
            lambda names: AccelStamped(Header(frame_id=names.base_link)),
            ("header.stamp", "accel"),
            _body_acceleration,
            RELIABLE,
            _STATE_RATE,
        ),
        Content(
            "odom",
            odometry,
            ("header.stamp", "pose.pose", "twist.twist"),
            lambda state: _rows(seen(state), _body_twist(state)),
            RELIABLE,
            _STATE_RATE,
        ),
        _transforms(edges),
    ]


class _Edge(NamedTuple):
    """One transform of the tree: child to parent."""

    parent: str
    child: str
    pose: Callable[[VehicleState], Array]


def _transforms(edges: Sequence[_Edge]) -> Content:
    def message(names: FrameNames) -> TFMessage:
        return TFMessage(
            [
                TransformStamped(
                    Header(frame_id=getattr(names, edge.parent)), child_frame_id=getattr(names, edge.child)
                )
                for edge in edges
            ]
        )

    places = [f"transforms.{i}" for i in range(len(edges))]
    return Content(
        TRANSFORMS,
        message,
        (*(f"{place}.header.stamp" for place in places), *(f"{place}.transform" for place in places)),
        lambda state: _rows(*(edge.pose(state) for edge in edges)),
        RELIABLE,
        _STATE_RATE,
        stamp_count=len(edges),
    )


def _rows(*parts: Array) -> Numbers:
    rows: Numbers = np.concatenate(parts, axis=1).tolist()
    return rows


def _pose(state: VehicleState) -> Array:
    return np.concatenate((state.position, state.orientation), axis=1)


def _relative(frame: Array, pose: Array) -> Array:
    """Return poses as seen from other poses: position and quaternion xyzw, shape (N, 7)."""
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
