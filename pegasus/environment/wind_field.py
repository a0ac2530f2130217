"""Wind field on a grid from a file, interpolated in space and time."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_vector
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Real, Reals, Vec3, clamped, cos, floor, interval, length, sin
from pegasus.environment.wind import Wind
from pegasus.environment.wind_field_file import read_wind_field

_HOLD, _CALM = 0, 1


@dataclass(frozen=True, eq=False)
class FieldParameters:
    """Parameters of `field_at`: axes and values of each component, and the place of the grid in the world."""

    u_x: tuple[float, ...]
    """Rising places of the values along the field's axes [m], by component."""
    u_y: tuple[float, ...]
    u_z: tuple[float, ...]
    v_x: tuple[float, ...]
    v_y: tuple[float, ...]
    v_z: tuple[float, ...]
    w_x: tuple[float, ...]
    w_y: tuple[float, ...]
    w_z: tuple[float, ...]
    u: tuple[float, ...]
    """Velocities [m/s] by time, z, y, x, the last one fastest."""
    v: tuple[float, ...]
    w: tuple[float, ...]
    time: tuple[float, ...]
    """Rising times of the values [s]."""
    start: float
    """Time in the file at the start of the simulation [s]."""
    repeated: bool
    """Whether the record starts again when it has ended; else its last values are held."""
    outside: int
    """0 to hold the values at the boundary outside the grid, 1 for air at rest there."""
    offset: tuple[float, float, float]
    """Place of the field's origin in the world [m]."""
    cosine: float
    """Cosine and sine of the angle from the world's x axis to the field's."""
    sine: float


def field_at(p: FieldParameters, position: Vec3, t: Real) -> Vec3:
    """Return the velocity of the air, trilinear in space and linear in time, ENU [m/s].

    Args:
        p: Parameters.
        position: Position in the world [m].
        t: Time [s].
    """
    east = position[0] - p.offset[0]
    north = position[1] - p.offset[1]
    place = Vec3(
        p.cosine * east + p.sine * north, p.cosine * north - p.sine * east, position[2] - p.offset[2]
    )
    moment = p.start + t
    last = length(p.time) - 1
    frame = 0
    later = 0
    share = 0.0
    if last > 0:
        if p.repeated:
            period = p.time[last] - p.time[0]
            moment = moment - period * floor((moment - p.time[0]) / period)
        frame = interval(p.time, moment)
        later = frame + 1
        share = clamped((moment - p.time[frame]) / (p.time[later] - p.time[frame]), 0.0, 1.0)
    u = component(p.u, p.u_x, p.u_y, p.u_z, place, p.outside, frame, later, share)
    v = component(p.v, p.v_x, p.v_y, p.v_z, place, p.outside, frame, later, share)
    w = component(p.w, p.w_x, p.w_y, p.w_z, place, p.outside, frame, later, share)
    return Vec3(p.cosine * u - p.sine * v, p.sine * u + p.cosine * v, w)


def component(
    values: Reals,
    x: Reals,
    y: Reals,
    z: Reals,
    place: Vec3,
    outside: int,
    frame: int,
    later: int,
    share: Real,
) -> Real:
    """Return one component of the field [m/s].

    Args:
        values: Its values by time, z, y, x.
        x: Axes of the grid [m].
        y: Second axis.
        z: Third axis.
        place: Point in the field's axes [m].
        outside: 1 for air at rest outside the grid.
        frame: Number of the time before.
        later: Number of the time after.
        share: Share of the latter, 0 to 1.
    """
    columns = length(x)
    rows = length(y)
    layers = length(z)
    if outside == 1 and (
        place[0] < x[0]
        or place[0] > x[columns - 1]
        or place[1] < y[0]
        or place[1] > y[rows - 1]
        or place[2] < z[0]
        or place[2] > z[layers - 1]
    ):
        return 0.0
    i = interval(x, place[0])
    j = interval(y, place[1])
    k = interval(z, place[2])
    a = clamped((place[0] - x[i]) / (x[i + 1] - x[i]), 0.0, 1.0)
    b = clamped((place[1] - y[j]) / (y[j + 1] - y[j]), 0.0, 1.0)
    c = clamped((place[2] - z[k]) / (z[k + 1] - z[k]), 0.0, 1.0)
    size = layers * rows * columns
    corner = (k * rows + j) * columns + i
    before = cube(values, frame * size + corner, columns, rows * columns, a, b, c)
    if share == 0.0:
        return before
    after = cube(values, later * size + corner, columns, rows * columns, a, b, c)
    return before + share * (after - before)


