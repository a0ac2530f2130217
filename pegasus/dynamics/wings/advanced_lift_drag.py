"""Airframe of Gazebo's AdvancedLiftDrag plugin: stability derivatives, and a flat plate beyond stall."""

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from pegasus.base.components import require, require_vector
from pegasus.base.step_math import (
    Real,
    Reals,
    Vec3,
    atan2,
    cross,
    length,
    magnitude,
    maximum,
    sqrt,
    vector,
)
from pegasus.dynamics.wings.wing import (
    Derivative,
    Triple,
    Wing,
    each,
    known,
    unstalled,
)

_SLOWEST = 1e-18
"""Square of the speed up to which the plugin gives no force [m^2/s^2]."""
_PLATE = (-0.224, -0.115)
"""Coefficients k1 and k2 of the drag of a flat plate by its aspect ratio, 2 / (1 + exp(k1 + k2 AR))."""
_DEGREES = 180.0 / math.pi
_COEFFICIENTS = ("CD", "CY", "CL", "Cell", "Cem", "Cen")


@dataclass(frozen=True)
class Slopes:
    """Derivatives of one coefficient."""

    p: float
    """By the roll rate, p b / (2 V)."""
    q: float
    """By the pitch rate, q c / (2 V)."""
    r: float
    """By the yaw rate, r b / (2 V)."""
    controls: tuple[float, ...]
    """By the deflection of each control surface [1/rad]."""


@dataclass(frozen=True)
class AdvancedLiftDragParameters:
    """Parameters of `advanced_lift_drag`, named as in `AdvancedLiftDrag`."""

    CL0: float
    CLa: float
    CLb: float
    CD0: float
    CYa: float
    CYb: float
    Cella: float
    Cellb: float
    Cem0: float
    Cema: float
    Cema_stall: float
    Cemb: float
    Cena: float
    Cenb: float
    drag: Slopes
    side: Slopes
    lift: Slopes
    roll: Slopes
    pitch: Slopes
    yaw: Slopes
    alpha_stall: float
    M: float
    by_induced_drag: float
    """Square of the lift coefficient by that of induced drag, pi AR eff."""
    plate_drag: float
    half_area: float
    half_span: float
    half_chord: float
    cp: Triple


def by_controls(slopes: Slopes, deflection: Reals) -> Real:
    """Return the change of a coefficient by the control surfaces."""
    total = 0.0
    for j in range(length(slopes.controls)):
        total = total + slopes.controls[j] * deflection[j]
    return total


def by_rates(slopes: Slopes, rolling: Real, pitching: Real, yawing: Real) -> Real:
    """Return the change of a coefficient times the airspeed by lengths times rates [m/s]."""
    return slopes.p * rolling + slopes.q * pitching + slopes.r * yawing


