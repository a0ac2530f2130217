"""Ground and ceiling effect: gain of thrust close to the ground, and below a ceiling."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.base.step_math import Real, Reals, maximum, minimum, power, sqrt

FAR = 1e9
"""Height above missing ground [m]."""
_PI = 3.141592653589793


def image_upwash(own: Real, other: Real, separation_squared: Real, radius: Real) -> Real:
    """Return the upwash at a rotor by the image of another, or its own, relative to the induced velocity.

    The flow of a rotor with the induced velocity v is that of a source of strength R^2 v / 4, and the ground
    is a mirror: each rotor j has an image below it, which acts on rotor i from a distance
    sqrt(d_ij^2 + 4 h_i h_j) with the part (h_i + h_j) R^2 v / (4 distance^3) along the normal of the ground.
    For one rotor that is (R / 4 h)^2. Source: Cheeseman and Bennett, The effect of the ground on a helicopter
    rotor in forward flight, ARC R&M 3021, 1955; for several rotors Sanchez-Cuevas, Heredia and Ollero,
    Characterization of the aerodynamic ground effect and its influence in multirotor control, Int. J.
    Aerospace Engineering, 2017, here for rotors anywhere.

    Args:
        own: Height h_i of the rotor over its ground, above 0 [m].
        other: Height h_j of the other [m].
        separation_squared: Squared distance d^2 of the two [m^2].
        radius: Radius R of the rotors [m].
    """
    squared = separation_squared + 4.0 * own * other
    return 0.25 * radius * radius * (own + other) / (squared * sqrt(squared))


def body_upwash(height: Real, radius: Real, span: Real, body_lift: Real) -> Real:
    """Return 2 K_b R^2 h / (b^2 + 4 h^2)^(3/2), the upwash between the rotors.

    Source: Sanchez-Cuevas, Heredia and Ollero 2017.

    Args:
        height: Height h of the rotor over its ground, above 0 [m].
        radius: Radius R of the rotors [m].
        span: Largest distance b of two rotors [m].
        body_lift: Coefficient K_b.
    """
    squared = span * span + 4.0 * height * height
    return 2.0 * body_lift * radius * radius * height / (squared * sqrt(squared))


def hover_share(thrust: Real, speed_squared: Real, air_density: Real, radius: Real) -> Real:
    """Return 1 / (1 + (V / v)^2), the remaining fraction of the upwash at ground speed V.

    The wake is left behind (Cheeseman and Bennett 1955); v = sqrt(T / (2 rho pi R^2)) is the induced
    velocity.

    Args:
        thrust: Thrust T without ground effect; 0 is returned where it is not above 0 [N].
        speed_squared: Square of V [m^2/s^2].
        air_density: Air density rho [kg/m^3].
        radius: Radius R of the rotors [m].
    """
    positive = maximum(thrust, 0.0)
    return positive / (positive + 2.0 * _PI * radius * radius * air_density * speed_squared + 1e-12)


def thrust_ratio(upwash: Real, facing: Real, share: Real) -> Real:
    """Return the ratio of thrust with to thrust without ground effect, at an unchanged power.

    Args:
        upwash: Upwash of a hovering vehicle relative to the induced velocity.
        facing: Cosine between the rotor's axis and the normal of the ground; no effect below 0.
        share: Fraction of the upwash that is left at the speed over ground.
    """
    return 1.0 / (1.0 - upwash * maximum(facing, 0.0) * share)


def ceiling_gain(gap: Real, radius: Real, least_gap: Real) -> Real:
    """Return the ratio of thrust below a ceiling to thrust far from it, in hover at an unchanged power.

    The air comes from the rim, between rotor and ceiling, where it is fast and its pressure low. By momentum
    theory the wake is g = (1 + sqrt(1 + (R / d)^2 / 8)) / 2 times as fast relative to the induced velocity,
    and P = T^(3/2) / (g sqrt(2 rho A)). Source: Hsiao and Chirarattananon, Ceiling effects for surface
    locomotion of small rotorcraft, IEEE/RSJ IROS 2018.

    Args:
        gap: Distance d of the rotor from the ceiling [m].
        radius: Radius R of the rotor [m].
        least_gap: Distance by the radius, below which the effect is constant.
    """
    near = radius / maximum(gap, least_gap * radius)
    return power(0.5 + 0.5 * sqrt(1.0 + 0.125 * near * near), 2.0 / 3.0)


def ceiling_ratio(gain: Real, facing: Real, share: Real) -> Real:
    """Return the ratio of thrust with to thrust without a ceiling.

    As for the ground, a tilted rotor gets the part along its axis, and the speed leaves a fraction.

    Args:
        gain: The ratio of a level rotor in hover.
        facing: Cosine between the rotor's axis and the direction to the ceiling; no effect below 0.
        share: Fraction that is left at the speed along the ceiling.
    """
    return 1.0 + (gain - 1.0) * maximum(facing, 0.0) * share


def image_sources(
    p: "GroundEffect", heights: Reals, apart: Reals, j: int, count: int, radius: Real, span: Real
) -> Real:
    """Return the upwash of all images at rotor j in hover, relative to its induced velocity.

    Args:
        p: Parameters.
        heights: Heights of the rotors over their ground [m].
        apart: Squared distances of all pairs of rotors, row by row [m^2], then their shares in their streams.
        j: The rotor.
        count: Number of rotors.
        radius: Radius of the rotors [m].
        span: Largest distance of two rotors [m].
    """
    lowest = p.least_height * radius
    own = minimum(maximum(heights[j], lowest), FAR)
    upwash = 0.0
    for o in range(count):
        other = minimum(maximum(heights[o], lowest), FAR)
        upwash += apart[count * count + o] * image_upwash(own, other, apart[count * j + o], radius)
    if p.body_lift > 0.0 and span > 0.0:
        upwash += body_upwash(own, radius, span, p.body_lift)
    return upwash


@dataclass(frozen=True, kw_only=True)
class GroundEffect:
    """Ground effect by mirror images of the rotors below the ground, at an unchanged torque.

    With the upwash u of all images, by a rotor's induced velocity, its thrust is T / (1 - u): the power is
    that without the ground. A tilted rotor gets the part of u along its axis, and none with its back to the
    ground. A ceiling above, if it counts, multiplies the thrust by `ceiling_gain`. By these sources a wall
    moves the air across a rotor's axis only, and so it has no effect.
    """

    law: ClassVar[Callable[..., Any]] = staticmethod(image_sources)
    """Step function of the upwash at a rotor; see `image_sources`."""

    body_lift: float = 2.0
    """Coefficient K_b of the upwash between the rotors, which lifts the body; 0 for none."""
    least_height: float = 0.5
    """Height relative to the radius below which the effect is constant: the sources are singular at 0.25."""

    ceilings: bool = False
    """Whether surfaces above the rotors count too."""
    least_gap: float = 0.25
    """Distance from a ceiling relative to the radius below which the effect is constant."""

    def __post_init__(self) -> None:
        require(0.1 <= self.least_gap <= 10, "least_gap", self.least_gap, "must be from 0.1 to 10")
        require(0 <= self.body_lift <= 4, "body_lift", self.body_lift, "must be from 0 to 4")
        require(0.5 <= self.least_height <= 10, "least_height", self.least_height, "must be from 0.5 to 10")
