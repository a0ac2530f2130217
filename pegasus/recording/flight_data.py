"""Reader of public flight data with rotor speeds and motion capture, in the format of NeuroBEM."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.text_files import is_number, text_of
from pegasus.core.model_wrench import MotionSamples

_AXES = ("x", "y", "z")
NEUROBEM_COLUMNS = (
    "t",
    *(f"ang acc {axis}" for axis in _AXES),
    *(f"ang vel {axis}" for axis in _AXES),
    *(f"quat {axis}" for axis in (*_AXES, "w")),
    *(f"acc {axis}" for axis in _AXES),
    *(f"vel {axis}" for axis in _AXES),
    *(f"pos {axis}" for axis in _AXES),
    *(f"mot {k}" for k in range(1, 5)),
    *(f"dmot {k}" for k in range(1, 5)),
    "vbat",
)
"""Columns of the files of `processed_data`, in their order: SI units, body FLU, world with z upwards."""
NEUROBEM_PLACES = ((-1, -1), (1, -1), (-1, 1), (1, 1))
"""Signs of x and y of the rotors of `mot 1` to `mot 4`: back right, front right, back left, front left."""
_REMEDY = "give a CSV file of the NeuroBEM dataset"
_PREDICTION_COLUMNS = 12
"""Columns appended in the files of `predictions`, which have no header."""
_ALIASES = {f"q{axis}": f"quat {axis}" for axis in (*_AXES, "w")}


@dataclass(frozen=True, eq=False)
class FlightData:
    """Measured motion and rotor speeds of a flight at T instants."""

    name: str
    """Name in messages."""
    time: Array
    """Rising times [s], shape (T,)."""
    samples: MotionSamples
    """The states; rotors in the order of `places`."""
    specific_force: Array
    """Acceleration minus gravity, body frame [m/s^2], shape (T, 3)."""
    angular_acceleration: Array
    """Angular acceleration, body frame [rad/s^2], shape (T, 3)."""
    places: Sequence[tuple[int, int]]
    """Signs of x and y of each rotor in the body frame."""


def read_neurobem(path: str | Path) -> FlightData:
    """Return a flight of the NeuroBEM dataset (Bauersfeld et al. 2021), or of any file in its format.

    The files of `processed_data` have a header; their columns are taken by name, in any order. Files without
    a header have the columns in their published order, and those of `predictions` 12 more, which are
    ignored. The accelerations include gravity as an accelerometer's do: hover is 9.81 m/s^2 along z.

    Args:
        path: The CSV file.

    Raises:
        ConfigError: If the file cannot be read, a column is missing, or a value is not allowed.
    """
    path = Path(path)
    lines = _lines(path)
    header = [cell.strip().strip('"') for cell in lines[0][1].split(",")] if lines else []
    columns: Sequence[str] = NEUROBEM_COLUMNS
    if header and not is_number(header[0]):
        columns = [_ALIASES.get(name.lower(), name.lower()) for name in header]
        lines = lines[1:]
        missing = [name for name in NEUROBEM_COLUMNS[:-1] if name not in columns]
        if missing:
            raise ConfigError(
                f"has no column {missing[0]!r}",
                file=path,
                field="header",
                value=", ".join(header),
                remedy="give a file of NeuroBEM's processed_data, or name the columns as it does",
            )
    elif header and len(header) not in (len(columns), len(columns) + _PREDICTION_COLUMNS):
        raise ConfigError(
            f"must have {len(columns)} columns, or {len(columns) + _PREDICTION_COLUMNS} with predictions",
            file=path,
            field=f"line {lines[0][0]}",
            value=f"{len(header)} columns",
            remedy="give a file of NeuroBEM's processed_data or predictions",
        )
    table = _table(path, lines, len(header), [columns.index(name) for name in NEUROBEM_COLUMNS[:-1]])
    numbers = [number for number, _ in lines]
    time = table[:, 0]
    back = np.flatnonzero(np.diff(time) <= 0)
    if len(back):
        raise _wrong(path, "t", numbers[back[0] + 1], time[back[0] + 1], "must be later than the line before")
    orientation = table[:, 7:11]
    length = np.sqrt((orientation**2).sum(axis=1))
    bent = np.flatnonzero(np.abs(length - 1) > 0.01)
    if len(bent):
        shown = orientation[bent[0]].tolist()
        raise _wrong(path, "quat x to w", numbers[bent[0]], shown, "must be a unit quaternion")
    samples = MotionSamples(
        position=table[:, 17:20],
        orientation=orientation / length[:, None],
        velocity=table[:, 14:17],
        angular_velocity=table[:, 4:7],
        rotor_speed=table[:, 20:24],
        rotor_acceleration=table[:, 24:28],
    )
    return FlightData(
        name=str(path),
        time=time,
        samples=samples,
        specific_force=table[:, 11:14],
        angular_acceleration=table[:, 1:4],
        places=NEUROBEM_PLACES,
    )


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that are not empty, with their numbers."""
    text = text_of(path, file=path, remedy=_REMEDY)
    lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) < 2:
        raise ConfigError("must have at least two lines", file=path, remedy=_REMEDY)
    return lines


def _table(path: Path, lines: list[tuple[int, str]], width: int, columns: Sequence[int]) -> Array:
    """Return the chosen columns of all lines [SI], shape (T, len(columns))."""
    try:
        rows = np.loadtxt([line for _, line in lines], delimiter=",", ndmin=2, comments=None)
    except ValueError:
        rows = np.empty((0, 0))
    if rows.shape == (len(lines), width) and np.isfinite(rows[:, list(columns)]).all():
        return np.asarray(rows[:, list(columns)], dtype=np.float64)
    for number, line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != width:
            raise ConfigError(
                f"must have {width} columns, as the first line has",
                file=path,
                field=f"line {number}",
                value=f"{len(cells)} columns",
                remedy="correct or remove the line",
            )
        for name, column in zip(NEUROBEM_COLUMNS, columns, strict=False):
            if not is_number(cells[column]) or not np.isfinite(float(cells[column])):
                raise _wrong(path, name, number, cells[column], "must be a finite number")
    # Only a column that is not used holds text.
    return np.array([[float(line.split(",")[c]) for c in columns] for _, line in lines])


def _wrong(path: Path, name: str, line: int, value: object, problem: str) -> ConfigError:
    shown = float(value) if isinstance(value, np.floating) else value
    return ConfigError(
        problem,
        file=path,
        field=f"{name} of line {line}",
        value=shown,
        remedy="correct or remove the line",
    )