def cube(values: Reals, n: int, row: int, layer: int, a: Real, b: Real, c: Real) -> Real:
    """Return the trilinear interpolation in a cell.

    Args:
        values: Values of the grid.
        n: Number of the value at the cell's first corner.
        row: Distance of rows in the values.
        layer: Distance of layers.
        a: Share along x.
        b: Share along y.
        c: Share along z.
    """
    low = square(values, n, row, a, b)
    high = square(values, n + layer, row, a, b)
    return low + c * (high - low)


def square(values: Reals, n: int, row: int, a: Real, b: Real) -> Real:
    """Return the bilinear interpolation in a layer of a cell."""
    near = values[n] + a * (values[n + 1] - values[n])
    far = values[n + row] + a * (values[n + row + 1] - values[n + row])
    return near + b * (far - near)


@dataclass(frozen=True, kw_only=True)
class WindField(Wind):
    """Wind field on a rectilinear grid from a file, such as the output of a flow solver."""

    law: ClassVar = staticmethod(field_at)
    varies: ClassVar[bool] = True

    file: str
    """NetCDF file (.nc) or arrays of NumPy (.npz), relative to the world file."""
    names: tuple[str, str, str] = ("u", "v", "w")
    """Names of the velocities along the field's x, y, z."""
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Place of the field's origin in the world [m]."""
    heading: float = 0.0
    """Angle from the world's x axis to the field's, counter-clockwise [rad]."""
    outside: Literal["hold", "calm"] | None = None
    """Wind beyond the grid: that of the boundary (hold) or none (calm); None if the grid must cover the
    world, where the air above it is that of its top."""
    start: float | None = None
    """Time in the file at the start of the simulation [s]; the first of the file if None."""
    after_end: Literal["repeat", "hold"] = "repeat"
    """Wind after the last time of the file: from the first again, or the last."""

    def __post_init__(self) -> None:
        require_vector("offset", self.offset, unit="m")
        require(math.isfinite(self.heading), "heading", self.heading, "must be a finite angle [rad]")
        require(self.outside in (None, "hold", "calm"), "outside", self.outside, "must be hold or calm")
        require(self.after_end in ("repeat", "hold"), "after_end", self.after_end, "must be repeat or hold")
        start = self.start
        require(start is None or math.isfinite(start), "start", start, "must be a finite time [s]")
        _ = self.parameters

    @cached_property
    def parameters(self) -> FieldParameters:
        """Return the parameters of `field_at`, read from the file.

        Raises:
            ConfigError: If the file is missing or unsuitable.
        """
        read = read_wind_field(Path(self.file), self.names)
        axes = {
            f"{name}_{axis}": places
            for name, component in zip("uvw", read.components, strict=True)
            for axis, places in zip("xyz", component.axes, strict=True)
        }
        values = {
            name: component.values.reshape(-1) for name, component in zip("uvw", read.components, strict=True)
        }
        return FieldParameters(
            **axes,  # type: ignore[arg-type]
            **values,  # type: ignore[arg-type]
            time=tuple(read.time.tolist()),
            start=float(read.time[0]) if self.start is None else self.start,
            repeated=self.after_end == "repeat",
            outside=_CALM if self.outside == "calm" else _HOLD,
            offset=self.offset,
            cosine=cos(self.heading),
            sine=sin(self.heading),
        )

    @property
    def must_cover(self) -> bool:
        """Return whether the grid must cover the world."""
        return self.outside is None

    def require_cover(self, low: Array, high: Array) -> None:
        """Raise a ConfigError unless the grid covers the world, if it must; see `Wind.require_cover`."""
        if not self.must_cover:
            return
        p = self.parameters
        corners = np.array([(x, y) for x in (low[0], high[0]) for y in (low[1], high[1])]) - self.offset[:2]
        along = p.cosine * corners[:, 0] + p.sine * corners[:, 1]
        across = p.cosine * corners[:, 1] - p.sine * corners[:, 0]
        world = (
            (along.min(), along.max()),
            (across.min(), across.max()),
            (-math.inf, high[2] - self.offset[2]),
        )
        names = ("x", "y", "z")
        for name, (first, last) in zip(names, world, strict=True):
            axes = [getattr(p, f"{component}_{name}") for component in "uvw"]
            begin, end = max(float(axis[0]) for axis in axes), min(float(axis[-1]) for axis in axes)
            if -math.inf < first < begin or last > end:
                least = "" if name == "z" else f"from {first:.6g} "
                raise ConfigError(
                    f"does not cover the world: {name} of the field goes from {begin:.6g} to {end:.6g} m, "
                    f"the world {least}to {last:.6g} m in the field's axes",
                    field="file",
                    value=self.file,
                    remedy="give outside: hold or outside: calm, or move the field by offset and heading",
                )
