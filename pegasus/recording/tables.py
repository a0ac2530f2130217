"""Messages as data frames of pandas and data sets of xarray, both optional packages."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError, package_error
from pegasus.base.field_docs import unit_of

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

_AXES = {2: "xy", 3: "xyz"}
_Values = npt.NDArray[Any]


class Messages(Protocol):
    """Messages of a topic, as `Series` holds them."""

    @property
    def time(self) -> Array:
        """Times of the T messages [s], shape (T,)."""

    @property
    def count(self) -> int:
        """Number of copies N."""

    @property
    def fields(self) -> Mapping[str, _Values]:
        """Values by field, T rows each."""

    @property
    def comments(self) -> Mapping[str, str]:
        """Descriptions by field."""


def data_frame(series: Messages, copies: Sequence[int]) -> "DataFrame":
    """Return messages as a data frame; index time [s], or (time, copy) for several copies.

    Args:
        series: The messages.
        copies: Indices of the copies to return.
    """
    pandas, time = _pandas(), series.time
    columns: dict[str, _Values] = {}
    units: dict[str, str] = {}
    for name, comment, rows in _fields(series, copies):
        for label, part in _components(name, rows.shape[2:]):
            column = f"{name}_{label}" if label else name
            columns[column] = rows[:, :, *part].ravel()
            if unit := unit_of(comment):
                units[column] = unit
    if len(copies) == 1:
        index = pandas.Index(time, name="time")
    else:
        index = pandas.MultiIndex.from_product([time, copies], names=["time", "copy"])
    frame: DataFrame = pandas.DataFrame(columns, index=index)
    frame.attrs["units"] = units
    return frame


def joined(frames: Mapping[str, "DataFrame"]) -> "DataFrame":
    """Return data frames side by side, joined by their times; the first level of the columns is the topic.

    Args:
        frames: Data frames by topic.

    Raises:
        ConfigError: If some have one copy and others several.
    """
    levels = {topic: frame.index.nlevels for topic, frame in frames.items()}
    if len(set(levels.values())) > 1:
        raise ConfigError(
            "have different numbers of copies and cannot be joined",
            field="topics",
            value=", ".join(frames),
            remedy="choose one copy, such as copy=0, or one topic",
        )
    return _pandas().concat(frames, axis=1).sort_index()


def data_set(series: Messages, copies: Sequence[int]) -> "Dataset":
    """Return messages as a data set with the dimensions time, copy, and those of each field.

    Args:
        series: The messages.
        copies: Indices of the copies to return.
    """
    try:
        import xarray
    except ModuleNotFoundError as error:
        raise package_error(error) from None
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {
        "time": ("time", series.time, {"units": "s", "long_name": "Simulation time."}),
        "copy": ("copy", list(copies)),
    }
    for name, comment, rows in _fields(series, copies):
        names = [_dimension(name, size, k) for k, size in enumerate(rows.shape[2:])]
        for k, dimension in enumerate(names):
            coordinates[dimension] = (dimension, _labels(name, rows.shape[2 + k]))
        attributes = {"units": unit_of(comment), "long_name": comment}
        variables[name] = (
            ("time", "copy", *names),
            rows,
            {key: text for key, text in attributes.items() if text},
        )
    return xarray.Dataset(variables, coordinates)


def _fields(series: Messages, copies: Sequence[int]) -> Iterator[tuple[str, str, Any]]:
    """Yield name, description, and values of some copies, shape (T, C, ...), of each field."""
    for name, values in series.fields.items():
        comment = series.comments.get(name, "")
        yield name, comment, _by_copy(values, copies, series.count, comment)


def _by_copy(values: _Values, copies: Sequence[int], count: int, comment: str) -> _Values:
    """Return the values of some copies, shape (T, C, ...); values for all copies at once are repeated."""
    shape = re.search(r"shape \((\w+)", comment)
    if values.ndim > 1 and values.shape[1] == count and (shape is None or shape[1] == "N"):
        return values[:, list(copies)]
    return np.repeat(values[:, None], len(copies), axis=1)


def _components(name: str, shape: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield label and index of each component of a field."""
    labels = [_labels(name, size) for size in shape]
    for part in itertools.product(*map(range, shape)):
        chosen = [labels[k][i] for k, i in enumerate(part)]
        yield ("" if all(label in "xyzw" for label in chosen) else "_").join(chosen), part


def _labels(name: str, size: int) -> list[str]:
    if size == 4 and name.endswith("orientation"):
        return list("xyzw")
    if "rotor" in name or size not in _AXES:
        return [str(i) for i in range(size)]
    return list(_AXES[size])


def _dimension(name: str, size: int, k: int) -> str:
    """Return the name of a field's k-th dimension after those of time and copy."""
    if "rotor" in name:
        return "rotor"
    dimensions = {"xyz": "axis", "xy": "image_axis", "xyzw": "quaternion"}
    return dimensions.get("".join(_labels(name, size)), f"{name}_size") + (f"_{k + 1}" if k else "")


def _pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise package_error(error) from None
    return pandas
