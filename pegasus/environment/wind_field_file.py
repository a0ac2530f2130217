"""Files of wind fields: NetCDF and arrays of NumPy, on rectilinear grids."""

import importlib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.base.file_kinds import refuse_other_kinds

_UNITS: dict[str, dict[str, float]] = {
    "m/s": {
        **dict.fromkeys(("m/s", "m s-1", "ms-1", "meter/second", "meters/second", "metre/second"), 1.0),
        **dict.fromkeys(("meter second-1", "meters per second", "metres per second"), 1.0),
        **dict.fromkeys(("cm/s", "cm s-1"), 0.01),
        **dict.fromkeys(("km/h", "km h-1", "km/hr", "kmh"), 1.0 / 3.6),
        **dict.fromkeys(("kt", "kts", "kn", "knot", "knots"), 1852.0 / 3600.0),
        **dict.fromkeys(("mph", "mi/h", "mile/hour"), 0.44704),
        **dict.fromkeys(("ft/s", "ft s-1", "foot/second"), 0.3048),
    },
    "m": {
        **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), 1.0),
        **dict.fromkeys(("cm", "centimeter", "centimeters", "centimetre", "centimetres"), 0.01),
        **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres"), 1000.0),
        **dict.fromkeys(("ft", "foot", "feet"), 0.3048),
    },
    "s": {
        **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
        **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
        **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
        **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
        **dict.fromkeys(("d", "day", "days"), 86400.0),
    },
}
"""Factors of units in SI units, by spellings in lower case (UDUNITS, CF conventions 3.1)."""


@dataclass(frozen=True)
class Component:
    """Component of the velocity on its grid."""

    axes: tuple[Array, Array, Array]
    """Rising places along x, y, z [m]."""
    values: Array
    """Velocities [m/s], shape (T, Z, Y, X); 0 where the file has none."""


@dataclass(frozen=True)
class FieldFile:
    """Content of a file of a wind field."""

    components: tuple[Component, Component, Component]
    """Components along x, y, z."""
    time: Array
    """Rising times [s], shape (T,)."""


def read_wind_field(path: Path, names: tuple[str, str, str]) -> FieldFile:
    """Read a wind field.

    A variable of a NetCDF file has the dimensions time, z, y, x in this order, or all but the first, whose
    names are those of its coordinates: the components may lie on grids of their own, as in the output of
    PALM. Arrays of NumPy have the shape of `t`, `z`, `y`, `x`, or of all but the first. Values that are not
    finite or missing, as inside of buildings, are air at rest. Values of a NetCDF file are converted from
    their `units`; without any they are in m/s, m and s.

    Args:
        path: The file.
        names: Names of the velocities along x, y, z.

    Raises:
        ConfigError: If the file is missing, of another kind, lacks a variable or has an unknown unit, or its
            grid does not rise.
    """
    if not path.is_file():
        raise _wrong(path, "is no file", "check the path, which is relative to the world file")
    refuse_other_kinds(
        path, "a NetCDF file (.nc) or arrays of NumPy (.npz)", {"netcdf", "numpy"}, field="file"
    )
    suffix = path.suffix.lower()
    if suffix == ".npz":
        read, variables = _arrays(path)
    elif suffix in (".nc", ".nc4", ".cdf"):
        read, variables = _netcdf(path)
    else:
        raise _wrong(path, f"has the suffix {suffix or 'none'!s}", "give a NetCDF file (.nc) or .npz")
    parts = []
    for name in names:
        if name not in variables:
            known = ", ".join(sorted(variables))
            hint = did_you_mean(name, variables)
            remedy = " ".join([*hint, "name the velocities in `names`"])
            raise _wrong(path, f"has no variable {name!r}, only {known}", remedy)
        parts.append(read(name))
    times = [time for _, time in parts]
    for time in times[1:]:
        if not np.array_equal(time, times[0]):
            raise _wrong(path, "has components at different times")
    components = [component for component, _ in parts]
    return FieldFile((components[0], components[1], components[2]), times[0])


Reader = Callable[[str], tuple[Component, Array]]


