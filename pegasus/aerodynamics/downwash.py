"""Downwash: the jet of air below a vehicle, and what it does to those that fly there."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pegasus.arrays import Array, IntArray, namespace
from pegasus.components import require

_PROFILE = math.sqrt(2.0) - 1.0
"""Makes the half-width that distance from the axis at which half of the speed is left."""
_ONSET = 0.5
"""Distance below the rotors by that of two of them over which the jet comes in, so that nothing jumps."""
_BLOCK = 100_000
"""Jets times places that are computed at once."""


def jet_speed(distance: Array, half_width: Array, momentum: Array) -> Array:
    """Return the speed of the air in a round turbulent jet [m/s], shape (...).

    U = U_c / (1 + (sqrt(2) - 1) (r / w)^2)^2, with the U_c that carries the thrust through every section:
    the integral of rho U^2 over it is pi rho U_c^2 w^2 / (3 (sqrt(2) - 1)). Source: the self-similar jet of
    Schlichting (Pope, Turbulent flows, 2000, sec. 5.2), which Bauersfeld, Muller, Ziegler, Coletti and
    Scaramuzza measured below quadrotors (Robotics meets fluid dynamics, IEEE RA-L 10, 2025).

    Args:
        distance: Distance r from the axis [m], shape (...).
        half_width: Half-width w of the section, above 0 [m], shape (...).
        momentum: Thrust by the density of the air [m^4/s^2], shape (...).
    """
    xp = namespace(distance)
    center = xp.sqrt((3.0 * _PROFILE / math.pi) * momentum) / half_width
    share = distance / half_width
    falloff = 1.0 + _PROFILE * share * share
    speed: Array = center / (falloff * falloff)
    return speed


@dataclass(frozen=True, kw_only=True)
class Downwash:
    """The streams of all rotors of a vehicle as one round turbulent jet against their thrust.

    Its half-width at a distance s below the rotors is `spreading_rate` (s + `virtual_origin` l), with the
    largest distance l of two rotors. The defaults are those of six quadrotors in hover (Bauersfeld et al.
    2025), whose streams had become one jet from 2.5 l on. The wake of a vehicle that flies at a speed V is
    left behind: 1 / (1 + (V / v)^2) of it stays, with the induced velocity v of its rotors.

    A user's own downwash is a frozen dataclass that derives from this one.
    """

    spreading_rate: float = 0.0767
    """Half-width by distance from the virtual origin."""
    virtual_origin: float = 5.817
    """Distance of the virtual origin above the rotors, by the largest distance of two rotors."""
    reach: float = 40.0
    """Distance by that of two rotors beyond which it has died down."""

    def __post_init__(self) -> None:
        for name in ("spreading_rate", "virtual_origin", "reach"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, "must be above 0 and finite")

    def half_width(self, depth: Array, size: float) -> Array:
        """Return the half-width of the jet [m], shape (...).

        Args:
            depth: Distance below the rotors, along the jet [m], shape (...).
            size: Largest distance of two rotors [m].
        """
        return self.spreading_rate * (depth + self.virtual_origin * size)

    def velocity(self, place: Array, *, axis: Array, momentum: Array, size: float) -> Array:
        """Return the velocity of the air at places by each of M jets [m/s], shape (M, K, 3).

        Args:
            place: Places seen from the middle of the rotors of each jet, in the world [m], shape (M, K, 3).
            axis: Unit vector along each jet, in the world, shape (M, 3).
            momentum: Thrust by the density of the air [m^4/s^2], shape (M,).
            size: Largest distance of two rotors [m].
        """
        depth = (place * axis[:, None]).sum(axis=-1)
        away = place - depth[..., None] * axis[:, None]
        onset = np.minimum(np.maximum(depth / (_ONSET * size), 0.0), 1.0)
        onset = np.where(depth < self.reach * size, onset, 0.0)
        width = self.half_width(np.maximum(depth, 0.0), size)
        speed = jet_speed(np.sqrt((away * away).sum(axis=-1)), width, momentum[:, None])
        velocity: Array = (onset * speed)[..., None] * axis[:, None]
        return velocity


class Jets(NamedTuple):
    """The jets of the M copies of a vehicle."""

    downwash: Downwash
    origin: Array
    """Middle of the rotors in the world [m], shape (M, 3)."""
    axis: Array
    """Unit vectors against the thrust, in the world, shape (M, 3)."""
    momentum: Array
    """Thrust by the density of the air [m^4/s^2], shape (M,)."""
    size: float
    """Largest distance of two rotors [m]."""
    body: IntArray
    """Number of each copy among all bodies, shape (M,)."""

    def at(self, place: Array, body: IntArray) -> Array:
        """Return the velocity of the air that they move at places, but for those of their own body, (K, 3).

        Args:
            place: Places in the world [m], shape (K, 3).
            body: Number of the body that each place belongs to, shape (K,).
        """
        velocity = np.zeros(place.shape)
        rows = max(1, _BLOCK // max(1, len(place)))
        for first in range(0, len(self.body), rows):
            some = slice(first, first + rows)
            blown = self.downwash.velocity(
                place - self.origin[some, None],
                axis=self.axis[some],
                momentum=np.where(self.momentum[some] > 0, self.momentum[some], 0.0),
                size=self.size,
            )
            others = self.body[some, None] != body
            velocity += (blown * others[..., None]).sum(axis=0)
        return velocity
