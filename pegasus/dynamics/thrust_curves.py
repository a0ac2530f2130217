"""Thrust curves: rotor speed to thrust and to the aerodynamic torque on the rotor.

Inflow is the speed of the rotor through the air along its own axis, positive when it moves towards its
thrust (climb). Torque is positive when it opposes a positive speed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_vector
from pegasus.base.step_math import NOTHING, Real, Vec3, length, magnitude, maximum, minimum, norm, sqrt

_FASTEST = 1e5
"""Largest speed that bisection finds [rad/s]."""


@dataclass(frozen=True, kw_only=True)
class ThrustCurve:
    """Base of a thrust curve.

    A custom curve is a frozen dataclass derived from this one, with a `law` that is compiled with the step.
    """

    law: ClassVar[Callable[..., tuple[Vec3, Vec3]] | None] = None
    """Step function (parameters, speed, air velocity, air density) -> (force [N], torque [N m]) of one rotor.
    Vectors are in the rotor's frame, whose z axis is that of positive thrust; the speed [rad/s] is in the
    rotor's own sense of rotation, and the torque about z is positive when it opposes a positive speed."""
    inverse_law: ClassVar[Callable[..., Real] | None] = None
    """Step function (parameters, thrust [N], air density) -> speed in still air; by bisection if None."""
    uses_air_density: ClassVar[bool] = True
    """Whether the air density is used; it is computed only if needed."""

    def parameters(self) -> Any:
        """Return the dataclass of numbers that the laws take; by default this one."""
        return self

    def thrust(self, rotor_speed: Array, inflow: Array, air_density: Array) -> tuple[Array, Array]:
        """Return thrust [N] and torque [N m], each of shape (N, R).

        Args:
            rotor_speed: Speed in the rotor's own sense of rotation [rad/s], shape (N, R).
            inflow: Speed through the air along the rotor's axis [m/s], shape (N, R).
            air_density: Air density [kg/m^3], shape (N, 1).
        """
        law = type(self).law
        if law is None:
            raise NotImplementedError("a thrust curve has a law or a method thrust")
        numbers, p = np.broadcast(rotor_speed, inflow, air_density), self.parameters()
        pairs = [law(p, w, Vec3(0.0, 0.0, v), rho) for w, v, rho in numbers]
        both = np.array([(force[2], torque[2]) for force, torque in pairs], dtype=np.float64)
        thrust, torque = both.reshape(*numbers.shape, 2).transpose(2, 0, 1).copy()
        return thrust, torque

    def rotor_speed(self, force: Array, air_density: Array) -> Array:
        """Return the speed that gives a thrust in still air [rad/s], shape (N, R).

        Without a closed form it is found by bisection over 0 to 1e5 rad/s, on any curve whose thrust rises
        with speed; a force below that at rest gives 0.

        Args:
            force: Thrust [N], shape (N, R).
            air_density: Air density [kg/m^3], shape (N, 1).
        """
        inverse = type(self).inverse_law
        if inverse is not None:
            numbers, p = np.broadcast(force, air_density), self.parameters()
            speeds = [inverse(p, thrust, rho) for thrust, rho in numbers]
            return np.array(speeds, dtype=np.float64).reshape(numbers.shape)
        low, high = np.zeros_like(force), np.full_like(force, _FASTEST)
        still = np.zeros_like(force)
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = self.thrust(middle, still, air_density)[0] >= force
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        speed: Array = 0.5 * (low + high)
        return speed


def speed_by_bisection(
    law: Callable[..., tuple[Vec3, Vec3]], p: Any, thrust: Real, air_density: Real
) -> Real:
    """Return the rotor speed of a thrust curve that rises with speed [rad/s], found over 0 to 1e5 rad/s.

    Args:
        law: The thrust curve; see `ThrustCurve.law`.
        p: Its parameters.
        thrust: Thrust in still air [N].
        air_density: Air density [kg/m^3].
    """
    low = 0.0
    high = _FASTEST
    for _ in range(60):
        middle = 0.5 * (low + high)
        force, _torque = law(p, middle, Vec3(0.0, 0.0, 0.0), air_density)
        if force[2] >= thrust:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@dataclass(frozen=True)
class QuadraticCoefficients:
    """Parameters of `quadratic_thrust`."""

    thrust_constant: float
    """Thrust by squared speed [N/(rad/s)^2]."""
    torque_constant: float
    """Torque by squared speed [N m/(rad/s)^2]."""


