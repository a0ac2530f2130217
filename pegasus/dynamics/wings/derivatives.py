"""Airframe by its stability derivatives, constant or tabulated over the angles of attack and sideslip."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.base.step_math import (
    NOTHING,
    Real,
    Reals,
    Vec3,
    atan2,
    magnitude,
    maximum,
    sqrt,
)
from pegasus.dynamics.wings.wing import Wing, unstalled

_LEAST = 1e-300
"""Square of a speed [m^2/s^2] that keeps angles finite at rest."""
_COEFFICIENTS = ("CL", "CD", "CY", "Cl", "Cm", "Cn")

Coefficient = float | tuple[float, ...] | tuple[tuple[float, ...], ...]
"""Number; numbers at even steps of the angle of attack; or rows of them, each at even steps of sideslip.
A single row does not depend on the angle of attack."""
Controls = float | tuple[float | tuple[float, ...] | tuple[tuple[float, ...], ...], ...]
"""Coefficient of one control surface that is a number, or coefficients of each."""


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """Derivatives of one coefficient."""

    zero: Coefficient = 0.0
    """Value without rates and deflections, at alpha = beta = 0 or over these."""
    alpha: Coefficient = 0.0
    """By the angle of attack [1/rad]."""
    beta: Coefficient = 0.0
    """By the angle of sideslip [1/rad]."""
    p: Coefficient = 0.0
    """By the roll rate, p b / (2 V)."""
    q: Coefficient = 0.0
    """By the pitch rate, q c / (2 V)."""
    r: Coefficient = 0.0
    """By the yaw rate, r b / (2 V)."""
    delta: Controls = ()
    """By the deflection of each control surface [1/rad]; 0 for all if left out."""


@dataclass(frozen=True)
class Tabulated:
    """Coefficient of the law."""

    dimensions: int
    """0 for a number, 1 for a table over alpha, 2 over alpha and beta, 3 over beta; -1 for nothing."""
    values: tuple[float, ...]


@dataclass(frozen=True)
class Place:
    """Place of a state in the tables: row and column of its cell, and the shares of the next ones."""

    row: int
    row_share: Real
    column: int
    column_share: Real


@dataclass(frozen=True)
class Expanded:
    """Derivatives of one coefficient, as in `Expansion`."""

    zero: Tabulated
    alpha: Tabulated
    beta: Tabulated
    p: Tabulated
    q: Tabulated
    r: Tabulated
    delta: tuple[Tabulated, ...]


@dataclass(frozen=True)
class Grid:
    """Even steps of the tables."""

    low: float
    """First angle [rad]."""
    density: float
    """Steps per radian."""
    last: float
    """Number of steps."""


@dataclass(frozen=True)
class DerivativeParameters:
    """Parameters of `airframe_derivatives`."""

    half_area: float
    half_span: float
    half_chord: float
    alpha: Grid
    beta: Grid
    columns: int
    """Number of values of a row of a table over alpha and beta."""
    stalls: bool
    stall_angle: float
    stall_sharpness: float
    has_induced_drag: bool
    by_induced_drag: float
    wind_axes: bool
    CL: Expanded
    CD: Expanded
    CD_magnitude: tuple[Tabulated, ...]
    CY: Expanded
    Cl: Expanded
    Cm: Expanded
    Cn: Expanded


def cell(grid: Grid, angle: Real) -> tuple[int, Real]:
    """Return the step that holds an angle, and the share of it that lies below; held at the ends."""
    place = (angle - grid.low) * grid.density
    # The comparisons hold no value that is not a number.
    if not place > 0.0:
        place = 0.0
    if place >= grid.last:
        return int(grid.last - 1.0), 1.0
    k = int(place)
    return k, place - Real(k)


def looked_up(c: Tabulated, at: Place, columns: int) -> Real:
    """Return a coefficient at a place, linear between the points of its table."""
    if c.dimensions < 0:
        return NOTHING
    if c.dimensions == 0:
        return c.values[0]
    if c.dimensions == 1:
        low = c.values[at.row]
        return low + at.row_share * (c.values[at.row + 1] - low)
    first = at.column
    if c.dimensions == 2:
        first = at.row * columns + at.column
    low = c.values[first] + at.column_share * (c.values[first + 1] - c.values[first])
    if c.dimensions == 3:
        return low
    second = first + columns
    high = c.values[second] + at.column_share * (c.values[second + 1] - c.values[second])
    return low + at.row_share * (high - low)


def by_deflections(slopes: Sequence[Tabulated], at: Place, columns: int, deflection: Reals) -> Real:
    """Return the change of a coefficient by the deflections."""
    total = 0.0
    for j in range(len(slopes)):
        total = total + looked_up(slopes[j], at, columns) * deflection[j]
    return total


def airframe_derivatives(
    p: DerivativeParameters, velocity: Vec3, rate: Vec3, deflection: Reals, density: Real
) -> tuple[Vec3, Vec3]:
    """Return force and torque; see `AirframeDerivatives`."""
    ahead = velocity[0]
    right = -velocity[1]
    down = -velocity[2]
    in_plane = sqrt(maximum(ahead * ahead + down * down, _LEAST))
    speed = sqrt(in_plane * in_plane + right * right)
    alpha = atan2(down, ahead)
    beta = atan2(right, in_plane)
    sine = down / in_plane
    cosine = ahead / in_plane
    row, row_share = cell(p.alpha, alpha)
    column, column_share = cell(p.beta, beta)
    at = Place(row, row_share, column, column_share)
    rolling = rate[0] * p.half_span
    pitching = -rate[1] * p.half_chord
    yawing = -rate[2] * p.half_span

    def moving(c: Expanded) -> Real:
        """Return the change of a coefficient by the rates and the deflections, times the airspeed."""
        turned = (
            looked_up(c.p, at, p.columns) * rolling
            + looked_up(c.q, at, p.columns) * pitching
            + looked_up(c.r, at, p.columns) * yawing
        )
        return turned + by_deflections(c.delta, at, p.columns, deflection) * speed

    def steady(c: Expanded) -> Real:
        """Return a coefficient without rates and deflections."""
        slopes = looked_up(c.alpha, at, p.columns) * alpha + looked_up(c.beta, at, p.columns) * beta
        return looked_up(c.zero, at, p.columns) + slopes

    cl = steady(p.CL)
    cd = steady(p.CD)
    if p.has_induced_drag:
        cd = cd + cl * cl / p.by_induced_drag
    if p.stalls:
        share = unstalled(alpha, p.stall_angle, p.stall_sharpness)
        cl = share * cl + (1.0 - share) * 2.0 * magnitude(sine) * sine * cosine
    bent = [magnitude(deflection[j]) for j in range(len(p.CD_magnitude))]
    cd = cd + by_deflections(p.CD_magnitude, at, p.columns, bent)

    pressure = density * p.half_area * speed
    lift = (cl * speed + moving(p.CL)) * pressure
    drag = (cd * speed + moving(p.CD)) * pressure
    side = (steady(p.CY) * speed + moving(p.CY)) * pressure
    along = -drag
    if p.wind_axes:
        slip = right / speed
        straight = in_plane / speed
        along = -drag * straight - side * slip
        side = side * straight - drag * slip
    force = Vec3(along * cosine + lift * sine, -side, lift * cosine - along * sine)
    by_span = 2.0 * p.half_span * pressure
    torque = Vec3(
        (steady(p.Cl) * speed + moving(p.Cl)) * by_span,
        -(steady(p.Cm) * speed + moving(p.Cm)) * (2.0 * p.half_chord * pressure),
        -(steady(p.Cn) * speed + moving(p.Cn)) * by_span,
    )
    return force, torque


@dataclass(frozen=True, kw_only=True)
class AirframeDerivatives(Wing):
    """Whole airframe by derivatives of its six coefficients, about the reference point.

    Each coefficient is a sum over the angle of attack alpha = atan2(w, u), sideslip beta = asin(v / V), the
    nondimensional rates p b / (2 V), q c / (2 V) and r b / (2 V), and the deflections, with the airspeed V,
    and p, q, r, u, v, w about and along the axes forward, right and down. Each derivative is a number, or a
    table at even steps over `alpha_range`, or one over it and `beta_range`, linear between its points and
    held beyond its ends.

    Drag gets CL^2 / (pi e AR) with the lift coefficient CL of the steady flow if `oswald_efficiency` is
    given. With `stall_angle` the steady lift coefficient is blended into that of a flat plate,

        (1 - sigma) CL + sigma 2 sgn(alpha) sin^2 alpha cos alpha

    (Beard and McLain 2012, eq. 4.9 to 4.11). Lift and drag are turned by alpha, and the side force is along
    the span, as in this book; with `wind_axes` drag is against the airspeed and the side force across it, as
    in JSBSim.

    Derivatives hold near the state that they were made for; far from it a linear model may add energy.
    """

    law: ClassVar[Any] = staticmethod(airframe_derivatives)

    span: float
    """Reference span b [m]."""
    chord: float
    """Reference chord c [m]."""
    CL: Expansion = Expansion()
    """Lift, across the flow."""
    CD: Expansion = Expansion()
    """Drag, against the flow."""
    CY: Expansion = Expansion()
    """Side force, to the right."""
    Cl: Expansion = Expansion()
    """Rolling moment by the span, right wing down."""
    Cm: Expansion = Expansion()
    """Pitching moment by the chord, nose up."""
    Cn: Expansion = Expansion()
    """Yawing moment by the span, nose to the right."""
    CD_magnitude: Controls = ()
    """Drag by the magnitude of each deflection [1/rad]."""
    oswald_efficiency: float | None = None
    """Oswald efficiency e of the induced drag; none is added if left out."""
    stall_angle: float | None = None
    """Angle of attack at stall [rad]; the steady lift is never blended if left out."""
    stall_sharpness: float = 50.0
    """Rate of the transition to stall M [1/rad]."""
    alpha_range: tuple[float, float] | None = None
    """First and last angle of attack of the tables [rad]."""
    beta_range: tuple[float, float] | None = None
    """First and last angle of sideslip of the tables over both angles [rad]."""
    wind_axes: bool = False
    """True for drag and side force along and across the airspeed rather than the stability axes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field, unit in (("span", " m"), ("chord", " m"), ("stall_sharpness", " 1/rad")):
            value = getattr(self, field)
            require(value > 0, field, value, f"must be above 0{unit}")
        for field in ("oswald_efficiency", "stall_angle"):
            value = getattr(self, field)
            require(value is None or value > 0, field, value, "must be above 0, or left out")
        for field in ("alpha_range", "beta_range"):
            ends = getattr(self, field)
            right = ends is None or -math.pi <= ends[0] < ends[1] <= math.pi
            require(right, field, ends, "must rise, within -pi and pi rad")
        self._check_tables()
        counts = {f: len(_controls(v)) for f, v in self._control_fields().items()}
        for field, count in counts.items():
            most = self.control_count
            problem = f"must have one value for each control surface, {most}, or none"
            require(count in (0, most), field, self._control_fields()[field], problem)

    def _control_fields(self) -> dict[str, Controls]:
        deltas = {f"{name}.delta": getattr(self, name).delta for name in _COEFFICIENTS}
        return {**deltas, "CD_magnitude": self.CD_magnitude}

    def _tables(self) -> dict[str, Any]:
        """Return the values of all derivatives by their fields."""
        found = {}
        for name in _COEFFICIENTS:
            for item in fields(Expansion)[:-1]:
                found[f"{name}.{item.name}"] = getattr(getattr(self, name), item.name)
        for name, values in self._control_fields().items():
            found.update({f"{name}.{j}": value for j, value in enumerate(_controls(values))})
        return {name: value for name, value in found.items() if isinstance(value, tuple)}

    def _check_tables(self) -> None:
        tables = self._tables()
        for field, value in tables.items():
            if len(value) != 1 or not isinstance(value[0], tuple):
                require(self.alpha_range is not None, field, value, "needs alpha_range")
                require(len(value) >= 2, field, value, "must have two values at least")
                even = len(value) == self._rows()
                require(even, field, value, f"must have {self._rows()} values over alpha, as another table")
            pairs = [row for row in value if isinstance(row, tuple)]
            if pairs:
                require(self.beta_range is not None, field, value, "needs beta_range")
                even = len(pairs) == len(value) and {len(row) for row in pairs} == {self._columns()}
                require(
                    even and self._columns() >= 2, field, value, "must have rows of equal length, 2 at least"
                )

    def _rows(self) -> int:
        return next((len(table) for table in self._tables().values() if len(table) > 1), 2)

    def _columns(self) -> int:
        rows = (row for table in self._tables().values() for row in table if isinstance(row, tuple))
        return next((len(row) for row in rows), 2)

    @property
    def control_count(self) -> int:
        """Number of control surfaces."""
        return max(len(_controls(value)) for value in self._control_fields().values())

    def parameters(self) -> DerivativeParameters:
        """Return the parameters of the law."""
        columns = self._columns()
        return DerivativeParameters(
            half_area=0.5 * self.area,
            half_span=0.5 * self.span,
            half_chord=0.5 * self.chord,
            alpha=_grid(self.alpha_range, self._rows()),
            beta=_grid(self.beta_range, columns),
            columns=columns,
            stalls=self.stall_angle is not None,
            stall_angle=self.stall_angle or math.pi,
            stall_sharpness=self.stall_sharpness,
            has_induced_drag=self.oswald_efficiency is not None,
            by_induced_drag=math.pi * (self.oswald_efficiency or 1.0) * self.span * self.span / self.area,
            wind_axes=self.wind_axes,
            CD_magnitude=tuple(map(_tabulated, _controls(self.CD_magnitude))),
            **{name: _expanded(getattr(self, name)) for name in _COEFFICIENTS},
        )


def _controls(value: Controls) -> tuple[Coefficient, ...]:
    return value if isinstance(value, tuple) else (value,)


def _grid(ends: tuple[float, float] | None, count: int) -> Grid:
    low, high = ends or (-math.pi, math.pi)
    return Grid(low, (count - 1) / (high - low), float(count - 1))


def _tabulated(value: Coefficient) -> Tabulated:
    if not isinstance(value, tuple):
        return Tabulated(0 if value else -1, (float(value),))
    rows = [row if isinstance(row, tuple) else (row,) for row in value]
    dimensions = 1 if not isinstance(value[0], tuple) else 2 if len(rows) > 1 else 3
    return Tabulated(dimensions, tuple(float(v) for row in rows for v in row))


def _expanded(given: Expansion) -> Expanded:
    plain = {f.name: _tabulated(getattr(given, f.name)) for f in fields(Expansion)[:-1]}
    return Expanded(**plain, delta=tuple(map(_tabulated, _controls(given.delta))))
