"""Tables of tracks as text: named columns, TUM, EuRoC, KITTI poses, and polynomial pieces."""

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.text_files import is_number, text_of

COLUMNS = (
    *("time", "x", "y", "z", "vx", "vy", "vz", "ax", "ay", "az", "jx", "jy", "jz"),
    *("yaw", "yaw_rate"),
)
"""Names of columns, in the order of a table without a header."""

_BARE_COUNTS = (4, 7, 10, 13, 14, 15)
_TUM, _KITTI = 8, 12
"""Number of columns of a table of the TUM RGB-D benchmark, and of poses of KITTI."""
_POINTS = ("x", "y", "z")

_TIME = re.compile(r"(?:time|t|timestamp|stamp)(?:[_ ](?P<unit>s|ms|us|ns))?")
_NAMES = [
    ("", re.compile(r"(?:(?:.*\.)?position|pos|t|p|p_rs_r)?[._ ]?([xyz])")),
    ("v", re.compile(r"(?:velocity|vel|v|v_rs_r)[._ ]?([xyz])")),
    ("a", re.compile(r"(?:acceleration|accel|acc|a)[._ ]?([xyz])")),
    ("j", re.compile(r"(?:jerk|j)[._ ]?([xyz])")),
]
"""Other names of columns of position, velocity, acceleration and jerk."""
_UNIT = re.compile(r"\s*[\[(](?P<unit>[^\])]*)[\])]\s*$")
_SECONDS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Parts of a second by unit."""
_METRES = {"m": 1.0, "cm": 1e2, "mm": 1e3}
_LATEST = 1e11
"""Largest time in seconds; larger ones without a unit are those since 1970 in smaller units [s]."""
_TODAY = (5e8, 5e9)
"""Times since 1970 of clocks [s]."""

_POWER = re.compile(r"(x|y|z|yaw)\^(\d+)")
_SAMPLING = 0.01
"""Largest time between rows of polynomial pieces [s]."""
_JUMPS = ((1e-3, "m"), (1e-2, "m/s"))
"""Largest jumps of position and velocity between polynomial pieces."""


@dataclass(frozen=True, eq=False)
class TrackTable:
    """Position over time, with further quantities where the table has them."""

    file: Path
    """The file."""
    columns: dict[str, Array]
    """Columns by their names in `COLUMNS`, in SI units, shape (K,) each; times rise."""
    lines: list[int]
    """Line of each row in the file."""
    resolution: dict[str, float]
    """Value of the last digit of each column; 0 for constant ones and those of polynomial pieces."""
    has_pieces: bool = False
    """True if the rows were sampled from polynomial trajectory pieces."""

    def wrong(self, row: int, column: str, value: object, problem: str, remedy: str) -> ConfigError:
        """Return the error about a number of the table.

        Args:
            row: Index of the row.
            column: Name of the column.
            value: The number.
            problem: The fault.
            remedy: The remedy.
        """
        place = f"row {self.lines[row]}, column {column}"
        return ConfigError(problem, file=self.file, field=place, value=value, remedy=remedy)


def read_track_table(file: Path) -> TrackTable:
    """Return the table of a text file, whose columns are separated by commas, semicolons, tabs or blanks.

    Its kind is found from its header, which may be a comment, or from the number of its columns:

    - Named columns: those of `COLUMNS`, and their usual other names (`t`, `timestamp`, `tx`, `p_RS_R_x [m]`
      of EuRoC). A unit in brackets counts; other columns are ignored.
    - `duration, x^0, x^1, ... yaw^7`: polynomial pieces, coefficients by powers of the time in the piece [s]
      (Crazyswarm).
    - No header: the first 4, 7, 10, 13, 14 or 15 of `COLUMNS`; 8 columns of TUM RGB-D: time, position,
      quaternion; or 12 of KITTI, whose camera axes are turned to forward, left and up, with the times of
      `times.txt`.

    Times beyond 1e11 without a unit are milli-, micro- or nanoseconds since 1970. Rows may be in reverse
    order of time; a row with the same time as the one before is left out.

    Args:
        file: The file.

    Raises:
        ConfigError: If it cannot be read, has none of these forms, or holds a wrong number.
    """
    text = text_of(file, field="file", value=str(file), remedy="give a table as text")
    header, lines = _header_and_lines(text)
    if header is not None and "duration" in header:
        return _pieces(file, header, lines)
    count = len(lines[0][1]) if lines else 0
    if header is None and count == _KITTI:
        return _ordered(file, *_kitti(file, lines))
    if header is not None:
        names, scales = _named(file, header)
    else:
        known = {_TUM: COLUMNS[:4]} | {bare: COLUMNS[:bare] for bare in _BARE_COUNTS}
        if count not in known:
            raise ConfigError(
                f"has no header and {count} columns",
                file=file,
                remedy=f"add a header, or give the first 4, 7, 10, 13, 14 or 15 of {', '.join(COLUMNS)}, "
                "8 of TUM or 12 of KITTI",
            )
        names, scales = {name: k for k, name in enumerate(known[count])}, {}
    width = count if header is None else len(header)
    columns, resolution = _numbers(file, lines, names, width)
    scales.setdefault("time", _clock(file, columns["time"], lines))
    for name, scale in scales.items():
        columns[name] = columns[name] / scale
        resolution[name] /= scale
    return _ordered(file, columns, [line for line, _ in lines], resolution)


def _header_and_lines(text: str) -> tuple[list[str] | None, list[tuple[int, list[str]]]]:
    """Return the names of the columns, None without a header, and the other lines: numbers and cells."""
    header: list[str] | None = None
    lines: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip()
        if content[:1] in ("#", "%"):
            names = _names(content[1:])
            if not lines and _known(names):
                header = names
        elif content:
            cells = _cells(content)
            if not lines and header is None and not is_number(cells[0]):
                header = _names(content.lstrip())
            else:
                lines.append((number, cells))
    return header, lines


def _cells(line: str) -> list[str]:
    separator = next((mark for mark in ";,\t" if mark in line), None)
    if separator is None:
        return line.split()
    cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return [cell.replace(",", ".") for cell in cells] if separator == ";" else cells


def _names(line: str) -> list[str]:
    """Return the names of columns, in lower case; blanks before units do not separate."""
    return [name.lower() for name in _cells(re.sub(r"\s+(?=[\[(])", "", line))]


def _known(names: Sequence[str]) -> bool:
    """Return whether names are a header: they name time or duration, and positions."""
    plain = [_column(name)[0] for name in names]
    return "duration" in names or ("time" in plain and "x" in plain)


def _column(name: str) -> tuple[str, str | None]:
    """Return the name in `COLUMNS` that a header means, or the given one, and its unit."""
    unit = _UNIT.search(name)
    plain = name[: unit.start()] if unit else name
    found = unit.group("unit").strip() or None if unit else None
    if clock := _TIME.fullmatch(plain):
        return "time", found or clock.group("unit")
    for prefix, pattern in _NAMES:
        if part := pattern.fullmatch(plain):
            return prefix + part.group(1), found
    return plain, found


def _named(file: Path, header: Sequence[str]) -> tuple[dict[str, int], dict[str, float]]:
    """Return the places of the columns of a header, and the parts of a unit that their numbers count."""
    names: dict[str, int] = {}
    scales: dict[str, float] = {}
    for place, given in enumerate(header):
        name, unit = _column(given)
        if name not in COLUMNS:
            continue
        field = f"header, column {place + 1}"
        if name in names:
            raise ConfigError("is given twice", file=file, field=field, value=given, remedy="remove one")
        names[name] = place
        if unit is not None:
            units = _units(name)
            if (plain := re.sub(r"[\s^*]", "", unit)) not in units:
                known = ", ".join(dict.fromkeys(units))
                raise ConfigError(f"must be in one of {known}", file=file, field=field, value=given)
            scales[name] = units[plain]
    missing = [name for name in COLUMNS[:4] if name not in names]
    if missing:
        raise ConfigError(
            f"has no column {missing[0]}",
            file=file,
            field="header",
            value=", ".join(header),
            remedy=f"known are {', '.join(COLUMNS)}; time, x, y and z are needed",
        )
    return names, scales


def _units(name: str) -> dict[str, float]:
    if name == "time":
        return _SECONDS
    if name in _POINTS:
        return _METRES
    if name.startswith("yaw"):
        per = "" if name == "yaw" else "/s"
        return {"rad" + per: 1.0, **({"rads-1": 1.0} if per else {}), "deg" + per: 180.0 / math.pi}
    order = {"v": "", "a": "2", "j": "3"}[name[0]]
    return {f"m/s{order}": 1.0, f"ms-{order or 1}": 1.0}


def _numbers(
    file: Path, lines: Sequence[tuple[int, list[str]]], names: dict[str, int], width: int
) -> tuple[dict[str, Array], dict[str, float]]:
    """Return the numbers of the named columns, and the values of their last digits."""
    rows = []
    for line, cells in lines:
        if len(cells) != width:
            raise ConfigError(
                f"has {len(cells)} columns, must have {width}",
                file=file,
                field=f"row {line}",
                remedy="complete the row or remove it",
            )
        for name, place in names.items():
            if not (is_number(cells[place]) and math.isfinite(float(cells[place]))):
                raise ConfigError(
                    "must be a finite number",
                    file=file,
                    field=f"row {line}, column {name}",
                    value=cells[place],
                    remedy="correct or remove the row",
                )
        rows.append([cells[place] for place in names.values()])
    table = np.array([[float(cell) for cell in row] for row in rows]).reshape(-1, len(names))
    columns = {name: table[:, k].copy() for k, name in enumerate(names)}
    return columns, {name: _last_digit([row[k] for row in rows]) for k, name in enumerate(names)}


def _last_digit(cells: Sequence[str]) -> float:
    """Return the value of the last digit of a column, without zeros at the end; 0 for a constant column."""
    digits = []
    for cell in {*cells}:
        mantissa, _, exponent = cell.lower().partition("e")
        digits.append(len(mantissa.partition(".")[2].rstrip("0")) - int(exponent or 0))
    return float(f"1e{-max(digits)}") if len(digits) > 1 else 0.0


def _clock(file: Path, time: Array, lines: Sequence[tuple[int, list[str]]]) -> float:
    """Return the parts of a second that times without a unit count."""
    latest = float(np.abs(time).max(initial=0.0))
    if latest <= _LATEST:
        return 1.0
    for scale in _SECONDS.values():
        if _TODAY[0] < latest / scale < _TODAY[1]:
            return scale
    raise ConfigError(
        "is no time in seconds",
        file=file,
        field=f"row {lines[0][0]}, column time",
        value=float(time[0]),
        remedy="name its unit in the header, such as time [ns]",
    )


def _ordered(
    file: Path, columns: dict[str, Array], lines: list[int], resolution: dict[str, float]
) -> TrackTable:
    """Return the table with rising times, without rows of repeated times."""
    time = columns["time"]
    if len(time) and time[0] > time[-1]:
        columns, lines = {name: values[::-1] for name, values in columns.items()}, lines[::-1]
    kept = np.flatnonzero(np.append(True, np.diff(columns["time"]) != 0.0)[: len(time)])
    columns = {name: values[kept] for name, values in columns.items()}
    lines = [lines[k] for k in kept]
    table = TrackTable(file, columns, lines, resolution)
    back = np.flatnonzero(np.diff(columns["time"]) < 0)
    if len(back):
        row = int(back[0]) + 1
        value = float(columns["time"][row])
        raise table.wrong(row, "time", value, "must not be earlier than the row before", "sort the rows")
    return table


def _kitti(
    file: Path, lines: Sequence[tuple[int, list[str]]]
) -> tuple[dict[str, Array], list[int], dict[str, float]]:
    """Return the columns of KITTI's poses: rows of 3 x 4 matrices, x right, y down, z forward."""
    beside = (
        file.with_name(f"{file.stem}_times.txt"),
        file.with_name("times.txt"),
        file.parent.parent / "sequences" / file.stem / "times.txt",
    )
    clock = next((path for path in beside if path.is_file()), None)
    if clock is None:
        raise ConfigError(
            "holds poses of KITTI, which have no times",
            file=file,
            remedy=f"put times.txt of the sequence beside it, or name it {file.stem}_times.txt",
        )
    names = {"y": 3, "z": 7, "x": 11}
    columns, resolution = _numbers(file, lines, names, _KITTI)
    columns["y"], columns["z"] = -columns["y"], -columns["z"]
    stamps = [(n, [line]) for n, line in enumerate(clock.read_text().split(), 1)]
    times, _ = _numbers(clock, stamps, {"time": 0}, 1)
    if len(times["time"]) != len(lines):
        raise ConfigError(
            f"holds {len(times['time'])} times for {len(lines)} poses",
            file=clock,
            remedy=f"give that of {file.name}",
        )
    return {**times, **columns}, [line for line, _ in lines], {"time": 0.0, **resolution}


