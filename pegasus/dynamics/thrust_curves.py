"""Thrust curves: rotor speed to thrust and to the aerodynamic torque on the rotor.

Inflow is the speed of the rotor through the air along its own axis, positive when it moves towards its
thrust (climb). Torque is positive when it opposes a positive speed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_vector
from pegasus.base.step_math import Real, Vec3, interpolate, length, magnitude, maximum, minimum, sqrt
from pegasus.dynamics.propeller_files import read_propeller
from pegasus.dynamics.rotor_states import Coefficients, after_download, continued, disc_inflow

_TURN = 2.0 * math.pi
_FASTEST = 1e5
"""Largest speed that bisection finds [rad/s]."""
_MOST_PARTS = 4096
_SLOW = 1e-9
"""Travel of a blade tip [m/s] below which the advance ratio is that of this travel."""


@dataclass(frozen=True, kw_only=True)
class ThrustCurve:
    """Base of a thrust curve.

    A custom curve is a frozen dataclass derived from this one, with a `law` that is compiled with the step,
    or with a method `thrust` in NumPy, whose result is held over each step.
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


@dataclass(frozen=True)
class QuadraticCoefficients:
    """Parameters of `quadratic_thrust`."""

    thrust_constant: float
    """Thrust by squared speed [N/(rad/s)^2]."""
    torque_constant: float
    """Torque by squared speed [N m/(rad/s)^2]."""


