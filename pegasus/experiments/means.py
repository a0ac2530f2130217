"""Mean and deviation of the results of a sweep for each setting."""

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pegasus.experiments.survival import is_varied
from pegasus.experiments.table import Row

if TYPE_CHECKING:
    from rich.table import Table

_NOT_RESULTS = ("run", "seed", "step_time", "real_time_factor")


def means(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[Row]:
    """Return mean and deviation of each column of numbers, for each combination of settings.

    Args:
        rows: Rows of a sweep.
        settings: The settings of the sweep.

    Returns:
        Rows with the settings that have several values, `column`, `flights` (number of those with a number),
        `mean` and `deviation` (sample standard deviation, None of one flight), both in the column's unit.
    """
    varied = [path for path, value in settings.items() if is_varied(value)]
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(json.dumps([row.get(path) for path in varied]), []).append(row)
    found: list[Row] = []
    for key, members in groups.items():
        for name in dict.fromkeys(name for row in members for name in row):
            numbers = [float(row[name]) for row in members if _is_number(row.get(name))]
            if numbers and name not in (*_NOT_RESULTS, *settings):
                found.append(
                    dict(zip(varied, json.loads(key), strict=True))
                    | {
                        "column": name,
                        "flights": len(numbers),
                        "mean": statistics.fmean(numbers),
                        "deviation": statistics.stdev(numbers) if len(numbers) > 1 else None,
                    }
                )
    return found


def means_table(rows: Sequence[Row]) -> "Table":
    """Return the rows of `means` as a table for a terminal.

    Args:
        rows: The rows; at least one.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(*rows[0], box=None)
    for row in rows:
        cells = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values())
        table.add_row(*(Text("-" if cell == "None" else cell) for cell in cells))
    return table


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
