"""Reader of propeller data of the University of Illinois (UIUC): the text files of its propeller database.

A file holds a line of column names and rows of numbers: `J CT CP eta` over the advance ratio at one
rotational speed, which ends the file's name (`apcsf_10x4.7_kt0836_4014.txt`), or `RPM CT CP` at rest.
"""

import re
from itertools import pairwise
from pathlib import Path

from pegasus.base.errors import ConfigError
from pegasus.base.text_files import text_of
from pegasus.dynamics.rotor_states import Coefficients

_GAP = 0.3
"""Largest distance of neighbouring advance ratios, and of the first one from rest; the database has 0.03 to
0.2."""
_COLUMNS = {"J": "J CT CP", "RPM": "RPM CT CP"}


def read_propeller(file: str, static_file: str | None) -> Coefficients:
    """Return the measured coefficients of a propeller from rest on.

    Those at rest are of the static file at the rotational speed of the other, or else continue its first two
    rows linearly.

    Args:
        file: File of coefficients over the advance ratio.
        static_file: File of coefficients at rest over the rotational speed, or None.

    Raises:
        ConfigError: If a file cannot be read, or its rows are incomplete, out of order or not physical.
    """
    rows = _rows(file, "file", "J")
    places = [row[0] for row in rows]
    if places[0] < 0:
        raise ConfigError(f"first advance ratio {places[0]:g} is below 0", field="file", value=file)
    for low, high in pairwise([0.0, *places]):
        if high - low > _GAP:
            raise ConfigError(
                f"no rows between the advance ratios {low:g} and {high:g}, which may be {_GAP} apart at most",
                field="file",
                value=file,
                remedy="add the missing rows, or take another file",
            )
    for ratio, thrust, power in rows:
        if power < 0 or power < ratio * thrust:
            raise ConfigError(
                f"efficiency above 1 at J = {ratio:g}: CT = {thrust:g}, CP = {power:g}",
                field="file",
                value=file,
                remedy="correct or remove the row",
            )
    if places[0] > 0:
        rows.insert(0, (0.0, *_at_rest(file, static_file, rows)))
    ratios, thrusts, powers = zip(*rows, strict=True)
    if thrusts[0] <= 0 or powers[0] <= 0:
        raise ConfigError("thrust and power at rest must be above 0", field="file", value=file)
    return Coefficients(ratios, thrusts, powers)


def _at_rest(
    file: str, static_file: str | None, rows: list[tuple[float, float, float]]
) -> tuple[float, float]:
    """Return the coefficients at rest."""
    if static_file is None:
        (j, c, p), (other_j, other_c, other_p) = rows[:2]
        share = j / (other_j - j)
        return c - share * (other_c - c), p - share * (other_p - p)
    static = _rows(static_file, "static_file", "RPM")
    if (named := re.search(r"_(\d{3,5})$", Path(file).stem)) is None:
        count = len(static)
        return sum(row[1] for row in static) / count, sum(row[2] for row in static) / count
    speed = float(named[1])
    for (low, c, p), (high, other_c, other_p) in pairwise(static):
        if speed <= high:
            share = max(speed - low, 0.0) / (high - low)
            return c + share * (other_c - c), p + share * (other_p - p)
    return static[-1][1], static[-1][2]


def _rows(file: str, field: str, first: str) -> list[tuple[float, float, float]]:
    """Return the rows of a file: advance ratio or rotational speed, C_T and C_P."""

    def refused(problem: str, remedy: str | None = None) -> ConfigError:
        return ConfigError(problem, field=field, value=file, remedy=remedy)

    remedy = "give the path relative to the vehicle's file"
    lines = text_of(Path(file).expanduser(), field=field, value=file, remedy=remedy).splitlines()
    numbered = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    names = [name.upper() for name in numbered[0][1]] if numbered else []
    wanted = _COLUMNS[first]
    if missing := [name for name in wanted.split() if name not in names]:
        raise refused(
            f"has no column {missing[0]} in its first line", f"the first line must name the columns {wanted}"
        )
    places = [names.index(name) for name in wanted.split()]
    rows: list[tuple[float, float, float]] = []
    for number, words in numbered[1:]:
        if len(words) != len(names):
            raise refused(f"line {number} has {len(words)} of {len(names)} numbers", "complete the line")
        for word in words:
            if not _is_number(word):
                raise refused(f"line {number}: {word!r} is not a finite number", "correct the line")
        x, thrust, power = (float(words[place]) for place in places)
        if rows and x <= rows[-1][0]:
            raise refused(
                f"line {number}: {first} falls from {rows[-1][0]:g} to {x:g}", "sort the rows by it"
            )
        rows.append((x, thrust, power))
    if len(rows) < 3:
        raise refused(f"has {len(rows)} rows", "three at least are needed")
    return rows


def _is_number(word: str) -> bool:
    try:
        return abs(float(word)) < float("inf")
    except ValueError:
        return False
