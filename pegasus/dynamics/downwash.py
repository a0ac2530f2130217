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
from pegasus.base.step_math import Column, Quat, Real, Table, Vec3, dot, minimum, norm, rotate, sqrt
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
class JetFrame:
    """Rotors of a kind of vehicle, as the origin and the target of jets."""

    rotor_count: int
    center: Vec3
    """Mean of the rotors' centres in the body frame [m]."""
    disc_radius: float
    """Radius of one disc with the area of all rotors [m]."""
    size: float
    """Largest distance of two rotors, the diameter of a single one [m]."""
    has_jet: bool
    """Whether the vehicles have a jet."""
    has_law: bool
    """Whether `turbulent_jet` gives its velocity."""


@dataclass
class WakeRows:
    """Columns of `form_jet` and `blow`: a row for each of M bodies, and parameters for each kind."""

    kind: Column[int]
    frame: Column[JetFrame]
    downwash: Column[Downwash]
    rotor_position: Table[Vec3]
    """Centre of each rotor in the body frame [m], by kind."""

    position: Column[Vec3]
    orientation: Column[Quat]
    velocity: Column[Vec3]
    rotor_force: Column[Vec3]
    """Force of the rotors, world [N]."""
    wind: Column[Vec3]
    """Velocity of the air in the world [m/s]."""
    air_density: Column[Real]

    center: Column[Vec3]
    """Origin of each jet in the world [m]."""
    axis: Column[Vec3]
    """Unit vector opposite to the thrust, in the world."""
    momentum: Column[Real]
    """Thrust by the density of the air, 0 without a jet [m^4/s^2]."""
    wake: Table[Vec3]
    """Velocity of the air at each rotor by the jets of other bodies, world [m/s]."""


def form_jet(i: int, rows: WakeRows) -> None:
    """Set the jet of body i."""
    frame = rows.frame[rows.kind[i]]
    q = rows.orientation[i]
    thrust = norm(rows.rotor_force[i])
    rows.center[i] = rows.position[i] + rotate(q, frame.center)
    rows.axis[i] = rotate(q, Vec3(0.0, 0.0, -1.0))
    rows.momentum[i] = 0.0
    if frame.has_jet and thrust > 0.0 and rows.air_density[i] > 0.0:
        through_air = rows.velocity[i] - rows.wind[i]
        left = hover_share(thrust, dot(through_air, through_air), rows.air_density[i], frame.disc_radius)
        rows.axis[i] = rows.rotor_force[i] * (-1.0 / thrust)
        rows.momentum[i] = left * left * thrust / rows.air_density[i]


def blow(k: int, rows: WakeRows, bodies: int, rotors: int) -> None:
    """Set the wake at rotor k % rotors of body k // rotors: the sum over the jets of the other bodies.

    Jets of custom NumPy models are left out.
    """
    i = k // rotors
    j = k - i * rotors
    kind = rows.kind[i]
    if j < rows.frame[kind].rotor_count:
        place = rows.position[i] + rotate(rows.orientation[i], rows.rotor_position[kind, j])
        wake = Vec3(0.0, 0.0, 0.0)
        for other in range(bodies):
            if other != i and rows.momentum[other] > 0.0:
                jet = rows.kind[other]
                if rows.frame[jet].has_law:
                    wake += turbulent_jet(
                        rows.downwash[jet],
                        place - rows.center[other],
                        rows.axis[other],
                        rows.momentum[other],
                        rows.frame[jet].size,
                    )
        rows.wake[i, j] = wake
