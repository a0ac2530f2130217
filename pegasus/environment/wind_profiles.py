"""Mean winds that change with height: the logarithmic and the power law, with turning."""

import math
from dataclasses import dataclass
from typing import ClassVar

from pegasus.base.components import require, require_vector
from pegasus.base.step_math import Real, Vec3, cos, log, maximum, minimum, power, sin
from pegasus.environment.wind import Wind


def log_wind_at(p: "LogWind", position: Vec3, t: Real) -> Vec3:
    """Return the velocity of the air by the logarithmic law, ENU [m/s].

    u(z) = u_r ln(z / z_0) / ln(z_r / z_0), 0 below z_0. Source: MIL-F-8785C, sec. 3.7.3.2; Stull, An
    Introduction to Boundary Layer Meteorology (1988), sec. 9.7.

    Args:
        p: Parameters.
        position: Position in the world [m].
        t: Time [s].
    """
    height = minimum(position[2] - p.ground, p.top_height)
    above = maximum(height, p.roughness_length)
    share = log(above / p.roughness_length) / log(p.reference_height / p.roughness_length)
    return turned(p.mean_velocity[0], p.mean_velocity[1], share, p.turning * (above - p.reference_height))


def power_wind_at(p: "PowerWind", position: Vec3, t: Real) -> Vec3:
    """Return the velocity of the air by the power law, ENU [m/s].

    u(z) = u_r (z / z_r)^a, 0 at and below the ground. Source: Stull (1988), sec. 9.7.

    Args:
        p: Parameters.
        position: Position in the world [m].
        t: Time [s].
    """
    height = minimum(position[2] - p.ground, p.top_height)
    above = maximum(height, 0.0)
    share = power(above / p.reference_height, p.exponent)
    return turned(p.mean_velocity[0], p.mean_velocity[1], share, p.turning * (above - p.reference_height))


def turned(east: Real, north: Real, share: Real, angle: Real) -> Vec3:
    """Return a share of a horizontal velocity, turned counter-clockwise by an angle [rad]."""
    cosine = cos(angle)
    sine = sin(angle)
    return Vec3(share * (cosine * east - sine * north), share * (sine * east + cosine * north), 0.0)


@dataclass(frozen=True, kw_only=True)
class _Profile(Wind):
    varies: ClassVar[bool] = True

    mean_velocity: tuple[float, float, float]
    """Mean velocity at the reference height, horizontal, ENU [m/s]."""
    reference_height: float = 10.0
    """Height above the ground at which the wind has that velocity [m]."""
    turning: float = 0.0
    """Angle by which the wind turns counter-clockwise with height [rad/m]."""
    top_height: float = 600.0
    """Height above the ground from which on the wind is constant [m]."""
    ground: float = 0.0
    """Height of the ground in the world [m]."""

    def __post_init__(self) -> None:
        require_vector("mean_velocity", self.mean_velocity, unit="m/s")
        require(self.mean_velocity[2] == 0, "mean_velocity", self.mean_velocity, "must be horizontal")
        top = self.top_height
        require(0 < top < math.inf, "top_height", top, "must be above 0 m and finite")
        for name in ("turning", "ground"):
            require(math.isfinite(getattr(self, name)), name, getattr(self, name), "must be finite")


@dataclass(frozen=True, kw_only=True)
class LogWind(_Profile):
    """Mean wind over rough ground by the logarithmic law of the neutral surface layer."""

    law: ClassVar = staticmethod(log_wind_at)

    roughness_length: float = 0.03
    """Height z_0 at and below which the air is at rest [m]: 0.0002 sea, 0.03 grass, 0.5 suburb, 1 town."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rough = self.roughness_length
        require(0 < rough < math.inf, "roughness_length", rough, "must be above 0 m and finite")
        require(
            rough < self.reference_height < math.inf,
            "reference_height",
            self.reference_height,
            f"must be above the roughness length of {rough:g} m and finite",
        )


@dataclass(frozen=True, kw_only=True)
class PowerWind(_Profile):
    """Mean wind over rough ground by the power law."""

    law: ClassVar = staticmethod(power_wind_at)

    exponent: float = 1.0 / 7.0
    """Exponent a, 0 to 1: 0.1 sea, 1/7 grass, 0.3 town."""

    def __post_init__(self) -> None:
        super().__post_init__()
        reference = self.reference_height
        require(0 < reference < math.inf, "reference_height", reference, "must be above 0 m and finite")
        require(0 <= self.exponent <= 1, "exponent", self.exponent, "must be from 0 to 1")