def _arrays(path: Path) -> tuple[Reader, list[str]]:
    """Return a reader of arrays of NumPy, and the names of the arrays."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays: Mapping[str, Any] = dict(file)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError):
        raise _wrong(path, "cannot be read", "write it by numpy.savez") from None
    for name in ("x", "y", "z"):
        if name not in arrays:
            raise _wrong(path, f"has no array {name!r}, only {', '.join(sorted(arrays))}")
    coordinates = {name: arrays[name] for name in ("x", "y", "z")}

    def read(name: str) -> tuple[Component, Array]:
        time = arrays.get("t", np.zeros(1))
        return _component(path, name, arrays[name], {"t": time, **coordinates})

    return read, [name for name in arrays if name not in ("t", "x", "y", "z")]


def _netcdf(path: Path) -> tuple[Reader, list[str]]:
    """Return a reader of a NetCDF file, and the names of its variables."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"\x89HDF":
        try:
            library = importlib.import_module("netCDF4")
        except ImportError:
            raise _wrong(
                path, "is a NetCDF 4 file", "pip install netCDF4, or convert it: nccopy -k classic IN OUT"
            ) from None
        with library.Dataset(path) as dataset:
            dataset.set_auto_mask(False)
            dataset.set_auto_scale(False)
            variables = {name: _Variable.of(v, v.dimensions) for name, v in dataset.variables.items()}
    else:
        try:
            classic = importlib.import_module("scipy.io").netcdf_file
        except ImportError:
            remedy = "pip install pegasus-multirotor[netcdf]"
            raise _wrong(path, "is a NetCDF file, which SciPy reads", remedy) from None
        try:
            with classic(path, "r", mmap=False) as dataset:
                variables = {name: _Variable.of(v, v.dimensions) for name, v in dataset.variables.items()}
        except (OSError, TypeError, ValueError, KeyError, IndexError, AssertionError):
            raise _wrong(path, "is no NetCDF file") from None

    def read(name: str) -> tuple[Component, Array]:
        variable = variables[name]
        dimensions = variable.dimensions
        if len(dimensions) not in (3, 4):
            shown = ", ".join(dimensions) or "none"
            raise _wrong(path, f"variable {name!r} has the dimensions {shown}, not time, z, y, x")
        coordinates: dict[str, Array] = {"t": np.zeros(1)}
        for axis, dimension in zip("zyx" if len(dimensions) == 3 else "tzyx", dimensions, strict=True):
            if dimension not in variables:
                raise _wrong(path, f"has no coordinates {dimension!r} of variable {name!r}")
            unit = "s" if axis == "t" else "m"
            coordinates[axis] = variables[dimension].converted(path, dimension, unit)
        return _component(path, name, variable.converted(path, name, "m/s"), coordinates)

    return read, [name for name, variable in variables.items() if len(variable.dimensions) > 2]


@dataclass(frozen=True)
class _Variable:
    """Variable of a NetCDF file."""

    values: Array
    dimensions: tuple[str, ...]
    units: str = ""

    def converted(self, path: Path, name: str, unit: str) -> Array:
        """Return the values in an SI unit.

        Args:
            path: The file.
            name: Name of the variable.
            unit: `m/s`, `m` or `s`.

        Raises:
            ConfigError: If the variable has another unit that is not known.
        """
        known = _UNITS[unit]
        # "hours since 2020-01-01": times are relative to the first one anyhow.
        plain = self.units.lower().partition(" since ")[0].replace("**", "").replace("^", "")
        spelling = " ".join(plain.replace(".", " ").replace("*", " ").split())
        if not spelling:
            return self.values
        if spelling not in known:
            raise _wrong(
                path,
                f"variable {name!r} has the unit {self.units!r}, which is not known for {unit}",
                f"convert it to {unit}",
            )
        return self.values * known[spelling]

    @classmethod
    def of(cls, variable: Any, dimensions: tuple[str, ...]) -> "_Variable":
        """Return a variable with its missing values as NaN, scaled as its attributes say."""
        raw = np.asarray(variable[...] if variable.shape else variable[()])
        if raw.dtype.kind not in "iuf":
            return cls(np.zeros(0), tuple(dimensions))
        values = np.array(raw, dtype=np.float64)
        for name in ("_FillValue", "missing_value"):
            filler = getattr(variable, name, None)
            if filler is not None:
                values[raw == np.asarray(filler).reshape(-1)[0]] = np.nan
        values = values * float(getattr(variable, "scale_factor", 1.0))
        units = getattr(variable, "units", "")
        text = units.decode("utf-8", "replace") if isinstance(units, bytes) else str(units)
        return cls(values + float(getattr(variable, "add_offset", 0.0)), tuple(dimensions), text)


def _component(path: Path, name: str, values: Any, coordinates: Mapping[str, Any]) -> tuple[Component, Array]:
    """Return a component and its times, checked."""
    axes = {}
    for axis, places in coordinates.items():
        numbers = np.asarray(places)
        if numbers.dtype.kind not in "iuf" or numbers.ndim != 1:
            raise _wrong(path, f"coordinates {axis!r} of {name!r} must be a list of numbers")
        numbers = numbers.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise _wrong(path, f"coordinates {axis!r} of {name!r} hold a value that is not finite")
        if (np.diff(numbers) <= 0).any():
            k = int(np.flatnonzero(np.diff(numbers) <= 0)[0])
            raise _wrong(
                path,
                f"coordinates {axis!r} of {name!r} must rise; they go from {numbers[k]:g} to "
                f"{numbers[k + 1]:g} at entry {k + 1}",
            )
        if axis != "t" and len(numbers) < 2:
            raise _wrong(path, f"coordinates {axis!r} of {name!r} must hold at least 2 values")
        axes[axis] = numbers
    shape = tuple(len(axes[axis]) for axis in "tzyx")
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf" or numbers.shape not in (shape, shape[1:] if shape[0] == 1 else shape):
        raise _wrong(
            path, f"{name!r} must be numbers of the shape {shape} of t, z, y, x; it has {numbers.shape}"
        )
    filled = np.nan_to_num(numbers.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0).reshape(shape)
    return Component((axes["x"], axes["y"], axes["z"]), np.ascontiguousarray(filled)), axes["t"]


def _wrong(path: Path, problem: str, remedy: str | None = None) -> ConfigError:
    return ConfigError(problem, field="file", value=str(path), remedy=remedy)
