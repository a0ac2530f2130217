"""Wing at all angles of attack: attached flow of a finite wing with flaps, blended into a flat plate."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.base.step_math import Real, Reals, Vec3, atan2, cos, magnitude, maximum, norm, sin, sqrt
from pegasus.dynamics.wings.wing import Derivative, Wing, each, unstalled

_BY_HALF_TURN = 2.0 / math.pi
_LEAST = 1e-300
"""Square of a speed [m^2/s^2] that keeps the angle of attack finite at rest."""
_PLATE_ACROSS = 1.98
"""Drag coefficient of a long flat plate across the flow."""
_PLATE_CENTER = 0.7
"""Share of a plate's force at a quarter of its chord in flow along it: the centre of pressure is 0.175 chords
ahead of the middle (Lindenburg 2003)."""


@dataclass(frozen=True)
class Flap:
    """Parameters of a control surface."""

    lift: float
    """Lift coefficient by the deflection in attached flow [1/rad]."""
    at_middle: float
    """Part of it that acts at the middle of the chord [1/rad]."""
    drag: float
    """Drag coefficient by the squared sine of the deflection."""
    share: float
    """Share of the area of the wing."""
    place: float
    """Place of the middle of the flap along x [m]."""


@dataclass(frozen=True)
class FullRangeParameters:
    """Parameters of `full_range`."""

    half_area: float
    quarter_chord: float
    lift_slope: float
    zero_lift: float
    """Lift coefficient at the angle of attack 0."""
    at_middle: float
    """Part of the lift coefficient of attached flow that acts at the middle of the chord."""
    skin_drag: float
    by_induced_drag: float
    """Square of the lift coefficient by that of induced drag."""
    stall_angle: float
    stall_sharpness: float
    tip_loss: float
    """Loss of a plate of this aspect ratio against a long one."""
    plate_share: float
    """Share of the area ahead of and beside the flaps."""
    flaps: tuple[Flap, ...]


def full_range(
    p: FullRangeParameters, velocity: Vec3, rate: Vec3, deflection: Reals, density: Real
) -> tuple[Vec3, Vec3]:
    """Return force and torque; see `FullRangeWing`."""
    ahead = velocity[0]
    # Vertical velocities at a quarter, the half and three quarters of the chord.
    front = velocity[2]
    middle = front + rate[1] * p.quarter_chord
    rear = middle + rate[1] * p.quarter_chord
    speed = sqrt(maximum(ahead * ahead + rear * rear, _LEAST))
    alpha = atan2(-rear, ahead)
    attached = unstalled(alpha, p.stall_angle, p.stall_sharpness)

    lift = p.zero_lift + p.lift_slope * alpha
    at_middle = p.at_middle
    drag = 0.0
    for j, flap in enumerate(p.flaps):
        lift = lift + flap.lift * deflection[j]
        at_middle = at_middle + flap.at_middle * deflection[j]
        bent = sin(deflection[j])
        drag = drag + flap.drag * bent * bent
    drag = attached * (drag + lift * lift / p.by_induced_drag)
    at_front = attached * (lift - at_middle)
    at_middle = attached * at_middle

    sine = magnitude(rear) / speed
    plate = (1.0 - attached) * _PLATE_ACROSS * (1.0 / (0.56 + 0.44 * sine) - p.tip_loss)
    slant = _PLATE_CENTER * (1.0 - magnitude(alpha) * _BY_HALF_TURN)
    front_share = maximum(slant, 0.0)
    rear_share = maximum(-slant, 0.0)
    main = plate * p.plate_share

    # Lift is across the velocity at its place and drag against it, so that no part gives energy.
    pressure = density * p.half_area * speed
    along = -at_front * front - at_middle * middle - drag * ahead
    up_front = at_front * ahead - (drag + main * front_share) * front
    up_middle = at_middle * ahead - main * (1.0 - front_share - rear_share) * middle
    up_rear = -main * rear_share * rear
    pitching = p.quarter_chord * (up_middle + 2.0 * up_rear)
    up = up_front + up_middle + up_rear
    for j, flap in enumerate(p.flaps):
        bent = sin(deflection[j])
        straight = cos(deflection[j])
        across = straight * (front - rate[1] * flap.place) - bent * ahead
        push = plate * flap.share * across
        along = along + push * bent
        up = up - push * straight
        pitching = pitching + flap.place * push * straight
    skin = density * p.half_area * p.skin_drag * norm(velocity)
    force = Vec3(
        pressure * along - skin * ahead,
        -skin * velocity[1],
        pressure * up - skin * front,
    )
    return force, Vec3(0.0, pressure * pitching, 0.0)


@dataclass(frozen=True, kw_only=True)
class FullRangeWing(Wing):
    """Wing at angles of attack up to 180 degrees, about its quarter-chord line.

    In attached flow the lift coefficient is CL = a (alpha - zero_lift_angle + sum tau_j delta_j), with the
    slope of a finite wing a = pi AR / (1 + sqrt(1 + (pi AR / section_slope)^2)) (Helmbold; Beard and McLain
    2012, sec. 4.2), and the flap effectiveness tau of thin aerofoils times `flap_efficiency`. Drag is
    skin_drag + CL^2 / (pi e AR), and 1.7 E^1.38 sin^2 delta of the flaps by their share of the span
    (McCormick 1995, chap. 3). Moments of camber and flaps are lift at the middle of the chord rather than at
    its quarter.

    Beyond stall the wing is a flat plate with the normal force

        C_N = 1.98 (1 / (0.56 + 0.44 |sin alpha|) - 0.41 (1 - exp(-17 / AR))) sin alpha

    (Hoerner; Lindenburg 2003), whose centre of pressure moves from 0.325 chords at 0 degrees over the middle
    at 90 to 0.675 at 180; flaps are plates of their own, turned by their deflection. Both are blended by the
    sigmoid of Beard and McLain (eq. 4.10) over the angle of attack of the wing, whatever its flaps. The
    structure is that of Khan and Nahon 2015.

    The angle of attack is that of the flow at three quarters of the chord (Pistolesi), which gives the lift
    of pitching. Flow along the span gives skin drag alone. Rolling and yawing act through the velocity of the
    reference point: make a wing of a left and a right half.

    Each part of the force is across or against the velocity of its own place, so that still air never gives
    energy, whatever the velocity, the rotation and the deflections.
    """

    law: ClassVar[Any] = staticmethod(full_range)

    span: float
    """Span b [m]; the chord is area / span, the aspect ratio b^2 / area."""
    zero_lift_angle: float = 0.0
    """Angle of attack without lift [rad], below 0 for a cambered wing."""
    section_slope: float = 2.0 * math.pi
    """Lift slope of the aerofoil section [1/rad]."""
    moment_coefficient: float = 0.0
    """Moment coefficient of the section about its quarter chord, nose up, without flaps."""
    skin_drag: float = 0.02
    """Drag coefficient without lift."""
    oswald_efficiency: float = 0.9
    """Oswald efficiency e."""
    stall_angle: float = 0.26
    """Angle of attack at which half of the flow is stalled [rad]."""
    stall_sharpness: float = 50.0
    """Rate of the transition to stall M [1/rad]."""
    flap_chord: Derivative = ()
    """Chord E of each control surface by that of the wing, from its trailing edge on. A positive deflection
    turns the trailing edge down."""
    flap_span: Derivative = ()
    """Span of each control surface by that of the wing; 1 if left out."""
    flap_efficiency: float = 0.8
    """Effectiveness of flaps by that of thin aerofoils; the boundary layer takes the rest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field, unit in (
            ("span", " m"),
            ("section_slope", " 1/rad"),
            ("oswald_efficiency", ""),
            ("stall_angle", " rad"),
            ("stall_sharpness", " 1/rad"),
        ):
            value = getattr(self, field)
            require(value > 0, field, value, f"must be above 0{unit}")
        require(self.skin_drag >= 0, "skin_drag", self.skin_drag, "must not be negative")
        for field in ("flap_chord", "flap_span"):
            values = each(getattr(self, field))
            right = all(0 < v <= 1 for v in values)
            require(right, field, getattr(self, field), "must be above 0, up to 1")
        spans, count = each(self.flap_span), self.control_count
        problem = f"must have as many values as flap_chord, {count}, or none"
        require(len(spans) in (0, count), "flap_span", self.flap_span, problem)
        shares = [flap.share for flap in self.parameters().flaps]
        require(sum(shares) <= 1, "flap_span", self.flap_span, "flaps must not be larger than the wing")

    @property
    def control_count(self) -> int:
        """Number of control surfaces."""
        return len(each(self.flap_chord))

    def parameters(self) -> FullRangeParameters:
        """Return the parameters of the law."""
        ratio = self.span * self.span / self.area
        slope = math.pi * ratio / (1.0 + math.hypot(1.0, math.pi * ratio / self.section_slope))
        chords = each(self.flap_chord)
        pairs = zip(chords, each(self.flap_span) or (1.0,) * len(chords), strict=True)
        flaps = tuple(self._flap(chord, span, slope) for chord, span in pairs)
        return FullRangeParameters(
            half_area=0.5 * self.area,
            quarter_chord=0.25 * self.area / self.span,
            lift_slope=slope,
            zero_lift=-slope * self.zero_lift_angle,
            at_middle=-4.0 * self.moment_coefficient,
            skin_drag=self.skin_drag,
            by_induced_drag=math.pi * self.oswald_efficiency * ratio,
            stall_angle=self.stall_angle,
            stall_sharpness=self.stall_sharpness,
            tip_loss=0.41 * (1.0 - math.exp(-17.0 / ratio)),
            plate_share=1.0 - sum(flap.share for flap in flaps),
            flaps=flaps,
        )

    def _flap(self, chord: float, span: float, slope: float) -> Flap:
        """Return a flap by thin-aerofoil theory (Anderson, Fundamentals of Aerodynamics, sec. 4.8)."""
        hinge = math.acos(2.0 * chord - 1.0)
        gain = self.flap_efficiency * span
        moment = -0.5 * math.sin(hinge) * (1.0 - math.cos(hinge))
        return Flap(
            lift=gain * slope * (1.0 - (hinge - math.sin(hinge)) / math.pi),
            at_middle=-4.0 * gain * moment,
            drag=1.7 * chord**1.38 * span,
            share=chord * span,
            place=(0.5 * chord - 0.75) * self.area / self.span,
        )
