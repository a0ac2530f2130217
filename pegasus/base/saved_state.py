"""State of Python objects as a value: saved attribute by attribute, and put back into these or like objects.

The class attribute `saved_as` says how objects are saved:

- `attributes`, the default: as pickle sees them, by their attributes or by `__getstate__`; all are copied.
- `value`, the default of frozen dataclasses: they never change, and are kept by reference.
- `code`, as functions are: like values, but not pickled; the object in the same place stays.
- `nothing`: they are made anew from others when they are next needed; None takes their place.
"""

import copy
import pickle
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from random import Random
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError

_PLAIN = (type(None), bool, int, float, complex, str, bytes, Enum, np.generic, PurePath, range, slice)
_VALUES = (BuiltinFunctionType, ModuleType, type, np.dtype)
_COPIED = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, np.random.SeedSequence, Random)
_LOCKS = {type(threading.Lock()): "Lock", type(threading.RLock()): "RLock"}
_CONTAINERS = (list, tuple, set, frozenset, deque, dict, Counter, OrderedDict, defaultdict)

Saved: TypeAlias = Any
"""A plain value, or in its place a `_Shared` or `_Record`."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """Object that is not saved, but has a name."""

    name: str


@dataclass(frozen=True, slots=True)
class _Record:
    """Object that is saved under a number, once however many hold it."""

    number: int


@dataclass(slots=True)
class _View:
    """Array in the memory of another."""

    base: Saved
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: Any
    writeable: bool


@dataclass(slots=True)
class _Container:
    """Container with its items, which of mappings are pairs, and what else its constructor takes."""

    kind: type
    items: list[Any]
    extra: Any = None


@dataclass(slots=True)
class _Object:
    """Object of a class of Python: its attributes, or what `__getstate__` gave; pairs of a dictionary."""

    kind: type
    attributes: dict[str, Saved]
    state: Saved
    pairs: list[tuple[Saved, Saved]]


@dataclass(slots=True)
class _Value:
    """Object that never changes."""

    value: Any


@dataclass(slots=True)
class _Code:
    """Function or like value; pickled by its name alone where pickle refuses it."""

    name: str
    value: Any

    def __reduce__(self) -> Any:
        try:
            pickle.dumps(self.value)
        except Exception:  # Whatever pickle and the classes of the value raise.
            return _Code, (self.name, None)
        return _Code, (self.name, self.value)


@dataclass(slots=True)
class _Copied:
    """Object that is copied as a whole: an array that owns its memory, or a random stream."""

    value: Any


@dataclass(slots=True)
class _Method:
    """Method of a saved object."""

    owner: Saved
    name: str


@dataclass(slots=True)
class _Lock:
    """Lock, which is free when it is restored."""

    kind: str


class SavedState:
    """State of an object and of all that it refers to, which later changes of these do not alter.

    Args:
        root: The object; arrays, containers and objects of Python in it are followed.
        shared: Objects that are not saved, by a name: `restore` takes others of these names. Arrays among
            them own their memory; views of them are saved as such.
        field: What the root is, for error messages.

    Raises:
        ConfigError: If something cannot be saved, such as an open file, with its path.
    """

    def __init__(self, root: Any, shared: Mapping[str, Any], *, field: str) -> None:
        self._records: list[Any] = []
        self._paths: list[str] = []
        names = {id(item): name for name, item in shared.items()}
        self._root = _Saver(self._records, self._paths, names).saved(root, field)

    def restore(self, root: Any, shared: Mapping[str, Any]) -> Any:
        """Put the state into an object of the same structure, and return it.

        Objects stay where one of the same class stands in the same place; arrays and containers are replaced
        by new ones, so that nothing else that holds them is changed.

        Args:
            root: The object.
            shared: Objects in place of those that were not saved, by name.

        Raises:
            ConfigError: If the state was pickled, and a function that it needs is not in its place.
        """
        return _Restorer(self._records, self._paths, shared).put(self._root, root)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled.

        Raises:
            ConfigError: If a value cannot be pickled, with its path.
        """
        for record, path in zip(self._records, self._paths, strict=True):
            if isinstance(record, _Value):
                try:
                    pickle.dumps(record.value)
                except Exception as error:
                    raise ConfigError(
                        f"cannot be pickled: {error}",
                        field=path,
                        value=type(record.value).__name__,
                        remedy="define its functions at the top of a module, or restore in this process",
                    ) from None
        return vars(self)