def advanced_lift_drag(
    p: AdvancedLiftDragParameters, velocity: Vec3, rate: Vec3, deflection: Reals, density: Real
) -> tuple[Vec3, Vec3]:
    """Return force and torque; see `AdvancedLiftDrag`."""
    center = vector(p.cp)
    flow = velocity + cross(rate, center)
    ahead = flow[0]
    down = -flow[2]
    plane = ahead * ahead + down * down
    speed = sqrt(maximum(plane, _SLOWEST))
    alpha = atan2(down, ahead)
    beta = atan2(-flow[1], ahead)
    sine = down / speed
    cosine = ahead / speed
    rolling = rate[0] * p.half_span
    pitching = -rate[1] * p.half_chord
    yawing = -rate[2] * p.half_span

    share = unstalled(alpha, p.alpha_stall, p.M)
    plate = 2.0 * magnitude(sine) * sine * cosine
    cl = share * (p.CL0 + p.CLa * alpha) + (1.0 - share) * plate + p.CLb * beta
    cl = cl + by_controls(p.lift, deflection)
    cd = share * (p.CD0 + cl * cl / p.by_induced_drag) + (1.0 - share) * p.plate_drag * sine * sine
    cd = cd + by_controls(p.drag, deflection)
    cy = p.CYa * alpha + p.CYb * beta + by_controls(p.side, deflection)
    roll = p.Cella * alpha + p.Cellb * beta + by_controls(p.roll, deflection)
    yaw = p.Cena * alpha + p.Cenb * beta + by_controls(p.yaw, deflection)
    pitch = p.Cema * alpha
    if alpha > p.alpha_stall:
        pitch = p.Cema * p.alpha_stall + p.Cema_stall * (alpha - p.alpha_stall)
    elif alpha < -p.alpha_stall:
        pitch = p.Cema_stall * (alpha + p.alpha_stall) - p.Cema * p.alpha_stall
    pitch = p.Cem0 + pitch + p.Cemb * beta + by_controls(p.pitch, deflection)

    pressure = density * p.half_area * speed
    if plane <= _SLOWEST:
        pressure = 0.0
    lift = (cl * speed + by_rates(p.lift, rolling, pitching, yawing)) * pressure
    drag = (cd * speed + by_rates(p.drag, rolling, pitching, yawing)) * pressure
    side = (cy * speed + by_rates(p.side, rolling, pitching, yawing)) * pressure
    force = Vec3(lift * sine - drag * cosine, -side, lift * cosine + drag * sine)
    by_span = 2.0 * p.half_span * pressure
    by_chord = 2.0 * p.half_chord * pressure
    torque = Vec3(
        (roll * speed + by_rates(p.roll, rolling, pitching, yawing)) * by_span,
        -(pitch * speed + by_rates(p.pitch, rolling, pitching, yawing)) * by_chord,
        -(yaw * speed + by_rates(p.yaw, rolling, pitching, yawing)) * by_span,
    )
    return force, cross(center, force) + torque