def along_axis(x: Real) -> Vec3:
    """Return a vector along the axis of a rotor, in its frame."""
    return Vec3(NOTHING, NOTHING, x)


def quadratic_thrust(
    p: QuadraticCoefficients, speed: Real, air_velocity: Vec3, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return F = c w |w| and Q = d w |w| (Pegasus paper, eq. 6 and 7)."""
    square = speed * magnitude(speed)
    return along_axis(p.thrust_constant * square), along_axis(p.torque_constant * square)


def quadratic_speed(p: QuadraticCoefficients, thrust: Real, air_density: Real) -> Real:
    """Return sqrt(F / c), with the sign of F."""
    return signed_root(thrust / p.thrust_constant)


def signed_root(x: Real) -> Real:
    """Return the square root of a magnitude, with the sign of the number."""
    if x < 0.0:
        return -sqrt(-x)
    return sqrt(x)


@dataclass(frozen=True, kw_only=True)
class QuadraticThrust(ThrustCurve):
    """Thrust and torque by the square of the speed: F = c w |w| (Pegasus paper, eq. 6 and 7).

    The torque follows from `moment_ratio` or from `torque_constant`; exactly one is given.
    """

    law: ClassVar[Any] = staticmethod(quadratic_thrust)
    inverse_law: ClassVar[Any] = staticmethod(quadratic_speed)
    uses_air_density: ClassVar[bool] = False

    thrust_constant: float
    """Thrust by squared speed c [N/(rad/s)^2]."""
    moment_ratio: float | None = None
    """Torque by thrust [m]."""
    torque_constant: float | None = None
    """Torque by squared speed [N m/(rad/s)^2]."""

    def __post_init__(self) -> None:
        require(self.thrust_constant > 0, "thrust_constant", self.thrust_constant, "must be above 0")
        given = [v for v in (self.moment_ratio, self.torque_constant) if v is not None]
        require(
            len(given) == 1,
            "moment_ratio",
            self.moment_ratio,
            "exactly one of moment_ratio and torque_constant must be given",
        )
        require(given[0] >= 0, "moment_ratio or torque_constant", given[0], "must not be negative")

    def parameters(self) -> QuadraticCoefficients:
        """Return both constants."""
        torque = self.torque_constant
        if torque is None:
            assert self.moment_ratio is not None
            torque = self.moment_ratio * self.thrust_constant
        return QuadraticCoefficients(self.thrust_constant, torque)


@dataclass(frozen=True)
class FadingCoefficients(QuadraticCoefficients):
    """Parameters of `fading_thrust`."""

    max_airspeed: float
    """Airspeed at which the thrust is gone [m/s]."""


def fading_thrust(
    p: FadingCoefficients, speed: Real, air_velocity: Vec3, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return thrust and torque; see `FadingThrust`."""
    left = minimum(maximum(1.0 - norm(air_velocity) / p.max_airspeed, 0.0), 1.0)
    thrust, torque = quadratic_thrust(p, speed, air_velocity, air_density)
    return thrust * left, torque * left


@dataclass(frozen=True, kw_only=True)
class FadingThrust(QuadraticThrust):
    """Thrust and torque of Gazebo's motor model: c w |w| (1 - V / V_max) at the airspeed V, 0 from V_max on.

    Source: gazebo_motor_model.cpp of PX4's models.
    """

    law: ClassVar[Any] = staticmethod(fading_thrust)

    max_airspeed: float = 25.0
    """V_max [m/s]; `maxRelativeAirspeed` of Gazebo's model."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.max_airspeed > 0, "max_airspeed", self.max_airspeed, "must be above 0 m/s")

    def parameters(self) -> FadingCoefficients:
        """Return the constants."""
        own = super().parameters()
        return FadingCoefficients(own.thrust_constant, own.torque_constant, self.max_airspeed)


@dataclass(frozen=True)
class GazeboCoefficients(FadingCoefficients):
    """Parameters of `gazebo_rotor`."""

    rotor_drag: float
    """Force across the axis by speed and airspeed [N s^2/(m rad)]."""
    rolling_moment: float
    """Torque likewise [N s^2/rad]."""


def gazebo_rotor(
    p: GazeboCoefficients, speed: Real, air_velocity: Vec3, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return force and torque; see `GazeboRotor`."""
    force, torque = fading_thrust(p, speed, air_velocity, air_density)
    across = Vec3(air_velocity[0], air_velocity[1], NOTHING) * -magnitude(speed)
    return force + across * p.rotor_drag, torque + across * p.rolling_moment


@dataclass(frozen=True, kw_only=True)
class GazeboRotor(FadingThrust):
    """Rotor of Gazebo's MulticopterMotorModel: quadratic thrust, drag and rolling moment.

    With the airspeed v across the axis the force is -|w| k v, and the torque -|w| m v. `max_airspeed` is that
    of Gazebo classic; in Gazebo Sim the thrust does not depend on the airspeed.

    Source: MulticopterMotorModel.cc of Gazebo Sim, after Martin and Salaun 2010, "The True Role of
    Accelerometer Feedback in Quadrotor Control".
    """

    law: ClassVar[Any] = staticmethod(gazebo_rotor)

    max_airspeed: float = math.inf
    """V_max [m/s]; the thrust does not depend on the airspeed if left out."""
    rotor_drag: float = 0.0
    """k, `rotorDragCoefficient` of Gazebo's model [N s^2/(m rad)]."""
    rolling_moment: float = 0.0
    """m, `rollingMomentCoefficient` of Gazebo's model [N s^2/rad]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rotor_drag", "rolling_moment"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")

    def parameters(self) -> GazeboCoefficients:
        """Return the constants."""
        own = super().parameters()
        return GazeboCoefficients(
            own.thrust_constant, own.torque_constant, own.max_airspeed, self.rotor_drag, self.rolling_moment
        )


def polynomial_thrust(
    p: "PolynomialThrust", speed: Real, air_velocity: Vec3, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return F = sum_k c_k w^k + d_1 v w - d_2 v |v| and Q = k_t F + k_m w; see `PolynomialThrust`."""
    count = length(p.coefficients)
    turning = magnitude(speed)
    force = 0.0
    for k in range(count):
        force = force * turning + p.coefficients[count - 1 - k]
    if speed < 0.0:
        force = -force
    inflow = air_velocity[2]
    force = force + p.inflow_linear * inflow * turning - p.inflow_quadratic * inflow * magnitude(inflow)
    return along_axis(force), along_axis(force * p.moment_ratio + speed * p.moment_linear)


def polynomial_speed(p: "PolynomialThrust", thrust: Real, air_density: Real) -> Real:
    """Return the larger root of a polynomial of the second degree, of others that found by bisection."""
    last = length(p.coefficients) - 1
    leading = p.coefficients[last]
    if last == 2 and leading > 0.0:
        linear = p.coefficients[1]
        root = sqrt(maximum(linear * linear - 4.0 * leading * (p.coefficients[0] - thrust), 0.0))
        return maximum((root - linear) / (2.0 * leading), 0.0)
    return speed_by_bisection(polynomial_thrust, p, thrust, air_density)


@dataclass(frozen=True, kw_only=True)
class PolynomialThrust(ThrustCurve):
    """Thrust as a polynomial in the speed with inflow terms, torque linear in thrust and speed.

    F = sum_k c_k w^k + d_1 v w - d_2 v |v| and Q = k_t F + k_m w. With c = (0, 0, C_T0), d_1 = C_T1 and
    d_2 = -C_T2 this is the propeller of Hector (2012, eq. 7, whose sign of the last term follows that of v).
    A reversed rotor is the mirror image: the sum is that of |w| with the sign of w, and d_1
    multiplies v |w|.
    """

    law: ClassVar[Any] = staticmethod(polynomial_thrust)
    inverse_law: ClassVar[Any] = staticmethod(polynomial_speed)
    uses_air_density: ClassVar[bool] = False

    coefficients: tuple[float, ...]
    """Coefficients c_0, c_1, ... of the speed's powers [N/(rad/s)^k]."""
    inflow_linear: float = 0.0
    """Coefficient d_1 of inflow times speed [N s^2/(m rad)]."""
    inflow_quadratic: float = 0.0
    """Coefficient d_2 of the signed square of the inflow [N s^2/m^2]."""
    moment_ratio: float = 0.0
    """Torque by thrust k_t [m]."""
    moment_linear: float = 0.0
    """Torque by speed k_m [N m s/rad]."""

    def __post_init__(self) -> None:
        require(
            len(self.coefficients) >= 2, "coefficients", self.coefficients, "must hold at least c_0 and c_1"
        )
        require_vector("coefficients", self.coefficients, length=len(self.coefficients))