class _Saver:
    def __init__(self, records: list[Any], paths: list[str], shared: Mapping[int, str]) -> None:
        self._records, self._paths, self._shared = records, paths, shared
        self._numbers: dict[int, int] = {}
        # Otherwise an object could get the identity of one that was made for saving only.
        self._alive: list[Any] = []

    def saved(self, value: Any, path: str) -> Saved:
        if isinstance(value, _PLAIN):
            return value
        if (name := self._shared.get(id(value))) is not None:
            return _Shared(name)
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._records)
            self._alive.append(value)
            self._records.append(None)
            self._paths.append(path)
            self._records[number] = self._record(value, path)
        return _Record(number)

    def _record(self, value: Any, path: str) -> Any:
        kind = type(value)
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if kind in _CONTAINERS or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            extra = getattr(value, "maxlen", getattr(value, "default_factory", None))
            if isinstance(value, dict):
                return _Container(kind, self._pairs(value, path), extra)
            return _Container(kind, [self.saved(item, f"{path}.{k}") for k, item in enumerate(value)], extra)
        if isinstance(value, MethodType):
            return _Method(self.saved(value.__self__, path), value.__name__)
        if isinstance(value, _COPIED):
            return _Copied(copy.deepcopy(value))
        if kind in _LOCKS:
            return _Lock(_LOCKS[kind])
        way = _way_of(value)
        if way == "value":
            return _Value(value)
        if way == "code":
            return _Code(getattr(value, "__qualname__", kind.__qualname__), value)
        return None if way == "nothing" else self._object(value, path)

    def _array(self, value: Array, path: str) -> _View | _Copied:
        if value.dtype.hasobject:
            raise _unsaved(value, path)
        base = _memory(value)
        if base is value and value.flags.c_contiguous:
            return _Copied(value.copy())
        if base is value:
            flat = np.lib.stride_tricks.as_strided(value, (value.size,), (value.itemsize,))
            return _View(
                self.saved(flat.copy(), path),
                0,
                value.shape,
                value.strides,
                value.dtype,
                value.flags.writeable,
            )
        offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        owner = self.saved(base, path)
        return _View(owner, offset, value.shape, value.strides, value.dtype, value.flags.writeable)

    def _pairs(self, value: Mapping[Any, Any], path: str) -> list[tuple[Saved, Saved]]:
        return [(self.saved(key, path), self.saved(item, f"{path}.{key}")) for key, item in value.items()]

    def _object(self, value: Any, path: str) -> _Object:
        kind: Any = type(value)
        try:
            # Like pickle, it refuses what is not made of attributes, such as an open file.
            object.__reduce_ex__(value, 2)
            _empty(kind)
            own = kind.__getstate__ is not object.__getstate__
            state = value.__getstate__() if own else None
        except (TypeError, ValueError):
            raise _unsaved(value, path) from None
        if isinstance(value, list | tuple | set | frozenset | deque):
            raise _unsaved(value, path)
        pairs = self._pairs(value, path) if isinstance(value, dict) else []
        fields = {} if own else {name: self.saved(v, f"{path}.{name}") for name, v in _fields(value).items()}
        return _Object(kind, fields, self.saved(state, path), pairs)


