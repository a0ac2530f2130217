"""Records of saved objects, each of which makes its object anew; see `pegasus.base.saved_state`."""

import copy
import pickle
import threading
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from types import CellType, FunctionType
from typing import Any, Protocol, TypeAlias

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError

Saved: TypeAlias = Any
"""A plain value, or in its place a `SharedObject` or a `Reference`."""


@dataclass(frozen=True, slots=True)
class SharedObject:
    """Object that is not saved, but has a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Reference:
    """Object that is saved under a number, once however many hold it."""

    number: int


class Restorer(Protocol):
    """Restores records, each once."""

    def put(self, saved: Saved, live: Any = None) -> Any:
        """Return a saved value, given what stands in its place."""

    def keep(self, number: int, kind: type, live: Any) -> Any:
        """Return the object that takes the attributes of a saved one."""

    def path(self, number: int) -> str:
        """Return where an object was found."""


class Record(ABC):
    """Saved object."""

    __slots__ = ()

    @abstractmethod
    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return the object.

        Args:
            restorer: Restores what the object refers to.
            number: Number of this record.
            live: What stands in its place; None if nothing does.
        """


@dataclass(slots=True)
class Nothing(Record):
    """Object that is made anew when it is needed."""

    def restored(self, restorer: Restorer, number: int, live: Any) -> None:
        """Return None."""


@dataclass(slots=True)
class Value(Record):
    """Object that never changes."""

    value: Any

    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return it."""
        return self.value


@dataclass(slots=True)
class Copied(Record):
    """Object that is copied as a whole: an array that owns its memory, or a random stream."""

    value: Any

    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return a copy."""
        return copied(self.value)


def copied(value: Any) -> Any:
    """Return a copy of an object; that of a random stream has the same children."""
    if isinstance(value, np.random.Generator):
        return np.random.Generator(copied(value.bit_generator))
    if isinstance(value, np.random.BitGenerator):
        # A copy by numpy 1 has a seed of its own.
        kind: Any = type(value)
        made = kind(copy.deepcopy(value.seed_seq))
        made.state = value.state
        return made
    return copy.deepcopy(value)


@dataclass(slots=True)
class View(Record):
    """Array in the memory of another."""

    base: Saved
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: Any
    writeable: bool

    def restored(self, restorer: Restorer, number: int, live: Any) -> Array:
        """Return a view of the other array."""
        memory: Any = memory_of(restorer.put(self.base))
        view: Array = np.ndarray(
            self.shape, self.kind, buffer=memory, offset=self.offset, strides=self.strides
        )
        view.flags.writeable = self.writeable
        return view


@dataclass(slots=True)
class Container(Record):
    """Container with its items, which of mappings are pairs, and what else its constructor takes."""

    kind: Any
    items: list[Any]
    extra: Any = None

    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return a new container; its items are paired with those of the live one by place or key."""
        kind = self.kind
        if issubclass(kind, dict):
            found = live if isinstance(live, Mapping) else {}
            keys = [restorer.put(key) for key, _ in self.items]
            each = zip(keys, self.items, strict=True)
            pairs = {key: restorer.put(item, found.get(key)) for key, (_, item) in each}
            return defaultdict(self.extra, pairs) if kind is defaultdict else kind(pairs)
        there = list(live) if isinstance(live, list | tuple | deque) else []
        there += [None] * (len(self.items) - len(there))
        items = [restorer.put(item, place) for item, place in zip(self.items, there, strict=False)]
        if kind is deque:
            return deque(items, self.extra)
        return tuple.__new__(kind, items) if issubclass(kind, tuple) else kind(items)


@dataclass(slots=True)
class Object(Record):
    """Object of a class of Python: its attributes, or what `__getstate__` gave; pairs of a dictionary."""

    kind: Any
    attributes: dict[str, Saved] | None
    state: Saved
    pairs: list[tuple[Saved, Saved]]

    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return the live object with these attributes, or a new one."""
        made = restorer.keep(number, self.kind, live)
        if isinstance(made, dict):
            made.clear()
            made.update({restorer.put(key): restorer.put(item) for key, item in self.pairs})
        if self.attributes is None:
            state = restorer.put(self.state)
            if hasattr(made, "__setstate__"):
                made.__setstate__(state)
            else:
                vars(made).update(state)
            return made
        present = fields_of(made)
        for name in present.keys() - self.attributes.keys():
            object.__delattr__(made, name)
        for name, item in self.attributes.items():
            object.__setattr__(made, name, restorer.put(item, present.get(name)))
        return made


@dataclass(slots=True)
class Code(Record):
    """Function or like value; pickled by its name alone where pickle refuses it."""

    name: str
    value: Any

    def __reduce__(self) -> Any:
        try:
            pickle.dumps(self.value)
        except Exception:  # Whatever pickle and the classes of the value raise.
            return Code, (self.name, None)
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return it, or the live one of this name.

        Raises:
            ConfigError: If it was not pickled, and there is no live one.
        """
        if self.value is not None:
            return self.value
        if getattr(live, "__qualname__", type(live).__qualname__) == self.name:
            return live
        raise ConfigError(
            "was not pickled, and the simulation has no such function there",
            field=restorer.path(number),
            value=self.name,
            remedy="restore the snapshot in the process that took it",
        )


@dataclass(slots=True)
class Closure(Code):
    """Function that keeps objects of its surroundings."""

    contents: list[Saved]

    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return the function with restored objects in place of its own."""
        function = self.value
        cells = tuple(CellType(restorer.put(content)) for content in self.contents)
        made = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, cells
        )
        made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
        return made


@dataclass(slots=True)
class Partial(Record):
    """Function with some of its arguments."""

    parts: list[Saved]

    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return a new one."""
        function, arguments, keywords = (restorer.put(part) for part in self.parts)
        return partial(function, *arguments, **keywords)


@dataclass(slots=True)
class Method(Record):
    """Method of a saved object."""

    owner: Saved
    name: str

    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return the method of the restored object."""
        return getattr(restorer.put(self.owner), self.name)


@dataclass(slots=True)
class Lock(Record):
    """Lock, which is free when it is restored."""

    kind: str

    def restored(self, restorer: Restorer, number: int, live: Any) -> Any:
        """Return a new one."""
        return getattr(threading, self.kind)()


def empty(kind: Any) -> Any:
    """Return an object of a class without calling its constructor."""
    return dict.__new__(kind) if issubclass(kind, dict) else object.__new__(kind)


def memory_of(array: Array) -> Array:
    """Return the array that owns the memory of another."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def fields_of(item: Any) -> dict[str, Any]:
    """Return the attributes of an object, also those in slots, by name."""
    found = dict(getattr(item, "__dict__", {}))
    for kind in type(item).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(item, name):
                found[name] = getattr(item, name)
    return found
