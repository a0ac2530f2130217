"""Propeller of variable pitch: blade-element momentum theory at one station."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.base.step_math import Real, Vec3, clamped, cos, magnitude, maximum, sin, sqrt
from pegasus.dynamics.thrust_curves import ThrustCurve

_ARM = 0.75
"""Station of the blade by the radius, at which thrust r^2 and torque r^3 have one effective length."""
_LENGTH = 16.0 / 27.0
"""That length by the radius: of a blade in hover, the integral of r^2 is R^3 / 3."""
_ACROSS = 2.0
"""Drag coefficient of a blade across the flow, of a long flat plate (Hoerner 1965, sec. 3-16)."""
_LEAST = 1e-12
"""Squared speed that keeps a blade in air at rest finite [m^2/s^2]."""
_SEARCHES = 12
"""Halvings of the range of the induced velocity, before a step of regula falsi."""
_NONE = 1e-300


@dataclass(frozen=True)
class BladeNumbers:
    """Parameters of `blade_thrust`."""

    arm: float
    """Radius of the station [m]."""
    area: float
    """Half of the effective area of all blades [m^2]."""
    disc: float
    """Twice the area of the disc [m^2]."""
    lift_slope: float
    """Slope of the section's lift over the sine of its angle of attack."""
    max_lift: float
    """Largest lift coefficient."""
    drag: float
    """Drag coefficient below stall."""
    pitch: Real
    """Pitch of the blades at the station from their angle without lift [rad]."""


@dataclass(frozen=True)
class Station:
    """Blade at its station."""

    sine: Real
    """Sine and cosine of its angle to the plane of rotation, as it moves."""
    cosine: Real
    along: Real
    """Speed of the blade along that plane [m/s]."""


def blade_forces(p: BladeNumbers, at: Station, through: Real) -> tuple[Real, Real]:
    """Return the forces of all blades along the axis and in the plane of rotation, by air density [m^4/s^2].

    Args:
        p: Parameters.
        at: The station.
        through: Speed through the disc, with the induced velocity [m/s].
    """
    speed = sqrt(at.along * at.along + through * through + _LEAST)
    across = (at.sine * at.along - at.cosine * through) / speed
    ahead = (at.cosine * at.along + at.sine * through) / speed
    lift = clamped(p.lift_slope * across, -p.max_lift, p.max_lift) * ahead
    stall = p.max_lift / p.lift_slope
    drag = p.drag + _ACROSS * maximum(across * across - stall * stall, 0.0)
    size = p.area * speed
    return size * (lift * at.along - drag * through), size * (lift * through + drag * at.along)


def induced_velocity(p: BladeNumbers, at: Station, climb: Real, level: Real) -> Real:
    """Return the velocity that the thrust induces at the disc, with the sign of the thrust [m/s].

    Args:
        p: Parameters.
        at: The station.
        climb: Speed through the air along the axis [m/s].
        level: Square of that across it [m^2/s^2].
    """
    first, _ = blade_forces(p, at, climb)
    side = 1.0
    if first < 0.0:
        side = -1.0

    def excess(v: Real) -> Real:
        """Return the thrust of the blades beyond that of momentum theory."""
        through = climb + side * v
        flow = maximum(magnitude(through), v)
        pushed, _ = blade_forces(p, at, through)
        return side * pushed - p.disc * v * sqrt(level + flow * flow)

    low = 0.0
    high = at.along + magnitude(climb)
    for _ in range(_SEARCHES):
        middle = 0.5 * (low + high)
        if excess(middle) >= 0.0:
            low = middle
        else:
            high = middle
    more, less = excess(low), excess(high)
    return side * (low + (high - low) * maximum(more, 0.0) / maximum(more - less, _NONE))


