"""Rotor in forward flight: translational lift, induced drag, and flapping of its blades.

Speeds are advance ratios, by n D. A rotor with the thrust coefficient C_T that moves through the air at J
along its axis and mu across it has the induced velocity lambda_i of

    lambda_i^2 (mu^2 + (J + lambda_i)^2) = lambda_h^4,   lambda_h^2 = 2 C_T / pi

(Glauert 1926; Leishman, Principles of Helicopter Aerodynamics, 2006, sec. 2.14), which is smaller than in
hover: the same rotor gives more thrust for less power. C_T and C_P follow from the flow through the disc
J + lambda_i as in axial flight; they are tabulated over J and mu once, so that a step only interpolates.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.elementary import squared
from pegasus.base.step_math import Real, Reals, Vec3, floor, magnitude, minimum
from pegasus.dynamics.propeller_curve import PropellerThrust
from pegasus.dynamics.rotor_states import DESCENT, Coefficients, after_download, axial_inflow, disc_inflow
from pegasus.dynamics.thrust_curves import signed_root

_TURN = 2.0 * math.pi
_PI = math.pi
_SLOW = 3e-9
"""Speed of a blade tip [m/s] below which advance ratios are those of this speed."""
_LEAST = 1e-18
"""Squared speed [m^2/s^2] that keeps the place across the axis finite at rest, in single precision too."""
_DENSITY = 50.0
"""Points of the tables per unit of the advance ratio along the axis."""
_ACROSS = 21
"""Points of the tables across the axis, evenly spaced in mu^2 / (mu^2 + 0.25), which is 1 at the last: the
coefficients are smooth in mu^2."""
_LAST_ACROSS = 20.0
_HALF = 0.5
"""Advance ratio mu across the axis in the middle of the tables."""
_HALF_TIP = squared(_HALF / math.pi)
"""Its square with speeds by that of the tip, pi n D."""
_BY_RATIO, _FIRST = math.pi * _DENSITY, DESCENT * _DENSITY
"""Points of the tables per speed along the axis by that of the tip, and those up to a ratio of 0."""
_CELL = 8.0
"""Values of a cell: two coefficients by four shares; one line of a cache."""
_CELLS = float((_ACROSS - 1) * _CELL)
"""Values of the cells from one advance ratio along the axis to the next."""


@dataclass(frozen=True)
class RotorParameters:
    """Parameters of `rotor_in_flight`."""

    radius: float
    """Radius [m]."""
    pressure: float
    """Thrust by C_T, air density and squared speed, D^4 / (2 pi)^2 [m^4]."""
    end: float
    """Last place along the axis, the number of cells."""
    half_tip: float
    """Squared speed across the axis in the middle of the tables, by that of the rotor [m^2/rad^2]."""
    turning_in_descent: float
    """Speed of a rotor at the first advance ratio of the tables, by its speed along the axis [rad/m]."""
    turning_at_end: float
    """Likewise at the last one."""
    cells: tuple[float, ...]
    """C_T and then C_P D / (2 pi) of each cell between evenly spaced advance ratios along the axis, from -2
    on, and across it, which vary faster: its value at the corner, and what x, y and x y add to it with places
    x along and y across from 0 to 1."""
    rest_thrust: float
    """C_T at rest."""
    tilt: float
    """Force across the axis, by thrust and in-plane over tip speed."""
    moment: float
    """Moment of the hub by in-plane over tip speed [N m]."""


def level_inflow(across: Array, hover: Array) -> Array:
    """Return the induced advance ratio in level flight, of v^2 (mu^2 + v^2) = lambda_h^4."""
    half, square = 0.5 * across**2, hover**2
    level: Array = square / np.sqrt(half + np.sqrt(half**2 + square**2))
    return level


def flow_through(ratio: Array, across: Array, flows: Array, thrust: Array) -> Array:
    """Return the flow through the disc by advance ratio along and across the axis.

    It is found by bisection: the thrust at a flow and the velocity that this thrust induces both fall as the
    flow rises. In a climb and in level flight the induced velocity is Glauert's. In descent, where his
    equation fails near the vortex-ring state, it is that of axial descent times that of level flight by that
    of hover.

    Args:
        ratio: Advance ratios along the axis, shape (K,).
        across: Advance ratios across it, not below 0, shape (K,).
        flows: Rising flows through the disc, shape (M,).
        thrust: Thrust coefficients there, shape (M,).
    """
    climbs = ratio >= 0.0
    low = np.where(climbs, 0.0, ratio - 1.0)
    high = np.maximum(ratio, 0.0) + 2.0
    for _ in range(45):
        middle = 0.5 * (low + high)
        square = 2.0 / math.pi * np.interp(middle, flows, thrust)
        hover = np.sqrt(np.maximum(square, 1e-12))
        induced = square / np.maximum(np.sqrt(across**2 + middle**2), 1e-12)
        axial = axial_inflow(ratio[~climbs], hover[~climbs])
        induced[~climbs] = axial * level_inflow(across[~climbs], hover[~climbs]) / hover[~climbs]
        more = ratio + induced > middle
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return middle


@lru_cache(maxsize=64)
def over_ratios(made: Coefficients, download: float) -> Array:
    """Return C_T and C_P over the advance ratios along the axis and across it, shape (K, 21, 2), read-only.

    Args:
        made: Coefficients in axial flight.
        download: Part of the thrust in hover that the wake takes back on the airframe.
    """
    ratios = np.array(made.advance_ratio)
    flows = np.array([disc_inflow(j, c) for j, c in zip(ratios, made.thrust, strict=True)])
    # Near hover the flow rises a little in descent, as the rotor enters the vortex-ring state.
    rising = flows < np.append(np.minimum.accumulate(flows[::-1])[-2::-1], np.inf)
    flows, thrust, power = flows[rising], np.array(made.thrust)[rising], np.array(made.power)[rising]
    along = np.arange(round(-DESCENT * _DENSITY), math.floor(ratios[-1] * _DENSITY) + 1) / _DENSITY
    share = np.arange(_ACROSS) / _LAST_ACROSS
    rising_across = _HALF * np.sqrt(share / np.maximum(1.0 - share, 1e-15))
    ratio, across = (grid.ravel() for grid in np.meshgrid(along, rising_across, indexing="ij"))
    found = flow_through(ratio, across, flows, thrust).reshape(len(along), _ACROSS)
    tables = np.stack([np.interp(found, flows, thrust), np.interp(found, flows, power)], axis=-1)
    # Axial flight is that of the propeller itself, also where two ratios have one flow.
    tables[:, 0, 0] = np.interp(along, ratios, made.thrust)
    tables[:, 0, 1] = np.interp(along, ratios, made.power)
    for place, flow in zip(tables.reshape(-1, 2), found.ravel().tolist(), strict=True):
        place[0] = after_download(float(place[0]), flow, download)
    tables.flags.writeable = False
    return tables


def rotor_in_flight(
    p: RotorParameters, speed: Real, air_velocity: Vec3, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return force and torque of a rotor; see `RotorThrust`."""
    tip = speed * p.radius
    if magnitude(tip) < _SLOW:
        tip = _SLOW
    square = tip * tip
    plane = air_velocity[0] * air_velocity[0] + air_velocity[1] * air_velocity[1]
    along = air_velocity[2] * (_BY_RATIO / tip) + _FIRST
    turning = speed
    # The comparisons hold no value that is not a number, which would point outside the tables.
    if not along > 0.0:
        along = 0.0
        # The speed at which the rotor would be at the end of the tables.
        turning = air_velocity[2] * p.turning_in_descent
    if along > p.end:
        along = p.end
        turning = air_velocity[2] * p.turning_at_end
    # One division for two quotients: the place across the axis, plane / curved, and in-plane over tip speed
    # by in-plane speed, |tip| / around: r / (1 + r^2), which leaves nothing to a rotor at rest.
    around = square + plane
    curved = plane + turning * turning * p.half_tip + _LEAST
    inverse = 1.0 / (around * curved)
    across = _LAST_ACROSS * plane * (around * inverse)
    share = magnitude(tip) * (curved * inverse)
    if not across > 0.0:
        across = 0.0
    row = minimum(floor(along), p.end - 1.0)
    column = minimum(floor(across), _LAST_ACROSS - 1.0)
    first = int(row * _CELLS + column * _CELL)
    if first < 0:
        # Never; the compiler then tests none of the indices that follow.
        first = 0
    x = along - row
    y = across - column
    pressure = air_density * p.pressure
    thrust = pressure * (turning * magnitude(turning)) * value_in_cell(p.cells, first, x, y)
    torque = pressure * (speed * magnitude(speed)) * value_in_cell(p.cells, first + 4, x, y)
    pull = -magnitude(thrust) * p.tilt * share
    bend = p.moment * share
    force = Vec3(pull * air_velocity[0], pull * air_velocity[1], thrust)
    return force, Vec3(bend * air_velocity[1], -bend * air_velocity[0], torque)


