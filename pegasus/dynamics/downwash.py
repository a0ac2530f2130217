"""Downwash: the turbulent jet below a vehicle."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Quat, Real, Vec3, dot, minimum, norm, rotate, sqrt
from pegasus.dynamics.ground_effect import hover_share

_PROFILE = math.sqrt(2.0) - 1.0
"""Factor that makes the half-width the distance from the axis at half of the speed."""
_FLUX = 3.0 * _PROFILE / math.pi
_ONSET = 0.5
"""Distance below the rotors, relative to the largest one between two, over which the jet sets in."""


def jet_speed(distance_squared: Real, half_width: Real, momentum: Real) -> Real:
    """Return the speed of the air in a round turbulent jet [m/s].

    U = U_c / (1 + (sqrt(2) - 1) (r / w)^2)^2, with the U_c that carries the thrust through every section:
    the integral of rho U^2 over it is pi rho U_c^2 w^2 / (3 (sqrt(2) - 1)). Source: the self-similar jet of
    Schlichting (Pope, Turbulent flows, 2000, sec. 5.2), which Bauersfeld, Muller, Ziegler, Coletti and
    Scaramuzza measured below quadrotors (Robotics meets fluid dynamics, IEEE RA-L 10, 2025).

    Args:
        distance_squared: Square of the distance r from the axis [m^2].
        half_width: Half-width w of the section, above 0 [m].
        momentum: Thrust by the density of the air [m^4/s^2].
    """
    squared = half_width * half_width
    spread = squared + _PROFILE * distance_squared
    return sqrt(_FLUX * momentum) * half_width * squared / (spread * spread)


def half_width(p: "Downwash", depth: Real, size: Real) -> Real:
    """Return the half-width of the jet [m].

    Args:
        p: Parameters.
        depth: Distance below the rotors, along the jet [m].
        size: Largest distance of two rotors [m].
    """
    return p.spreading_rate * (depth + p.virtual_origin * size)


def turbulent_jet(p: "Downwash", place: Vec3, axis: Vec3, momentum: Real, size: Real) -> Vec3:
    """Return the air velocity that a jet causes at a point [m/s].

    Args:
        p: Parameters.
        place: Point relative to the centre of the rotors, in the world [m].
        axis: Unit vector along the jet, in the world.
        momentum: Thrust by the density of the air [m^4/s^2].
        size: Largest distance of two rotors [m].
    """
    depth = dot(place, axis)
    if depth <= 0.0 or depth >= p.reach * size:
        return Vec3(0.0, 0.0, 0.0)
    away = place - axis * depth
    speed = jet_speed(dot(away, away), half_width(p, depth, size), momentum)
    return axis * (minimum(depth / (_ONSET * size), 1.0) * speed)


@dataclass(frozen=True, kw_only=True)
class Downwash:
    """Round turbulent jet of all rotors of a vehicle, opposite to their thrust.

    Its half-width at a distance s below the rotors is `spreading_rate` (s + `virtual_origin` l), with the
    largest distance l of two rotors. The defaults are those of six quadrotors in hover (Bauersfeld et al.
    2025), whose streams had become one jet from 2.5 l on. The wake of a vehicle that flies at a speed V is
    left behind: 1 / (1 + (V / v)^2) of it stays, with the induced velocity v of its rotors.

    A custom downwash is a frozen dataclass derived from this one, with a `law` of its own, or with `velocity`
    overridden in NumPy.
    """

    law: ClassVar[Callable[..., Any]] = staticmethod(turbulent_jet)
    """Step function of the air velocity in a jet; see `turbulent_jet`."""

    spreading_rate: float = 0.0767
    """Half-width by distance from the virtual origin."""
    virtual_origin: float = 5.817
    """Distance of the virtual origin above the rotors, by the largest distance of two rotors."""
    reach: float = 40.0
    """Length of the jet, relative to the largest distance of two rotors."""

    def __post_init__(self) -> None:
        for name in ("spreading_rate", "virtual_origin", "reach"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, "must be above 0 and finite")

    def velocity(self, place: Array, *, axis: Array, momentum: Array, size: float) -> Array:
        """Return the air velocity that each of M jets causes at points [m/s], shape (M, K, 3).

        Args:
            place: Points relative to the centre of the rotors of each jet, in the world [m], shape (M, K, 3).
            axis: Unit vector along each jet, in the world, shape (M, 3).
            momentum: Thrust by the density of the air [m^4/s^2], shape (M,).
            size: Largest distance of two rotors [m].
        """
        axes, momenta = np.broadcast_to(axis[:, None], place.shape), momentum[:, None]
        velocity: Array = self._rows(self, place, axes, np.broadcast_to(momenta, place.shape[:-1]), size)
        return velocity

    @cached_property
    def _rows(self) -> RowMap:
        return RowMap(type(self).law, values=1)


@dataclass(frozen=True)
class JetSource:
    """Vehicle as the origin of a jet."""

    position: Vec3
    orientation: Quat
    velocity: Vec3
    rotor_force: Vec3
    """Force of the rotors, world [N]."""
    wind: Vec3
    """Velocity of the air in the world [m/s]."""
    air_density: Real
    middle: Vec3
    """Mean of the rotors' centres in the body frame [m]."""
    disc_radius: Real
    """Radius of one disc with the area of all rotors [m]."""


@dataclass(frozen=True)
class Jet:
    """Jet of a vehicle."""

    center: Vec3
    """Its origin in the world [m]."""
    axis: Vec3
    """Unit vector opposite to the thrust, in the world."""
    momentum: Real
    """Thrust by the density of the air, 0 without a jet [m^4/s^2]."""


def formed_jet(source: JetSource) -> Jet:
    """Return the jet of a vehicle."""
    q, thrust = source.orientation, norm(source.rotor_force)
    axis = rotate(q, Vec3(0.0, 0.0, -1.0))
    momentum = 0.0
    if thrust > 0.0 and source.air_density > 0.0:
        through_air = source.velocity - source.wind
        square = dot(through_air, through_air)
        left = hover_share(thrust, square, source.air_density, source.disc_radius)
        axis = source.rotor_force * (-1.0 / thrust)
        momentum = left * left * thrust / source.air_density
    return Jet(source.position + rotate(q, source.middle), axis, momentum)


@dataclass(frozen=True)
class Blown:
    """Vehicle on whose rotors jets blow."""

    number: Real
    """Number of its row."""
    position: Vec3
    orientation: Quat
    rotor_position: tuple[Vec3, ...]
    """Centre of each rotor in the body frame [m]."""
    wake: tuple[Vec3, ...]
    """Velocity of the air at each rotor by the jets so far, world [m/s]."""


def blown(
    law: Callable[..., Vec3], p: "Downwash", jet: Jet, number: Real, size: Real, target: Blown
) -> tuple[Vec3, ...]:
    """Return the wake at the rotors of a vehicle with one jet more; its own does not count.

    Args:
        law: Velocity in the jet; see `Downwash.law`.
        p: Its parameters.
        jet: The jet.
        number: Number of the row of its vehicle.
        size: Largest distance of two rotors there [m].
        target: The vehicle.
    """
    if number == target.number or not jet.momentum > 0.0:
        return target.wake
    origins = (target.position + rotate(target.orientation, place) for place in target.rotor_position)
    speeds = (law(p, place - jet.center, jet.axis, jet.momentum, size) for place in origins)
    return tuple(before + speed for before, speed in zip(target.wake, speeds, strict=True))
