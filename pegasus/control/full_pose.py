"""Full pose: attitudes that rotors which push sideways hold apart from the direction of their force."""

from dataclasses import dataclass

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import (
    NOTHING,
    Quat,
    Real,
    Vec3,
    clamped,
    cross,
    dot,
    maximum,
    norm,
    rotate,
    rotate_inverse,
    sqrt,
)
from pegasus.control.mixing import Z_AXIS

_FLAT = 0.1
"""Least z component of the vertical in the body frame, limited to the cone, with which it is the lift's."""
_ALIKE = 1e-9
"""Sine of an angle below which two directions are one."""


@dataclass(frozen=True)
class Push:
    """Forces without torque that rotors have: those in a cone about the z axis up to a size."""

    reach: Real
    """This size along the z axis, in any direction if the cone holds all [N]; 0 for none at other angles."""
    slope: Real
    """k of the size along a direction at an angle a to the axis, reach / (cos a + k sin a), which lies on the
    line from the tip of the cone's axis to the end of its side: the forces are a convex set."""
    cosine: Real
    """Cosine of the angle from the axis to the side of the cone; -1 for all directions."""
    sine: Real
    """Its sine."""


ALONG_Z = Push(NOTHING, 0.0, 1.0, 0.0)
"""Forces of rotors that push along the z axis only."""


def asks(attitude: Quat) -> bool:
    """Return whether an attitude is asked for: it has a length."""
    return attitude[0] != 0.0 or attitude[1] != 0.0 or attitude[2] != 0.0 or attitude[3] != 0.0


def reach_at(push: Push, attitude: Quat) -> Real:
    """Return the size of the vertical force at an attitude, moderated to the cone [N].

    Args:
        push: Forces of the rotors.
        attitude: Attitude, unit quaternion, body to world.
    """
    if push.cosine < 0.0:
        return push.reach
    cosine = 1.0 - 2.0 * (attitude[0] * attitude[0] + attitude[1] * attitude[1])
    cosine = clamped(cosine, push.cosine, 1.0)
    return push.reach / (cosine + push.slope * sqrt(1.0 - cosine * cosine))


def within_cone(force: Vec3, push: Push) -> Vec3:
    """Return a force with its lateral part reduced to the cone of the forces that rotors have, body frame."""
    if push.cosine < 0.0:
        return force
    lateral = sqrt(force[0] * force[0] + force[1] * force[1])
    allowed = maximum(force[2], 0.0) * (push.sine / push.cosine)
    share = allowed / maximum(maximum(lateral, allowed), _ALIKE)
    return Vec3(force[0] * share, force[1] * share, force[2])


def lift_direction(orientation: Quat, push: Push) -> Vec3:
    """Return the unit direction in the body frame, nearest to the vertical, that the rotors can lift along.

    Args:
        orientation: Attitude, unit quaternion, body to world.
        push: Forces of the rotors.
    """
    up = within_cone(rotate_inverse(orientation, Vec3(0.0, 0.0, 1.0)), push)
    if push.cosine >= 0.0 and up[2] < _FLAT:
        up = Z_AXIS + Vec3(0.0, 0.0, 0.0)
    return up * (1.0 / norm(up))


def nearest_attitude(attitude: Quat, rates: Vec3, force: Vec3, push: Push) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Return the axes x, y and z in the world, and the body rates, of the attitude nearest to an asked one.

    If the force lies outside the cone about its z axis, the attitude is turned towards the force about the
    axis across both, until it does not (Franchi et al. 2018, "Full-Pose Tracking Control for Aerial Robotic
    Systems With Laterally Bounded Input Force", IEEE Transactions on Robotics 34, sec. IV).

    Args:
        attitude: Asked attitude, unit quaternion, body to world.
        rates: Its body rates [rad/s].
        force: Force, world frame.
        push: Forces of the rotors.
    """
    x = rotate(attitude, Vec3(1.0, 0.0, 0.0))
    y = rotate(attitude, Vec3(0.0, 1.0, 0.0))
    z = rotate(attitude, Vec3(0.0, 0.0, 1.0))
    along = force * (1.0 / norm(force))
    nearness = dot(z, along)
    if nearness < push.cosine:
        side = z - along * nearness
        if norm(side) < _ALIKE:
            side = x
        goal = along * push.cosine + side * (push.sine / norm(side))
        # The least rotation from z to the goal, which is never half a turn: the cone has a width.
        axis = cross(z, goal)
        by = 1.0 / (1.0 + dot(z, goal))
        x = x + cross(axis, x) + cross(axis, cross(axis, x)) * by
        y = y + cross(axis, y) + cross(axis, cross(axis, y)) * by
        z = goal
        rates = Vec3(0.0, 0.0, 0.0)
    return x, y, z, rates


def require_pose(field: str, push: Push, lack: str, name: str, *, able: bool) -> None:
    """Raise a ConfigError unless a vehicle can hold an attitude apart from its force.

    Args:
        field: What asks for an attitude.
        push: Forces of its rotors.
        lack: Why they do not push sideways; empty if unknown.
        name: Name of its controller.
        able: Whether the controller follows attitudes.
    """
    if not able:
        raise ConfigError(
            f"asks for an attitude, which a {name} does not follow",
            field=field,
            remedy="use a GeometricController or a GuidedController, or leave the attitude out",
        )
    if not push.reach > 0.0:
        raise ConfigError(
            f"asks for an attitude, but {lack or 'the rotors have no force to spare sideways'}: "
            "the vehicle tilts to move",
            field=field,
            remedy="leave the attitude out, or take a vehicle that pushes sideways, such as omnicopter",
        )