def value_in_cell(values: Reals, first: int, x: Real, y: Real) -> Real:
    """Return a value at x and y from 0 to 1 in a cell, whose four shares begin at a place; see `cells_of`."""
    return values[first] + y * values[first + 2] + x * (values[first + 1] + y * values[first + 3])


def cells_of(table: Array) -> Array:
    """Return the shares of 1, x, y and x y in each cell of bilinear functions, shape (K - 1, L - 1, C, 4).

    Args:
        table: Values of C functions at the corners, shape (K, L, C).
    """
    corner, along, across, both = table[:-1, :-1], table[1:, :-1], table[:-1, 1:], table[1:, 1:]
    return np.stack([corner, along - corner, across - corner, (both - along) - (across - corner)], axis=-1)


def speed_at_rest(p: RotorParameters, thrust: Real, air_density: Real) -> Real:
    """Return the speed that gives a thrust in still air."""
    return signed_root(thrust / (air_density * p.rest_thrust * p.pressure))


@dataclass(frozen=True, kw_only=True)
class RotorThrust(PropellerThrust):
    """Propeller by tables, in axial and forward flight, with flapping blades.

    Axial flight is that of `PropellerThrust` with `beyond: momentum`, and so is the drag of slow and stopped
    rotors along their axis. Across its axis the rotor has Glauert's
    induced velocity, and with its tip speed w R and in-plane speed u, mu = (u / w R) / (1 + (u / w R)^2),

        H = -T (a + d) mu u / |u|,   M = k_beta a mu z x -u / |u|

    the force of the tip-path plane that tilts back by the angle a mu and of the induced drag d (Mahony, Kumar
    and Corke, Aircraft aerial vehicles, IEEE Robotics and Automation Magazine 19(3), 2012), and the moment
    of the hub's stiffness (Hoffmann et al., Quadrotor helicopter flight dynamics, AIAA 2007-6461).
    For small mu near hover H is linear in the in-plane speed: the rotor drag of Faessler, Franchi and
    Scaramuzza (2018) with d_x = (a + d) g / (w R) [1/s]. The sideways tilt, which changes sign with the sense
    of rotation, and the growth of the profile power with mu are neglected.
    """

    law: ClassVar[Any] = staticmethod(rotor_in_flight)
    inverse_law: ClassVar[Any] = staticmethod(speed_at_rest)

    flapping: float = 0.0
    """Tilt of the tip-path plane a by in-plane over tip speed [rad]."""
    induced_drag: float = 0.0
    """Further force across the axis d, by thrust and by in-plane over tip speed."""
    hub_stiffness: float = 0.0
    """Moment of the hub by flapping angle k_beta [N m/rad]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("flapping", "induced_drag", "hub_stiffness"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must not be below 0")

    def _way_beyond(self) -> str:
        require(
            self.beyond != "held",
            "beyond",
            self.beyond,
            "must be momentum: forward flight needs the flow through the disc",
        )
        return "momentum"

    @property
    def _table(self) -> Array:
        return over_ratios(self._coefficients, self.download)

    def parameters(self) -> RotorParameters:
        """Return the parameters of the law: tables over the advance ratios along and across the axis."""
        return self._parameters

    @cached_property
    def _parameters(self) -> RotorParameters:
        # Made once: controllers ask for them again and again, and the tables have thousands of numbers.
        return RotorParameters(
            radius=self.diameter / 2.0,
            pressure=squared(self.diameter * self.diameter) / squared(_TURN),
            end=len(self._table) - 1.0,
            half_tip=_HALF_TIP * squared(self.diameter / 2.0),
            turning_in_descent=-_PI / (DESCENT * self.diameter / 2.0),
            turning_at_end=_PI / (((len(self._table) - 1) / _DENSITY - DESCENT) * self.diameter / 2.0),
            cells=tuple(cells_of(self._table * (1.0, self.diameter / _TURN)).ravel().tolist()),
            rest_thrust=float(self._table[round(DESCENT * _DENSITY), 0, 0]),
            tilt=self.flapping + self.induced_drag,
            moment=self.hub_stiffness * self.flapping,
        )
