"""Tables of sweeps as CSV or Parquet files, and the journals from which they are resumed."""

import csv
import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError

Row = dict[str, Any]
"""Values of a run by column."""


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return the columns of rows, those of a row with most columns first."""
    longest = max(rows, key=len, default={})
    return list(dict.fromkeys([*longest, *(name for row in rows for name in row)]))


def require_format(path: Path) -> None:
    """Raise a ConfigError unless a table can be written to a path by its suffix."""
    if path.suffix not in (".csv", ".parquet"):
        raise ConfigError("must end in .csv or .parquet", field="out", value=str(path))
    if path.suffix == ".parquet":
        _parquet(path)
    if not path.parent.is_dir():
        remedy = "create its folder first"
        raise ConfigError("cannot be written: no such folder", field="out", value=str(path), remedy=remedy)


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write a table in place of an earlier one: CSV with lists as JSON, or Parquet.

    Raises:
        ConfigError: If it cannot be written, or pyarrow is not installed.
    """
    columns = columns_of(rows)
    temporary = path.with_name(f".{path.name}.part")
    try:
        if path.suffix == ".parquet":
            _write_parquet(path, temporary, rows, columns)
        else:
            with temporary.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, columns)
                writer.writeheader()
                writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
        temporary.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from None


class Journal:
    """Rows of a sweep in the order in which its flights end, one line of JSON each.

    A line that was cut off by the end of the process is ignored, and its flight is flown again.

    Args:
        path: The file.
        origin: What makes the rows comparable; those of a journal with another origin are refused.
        resume: Whether there may be a journal.

    Raises:
        ConfigError: If there is one and `resume` is false, it has another origin, or it cannot be written.
    """

    def __init__(self, path: Path, origin: Mapping[str, Any], *, resume: bool) -> None:
        self.rows: dict[str, Row] = {}
        """Finished rows by key."""
        if path.exists():
            if not resume:
                remedy = "resume it, or give another file"
                raise ConfigError("has been begun", field="out", value=str(path), remedy=remedy)
            lines = path.read_text(encoding="utf-8").split("\n")
            entries = [json.loads(line) for line in lines[:-1]]
            if entries and entries[0] != origin:
                problem = "was begun with another scenario, or with another version of Pegasus"
                raise ConfigError(problem, field="out", value=str(path), remedy="give another file")
            self.rows = {entry["key"]: entry["row"] for entry in entries[1:]}
        try:
            if self.rows and lines[-1]:
                path.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
            self._file = path.open("a" if self.rows else "w", encoding="utf-8")
        except OSError as error:
            raise _unwritable(path, error) from None
        if not self.rows:
            self._write(origin)

    def add(self, key: str, row: Row) -> None:
        """Add a row."""
        self.rows[key] = row
        self._write({"key": key, "row": row})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict | bool) else value


def _parquet(path: Path) -> Any:
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ConfigError(
            "needs the package pyarrow, which is not installed",
            field="out",
            value=str(path),
            remedy="pip install 'pegasus-multirotor[parquet]', or give a .csv file",
        ) from None


def _write_parquet(path: Path, temporary: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    parquet, arrow = _parquet(path), importlib.import_module("pyarrow")
    values = {}
    for name in columns:
        column = [row.get(name) for row in rows]
        try:
            values[name] = arrow.array(column)
        except (arrow.ArrowInvalid, arrow.ArrowTypeError):  # Values of different types.
            values[name] = arrow.array([None if value is None else json.dumps(value) for value in column])
    parquet.write_table(arrow.table(values), temporary)


def _unwritable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"cannot be written: {error.strerror}", field="out", value=str(path), remedy="give another file"
    )
