"""Thrust curves: from rotor speed to thrust and to the torque that the air exerts on the rotor.

Inflow is the speed of the rotor through the air along its own axis, positive when it moves towards its
thrust (climb). Torque is positive when it opposes a positive speed.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.arrays import Array, namespace
from pegasus.components import require
from pegasus.vectors import require_vector


@dataclass(frozen=True, kw_only=True)
class ThrustCurve(ABC):
    """Base of a thrust curve.

    A user's own curve is a frozen dataclass that derives from this one and implements `thrust`.
    """

    uses_air_density: ClassVar[bool] = True
    """Whether `thrust` looks at the air density; where nothing does, it is not computed."""

    @abstractmethod
    def thrust(self, rotor_speed: Array, inflow: Array, air_density: Array) -> tuple[Array, Array]:
        """Return thrust [N] and torque [N m], each of shape (N, R).

        Args:
            rotor_speed: Speed in the rotor's own sense of rotation [rad/s], shape (N, R).
            inflow: Speed through the air along the rotor's axis [m/s], shape (N, R).
            air_density: Air density [kg/m^3], shape (N, 1).
        """

    def rotor_speed(self, force: Array, air_density: Array) -> Array:
        """Return the speed that gives a thrust in still air [rad/s], shape (N, R).

        Found by bisection over 0 to 1e5 rad/s on any curve whose thrust rises with speed; curves with a
        closed form override it. A force below what the curve gives at rest yields 0.

        Args:
            force: Thrust [N], shape (N, R).
            air_density: Air density [kg/m^3], shape (N, 1).
        """
        xp = namespace(force)
        low, high = xp.zeros_like(force), xp.full_like(force, 1e5)
        still = xp.zeros_like(force)
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = self.thrust(middle, still, air_density)[0] >= force
            low, high = xp.where(enough, low, middle), xp.where(enough, middle, high)
        speed: Array = 0.5 * (low + high)
        return speed


@dataclass(frozen=True, kw_only=True)
class QuadraticThrust(ThrustCurve):
    """Thrust and torque by the square of the speed: F = c w |w| (Pegasus paper, eq. 6 and 7).

    The torque follows from `moment_ratio` or from `torque_constant`; exactly one is given.
    """

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

    def thrust(self, rotor_speed: Array, inflow: Array, air_density: Array) -> tuple[Array, Array]:
        """Return thrust [N] and torque [N m]; neither inflow nor density matters."""
        square = rotor_speed * namespace(rotor_speed).abs(rotor_speed)
        force = square * self.thrust_constant
        if self.torque_constant is not None:
            return force, square * self.torque_constant
        assert self.moment_ratio is not None
        return force, force * self.moment_ratio

    def rotor_speed(self, force: Array, air_density: Array) -> Array:
        """Return sqrt(F / c), with the sign of F."""
        xp = namespace(force)
        speed: Array = xp.sign(force) * xp.sqrt(xp.abs(force) / self.thrust_constant)
        return speed


@dataclass(frozen=True, kw_only=True)
class PolynomialThrust(ThrustCurve):
    """Thrust as a polynomial in the speed with inflow terms, torque linear in thrust and speed.

    F = sum_k c_k w^k + d_1 v w - d_2 v |v| and Q = k_t F + k_m w. With c = (0, 0, C_T0), d_1 = C_T1 and
    d_2 = -C_T2 this is the propeller of Hector (2012, eq. 7, whose sign of the last term follows that of v).
    A rotor that turns backwards is its own mirror image: the sum is that of |w| with the sign of w, and d_1
    goes with v |w|.
    """

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

    def thrust(self, rotor_speed: Array, inflow: Array, air_density: Array) -> tuple[Array, Array]:
        """Return thrust [N] and torque [N m]; the density does not matter."""
        xp = namespace(rotor_speed)
        speed = xp.abs(rotor_speed)
        force = speed * self.coefficients[-1] + self.coefficients[-2]
        for coefficient in self.coefficients[-3::-1]:
            force = force * speed + coefficient
        force = xp.where(rotor_speed < 0, -force, force)
        if self.inflow_linear != 0.0:
            force = force + self.inflow_linear * inflow * speed
        if self.inflow_quadratic != 0.0:
            force = force - self.inflow_quadratic * inflow * xp.abs(inflow)
        return force, force * self.moment_ratio + rotor_speed * self.moment_linear

    def rotor_speed(self, force: Array, air_density: Array) -> Array:
        """Return the larger root of the polynomial; by bisection above the second degree."""
        if len(self.coefficients) != 3 or self.coefficients[2] <= 0:
            return super().rotor_speed(force, air_density)
        xp = namespace(force)
        c0, c1, c2 = self.coefficients
        root = xp.sqrt(xp.maximum(c1 * c1 - 4 * c2 * (c0 - force), xp.zeros_like(force)))
        speed: Array = xp.maximum((root - c1) / (2 * c2), xp.zeros_like(force))
        return speed


@dataclass(frozen=True, kw_only=True)
class PropellerThrust(ThrustCurve):
    """Propeller by its coefficients: T = C_T rho n^2 D^4 and Q = C_P rho n^2 D^5 / (2 pi), n = w / (2 pi).

    The coefficients are constant (AirSim technical report, sec. 3.1) or tables over the advance ratio
    J = v / (n D), as wind tunnels publish them, interpolated linearly and held beyond their ends.
    """

    diameter: float
    """Diameter D [m]."""
    thrust_coefficient: float | tuple[float, ...]
    """C_T, or its values at `advance_ratio`."""
    power_coefficient: float | tuple[float, ...]
    """C_P, or its values at `advance_ratio`."""
    advance_ratio: tuple[float, ...] | None = None
    """Rising advance ratios J of the tables; left out when the coefficients are constant."""

    def __post_init__(self) -> None:
        require(self.diameter > 0, "diameter", self.diameter, "must be above 0 m")
        lengths = {
            len(c) if isinstance(c, tuple) else 0
            for c in (self.thrust_coefficient, self.power_coefficient, self.advance_ratio or 0)
        }
        require(
            len(lengths) == 1 and 1 not in lengths,
            "advance_ratio",
            self.advance_ratio,
            "both coefficients must be numbers, or tables as long as advance_ratio (two values at least)",
        )
        if self.advance_ratio is not None:
            rising = all(a < b for a, b in zip(self.advance_ratio, self.advance_ratio[1:], strict=False))
            require(rising, "advance_ratio", self.advance_ratio, "must rise from value to value")
        thrust, power = self._coefficients(np.ones(1), np.zeros(1))
        require(
            float(np.squeeze(thrust)) > 0,
            "thrust_coefficient",
            self.thrust_coefficient,
            "must be above 0 at rest",
        )
        allowed = "must not be below 0 at rest"
        require(float(np.squeeze(power)) >= 0, "power_coefficient", self.power_coefficient, allowed)

    def thrust(self, rotor_speed: Array, inflow: Array, air_density: Array) -> tuple[Array, Array]:
        """Return thrust [N] and torque [N m]."""
        turns = rotor_speed / (2 * math.pi)
        pressure = air_density * turns * namespace(turns).abs(turns) * self.diameter**4
        thrust_coefficient, power_coefficient = self._coefficients(turns, inflow)
        return pressure * thrust_coefficient, pressure * power_coefficient * (self.diameter / (2 * math.pi))

    def rotor_speed(self, force: Array, air_density: Array) -> Array:
        """Return the speed in closed form: in still air the coefficients do not depend on it."""
        turns = np.ones((1, 1))
        thrust_coefficient, _ = self._coefficients(turns, 0 * turns)
        xp = namespace(force)
        square = force / (air_density * thrust_coefficient * self.diameter**4)
        speed: Array = 2 * math.pi * xp.sign(square) * xp.sqrt(xp.abs(square))
        return speed

    def _coefficients(self, turns: Array, inflow: Array) -> tuple[Any, Any]:
        if self.advance_ratio is None:
            return self.thrust_coefficient, self.power_coefficient
        travel = turns * self.diameter
        ratio = inflow / np.where(np.abs(travel) < 1e-9, 1e-9, travel)
        return (
            np.interp(ratio, self.advance_ratio, np.asarray(self.thrust_coefficient)),
            np.interp(ratio, self.advance_ratio, np.asarray(self.power_coefficient)),
        )