def blade_thrust(p: BladeNumbers, speed: Real, air_velocity: Vec3, air_density: Real) -> tuple[Vec3, Vec3]:
    """Return force [N] and torque [N m]; see `VariablePitchThrust`."""
    turning = p.arm * speed
    x, y, climb = air_velocity[0], air_velocity[1], air_velocity[2]
    level = x * x + y * y
    along = sqrt(turning * turning + 0.5 * level + _LEAST)
    # A blade that turns backwards meets the air with its trailing edge.
    angle = p.pitch * (turning / along)
    at = Station(sin(angle), cos(angle), along)
    thrust, drag = blade_forces(p, at, climb + induced_velocity(p, at, climb, level))
    side, pull = -0.5 * air_density * drag / along, air_density * thrust
    torque = air_density * drag * p.arm * (turning / along)
    return Vec3(side * x, side * y, pull), Vec3(0.0, 0.0, torque)


@dataclass(frozen=True, kw_only=True)
class VariablePitchThrust(ThrustCurve):
    """Propeller whose blades a servo pitches, at any speed through the air, forward and reversed.

    Blade-element momentum theory (Drzewiecki 1920; Glauert 1926; Leishman 2006, "Principles of Helicopter
    Aerodynamics", ch. 3) at one station of the blades, at 3/4 of the radius, with the effective length at
    which thrust by pitch and profile power in hover are those of the integrals over rectangular blades.
    Thrust and torque of blades with a helical twist are met within 6 % at rest and in climb. The section
    lifts with the sine of its angle of attack up to a largest lift coefficient, and is a flat plate
    beyond. The induced velocity v is that of T = 2 rho A v sqrt(V_across^2 + max(|V_climb + v|, |v|)^2):
    Glauert's, and in the vortex-ring state that of hover. Air across the axis adds half of its squared
    speed to that of the blades, and meets the force in the plane of rotation with the share by which the
    work of all forces is the profile drag and the induced power: the propeller takes power from shaft and
    motion, and gives none back to both together. Moments across the axis are left out.
    """

    law: ClassVar[Any] = staticmethod(blade_thrust)

    diameter: float
    """Diameter [m]."""
    blade_count: int = 2
    """Number of blades."""
    chord: float
    """Mean chord of the blades [m]."""
    pitch: float = 0.25
    """Pitch at 3/4 of the radius from the angle without lift, where no joint commands it [rad]."""
    lift_slope: float = 5.7
    """Slope of the section's lift over its angle of attack [1/rad]."""
    max_lift: float = 1.2
    """Largest lift coefficient of the section."""
    drag_coefficient: float = 0.015
    """Drag coefficient of the section below stall."""

    def __post_init__(self) -> None:
        for name, unit in (("diameter", " m"), ("chord", " m"), ("lift_slope", ""), ("max_lift", "")):
            value = getattr(self, name)
            require(0.0 < value < math.inf, name, value, f"must be above 0{unit}")
        require(
            self.chord < 0.5 * self.diameter,
            "chord",
            self.chord,
            f"must be below the radius {self.diameter / 2:g} m",
        )
        require(self.blade_count >= 1, "blade_count", self.blade_count, "must be 1 or more")
        require(
            0.0 <= self.drag_coefficient < math.inf,
            "drag_coefficient",
            self.drag_coefficient,
            "must not be below 0",
        )
        require(
            self.max_lift < self.lift_slope,
            "max_lift",
            self.max_lift,
            f"must be below lift_slope = {self.lift_slope:g}",
        )
        require(abs(self.pitch) <= 1.5, "pitch", self.pitch, "must be from -1.5 to 1.5 rad")

    def parameters(self) -> BladeNumbers:
        """Return the parameters of the law."""
        radius = 0.5 * self.diameter
        return BladeNumbers(
            arm=_ARM * radius,
            area=0.5 * self.blade_count * self.chord * _LENGTH * radius,
            disc=2.0 * math.pi * radius * radius,
            lift_slope=self.lift_slope,
            max_lift=self.max_lift,
            drag=self.drag_coefficient,
            pitch=self.pitch,
        )
