"""Drag of a box: pressure on each of its six faces."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require, require_vector
from pegasus.base.step_math import Real, Reals, Vec3, cross
from pegasus.dynamics.drag import Drag, Triple

_NODE = 0.5773502691896258
"""Place of the two Gauss points of an interval from -1 to 1, 1 / sqrt(3)."""


def face_wrench(
    center: Vec3, axis: int, side: Real, half: Vec3, air_velocity: Vec3, angular_velocity: Vec3
) -> tuple[Real, Vec3]:
    """Return the integrals over a face of the pressure, and of its moment, for rho C_d / 2 = 1.

    The face is pushed where it moves into the air, by the square of its speed along its normal. Both are
    integrated by the Gauss rule of two by two points, exact for a face of which all points move into the air.

    Args:
        center: Middle of the box relative to the centre of mass [m].
        axis: Axis of the normal, 0 to 2.
        side: Sign of the normal along this axis.
        half: Half of the edges [m].
        air_velocity: Velocity of the centre of mass through the air [m/s].
        angular_velocity: Angular velocity [rad/s].

    Returns:
        Force against the normal [m^4/s^2], and torque about the centre of mass [m^5/s^2].
    """
    normal = Vec3(side, 0.0, 0.0)
    first = Vec3(0.0, half[1], 0.0)
    second = Vec3(0.0, 0.0, half[2])
    reach = half[0]
    if axis == 1:
        normal = Vec3(0.0, side, 0.0)
        first = Vec3(0.0, 0.0, half[2])
        second = Vec3(half[0], 0.0, 0.0)
        reach = half[1]
    if axis == 2:
        normal = Vec3(0.0, 0.0, side)
        first = Vec3(half[0], 0.0, 0.0)
        second = Vec3(0.0, half[1], 0.0)
        reach = half[2]
    middle = center + normal * reach
    quarter = (first[0] + first[1] + first[2]) * (second[0] + second[1] + second[2])
    push = 0.0
    moment = Vec3(0.0, 0.0, 0.0)
    for k in range(4):
        place = (
            middle
            + first * (_NODE * (2.0 * Real(k % 2) - 1.0))
            + second * (_NODE * (2.0 * Real(k // 2) - 1.0))
        )
        moving = air_velocity + cross(angular_velocity, place)
        speed = moving[0] * normal[0] + moving[1] * normal[1] + moving[2] * normal[2]
        if speed > 0.0:
            pressure = quarter * speed * speed
            push += pressure
            moment = moment - cross(place, normal) * pressure
    return push, moment


def box_drag(
    p: "BoxDrag", air_velocity: Vec3, angular_velocity: Vec3, rotor_speeds: Reals, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return the drag of the faces of a box; see `BoxDrag`."""
    center = Vec3(p.center[0], p.center[1], p.center[2])
    half = Vec3(0.5 * p.size[0], 0.5 * p.size[1], 0.5 * p.size[2])
    push = Vec3(0.0, 0.0, 0.0)
    moment = Vec3(0.0, 0.0, 0.0)
    for axis in range(3):
        ahead, turned = face_wrench(center, axis, 1.0, half, air_velocity, angular_velocity)
        behind, back = face_wrench(center, axis, -1.0, half, air_velocity, angular_velocity)
        net = behind - ahead
        share = p.drag_coefficients[axis]
        if axis == 0:
            push = push + Vec3(net * share, 0.0, 0.0)
        if axis == 1:
            push = push + Vec3(0.0, net * share, 0.0)
        if axis == 2:
            push = push + Vec3(0.0, 0.0, net * share)
        moment = moment + (turned + back) * share
    pressure = 0.5 * air_density
    return push * pressure, moment * pressure


@dataclass(frozen=True, kw_only=True)
class BoxDrag(Drag):
    """Drag of a box of six faces with its moment: F = -(rho / 2) C_d sum over faces of int u^2 n dA.

    u is the speed of a place of the face into the air along its normal n, from velocity and rotation; places
    that move away from the air are not pushed. So the force acts at the centre of pressure, also of a box
    that is off the centre of mass, and turning is damped. Only energy is taken out. Source: AirSim's faces
    (technical report, sec. 3.3.1), but with the pressure integrated over each face, not that of its middle.
    """

    law: ClassVar[Any] = staticmethod(box_drag)

    size: Triple
    """Edges of the box along x, y and z [m]."""
    center: Triple = (0.0, 0.0, 0.0)
    """Middle of the box relative to the centre of mass, body frame [m]."""
    drag_coefficients: Triple = (1.05, 1.05, 1.05)
    """C_d of the faces across x, y and z; 1.05 is that of a cube (Hoerner 1965)."""

    def __post_init__(self) -> None:
        require_vector("size", self.size, unit="m", negative_allowed=False)
        require(min(self.size) > 0, "size", self.size, "must be above 0 m along each axis")
        require_vector("center", self.center, unit="m")
        require_vector("drag_coefficients", self.drag_coefficients, negative_allowed=False)
