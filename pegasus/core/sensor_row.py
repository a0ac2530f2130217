"""One row of a sensor's columns, on which its step function is run: by numbers, or on symbols of a trace."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_origin

from pegasus.base.components import annotations_of
from pegasus.base.step_math import Table

_INDICES = ("body", "kind", "clock")


class _Cell:
    """Column of one row: any index gives its value."""

    def __init__(self, value: Any) -> None:
        self.value, self.is_written = value, False

    def __getitem__(self, _: int) -> Any:
        return self.value

    def __setitem__(self, _: int, value: Any) -> None:
        self.value, self.is_written = value, True


class _Cells(_Cell):
    """Table of one row."""

    def __getitem__(self, place: int | tuple[int, int]) -> Any:
        return self.value[place[1]] if isinstance(place, tuple) else self.value

    def __setitem__(self, place: Any, value: Any) -> None:
        _, k = place
        self.value = (*self.value[:k], value, *self.value[k + 1 :])
        self.is_written = True


class SensorRow:
    """Columns of one row as attributes, which a step function indexes.

    Args:
        kind: Dataclass of the columns.
        values: Values by column; tuples for tables and for `time`.
    """

    def __init__(self, kind: type, values: Mapping[str, Any]) -> None:
        self._cells: dict[str, _Cell] = {name: _Cell(0) for name in _INDICES}
        hints = annotations_of(kind)
        for name, value in values.items():
            self._cells[name] = (_Cells if get_origin(hints[name]) is Table else _Cell)(value)
        vars(self).update(self._cells, time=values["time"])

    def written(self) -> dict[str, Any]:
        """Return the values of the columns that were written."""
        return {name: cell.value for name, cell in self._cells.items() if cell.is_written}


def measured(
    function: Callable[..., None], kind: type, names: Sequence[str], starts: int | None, *values: Any
) -> dict[str, Any]:
    """Return the columns that a step function writes, by name.

    Args:
        function: The step function.
        kind: Dataclass of its columns.
        names: Names of the columns given.
        starts: 0 if the row has given a reading before; None if that is told by its `count`.
        values: Their values.
    """
    given = dict(zip(names, values, strict=True))
    if starts is None:
        starts = 1 if given["count"] == 0 else 0
    row = SensorRow(kind, {**given, "starts": starts})
    function(0, row)
    return row.written()