@dataclass(frozen=True, kw_only=True)
class AdvancedLiftDrag(Wing):
    """Whole airframe of Gazebo's AdvancedLiftDrag plugin, with the plugin's names of parameters.

    Coefficients are sums over the angle of attack alpha, the angle of sideslip beta = atan2(v_right,
    v_forward), the nondimensional rates p b / (2 V), q c / (2 V) and r b / (2 V), and the deflections, by
    degree as AVL gives them; V is the speed in the plane of x and z. Lift, drag and side force are along the
    stability axes, the moments (Cell, Cem, Cen) about the axes forward, right and down. The share sigma of
    the flow that is stalled (Beard and McLain 2012, eq. 4.10) blends

        CL = (1 - sigma) (CL0 + CLa alpha) + sigma 2 sgn(alpha) sin^2 alpha cos alpha,
        CD = (1 - sigma) (CD0 + CL^2 / (pi AR eff)) + sigma CD_plate sin^2 alpha,

    with CD_plate = 2 / (1 + exp(-0.224 - 0.115 max(AR, 1 / AR))). All acts at cp. At the angle of attack 0
    the plugin divides 0 by 0 and gives no force; this model has the limit there. The pitching moment is
    Cem0 + Cema alpha + Cemb beta + ..., as in Gazebo classic; Gazebo Sim 8 to 10 overwrites the first two
    terms by the third. The plugin takes the rates about the axes of the link whatever its `forward` is, this
    model about those of the wing.

    A linear model adds energy far from the states that its derivatives were made for: fast rotation in slow
    flow, large sideslip, or a control surface with a negative CD_ctrl.

    Source: AdvancedLiftDrag.cc of Gazebo Sim 8 to 10 and advanced_liftdrag_plugin.cpp of PX4.
    """

    law: ClassVar[Any] = staticmethod(advanced_lift_drag)

    AR: float
    """Aspect ratio; the span is sqrt(area AR)."""
    eff: float
    """Oswald efficiency."""
    mac: float | None = None
    """Mean aerodynamic chord [m]; the area by the span if left out."""
    alpha_stall: float = 0.5 * math.pi
    """Angle of attack at stall [rad]."""
    M: float = 15.0
    """Rate of the transition to stall [1/rad]."""
    CL0: float = 0.0
    """Lift coefficient at the angle of attack 0."""
    CLa: float = 0.0
    """Slope of the lift coefficient by the angle of attack [1/rad]; the others likewise, b for sideslip, and
    p, q and r for the nondimensional rates."""
    CLb: float = 0.0
    CLp: float = 0.0
    CLq: float = 0.0
    CLr: float = 0.0
    CD0: float = 0.0
    """Drag coefficient without lift."""
    CDp: float = 0.0
    CDq: float = 0.0
    CDr: float = 0.0
    CYa: float = 0.0
    CYb: float = 0.0
    CYp: float = 0.0
    CYq: float = 0.0
    CYr: float = 0.0
    Cella: float = 0.0
    Cellb: float = 0.0
    Cellp: float = 0.0
    Cellq: float = 0.0
    Cellr: float = 0.0
    Cem0: float = 0.0
    """Coefficient of the pitching moment at the angle of attack 0."""
    Cema: float = 0.0
    Cema_stall: float = 0.0
    """Slope of the pitching moment by the angle of attack beyond stall [1/rad]."""
    Cemb: float = 0.0
    Cemp: float = 0.0
    Cemq: float = 0.0
    Cemr: float = 0.0
    Cena: float = 0.0
    Cenb: float = 0.0
    Cenp: float = 0.0
    Cenq: float = 0.0
    Cenr: float = 0.0
    direction: Derivative = ()
    """Factor of the deflection of each control surface, -1 where its joint turns against the convention of
    AVL; 1 if left out."""
    CL_ctrl: Derivative = ()
    """Change of the lift coefficient by the deflection of each control surface [1/deg]; the others likewise.
    They have as many values, or none."""
    CD_ctrl: Derivative = ()
    CY_ctrl: Derivative = ()
    Cell_ctrl: Derivative = ()
    Cem_ctrl: Derivative = ()
    Cen_ctrl: Derivative = ()
    cp: Triple = (0.0, 0.0, 0.0)
    """Point where the coefficients hold, relative to the reference point [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.AR > 0, "AR", self.AR, "must be above 0")
        require(self.eff > 0, "eff", self.eff, "must be above 0")
        require(self.mac is None or self.mac > 0, "mac", self.mac, "must be above 0 m, or left out")
        require(self.alpha_stall > 0, "alpha_stall", self.alpha_stall, "must be above 0 rad")
        require(self.M > 0, "M", self.M, "must be above 0 1/rad")
        require_vector("cp", self.cp, unit="m")
        for field in ("direction", *(f"{name}_ctrl" for name in _COEFFICIENTS)):
            values = each(getattr(self, field))
            require(
                len(values) in (0, self.control_count),
                field,
                getattr(self, field),
                f"must have one value for each control surface, {self.control_count}, or none",
            )

    @property
    def control_count(self) -> int:
        """Number of control surfaces."""
        return max(len(each(getattr(self, f"{name}_ctrl"))) for name in _COEFFICIENTS)

    def parameters(self) -> AdvancedLiftDragParameters:
        """Return the parameters of the law."""
        span = math.sqrt(self.area * self.AR)
        chord = self.area / span if self.mac is None else self.mac
        plate = 2.0 / (1.0 + math.exp(_PLATE[0] + _PLATE[1] * max(self.AR, 1.0 / self.AR)))
        own = {f.name for f in fields(self)} & {f.name for f in fields(AdvancedLiftDragParameters)}
        drag, side, lift, roll, pitch, yaw = map(self._slopes, _COEFFICIENTS)
        same = {name: known(getattr(self, name)) for name in own - {"cp"}}
        return AdvancedLiftDragParameters(
            **same,
            drag=drag, side=side, lift=lift, roll=roll, pitch=pitch, yaw=yaw,
            by_induced_drag=math.pi * self.AR * self.eff,
            plate_drag=plate,
            half_area=0.5 * self.area,
            half_span=0.5 * span,
            half_chord=0.5 * chord,
            cp=tuple(map(known, self.cp)),  # type: ignore[arg-type]
        )  # fmt: skip

    def _slopes(self, name: str) -> Slopes:
        """Return the derivatives of a coefficient by rates and deflections."""
        p, q, r = (known(getattr(self, name + rate)) for rate in "pqr")
        count = self.control_count
        slopes = each(getattr(self, f"{name}_ctrl")) or (0.0,) * count
        senses = each(self.direction) or (1.0,) * count
        controls = tuple(known(k * s * _DEGREES) for k, s in zip(slopes, senses, strict=True))
        return Slopes(p, q, r, controls)
