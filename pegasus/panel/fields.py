"""Fields of the panel's sections, without a toolkit: what is shown, and what an input does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pegasus.base.arrays import Array
from pegasus.cameras import CameraReading
from pegasus.panel.board import Message, Topic
from pegasus.panel.telemetry import Actuator

T = TypeVar("T")


def always() -> bool:
    """Return True."""
    return True


@dataclass(frozen=True)
class Item:
    """Part of a section."""

    _: KW_ONLY
    shown: Callable[[], bool] = always
    """Whether it is shown now."""
    live: bool = False
    """Whether it changes during a run, without a notification."""


@dataclass(frozen=True)
class Field(Item):
    """Input with a label."""

    label: str
    get: Callable[[], Any]
    """Present value."""
    act: Callable[[Any], object]
    """Called with a value that the user has entered; may block."""
    _: KW_ONLY
    hint: str | None = None


class Text(Field):
    """Text."""


class Check(Field):
    """Check box."""


@dataclass(frozen=True)
class Number(Field):
    """Number, or a vector of two or three."""

    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    step: float = 0.1


@dataclass(frozen=True)
class Select(Field):
    """One of several names; the present value is offered too if it is not among them."""

    options: Callable[[], Sequence[str]]

    def offered(self) -> tuple[str, ...]:
        """Return the names to choose from."""
        names, chosen = self.options(), self.get()
        return tuple(names if chosen in names else [*names, chosen])


@dataclass(frozen=True)
class Buttons(Item):
    """Row of buttons."""

    actions: Mapping[str, Callable[[], object]]
    """Functions by the texts of their buttons; may block."""
    label: str = ""
    """Text in front of the row."""


@dataclass(frozen=True)
class Lines(Item):
    """Lines of text."""

    get: Callable[[], Sequence[str | Message]]


@dataclass(frozen=True)
class Table(Item):
    """Rows of text; the first cell of a row is its heading."""

    get: Callable[[], Sequence[tuple[str, ...]]]


@dataclass(frozen=True)
class Thumbnail(Item):
    """Image file, or the address of one."""

    get: Callable[[], Path | str | None]


@dataclass(frozen=True)
class Fold(Item):
    """Items below a heading of their own."""

    title: str
    items: Sequence[Item]
    open: bool = True


@dataclass(frozen=True)
class Bars(Item):
    """Actuators of a vehicle: rotor speeds, or commands by channel."""

    get: Callable[[], Sequence[Actuator]]


@dataclass(frozen=True)
class Plot(Item):
    """Curves over time with their references."""

    title: str
    curves: Mapping[str, str]
    """Columns of the curves by their names."""
    references: Mapping[str, str]
    """Columns of the references of the last curves, by their names."""
    get: Callable[[], Mapping[str, Array] | None]
    """Returns the columns and `time` [s], shape (K,) each; None without any."""


@dataclass(frozen=True)
class Images(Item):
    """Images of cameras."""

    get: Callable[[], tuple[Mapping[str, CameraReading], int]]
    """Returns the readings by label, and the number of the shown copy."""


@dataclass(frozen=True)
class Section:
    """Part of the panel with a heading."""

    title: str
    topics: frozenset[Topic]
    """Subjects whose changes may change what is shown."""
    items: Sequence[Item]


class Draft(Generic[T]):
    """Value that is entered before a button uses it; it gives way when its source changes.

    Args:
        source: Function that returns the value to begin with.
    """

    def __init__(self, source: Callable[[], T]) -> None:
        self._source, self._begin = source, source()
        self._value = self._begin

    def get(self) -> T:
        """Return the entered value, or that of the source if none was entered since its last change."""
        if (now := self._source()) != self._begin:
            self._begin = self._value = now
        return self._value

    def set(self, value: T) -> None:
        """Enter a value."""
        self.get()
        self._value = value


class Picked(Draft[str]):
    """Name that is picked before a button uses it; the first one when it is gone.

    Args:
        options: Function that returns the names.
    """

    def __init__(self, options: Callable[[], Sequence[str]]) -> None:
        self.options = options
        super().__init__(lambda: "")

    def get(self) -> str:
        """Return the picked name."""
        names = self.options()
        return self._value if self._value in names else names[0]
