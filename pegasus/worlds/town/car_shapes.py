"""Outlines of parked cars."""

from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array


@dataclass(frozen=True)
class CarShape:
    """Side outlines of a car; its front is towards x, its centre at the origin."""

    length: float
    width: float
    top: tuple[tuple[float, float], ...]
    """Bonnet, windscreen, roof and tail: x and z [m], from back to front."""
    belt: tuple[tuple[float, float], ...]
    """Lower edge of the side windows: x and z [m], from back to front."""
    axles: tuple[float, float]
    """Positions of rear and front axle along x [m]."""
    wheel: float
    """Radius of the wheels [m]."""
    sill: float
    """Height of the lower edge of the body [m]."""
    screen: tuple[float, float]
    """Positions of the windscreen's lower and upper edge along x [m]."""
    rear_screen: tuple[float, float]
    """Positions of the rear window's upper and lower edge along x [m]."""
    pillars: tuple[float, ...]
    """Positions of pillars between side windows along x [m], from front to back."""
    glazed_to: float
    """Rear end of the side windows [m]."""


HATCHBACK = CarShape(
    length=4.15,
    width=1.78,
    top=(
        (-2.07, 0.72),
        (-2.02, 0.93),
        (-1.86, 1.08),
        (-1.45, 1.38),
        (-1.0, 1.455),
        (-0.2, 1.48),
        (0.25, 1.42),
        (1.08, 0.97),
        (1.6, 0.87),
        (1.95, 0.73),
        (2.07, 0.58),
    ),
    belt=(
        (-2.07, 0.68),
        (-1.9, 0.95),
        (-1.2, 0.97),
        (0.0, 0.92),
        (1.05, 0.88),
        (1.6, 0.80),
        (1.95, 0.67),
        (2.07, 0.53),
    ),
    axles=(-1.27, 1.31),
    wheel=0.315,
    sill=0.22,
    screen=(1.06, 0.27),
    rear_screen=(-1.43, -1.88),
    pillars=(0.05, -0.95),
    glazed_to=-1.45,
)
ESTATE = CarShape(
    length=4.7,
    width=1.86,
    top=(
        (-2.35, 0.74),
        (-2.30, 0.98),
        (-2.16, 1.16),
        (-1.85, 1.53),
        (-1.2, 1.60),
        (-0.2, 1.64),
        (0.35, 1.58),
        (1.2, 1.08),
        (1.8, 1.0),
        (2.2, 0.86),
        (2.35, 0.66),
    ),
    belt=(
        (-2.35, 0.70),
        (-2.2, 1.03),
        (-1.2, 1.06),
        (0.0, 1.02),
        (1.17, 0.99),
        (1.8, 0.93),
        (2.2, 0.79),
        (2.35, 0.60),
    ),
    axles=(-1.38, 1.42),
    wheel=0.355,
    sill=0.27,
    screen=(1.18, 0.37),
    rear_screen=(-1.87, -2.17),
    pillars=(0.1, -0.95),
    glazed_to=-1.9,
)
VAN = CarShape(
    length=5.0,
    width=1.92,
    top=(
        (-2.5, 0.80),
        (-2.47, 1.30),
        (-2.42, 1.75),
        (-2.25, 1.93),
        (-1.6, 1.97),
        (0.4, 1.97),
        (0.95, 1.90),
        (1.85, 1.22),
        (2.2, 1.06),
        (2.42, 0.86),
        (2.5, 0.66),
    ),
    belt=(
        (-2.5, 0.74),
        (-2.43, 1.12),
        (-1.2, 1.13),
        (0.6, 1.12),
        (1.82, 1.10),
        (2.2, 0.98),
        (2.42, 0.79),
        (2.5, 0.60),
    ),
    axles=(-1.5, 1.55),
    wheel=0.34,
    sill=0.26,
    screen=(1.82, 0.97),
    rear_screen=(-2.32, -2.45),
    pillars=(0.45, -0.75),
    glazed_to=0.5,
)
SHAPES = {"hatchback": HATCHBACK, "estate": ESTATE, "van": VAN}


def smooth_line(line: tuple[tuple[float, float], ...], x: Array) -> Array:
    """Return a line through points without overshoot (Fritsch and Carlson 1980, three-point slopes)."""
    px, pz = np.array(line).T
    h, step = np.diff(px), np.diff(pz) / np.diff(px)
    slope = np.zeros_like(pz)
    same = step[1:] * step[:-1] > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        harmonic = (
            (h[1:] + h[:-1])
            / ((2 * h[1:] + h[:-1]) / step[1:] / 3 + (2 * h[:-1] + h[1:]) / step[:-1] / 3)
            / 1.0
        )
    slope[1:-1] = np.where(same, harmonic, 0.0)
    slope[0], slope[-1] = step[0], step[-1]
    x = np.clip(x, px[0], px[-1])
    k = np.clip(np.searchsorted(px, x, side="right") - 1, 0, len(h) - 1)
    t = (x - px[k]) / h[k]
    value: Array = (
        (1 + 2 * t) * (1 - t) ** 2 * pz[k]
        + t * (1 - t) ** 2 * h[k] * slope[k]
        + t**2 * (3 - 2 * t) * pz[k + 1]
        + t**2 * (t - 1) * h[k] * slope[k + 1]
    )
    return value