def _pieces(file: Path, header: Sequence[str], lines: Sequence[tuple[int, list[str]]]) -> TrackTable:
    """Return samples of polynomial pieces, at most 0.01 s apart."""
    powers = {name: part for name in header if (part := _POWER.fullmatch(name))}
    highest = max((int(part.group(2)) for part in powers.values()), default=-1)
    quantities = [q for q in (*_POINTS, "yaw") if q != "yaw" or "yaw^0" in powers]
    missing = [f"{q}^{k}" for q in quantities for k in range(highest + 1) if f"{q}^{k}" not in powers]
    if highest < 0 or missing:
        raise ConfigError(
            f"has no column {missing[0] if missing else 'x^0'}",
            file=file,
            field="header",
            value=", ".join(header),
            remedy="give duration, and the coefficients x^0, x^1, ... of x, y, z and yaw",
        )
    places = {name: header.index(name) for name in ("duration", *powers)}
    numbers, _ = _numbers(file, lines, places, len(header))
    short = np.flatnonzero(numbers["duration"] <= 0)
    if len(short) or not lines:
        row = lines[short[0]][0] if lines else 2
        raise ConfigError("must be above 0 s", file=file, field=f"row {row}, column duration")
    values: list[Array] = []
    times: list[Array] = []
    rows: list[int] = []
    begin = 0.0
    end: Array | None = None
    for k, duration in enumerate(numbers["duration"].tolist()):
        count = max(math.ceil(duration / _SAMPLING - 1e-9), 1)
        t = duration / count * np.arange(count + 1)
        table = np.array([[numbers[f"{q}^{n}"][k] for n in range(highest + 1)] for q in quantities])
        motion = np.stack([_polynomial(table, order, t) for order in range(4)])
        for order, (jump, unit) in enumerate(_JUMPS):
            apart = 0.0 if end is None else float(np.abs(motion[order, :3, 0] - end[order]).max())
            if apart > jump:
                raise ConfigError(
                    f"begins {apart:.3g} {unit} from the end of the piece before",
                    file=file,
                    field=f"row {lines[k][0]}",
                    remedy="give coefficients by powers of the time in the piece [s]",
                )
        last = slice(None) if k == len(lines) - 1 else slice(-1)
        values, times = [*values, motion[..., last]], [*times, begin + t[last]]
        rows += [lines[k][0]] * len(t[last])
        begin, end = begin + duration, motion[:2, :3, -1]
    motion, columns = np.concatenate(values, axis=2), {"time": np.concatenate(times)}
    for order, prefix in enumerate(("", "v", "a", "j")):
        columns |= {prefix + axis: motion[order, k] for k, axis in enumerate(_POINTS)}
    if len(quantities) > 3:
        columns |= {"yaw": motion[0, 3], "yaw_rate": motion[1, 3]}
    return TrackTable(file, columns, rows, dict.fromkeys(columns, 0.0), has_pieces=True)


def _polynomial(coefficients: Array, order: int, t: Array) -> Array:
    """Return a derivative of polynomials, shape (Q, K); by Horner's scheme.

    Args:
        coefficients: Coefficients from the constant up, shape (Q, n).
        order: Order of the derivative.
        t: Times [s], shape (K,).
    """
    total = np.zeros((len(coefficients), len(t)))
    for power in range(coefficients.shape[1] - 1, order - 1, -1):
        total = total * t + math.perm(power, order) * coefficients[:, power, None]
    return total
