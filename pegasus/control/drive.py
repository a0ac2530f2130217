"""Wrench to rotor speeds in a compiled step: columns of the allocation, and inverse thrust curves."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from types import GenericAlias, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.generated_functions import digest, written
from pegasus.base.step_math import Column, Real, Table, Vec3, interpolate, length, sqrt
from pegasus.control.mission_step import FLY, IDLE, START
from pegasus.control.mixing import Mixing, allocate
from pegasus.dynamics import ThrustCurve
from pegasus.dynamics.propeller_curve import NO_TABLES, PropellerTables, propeller_speed
from pegasus.dynamics.thrust_curves import (
    PolynomialThrust,
    QuadraticCoefficients,
    polynomial_speed,
    quadratic_speed,
)

if TYPE_CHECKING:
    from pegasus.base.compiler import Kernel

Inverse = Callable[..., Real]
"""Step function (parameters, thrust [N], air density [kg/m^3]) -> rotor speed in still air [rad/s]."""


@dataclass
class DriveRows:
    """Wrenches and limits of the copies of vehicles, and the thrusts and rotor speeds that give them."""

    place: Column[int]
    """Row of a copy in `mode` and `rotor_speed`."""
    owner: Column[int]
    """Row of a copy in the parameters of the airframes: its vehicle."""
    mode: Column[int]
    """State of the rotors, such as `pegasus.control.mission_step.FLY`."""
    idle_speed: Column[Real]
    """Rotor speed at idle [rad/s]."""
    fault: Column[int]
    """Set to 1 if a rotor speed is not finite."""
    lower: Column[Real]
    """Smallest thrust of a rotor [N]."""
    upper: Column[Real]
    """Largest thrust of a rotor [N]."""
    air_density: Column[Real]
    mixing: Column[Mixing]
    curve: Column[int]
    """Number of the thrust curve; see `speed_of_thrust`."""
    quadratic: Column[QuadraticCoefficients]
    polynomial: Column[PolynomialThrust]
    propeller: Column[PropellerTables]
    force: Column[Vec3]
    """Force, body frame [N]."""
    torque: Column[Vec3]
    """Torque about the centre of mass, body frame [N m]."""
    thrust: Table[Real]
    rotor_speed: Table[Real]


_TABLE_DENSITY = 1.225
"""Air density of tables of thrust [kg/m^3]."""

_SHIPPED: dict[Inverse, tuple[int, str]] = {
    quadratic_speed: (1, "quadratic"),
    polynomial_speed: (2, "polynomial"),
    propeller_speed: (3, "propeller"),
}


def speed_of_thrust(
    curve: int,
    quadratic: QuadraticCoefficients,
    polynomial: PolynomialThrust,
    propeller: PropellerTables,
    thrust: Real,
    air_density: Real,
) -> Real:
    """Return the rotor speed in still air of a shipped thrust curve [rad/s], 0 for one by Python.

    Args:
        curve: Number of the curve: 1 quadratic, 2 polynomial, 3 propeller.
        quadratic: Its parameters, if it is quadratic.
        polynomial: Its parameters, if it is a polynomial.
        propeller: Its parameters, if it is a propeller.
        thrust: Thrust [N].
        air_density: Air density [kg/m^3].
    """
    if curve == 1:
        return quadratic_speed(quadratic, thrust, air_density)
    if curve == 2:
        return polynomial_speed(polynomial, thrust, air_density)
    if curve == 3:
        return propeller_speed(propeller, thrust, air_density)
    return 0.0


@dataclass(frozen=True)
class TabulatedCurve:
    """Parameters of `tabulated_speed`."""

    thrust: tuple[float, ...]
    """Rising thrusts in still air [N]."""
    square: tuple[float, ...]
    """Square of the rotor speed at each [(rad/s)^2]."""
    air_density: float
    """Air density of the table, to which thrust is proportional; 0 if it has no effect [kg/m^3]."""


def tabulated_speed(p: TabulatedCurve, thrust: Real, air_density: Real) -> Real:
    """Return the rotor speed of a table, linear in the square of the speed."""
    if p.air_density > 0.0:
        return sqrt(interpolate(thrust * (p.air_density / air_density), p.thrust, p.square))
    return sqrt(interpolate(thrust, p.thrust, p.square))


def inverse_of(curve: ThrustCurve) -> tuple[Inverse, Any] | None:
    """Return the inverse of a thrust curve as a step function, and its parameters.

    That of a curve in NumPy is a table, exact to 1e-5 for a curve of second degree. A curve with a method
    `rotor_speed` of its own, or whose thrust does not rise, has none.

    Args:
        curve: The thrust curve.
    """
    kind = type(curve)
    if kind.rotor_speed is not ThrustCurve.rotor_speed:
        return None
    if kind.law is not None and kind.thrust is ThrustCurve.thrust:
        return kind.inverse_law or _bisection(kind.law), curve.parameters()
    table = _tabulated(curve)
    return None if table is None else (tabulated_speed, table)


def _tabulated(curve: ThrustCurve) -> TabulatedCurve | None:
    """Return the table of a curve in NumPy; None if its thrust does not rise."""
    speed = np.append(0.0, np.geomspace(1.0, 1e5, 2048))[:, None]
    thrust = curve.thrust(speed, np.zeros_like(speed), np.full_like(speed, _TABLE_DENSITY))[0][:, 0]
    rising = np.append(True, thrust[1:] > np.maximum.accumulate(thrust)[:-1])
    if rising.sum() < 2:
        return None
    density = _TABLE_DENSITY if curve.uses_air_density else 0.0
    return TabulatedCurve(tuple(thrust[rising].tolist()), tuple((speed[rising, 0] ** 2).tolist()), density)


_BISECTION = """
def speed_by_bisection(p: Parameters, thrust: Real, air_density: Real) -> Real:
    low = 0.0
    high = 1e5
    for _ in range(60):
        middle = 0.5 * (low + high)
        force, _torque = law(p, middle, Vec3(0.0, 0.0, 0.0), air_density)
        if force[2] >= thrust:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)