def quadratic_thrust(
    p: QuadraticCoefficients, speed: Real, air_velocity: Vec3, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return F = c w |w| and Q = d w |w| (Pegasus paper, eq. 6 and 7)."""
    square = speed * magnitude(speed)
    return Vec3(0.0, 0.0, p.thrust_constant * square), Vec3(0.0, 0.0, p.torque_constant * square)


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
    return Vec3(0.0, 0.0, force), Vec3(0.0, 0.0, force * p.moment_ratio + speed * p.moment_linear)


def polynomial_speed(p: "PolynomialThrust", thrust: Real, air_density: Real) -> Real:
    """Return the larger root of a polynomial of the second degree, of others that found by bisection."""
    last = length(p.coefficients) - 1
    leading = p.coefficients[last]
    if last == 2 and leading > 0.0:
        linear = p.coefficients[1]
        root = sqrt(maximum(linear * linear - 4.0 * leading * (p.coefficients[0] - thrust), 0.0))
        return maximum((root - linear) / (2.0 * leading), 0.0)
    low = 0.0
    high = _FASTEST
    for _ in range(60):
        middle = 0.5 * (low + high)
        force, _torque = polynomial_thrust(p, middle, Vec3(0.0, 0.0, 0.0), air_density)
        if force[2] >= thrust:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


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


@dataclass(frozen=True)
class PropellerTables:
    """Parameters of `propeller_thrust`."""

    diameter: float
    """Diameter [m]."""
    advance_ratio: tuple[float, ...]
    """Rising advance ratios of the tables."""
    thrust_coefficient: tuple[float, ...]
    """C_T there."""
    power_coefficient: tuple[float, ...]
    """C_P there."""
    first: tuple[float, ...]
    """Interval of the tables in which each of equal parts of their range begins."""
    parts: float
    """Parts by unit of advance ratio."""
    rest_thrust: float
    """C_T at rest."""


def propeller_tables(diameter: float, made: Coefficients) -> PropellerTables:
    """Return the parameters of `propeller_thrust`, with parts that hold one point of the tables at most.

    Args:
        diameter: Diameter [m].
        made: Coefficients over the advance ratio.
    """
    ratios = made.advance_ratio
    span, nearest = ratios[-1] - ratios[0], min(b - a for a, b in pairwise(ratios))
    require(
        nearest * _MOST_PARTS >= span,
        "advance_ratio",
        nearest,
        f"must be at least {span / _MOST_PARTS:.2g} apart, 1/{_MOST_PARTS} of the range of the table",
    )
    count = math.ceil(span / nearest)
    edges = ratios[0] + span / count * np.arange(count)
    first = np.clip(np.searchsorted(ratios, edges, side="right") - 1, 0, len(ratios) - 2)
    return PropellerTables(
        diameter=diameter,
        advance_ratio=ratios,
        thrust_coefficient=made.thrust,
        power_coefficient=made.power,
        first=tuple(map(float, first.tolist())),
        parts=count / span,
        rest_thrust=interpolate(0.0, ratios, made.thrust),
    )


NO_TABLES = propeller_tables(1.0, Coefficients((0.0, 1.0), (1.0, 1.0), (1.0, 1.0)))
"""Parameters of a vehicle with another thrust curve."""


def interval_of_ratio(p: PropellerTables, ratio: Real) -> int:
    """Return the number of the interval of the tables that holds an advance ratio within their range."""
    part = (ratio - p.advance_ratio[0]) * p.parts
    # The comparison holds no value that is not a number, which would point outside the tables.
    if not part > 0.0:
        part = 0.0
    k = int(p.first[int(minimum(part, Real(length(p.first) - 1)))])
    if k < length(p.advance_ratio) - 2 and ratio >= p.advance_ratio[k + 1]:
        k = k + 1
    return k


def propeller_thrust(
    p: PropellerTables, speed: Real, air_velocity: Vec3, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return T = C_T rho n^2 D^4 and Q = C_P rho n^2 D^5 / (2 pi), n = w / (2 pi)."""
    turns = speed / _TURN
    travel = turns * p.diameter
    if magnitude(travel) < _SLOW:
        travel = _SLOW
    ratio = air_velocity[2] / travel
    square = p.diameter * p.diameter
    pressure = air_density * turns * magnitude(turns) * square * square
    last = length(p.advance_ratio) - 1
    ratio = minimum(maximum(ratio, p.advance_ratio[0]), p.advance_ratio[last])
    k = interval_of_ratio(p, ratio)
    share = (ratio - p.advance_ratio[k]) / (p.advance_ratio[k + 1] - p.advance_ratio[k])
    thrust = pressure * (
        p.thrust_coefficient[k] + share * (p.thrust_coefficient[k + 1] - p.thrust_coefficient[k])
    )
    power = p.power_coefficient[k] + share * (p.power_coefficient[k + 1] - p.power_coefficient[k])
    torque = pressure * power * (p.diameter / _TURN)
    return Vec3(0.0, 0.0, thrust), Vec3(0.0, 0.0, torque)


def propeller_speed(p: PropellerTables, thrust: Real, air_density: Real) -> Real:
    """Return the speed in closed form: in still air the coefficients do not depend on it."""
    square = p.diameter * p.diameter
    return _TURN * signed_root(thrust / (air_density * p.rest_thrust * square * square))


@dataclass(frozen=True, kw_only=True)
class PropellerThrust(ThrustCurve):
    """Propeller by its coefficients: T = C_T rho n^2 D^4 and Q = C_P rho n^2 D^5 / (2 pi), n = w / (2 pi).

    The coefficients are constant (AirSim technical report, sec. 3.1), or tables over the advance ratio
    J = v / (n D), as wind tunnels publish them, interpolated linearly: given here, or read from a file of the
    propeller database of the University of Illinois. Beyond their ends they are held, or continued by
    momentum theory through the vortex-ring state and as a windmill; see `pegasus.dynamics.rotor_states`.
    """

    law: ClassVar[Any] = staticmethod(propeller_thrust)
    inverse_law: ClassVar[Any] = staticmethod(propeller_speed)

    diameter: float
    """Diameter D [m]."""
    thrust_coefficient: float | tuple[float, ...] | None = None
    """C_T, or its values at `advance_ratio`."""
    power_coefficient: float | tuple[float, ...] | None = None
    """C_P, or its values at `advance_ratio`."""
    advance_ratio: tuple[float, ...] | None = None
    """Rising advance ratios J of the tables; left out when the coefficients are constant."""
    file: str | None = None
    """File of the UIUC database, `J CT CP eta`, in place of the coefficients."""
    static_file: str | None = None
    """File of the UIUC database of the same propeller at rest, `RPM CT CP`."""
    beyond: Literal["held", "momentum"] | None = None
    """How tables go on beyond their ends; `momentum` for those of a file when None, else `held`."""
    download: float = 0.0
    """Part of the thrust in hover that the wake takes back on the airframe below the rotor."""
    _coefficients: Coefficients = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.diameter > 0, "diameter", self.diameter, "must be above 0 m")
        require(0 <= self.download < 1, "download", self.download, "must be at least 0 and below 1")
        object.__setattr__(self, "_coefficients", self._read())

    def _read(self) -> Coefficients:
        beyond = self._way_beyond()
        given = self.thrust_coefficient, self.power_coefficient, self.advance_ratio
        if self.file is not None:
            require(
                given == (None, None, None),
                "file",
                self.file,
                "must not be given together with coefficients",
                "leave out thrust_coefficient, power_coefficient and advance_ratio, or the file; in a file "
                "that extends another, make them null",
            )
            measured = read_propeller(self.file, self.static_file)
        else:
            require(self.static_file is None, "static_file", self.static_file, "needs file as well")
            measured = self._given()
        if beyond == "held":
            return measured
        tables = self.file is not None or self.advance_ratio is not None
        require(tables, "beyond", beyond, "needs tables over the advance ratio")
        require(measured.advance_ratio[0] == 0.0, "advance_ratio", self.advance_ratio, "must start at 0")
        for ratio, thrust, power in zip(measured.advance_ratio, measured.thrust, measured.power, strict=True):
            require(
                power >= ratio * thrust,
                "power_coefficient",
                power,
                f"must be at least J C_T = {ratio * thrust:.4g} at J = {ratio:g}, an efficiency of 1",
            )
        return continued(measured)

    def _way_beyond(self) -> str:
        beyond = self.beyond or ("held" if self.file is None else "momentum")
        require(beyond in ("held", "momentum"), "beyond", beyond, "must be held or momentum")
        return beyond

    def _given(self) -> Coefficients:
        given_thrust, given_power, given = self.thrust_coefficient, self.power_coefficient, self.advance_ratio
        require(given_thrust is not None, "thrust_coefficient", given_thrust, "must be given, or a file")
        require(given_power is not None, "power_coefficient", given_power, "must be given, or a file")
        lengths = {len(c) if isinstance(c, tuple) else 0 for c in (given_thrust, given_power, given or 0)}
        require(
            len(lengths) == 1 and 1 not in lengths,
            "advance_ratio",
            given,
            "both coefficients must be numbers, or tables as long as advance_ratio (two values at least)",
        )
        if given is not None:
            rising = all(a < b for a, b in pairwise(given))
            require(rising, "advance_ratio", given, "must rise from value to value")

        def table(values: Any) -> tuple[float, ...]:
            return values if isinstance(values, tuple) else (values, values)

        # A constant is a table of two equal values.
        ratios = (0.0, 1.0) if given is None else given
        made = Coefficients(ratios, table(given_thrust), table(given_power))
        thrust, power = (interpolate(0.0, ratios, values) for values in (made.thrust, made.power))
        require(thrust > 0, "thrust_coefficient", given_thrust, "must be above 0 at rest")
        require(power >= 0, "power_coefficient", given_power, "must not be below 0 at rest")
        return made

    def parameters(self) -> Any:
        """Return the parameters of the law."""
        made = self._coefficients
        thrust = made.thrust
        if self.download > 0:
            pairs = zip(made.advance_ratio, thrust, strict=True)
            thrust = tuple(after_download(c, disc_inflow(j, c), self.download) for j, c in pairs)
        return propeller_tables(self.diameter, Coefficients(made.advance_ratio, thrust, made.power))
