"""Drag models: force and torque about the centre of mass, in the body frame."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require, require_vector
from pegasus.base.step_math import NOTHING, Real, Reals, Vec3, length, magnitude, norm

Triple = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Drag:
    """Base of a drag model.

    A custom drag is a frozen dataclass derived from this one, with a `law` that is compiled with the step. It
    must dissipate energy: force . velocity + torque . angular velocity <= 0 in still air.
    """

    law: ClassVar[Callable[..., tuple[Vec3, Vec3]] | None] = None
    """Step function (parameters, air velocity, angular velocity, rotor speeds, air density) -> (force [N],
    torque [N m]) of one vehicle in the body frame, with the fields of this class as parameters. The rotor
    speeds [rad/s] are those at that instant."""
    uses_air_density: ClassVar[bool] = True
    """Whether the air density is used; it is computed only if needed."""


def linear_drag(
    p: "LinearDrag", air_velocity: Vec3, angular_velocity: Vec3, rotor_speeds: Reals, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return -D v with the airspeed vector v, and no torque (Pegasus paper, eq. 2)."""
    force = Vec3(
        -p.coefficients[0] * air_velocity[0],
        -p.coefficients[1] * air_velocity[1],
        -p.coefficients[2] * air_velocity[2],
    )
    return force, Vec3(NOTHING, NOTHING, NOTHING)


def quadratic_drag(
    p: "QuadraticDrag", air_velocity: Vec3, angular_velocity: Vec3, rotor_speeds: Reals, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return force and torque; see `QuadraticDrag`."""
    pressure = -0.5 * p.drag_coefficient * air_density * norm(air_velocity)
    turning = 0.0
    if p.rotor_coefficients[0] + p.rotor_coefficients[1] + p.rotor_coefficients[2] > 0.0:
        for j in range(length(rotor_speeds)):
            turning += magnitude(rotor_speeds[j])
    spin = -norm(angular_velocity)
    force = Vec3(
        (pressure * p.areas[0] - turning * p.rotor_coefficients[0]) * air_velocity[0],
        (pressure * p.areas[1] - turning * p.rotor_coefficients[1]) * air_velocity[1],
        (pressure * p.areas[2] - turning * p.rotor_coefficients[2]) * air_velocity[2],
    )
    torque = Vec3(
        spin * p.angular_coefficients[0] * angular_velocity[0],
        spin * p.angular_coefficients[1] * angular_velocity[1],
        spin * p.angular_coefficients[2] * angular_velocity[2],
    )
    return force, torque


@dataclass(frozen=True, kw_only=True)
class LinearDrag(Drag):
    """Linear drag: F = -D v with the airspeed vector v (Pegasus paper, eq. 2)."""

    law: ClassVar[Any] = staticmethod(linear_drag)
    uses_air_density: ClassVar[bool] = False

    coefficients: Triple
    """Diagonal of D [N s/m]."""

    def __post_init__(self) -> None:
        require_vector("coefficients", self.coefficients, unit="N s/m", negative_allowed=False)


@dataclass(frozen=True, kw_only=True)
class QuadraticDrag(Drag):
    """Force by areas, F_i = -(1/2) rho C_d A_i |v| v_i - D_i (sum |w_j|) v_i, and torque M = -C_m |w| w.

    Source: AirSim technical report, sec. 3.3.1, in the vector form of Hector 2012, eq. 2, so that the
    force opposes the airspeed vector in all directions. The second term is the drag of turning rotors as it
    is measured in wind tunnels (Foerster, System Identification of the Crazyflie 2.0, ETH Zurich 2015); the
    thrust curve `rotor` has its own.
    """

    law: ClassVar[Any] = staticmethod(quadratic_drag)

    areas: Triple
    """Cross sections A along x, y and z [m^2]."""
    drag_coefficient: float = 1.0
    """C_d, common to all axes."""
    angular_coefficients: Triple = (0.0, 0.0, 0.0)
    """Diagonal of C_m [N m s^2]."""
    rotor_coefficients: Triple = (0.0, 0.0, 0.0)
    """Diagonal of D, by the sum of the rotor speeds w_j [N s^2/(m rad)]."""

    def __post_init__(self) -> None:
        require_vector("areas", self.areas, unit="m^2", negative_allowed=False)
        require(self.drag_coefficient >= 0, "drag_coefficient", self.drag_coefficient, "must not be negative")
        require_vector("angular_coefficients", self.angular_coefficients, negative_allowed=False)
        require_vector("rotor_coefficients", self.rotor_coefficients, negative_allowed=False)
