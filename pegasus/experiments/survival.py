"""Survival of fault campaigns: rows of a sweep by fault and setting, as counts, rates and times."""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pegasus.experiments.table import Row

if TYPE_CHECKING:
    from rich.table import Table

_SUFFIX = ".survived"


@dataclass(frozen=True)
class Survival:
    """Flights of a vehicle with equal settings."""

    vehicle: str
    """Name of the vehicle; empty for flights that could not be flown."""
    settings: tuple[Any, ...]
    """Values of the settings by which flights are grouped."""
    flights: int
    """Number of flights."""
    failed: int
    """Number of flights without a result, because they failed."""
    survived: float
    """Share of the copies that have not crashed, of all flights with a result; NaN without any."""
    time_to_crash: float
    """Median time from fault to crash of the flights that crashed [s]; NaN without one."""
    largest_deviation: float
    """Largest deviation of all flights [m]; NaN without any."""


def is_varied(value: Any) -> bool:
    """Return whether a setting of a sweep has several values to be combined: a list.

    Args:
        value: The setting.
    """
    return isinstance(value, list | tuple | range) and len(value) > 1


def survival(rows: Sequence[Row], settings: Sequence[str] = ()) -> list[Survival]:
    """Return the survival of each vehicle by settings.

    Every row is counted: for the vehicles whose result it has, or, if it has failed, for those of its group.

    Args:
        rows: Rows of a sweep.
        settings: Paths of the settings by which flights are grouped.
    """
    names = dict.fromkeys(
        name.removesuffix(_SUFFIX) for row in rows for name in row if name.endswith(_SUFFIX)
    )
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(json.dumps([row.get(path) for path in settings]), []).append(row)
    found = []
    for key, members in groups.items():
        flown = [n for n in names if any(f"{n}{_SUFFIX}" in row for row in members)]
        failed = sum(not any(name.endswith(_SUFFIX) for name in row) for row in members)
        for name in flown or [""]:
            done = [row for row in members if f"{name}{_SUFFIX}" in row]
            shares = [float(row[f"{name}{_SUFFIX}"]) for row in done]
            times = [t for row in done if (t := row[f"{name}.time_to_crash"]) is not None]
            deviations = [float(row[f"{name}.largest_deviation"]) for row in done]
            found.append(
                Survival(
                    vehicle=name,
                    settings=tuple(json.loads(key)),
                    flights=len(done) + failed,
                    failed=failed,
                    survived=statistics.fmean(shares) if shares else math.nan,
                    time_to_crash=statistics.median(times) if times else math.nan,
                    largest_deviation=max(deviations, default=math.nan),
                )
            )
    return found


def survival_table(rows: Sequence[Row], settings: Sequence[str] = ()) -> "Table":
    """Return the survival as a table for a terminal.

    Args:
        rows: Rows of a sweep.
        settings: Paths of the settings by which flights are grouped.
    """
    from rich.table import Table
    from rich.text import Text

    columns = ("flights", "failed", "survived", "time to crash [s]", "largest deviation [m]")
    table = Table("vehicle", *settings, *columns, box=None)
    for entry in survival(rows, settings):
        numbers = (entry.time_to_crash, entry.largest_deviation)
        shown = ["-" if math.isnan(number) else f"{number:.2f}" for number in numbers]
        share = "-" if math.isnan(entry.survived) else f"{100 * entry.survived:.0f} %"
        cells = [entry.vehicle or "-", *map(str, entry.settings), str(entry.flights), str(entry.failed)]
        table.add_row(*map(Text, [*cells, share, *shown]))
    return table
