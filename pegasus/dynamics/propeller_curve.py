"""Thrust curve of a propeller: coefficients of thrust and power over the advance ratio."""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from pegasus.base.components import require
from pegasus.base.elementary import squared
from pegasus.base.step_math import Real, Vec3, interpolate, length, magnitude, maximum, minimum
from pegasus.dynamics.propeller_files import read_propeller
from pegasus.dynamics.rotor_states import Coefficients, after_download, continued, disc_inflow
from pegasus.dynamics.thrust_curves import ThrustCurve, along_axis, signed_root

_TURN = 2.0 * math.pi
_MOST_PARTS = 4096
_SLOW = 1e-9
"""Travel of a blade tip [m/s] below which the advance ratio is that of this travel."""


@dataclass(frozen=True)
class PropellerTables:
    """Parameters of `propeller_thrust`."""

    radius_by_pi: float
    """Diameter by 2 pi [m]."""
    pressure: float
    """Thrust by C_T, air density and squared speed, D^4 / (2 pi)^2 [m^4]."""
    advance_ratio: tuple[float, ...]
    """Rising advance ratios of the tables."""
    thrust: tuple[float, ...]
    """C_T there."""
    thrust_slope: tuple[float, ...]
    """Its slope from there to the next advance ratio."""
    torque: tuple[float, ...]
    """C_P D / (2 pi) there [m]."""
    torque_slope: tuple[float, ...]
    """Its slope from there to the next advance ratio [m]."""
    first: tuple[float, ...]
    """Interval of the tables in which each of equal parts of their range begins."""
    parts: float
    """Parts by unit of advance ratio."""
    rest_thrust: float
    """C_T at rest."""
    brakes: int
    """1 if a slower or stopped rotor keeps the drag that it has at the ends of the tables."""


def propeller_tables(diameter: float, made: Coefficients, *, brakes: bool = False) -> PropellerTables:
    """Return the parameters of `propeller_thrust`, with parts that hold one point of the tables at most.

    Args:
        diameter: Diameter [m].
        made: Coefficients over the advance ratio.
        brakes: Whether a rotor slower than at the ends of the tables keeps the drag that it has there.
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
    arm = diameter / _TURN
    torque = arm * np.array(made.power)
    return PropellerTables(
        radius_by_pi=arm,
        pressure=squared(diameter * diameter) / squared(_TURN),
        advance_ratio=ratios,
        thrust=made.thrust,
        thrust_slope=tuple((np.diff(made.thrust) / np.diff(ratios)).tolist()),
        torque=tuple(torque.tolist()),
        torque_slope=tuple((np.diff(torque) / np.diff(ratios)).tolist()),
        first=tuple(map(float, first.tolist())),
        parts=count / span,
        rest_thrust=interpolate(0.0, ratios, made.thrust),
        brakes=int(brakes),
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
    """Return T = C_T rho n^2 D^4 and Q = C_P rho n^2 D^5 / (2 pi), n = w / (2 pi); see `PropellerThrust`."""
    travel = speed * p.radius_by_pi
    if magnitude(travel) < _SLOW:
        travel = _SLOW
    flown = air_velocity[2] / travel
    last = length(p.advance_ratio) - 1
    ratio = minimum(maximum(flown, p.advance_ratio[0]), p.advance_ratio[last])
    turning = speed
    if p.brakes == 1 and ratio != flown:
        # The speed at which the rotor would be at the end of the tables.
        turning = air_velocity[2] / (ratio * p.radius_by_pi)
    k = interval_of_ratio(p, ratio)
    beyond = ratio - p.advance_ratio[k]
    pressure = air_density * p.pressure * (speed * magnitude(speed))
    thrust = air_density * p.pressure * (turning * magnitude(turning))
    thrust = thrust * (p.thrust[k] + beyond * p.thrust_slope[k])
    torque = pressure * (p.torque[k] + beyond * p.torque_slope[k])
    return along_axis(thrust), along_axis(torque)


def propeller_speed(p: PropellerTables, thrust: Real, air_density: Real) -> Real:
    """Return the speed in closed form: in still air the coefficients do not depend on it."""
    return signed_root(thrust / (air_density * p.rest_thrust * p.pressure))


@dataclass(frozen=True, kw_only=True)
class PropellerThrust(ThrustCurve):
    """Propeller by its coefficients: T = C_T rho n^2 D^4 and Q = C_P rho n^2 D^5 / (2 pi), n = w / (2 pi).

    The coefficients are constant (AirSim technical report, sec. 3.1), or tables over the advance ratio
    J = v / (n D), as wind tunnels publish them, interpolated linearly: given here, or read from a file of the
    propeller database of the University of Illinois. Beyond their ends they are held, or continued by
    momentum theory through the vortex-ring state and as a windmill; see `pegasus.dynamics.rotor_states`.
    A rotor that turns more slowly than at the ends of these, or has stopped, keeps the force along its axis
    that it has there at its speed through the air: T = (C_T / J^2) rho v^2 D^2, the drag of its blades.
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
    """Continuation of the tables beyond their ends; by default `momentum` for a file, `held` otherwise."""
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
        tables = Coefficients(made.advance_ratio, thrust, made.power)
        return propeller_tables(self.diameter, tables, brakes=self._way_beyond() == "momentum")
