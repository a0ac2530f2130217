"""Ground effect: what the thrust of rotors gains close to the ground."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array, namespace
from pegasus.components import require
from pegasus.engines.engine import RayHits
from pegasus.frames import rotate
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.multirotor import RotorLayout

_REACH = 20.0
"""Height by the radius up to which the ground is looked for; the gain is below 0.2 % there."""
_LOOK_INTERVAL = 0.04
"""How often the ground is looked for [s]; in between it is taken to go on as a plane."""
_STACKED = 0.5
"""Distance of two axes by the radius below which their rotors drive one and the same stream."""
_FAR = 1e9
"""Height where there is no ground [m]."""


def image_upwash(height: Array, *, radius: float, separation_squared: Array, share: Array) -> Array:
    """Return the upwash at each rotor by its own induced velocity, shape (N, R).

    The flow of a rotor with the induced velocity v is that of a source of strength R^2 v / 4, and the ground
    is a mirror: below it, each rotor j has an image, which blows on rotor i from a distance
    sqrt(d_ij^2 + 4 h_i h_j) with the part (h_i + h_j) R^2 v / (4 distance^3) along the normal of the ground.
    For one rotor that is (R / 4 h)^2. Source: Cheeseman and Bennett, The effect of the ground on a helicopter
    rotor in forward flight, ARC R&M 3021, 1955; for several rotors Sanchez-Cuevas, Heredia and Ollero,
    Characterization of the aerodynamic ground effect and its influence in multirotor control, Int. J.
    Aerospace Engineering, 2017, here for rotors anywhere.

    Args:
        height: Height h of each rotor over its ground, above 0 [m], shape (N, R).
        radius: Radius R of the rotors [m].
        separation_squared: Squared distances d^2 of the rotors from each other [m^2], shape (R, R).
        share: Share of each rotor in the stream that it drives, 1 / 2 in a coaxial pair, shape (R,).
    """
    xp = namespace(height)
    own, other = height[:, :, None], height[:, None, :]
    squared = separation_squared + 4.0 * own * other
    upwash: Array = (0.25 * radius**2) * xp.sum(share * (own + other) / (squared * xp.sqrt(squared)), axis=-1)
    return upwash


def body_upwash(height: Array, *, radius: float, span: float, body_lift: float) -> Array:
    """Return 2 K_b R^2 h / (b^2 + 4 h^2)^(3/2), the part of the air that rises between the rotors, (N, R).

    Source: Sanchez-Cuevas, Heredia and Ollero 2017.

    Args:
        height: Height h of each rotor over its ground, above 0 [m], shape (N, R).
        radius: Radius R of the rotors [m].
        span: Largest distance b of two rotors [m].
        body_lift: Coefficient K_b.
    """
    xp = namespace(height)
    squared = span**2 + 4.0 * height * height
    upwash: Array = (2.0 * body_lift * radius**2) * height / (squared * xp.sqrt(squared))
    return upwash


def hover_share(thrust: Array, speed_squared: Array, *, air_density: Array, radius: float) -> Array:
    """Return 1 / (1 + (V / v)^2), what is left of the upwash at a speed V along the ground, shape (N, R).

    The wake is left behind (Cheeseman and Bennett 1955); v = sqrt(T / (2 rho pi R^2)) is the induced
    velocity.

    Args:
        thrust: Thrust T without ground effect; 0 is returned where it is not above 0 [N], shape (N, R).
        speed_squared: Square of V [m^2/s^2], shape (N, R).
        air_density: Air density rho [kg/m^3], shape (N, 1).
        radius: Radius R of the rotors [m].
    """
    xp = namespace(thrust)
    positive = xp.where(thrust > 0, thrust, 0.0)
    share: Array = positive / (positive + (2.0 * math.pi * radius**2) * air_density * speed_squared + 1e-12)
    return share


@dataclass(frozen=True, kw_only=True)
class GroundEffect:
    """Thrust by the rotors' mirror images below the ground, at an unchanged torque.

    With the upwash u of all images, by a rotor's induced velocity, its thrust is T / (1 - u): the power is
    that without the ground. A tilted rotor gets the part of u along its axis, and none with its back to the
    ground.

    A user's own ground effect is a frozen dataclass that derives from this one.
    """

    body_lift: float = 2.0
    """Coefficient K_b of the air that rises between the rotors and lifts the body; 0 for none."""
    least_height: float = 0.5
    """Height of a rotor by its radius below which nothing changes any more: the sources end at 0.25."""

    def __post_init__(self) -> None:
        require(0 <= self.body_lift <= 4, "body_lift", self.body_lift, "must be from 0 to 4")
        require(0.5 <= self.least_height <= 10, "least_height", self.least_height, "must be from 0.5 to 10")

    def upwash(
        self, height: Array, *, radius: float, span: float, separation_squared: Array, share: Array
    ) -> Array:
        """Return the upwash at each rotor of a level vehicle in hover by its induced velocity, shape (N, R).

        Args:
            height: Height of each rotor over its ground, infinite where there is none [m], shape (N, R).
            radius: Radius of the rotors [m].
            span: Largest distance of two rotors [m].
            separation_squared: Squared distances of the rotors from each other [m^2], shape (R, R).
            share: Share of each rotor in the stream that it drives, shape (R,).
        """
        height = np.minimum(np.maximum(height, self.least_height * radius), _FAR)
        upwash = image_upwash(height, radius=radius, separation_squared=separation_squared, share=share)
        if self.body_lift > 0 and span > 0:
            upwash = upwash + body_upwash(height, radius=radius, span=span, body_lift=self.body_lift)
        return upwash


class NearGround:
    """The rotors of N vehicles over the ground that they last saw.

    Args:
        effect: What the ground does.
        layout: Places and axes of the R rotors.
        radius: Their radius [m].
    """

    def __init__(self, effect: GroundEffect, layout: "RotorLayout", radius: float) -> None:
        self._effect, self._layout, self._radius = effect, layout, radius
        between = layout.position[:, None] - layout.position
        self._separation_squared = (between * between).sum(axis=-1)
        self._span = float(np.sqrt(self._separation_squared.max()))
        along = np.sqrt(np.maximum(self._separation_squared - (between * layout.axis).sum(axis=-1) ** 2, 0.0))
        self._share = 1.0 / (along < _STACKED * radius).sum(axis=1)
        self.reset()

    def reset(self) -> None:
        """Forget the ground."""
        self._looked = -math.inf
        self._offset: Array = np.zeros(0)
        self._normal: Array = np.zeros(0)

    def thrust_ratio(
        self,
        thrust: Array,
        centers: Array,
        state: VehicleState,
        t: float,
        *,
        through_air: Array,
        air_density: Array,
        cast: Callable[[Array, float], RayHits],
    ) -> Array:
        """Return thrust by what it is without ground effect, shape (N, R).

        Args:
            thrust: Thrust without ground effect [N], shape (N, R).
            centers: Middles of the discs in the world [m], shape (N, R, 3).
            state: True state.
            t: Simulation time [s].
            through_air: Velocity through the air, in the world [m/s], shape (N, 3).
            air_density: Air density [kg/m^3], shape (N, 1).
            cast: Casts rays straight down from places in the world, shape (N R, 3), up to a distance [m].
        """
        if not 0.0 <= t - self._looked < _LOOK_INTERVAL - 1e-9:
            self._look(centers, cast)
            self._looked = t
        normal = self._normal
        height = (centers * normal).sum(axis=-1) - self._offset
        upwash = self._effect.upwash(
            height,
            radius=self._radius,
            span=self._span,
            separation_squared=self._separation_squared,
            share=self._share,
        )
        facing = np.maximum((rotate(state.rotation[:, None], self._layout.axis) * normal).sum(axis=-1), 0.0)
        climb = (through_air[:, None] * normal).sum(axis=-1)
        level = (through_air * through_air).sum(axis=1, keepdims=True) - climb * climb
        share = hover_share(thrust, level, air_density=air_density, radius=self._radius)
        ratio: Array = 1.0 / (1.0 - upwash * facing * share)
        return ratio

    def _look(self, centers: Array, cast: Callable[[Array, float], RayHits]) -> None:
        """Take the planes that are hit below the rotors for the ground; other vehicles are none."""
        hits = cast(centers.reshape(-1, 3), _REACH * self._radius)
        ground = (hits.hit & (hits.body < 0)).reshape(centers.shape[:2])
        self._normal = np.where(ground[..., None], hits.normal.reshape(centers.shape), [0.0, 0.0, 1.0])
        below = np.where(ground, hits.distance.reshape(ground.shape), _FAR)
        # The foot of a ray is straight down.
        foot = centers - below[..., None] * [0.0, 0.0, 1.0]
        self._offset = (foot * self._normal).sum(axis=-1)
