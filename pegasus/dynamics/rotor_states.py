"""Working states of a rotor in axial flow: inflow by momentum theory, and coefficients beyond measured ones.

All speeds are advance ratios, by n D; induced ones with the ideal induced velocity of hover
lambda_h = sqrt(2 C_T / pi) at the thrust coefficient C_T. In a climb T = 2 rho A v_i (v + v_i), in the
windmill brake state T = -2 rho A v_i (v + v_i) (Leishman, Principles of Helicopter Aerodynamics, 2006, sec.
2.13). Between these, -2 < v / v_h < 0, momentum theory fails, and the mean induced velocity is that of
measurements through the vortex-ring state (eq. 2.96 there).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.elementary import squared

_STALL = 1.3
"""Bound of the thrust coefficient in descent by that at rest: the blades of small propellers stall. It is an
assumption, on the high side of what measured propellers give (Shetty and Selig, AIAA 2011-1254)."""
DESCENT = 2.0
"""Advance ratio of descent up to which coefficients are continued, and held beyond."""
_BRAKE = 1.0
"""Range of the advance ratio beyond the measured ones in which they are continued."""
_STEP = 0.02


def axial_inflow(ratio: Array, hover: Array) -> Array:
    """Return the induced advance ratios of rotors with thrust upward in climb or descent.

    Args:
        ratio: Advance ratios, positive in a climb, shape (K,).
        hover: Ideal induced advance ratios in hover, above 0, shape (K,).
    """
    x = ratio / hover
    climb = np.sqrt(0.25 * ratio * ratio + hover * hover) - 0.5 * ratio
    ring = hover * (1.0 + x * (-1.125 + x * (-1.372 + x * (-1.718 + x * -0.655))))
    brake = hover * (-0.5 * x - np.sqrt(np.maximum(0.25 * x * x - 1.0, 0.0)))
    inflow: Array = np.where(x >= 0.0, climb, np.where(x > -2.0, ring, brake))
    return inflow


def disc_inflow(ratio: float, thrust: float) -> float:
    """Return the advance ratio of the flow through the disc, induced velocity included.

    Args:
        ratio: Advance ratio.
        thrust: Thrust coefficient; below 0 for a windmill in a climb, then at least -pi J^2 / 8.
    """
    if thrust > 0:
        hover = math.sqrt(2.0 * thrust / math.pi)
        return ratio + float(axial_inflow(np.array(ratio), np.array(hover)))
    return 0.5 * ratio + math.sqrt(max(0.25 * ratio * ratio + 2.0 * thrust / math.pi, 0.0))


def after_download(thrust: float, flow: float, download: float) -> float:
    """Return the thrust coefficient less what the wake takes back on the airframe below.

    The fraction is that of hover, and less where less flows through the disc than in hover; nothing is taken
    back where the flow is reversed, or the rotor a windmill. So the air gives no energy.

    Args:
        thrust: Thrust coefficient of the rotor alone.
        flow: Advance ratio of the flow through the disc.
        download: Download by thrust in hover.
    """
    if thrust <= 0.0:
        return thrust
    hover = math.sqrt(2.0 * thrust / math.pi)
    return thrust * (1.0 - download * min(max(flow / hover, 0.0), 1.0))


@dataclass(frozen=True)
class Coefficients:
    """Coefficients of a propeller over the advance ratio."""

    advance_ratio: tuple[float, ...]
    """Rising advance ratios J."""
    thrust: tuple[float, ...]
    """C_T there."""
    power: tuple[float, ...]
    """C_P there."""


@lru_cache(maxsize=32)
def continued(measured: Coefficients) -> Coefficients:
    """Return coefficients from rest on, continued into descent and beyond the last advance ratio.

    The blades' thrust falls linearly with the flow through the disc (blade element theory), with the slope of
    the measured points; from the last point on it becomes that of a windmill, up to the drag of a disc, C_T =
    -pi J^2 / 8. The power is C_T times that flow, and the profile power at the last measured point. So the
    air takes energy out of the motion: C_P >= J C_T everywhere.

    Args:
        measured: Coefficients from the advance ratio 0 on.
    """
    ratios, thrusts, powers = measured.advance_ratio, measured.thrust, measured.power
    flows = [disc_inflow(j, c) for j, c in zip(ratios, thrusts, strict=True)]
    mean = sum(flows) / len(flows)
    middle = sum(thrusts) / len(thrusts)
    spread = sum(squared(flow - mean) for flow in flows)
    slope = sum((f - mean) * (c - middle) for f, c in zip(flows, thrusts, strict=True)) / spread
    points = []
    for k in range(round(DESCENT / _STEP), 0, -1):
        points.append(_continued_at(-k * _STEP, flows[0], thrusts[0], powers[0], slope, _STALL * thrusts[0]))
    points += list(zip(ratios, thrusts, powers, strict=True))
    for k in range(1, round(_BRAKE / _STEP) + 1):
        ratio = ratios[-1] + k * _STEP
        points.append(_continued_at(ratio, flows[-1], thrusts[-1], powers[-1], slope, _STALL * thrusts[0]))
    j, c, p = zip(*points, strict=True)
    return Coefficients(j, c, p)


def _continued_at(
    ratio: float, flow: float, thrust: float, power: float, slope: float, bound: float
) -> tuple[float, float, float]:
    """Return J, C_T and C_P on the line of a slope through a measured point, within a bound of C_T."""
    profile = max(power - thrust * flow, 0.0)
    low = -min(math.pi * ratio * ratio / 8.0, bound) if ratio > 0 else 1e-9
    high = bound
    for _ in range(60):
        middle = 0.5 * (low + high)
        if thrust + slope * (disc_inflow(ratio, middle) - flow) > middle:
            low = middle
        else:
            high = middle
    return ratio, middle, middle * disc_inflow(ratio, middle) + profile
