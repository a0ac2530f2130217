"""Wing of Gazebo's LiftDrag plugin: coefficients linear in the angle of attack, up to stall and beyond."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require, require_vector
from pegasus.base.step_math import (
    NOTHING,
    Known,
    Real,
    Reals,
    Vec3,
    atan2,
    cross,
    dot,
    length,
    magnitude,
    maximum,
    sqrt,
    vector,
)
from pegasus.dynamics.wings.wing import Derivative, Triple, Wing, each, known

_HALF_TURN = math.pi
_RIGHT_ANGLE = 0.5 * math.pi
_SLOWEST = 1e-4
"""Square of the speed up to which the plugin gives no force [m^2/s^2]."""
_LEAST = 1e-300
"""Square of a speed [m^2/s^2] that keeps directions finite."""


@dataclass(frozen=True)
class LiftDragParameters:
    """Parameters of `lift_drag`, named as in `LiftDrag`."""

    a0: float
    alpha_stall: float
    cla: float
    cda: float
    cma: float
    cl_at_stall: float
    """Coefficient of lift at stall; likewise those of drag and moment."""
    cd_at_stall: float
    cm_at_stall: float
    cla_stall: float
    cda_stall: float
    cma_stall: float
    cl_by_control: tuple[float, ...]
    cm_by_control: tuple[float, ...]
    half_area: float
    cp: Triple
    radial_symmetry: bool
    reversible: bool
    has_moment: bool
    """Whether any moment coefficient is other than 0."""


def odd_curve(alpha: Real, beyond: Real, slope: Real, at_stall: Real, slope_beyond: Real) -> Real:
    """Return a coefficient of lift or moment, odd in the angle of attack and of one sign beyond stall.

    Args:
        alpha: Angle of attack [rad].
        beyond: Its magnitude less that at stall [rad].
        slope: Slope below stall [1/rad].
        at_stall: Value at stall.
        slope_beyond: Slope beyond stall [1/rad].
    """
    if beyond > 0.0:
        value = maximum(0.0, at_stall + slope_beyond * beyond)
        return -value if alpha < 0.0 else value
    return slope * alpha


def lift_drag(
    p: LiftDragParameters, velocity: Vec3, rate: Vec3, deflection: Reals, density: Real
) -> tuple[Vec3, Vec3]:
    """Return force and torque; see `LiftDrag`."""
    center = vector(p.cp)
    forward = Vec3(Known(1.0), NOTHING, NOTHING)
    upward = Vec3(NOTHING, NOTHING, Known(1.0))
    flow = velocity + cross(rate, center)
    ahead = flow[0]
    squared_speed = maximum(dot(flow, flow), _LEAST)
    if p.radial_symmetry:
        # Upward is against the flow across the forward axis.
        aside = Vec3(NOTHING, flow[1], flow[2])
        upward = aside * (-1.0 / sqrt(maximum(dot(aside, aside), _LEAST)))
    up = dot(flow, upward)
    span = cross(forward, upward)
    along_span = dot(flow, span)
    plane = ahead * ahead + up * up
    speed = sqrt(maximum(plane, _LEAST))
    sweep = 1.0 - along_span * along_span / squared_speed

    alpha = p.a0 + atan2(-up, ahead)
    if alpha > _RIGHT_ANGLE:
        alpha = alpha - _HALF_TURN
    elif alpha < -_RIGHT_ANGLE:
        alpha = alpha + _HALF_TURN
    beyond = magnitude(alpha) - p.alpha_stall
    cl = sweep * odd_curve(alpha, beyond, p.cla, p.cl_at_stall, p.cla_stall)
    cd = p.cda * alpha
    if beyond > 0.0:
        cd = p.cd_at_stall + p.cda_stall * beyond
    cd = magnitude(cd) * sweep
    for j in range(length(p.cl_by_control)):
        cl = cl + p.cl_by_control[j] * deflection[j]

    pressure = density * p.half_area * speed
    if squared_speed <= _SLOWEST or (not p.reversible and ahead <= 0.0):
        pressure = 0.0
    lift = upward * ahead - forward * up
    drag = forward * ahead + upward * up
    force = (lift * cl - drag * cd) * pressure
    torque = cross(center, force)
    if p.has_moment:
        cm = sweep * odd_curve(alpha, beyond, p.cma, p.cm_at_stall, p.cma_stall)
        for j in range(length(p.cm_by_control)):
            cm = cm + p.cm_by_control[j] * deflection[j]
        torque = torque + span * (cm * speed * pressure)
    return force, torque


@dataclass(frozen=True, kw_only=True)
class LiftDrag(Wing):
    """Wing of Gazebo's LiftDrag plugin, with the plugin's names of parameters.

    In the plane of x and z, with the angle of attack alpha = a0 + atan2(-v_z, v_x), the sweep factor
    s = 1 - (v_y / |v|)^2, and the dynamic pressure q = (rho / 2) (v_x^2 + v_z^2):

        cl = s cla alpha + control_joint_rad_to_cl delta,
        cd = s |cda alpha|,
        cm = s cma alpha + cm_delta delta,

    and beyond alpha_stall with the slopes cla_stall, cda_stall and cma_stall from the values there, where cl
    and cm keep their signs. Lift, drag and moment are q area times these, and act at cp. There is no force up
    to 1 cm/s, nor in flow from behind unless `reversible`. The sweep factor is that of Gazebo Sim; Gazebo
    classic has its square root. A radially symmetric wing in flow along its axis has the limit of small
    angles; the plugin takes 90 degrees there.

    Energy is only taken out where cma, cma_stall and cm_delta are 0: a moment that depends on the angle of
    attack alone drives a wing that already turns in its sense.

    Source: LiftDrag.cc of Gazebo Sim 8 to 10.
    """

    law: ClassVar[Any] = staticmethod(lift_drag)

    a0: float = 0.0
    """Angle of attack in flow along x [rad], from -pi/2 to pi/2."""
    cla: float = 1.0
    """Slope of the lift coefficient below stall [1/rad]."""
    cda: float = 0.01
    """Slope of the drag coefficient below stall [1/rad]."""
    cma: float = 0.0
    """Slope of the moment coefficient below stall [m/rad], positive nose up."""
    alpha_stall: float = _RIGHT_ANGLE
    """Angle of attack at stall [rad]."""
    cla_stall: float = 0.0
    """Slope of the lift coefficient beyond stall [1/rad]."""
    cda_stall: float = 1.0
    """Slope of the drag coefficient beyond stall [1/rad]."""
    cma_stall: float = 0.0
    """Slope of the moment coefficient beyond stall [m/rad]."""
    cp: Triple = (0.0, 0.0, 0.0)
    """Centre of pressure relative to the reference point [m]."""
    control_joint_rad_to_cl: Derivative = ()
    """Change of the lift coefficient by the deflection of each control surface [1/rad]."""
    cm_delta: Derivative = ()
    """Change of the moment coefficient by the deflection of each control surface [m/rad]; 0 if left out."""
    radial_symmetry: bool = False
    """Whether upward follows from the flow, as for a body of revolution."""
    reversible: bool = False
    """Whether flow from behind gives a force as well."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(abs(self.a0) <= _RIGHT_ANGLE, "a0", self.a0, "must be from -pi/2 to pi/2 rad")
        require(
            0 < self.alpha_stall <= _RIGHT_ANGLE,
            "alpha_stall",
            self.alpha_stall,
            "must be above 0, to pi/2 rad",
        )
        require_vector("cp", self.cp, unit="m")
        moments = each(self.cm_delta)
        require(
            not moments or len(moments) == self.control_count,
            "cm_delta",
            self.cm_delta,
            f"must have as many values as control_joint_rad_to_cl, {self.control_count}",
        )

    @property
    def control_count(self) -> int:
        """Number of control surfaces."""
        return len(each(self.control_joint_rad_to_cl))

    def parameters(self) -> LiftDragParameters:
        """Return the parameters of the law."""
        stall = self.alpha_stall
        moments = each(self.cm_delta) or (0.0,) * self.control_count
        return LiftDragParameters(
            a0=self.a0,
            alpha_stall=stall,
            cla=self.cla,
            cda=self.cda,
            cma=self.cma,
            cl_at_stall=self.cla * stall,
            cd_at_stall=self.cda * stall,
            cm_at_stall=self.cma * stall,
            cla_stall=self.cla_stall,
            cda_stall=self.cda_stall,
            cma_stall=self.cma_stall,
            cl_by_control=each(self.control_joint_rad_to_cl),
            cm_by_control=moments,
            half_area=0.5 * self.area,
            cp=tuple(map(known, self.cp)),  # type: ignore[arg-type]
            radial_symmetry=self.radial_symmetry,
            reversible=self.reversible,
            has_moment=any((self.cma, self.cma_stall, *moments)),
        )