"""


@functools.cache
def _bisection(law: Callable[..., tuple[Vec3, Vec3]]) -> Inverse:
    """Return the inverse of a thrust curve that rises with speed, found over 0 to 1e5 rad/s."""
    # Not at the top: controllers are made without Warp.
    parameters = next(iter(get_type_hints(law).values()))
    names = {"Parameters": parameters, "law": law, "Real": Real, "Vec3": Vec3}
    return written("speed_by_bisection", _BISECTION, names)


@dataclass(frozen=True)
class CompiledStep:
    """Step of a row, and its columns."""

    saved_as: ClassVar[str] = "code"

    function: Callable[..., None]
    """The step function, for plain Python."""
    rows: type
    """Dataclass of its columns."""
    kernel: "Kernel"
    """The step, compiled."""


_STEP = """
def {name}(i: int, rows: Rows) -> None:
    p = rows.place[i]
    k = rows.owner[i]
    mode = rows.mode[p]
    if mode >= FLY:
        {wrench}
        allocate(i, rows.thrust, rows.mixing[k], rows.force[i], rows.torque[i], rows.lower[i], rows.upper[i])
        rows.mode[p] = FLY
    for r in range(length(rows.mixing[k].carrying)):
        speed = 0.0
        if mode == IDLE:
            speed = rows.idle_speed[i]
        if mode >= FLY:
            speed = _curve_inverse({curve}, rows.thrust[i, r], rows.air_density[i])
        if speed - speed != 0.0:
            rows.fault[0] = 1
        rows.rotor_speed[p, r] = speed