class _Restorer:
    def __init__(self, records: list[Any], paths: list[str], shared: Mapping[str, Any]) -> None:
        self._records, self._paths, self._shared = records, paths, shared
        self._made: dict[int, Any] = {}
        self._taken = {id(item) for item in shared.values()}

    def put(self, saved: Saved, live: Any = None) -> Any:
        """Return a saved value: the live one, changed, if that is an object of the same class."""
        if isinstance(saved, _Shared):
            return self._shared[saved.name]
        if not isinstance(saved, _Record):
            return saved
        number = saved.number
        if number not in self._made:
            self._made[number] = self._restored(number, live)
        return self._made[number]

    def _restored(self, number: int, live: Any) -> Any:
        record = self._records[number]
        if isinstance(record, _Copied):
            return copy.deepcopy(record.value)
        if isinstance(record, _Value):
            return record.value
        if isinstance(record, _View):
            view: Array = np.ndarray(
                record.shape,
                record.kind,
                buffer=_memory(self.put(record.base)),
                offset=record.offset,
                strides=record.strides,
            )
            view.flags.writeable = record.writeable
            return view
        if isinstance(record, _Container):
            return self._container(record, live)
        if isinstance(record, _Object):
            return self._object(number, record, live)
        if isinstance(record, _Code):
            return self._code(record, live, self._paths[number])
        if isinstance(record, _Method):
            return getattr(self.put(record.owner), record.name)
        return None if record is None else getattr(threading, record.kind)()

    def _code(self, record: _Code, live: Any, path: str) -> Any:
        if getattr(live, "__qualname__", type(live).__qualname__) == record.name:
            return live
        if record.value is None:
            raise ConfigError(
                "was not pickled, and the simulation has no such function there",
                field=path,
                value=record.name,
                remedy="restore the snapshot in the process that took it",
            )
        return record.value

    def _container(self, record: _Container, live: Any) -> Any:
        kind: Any = record.kind
        if issubclass(kind, dict):
            found = live if isinstance(live, Mapping) else {}
            keys = [self.put(key) for key, _ in record.items]
            pairs = {
                key: self.put(item, found.get(key)) for key, (_, item) in zip(keys, record.items, strict=True)
            }
            return defaultdict(record.extra, pairs) if kind is defaultdict else kind(pairs)
        there = list(live) if isinstance(live, list | tuple | deque) else []
        there += [None] * (len(record.items) - len(there))
        items = [self.put(item, place) for item, place in zip(record.items, there, strict=False)]
        if kind is deque:
            return deque(items, record.extra)
        return tuple.__new__(kind, items) if issubclass(kind, tuple) else kind(items)

    def _object(self, number: int, record: _Object, live: Any) -> Any:
        stays = type(live) is record.kind and id(live) not in self._taken
        made = live if stays else _empty(record.kind)
        self._made[number] = made
        self._taken.add(id(made))
        if isinstance(made, dict):
            made.clear()
            made.update({self.put(key): self.put(item) for key, item in record.pairs})
        if record.state is not None:
            state = self.put(record.state)
            if hasattr(made, "__setstate__"):
                made.__setstate__(state)
            else:
                vars(made).update(state)
            return made
        present = _fields(made)
        for name in present.keys() - record.attributes.keys():
            object.__delattr__(made, name)
        for name, item in record.attributes.items():
            object.__setattr__(made, name, self.put(item, present.get(name)))
        return made


def _way_of(value: Any) -> str:
    if isinstance(value, FunctionType):
        return "code"
    if isinstance(value, _VALUES):
        return "value"
    frozen = getattr(getattr(type(value), "__dataclass_params__", None), "frozen", False)
    way: str = getattr(type(value), "saved_as", "value" if frozen else "attributes")
    return way


def _empty(kind: Any) -> Any:
    """Return an object of a class without calling its constructor."""
    return dict.__new__(kind) if issubclass(kind, dict) else object.__new__(kind)


def _memory(value: Array) -> Array:
    """Return the array that owns the memory of another."""
    while isinstance(value.base, np.ndarray):
        value = value.base
    return value


def _fields(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, also those in slots."""
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def _unsaved(value: Any, path: str) -> ConfigError:
    return ConfigError(
        "cannot be saved",
        field=path,
        value=type(value).__name__,
        remedy="give its class a method __getstate__ that leaves it out, and __setstate__ that makes it anew",
    )