"""
_SHIPPED_CURVE = "rows.curve[k], rows.quadratic[k], rows.polynomial[k], rows.propeller[k]"


def written_step(
    inverse: Inverse | None,
    wrench: str = "",
    used: Mapping[str, Any] = MappingProxyType({}),
    columns: Mapping[str, Any] = MappingProxyType({}),
    base: type = DriveRows,
) -> CompiledStep:
    """Return a step that turns wrenches into rotor speeds.

    Args:
        inverse: Inverse of the thrust curve; None if it is shipped, or in NumPy.
        wrench: Source that writes the wrench into the columns; without it Python does.
        used: Step functions that it uses.
        columns: Kinds of its columns.
        base: Dataclass of the other columns.
    """
    # Not at the top: controllers are made without Warp.
    from pegasus.base.compiler import Kernel

    custom = {} if inverse is None else {"custom": next(iter(get_type_hints(inverse).values()))}
    parts = {**used, "_curve_inverse": inverse or speed_of_thrust}
    title = f"control_{digest(*parts.values())}"
    fields: list[Any] = [
        (name, GenericAlias(Column, (kind,))) for name, kind in {**columns, **custom}.items()
    ]
    rows = make_dataclass(f"Rows_{title}", fields, bases=(base,))
    rows.__module__ = __name__
    curve = "rows.custom[k]" if custom else _SHIPPED_CURVE
    text = _STEP.format(name=title, wrench=wrench, curve=curve)
    names = {"Rows": rows, "allocate": allocate, "length": length, "FLY": FLY, "IDLE": IDLE, "START": START}
    function = written(title, text, {**parts, **names})
    return CompiledStep(function, rows, Kernel(function, parts, {DriveRows: rows, base: rows}))


@functools.cache
def drive_step(inverse: Inverse | None) -> CompiledStep:
    """Return the step of wrenches that Python computes.

    Args:
        inverse: Inverse of the thrust curve; None if it is shipped, or in NumPy.
    """
    return written_step(inverse)


def drive_limits(count: int, idle_speed: Array | float = 0.0) -> dict[str, Array]:
    """Return the columns of `DriveRows` that its user updates: `lower`, `upper`, `air_density`, `idle_speed`.

    Args:
        count: Number of copies N.
        idle_speed: Rotor speed at idle [rad/s], one or shape (N,).
    """
    limits = {name: np.zeros(count) for name in ("lower", "upper", "air_density")}
    return limits | {"idle_speed": np.zeros(count) + idle_speed}


class DriveStep:
    """Compiled step from wrenches to rotor speeds, of N copies of a vehicle.

    Args:
        curve: Thrust curve of the rotors; None for thrusts only.
        mixing: Numbers of the allocation.
        limits: Columns that the controller updates, those of `drive_limits` at least.
        compiled: Function that returns the step by the inverse of a thrust curve.
    """

    def __init__(
        self,
        curve: ThrustCurve | None,
        mixing: Mixing,
        limits: dict[str, Array],
        compiled: Callable[[Inverse | None], CompiledStep] = drive_step,
    ) -> None:
        count, rotor_count = len(limits["lower"]), len(mixing.carrying)
        found = None if curve is None else inverse_of(curve)
        inverse, parameters = found if found is not None else (None, None)
        number, name = (0, "custom") if inverse is None else _SHIPPED.get(inverse, (0, "custom"))
        self.compiled = compiled(inverse if number == 0 else None)
        self.inverse_in_python = curve is not None and inverse is None
        """Whether the rotor speeds are computed from the thrusts in NumPy."""
        self.limits, self._curve = limits, curve
        self.force, self.torque = np.zeros((count, 3)), np.zeros((count, 3))
        """Force [N] and torque about the centre of mass [N m] of each copy, body frame, (N, 3)."""
        self.thrust, self._rotor_speed = np.zeros((count, rotor_count)), np.zeros((count, rotor_count))
        """Thrust of each rotor [N], shape (N, R)."""
        self.mode: Array = np.full(count, FLY, dtype=np.int32)
        """State of the rotors of each copy where it runs alone, shape (N,)."""
        self.parameters: dict[str, Any] = {
            "mixing": mixing,
            "curve": number,
            "quadratic": QuadraticCoefficients(1.0, 1.0),
            "polynomial": PolynomialThrust(coefficients=(0.0, 1.0)),
            "propeller": NO_TABLES,
        }
        """Its row of each column of parameters."""
        if inverse is not None:
            self.parameters[name] = parameters
        self._launch: Callable[[], None] | None = None

    def drive(self, force: Array, torque: Array) -> Array:
        """Return the rotor speeds that give a wrench [rad/s], shape (N, R).

        Args:
            force: Force, body frame [N], shape (N, 3).
            torque: Torque about the centre of mass, body frame [N m], shape (N, 3).
        """
        self.force[...], self.torque[...] = force, torque
        if self._launch is None:
            self._prepare({})
        return self._run()

    def _prepare(self, shared: dict[str, Array]) -> None:
        from pegasus.base.compiler import Rows

        count = len(self.force)
        columns = {
            "place": np.arange(count, dtype=np.int32),
            "owner": np.zeros(count, dtype=np.int32),
            "mode": self.mode,
            "fault": np.zeros(1, dtype=np.int32),
            **{name: getattr(self, name) for name in ("force", "torque", "thrust")},
            "rotor_speed": self._rotor_speed,
            **in_columns([self.parameters]),
            **self.limits,
            **shared,
        }
        self.rows = Rows(self.compiled.rows, columns)
        """The rows, also for plain Python."""
        self._launch = self.compiled.kernel.launch(self.rows, count)

    def _run(self) -> Array:
        assert self._launch is not None
        self._launch()
        if self.inverse_in_python:
            assert self._curve is not None
            return self._curve.rotor_speed(self.thrust, self.limits["air_density"][:, None])
        return self._rotor_speed.copy()


def in_columns(parameters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the columns of parameters of several controllers, one row each.

    Args:
        parameters: The row of each controller by name.
    """
    columns: dict[str, Any] = {name: [each[name] for each in parameters] for name in parameters[0]}
    columns["curve"] = np.array(columns["curve"], dtype=np.int32)
    return columns
