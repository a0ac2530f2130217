"""State of Python objects as a value: saved attribute by attribute, and put back into these or like objects.

The class attribute `saved_as` says how objects are saved:

- `attributes`, the default: as pickle sees them, by their attributes or by `__getstate__`; all are copied.
- `value`, the default of frozen dataclasses that refer to nothing else: they never change, and are kept.
- `code`, as functions are: like values; where pickle refuses one, the one that stands in its place is used.
- `nothing`: they are made anew from others when they are next needed; None takes their place.
"""

import pickle
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from enum import Enum
from functools import partial
from logging import Logger
from multiprocessing.process import BaseProcess
from pathlib import PurePath
from random import Random
from subprocess import Popen
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ReferenceType

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.saved_records import (
    Closure,
    Code,
    Container,
    Copied,
    Lock,
    Method,
    Nothing,
    Object,
    Partial,
    Record,
    Reference,
    Saved,
    SharedObject,
    Value,
    View,
    copied,
    empty,
    fields_of,
    memory_of,
)

_PLAIN = (type(None), bool, int, float, complex, str, bytes, Enum, np.generic, PurePath, range, slice)
_VALUES = (ModuleType, type, np.dtype, Logger)
_COPIED = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, np.random.SeedSequence, Random)
_LOCKS = {type(threading.Lock()): "Lock", type(threading.RLock()): "RLock"}
_CONTAINERS = (list, tuple, set, frozenset, deque, dict, Counter, OrderedDict, defaultdict)
_KEPT = ("value", "code")
_REFUSED = (threading.Thread, BaseProcess, Popen, ReferenceType)
"""Objects whose attributes are not their state."""


class SavedState:
    """State of parts and of all that they refer to, which later changes of these do not alter.

    Args:
        parts: Objects by name; arrays, containers, functions and objects of Python in them are followed.
        shared: Objects that are not saved, by name: `restore` takes others of these names. Arrays among
            them own their memory; views of them are saved as such.

    Raises:
        ConfigError: If something cannot be saved, such as an open file, with its path.
    """

    def __init__(self, parts: Mapping[str, Any], shared: Mapping[str, Any]) -> None:
        self._records: list[Record] = []
        self._paths: list[str] = []
        saver = _Saver(self._records, self._paths, {id(item): name for name, item in shared.items()})
        self._parts = {name: saver.saved(part, name) for name, part in parts.items()}

    def restore(self, parts: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
        """Put the state into parts of the same names, and return them.

        Objects stay where one of the same class stands in the same place; arrays and containers are replaced
        by new ones, so that nothing else that holds them is changed.

        Args:
            parts: The parts by name.
            shared: Objects in place of those that were not saved, by name.

        Raises:
            ConfigError: If the state was pickled, and a function that it needs is not in its place.
        """
        restorer = _Restorer(self._records, self._paths, shared)
        for name, saved in self._parts.items():
            restorer.pair(saved, parts[name])
        return {name: restorer.put(saved, parts[name]) for name, saved in self._parts.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled.

        Raises:
            ConfigError: If a value cannot be pickled, with its path.
        """
        for record, path in zip(self._records, self._paths, strict=True):
            if isinstance(record, Value | Object):
                value = record.value if isinstance(record, Value) else record.kind
                try:
                    pickle.dumps(value)
                except Exception as error:
                    raise ConfigError(
                        f"cannot be pickled: {error}",
                        field=path,
                        value=getattr(value, "__name__", type(value).__name__),
                        remedy="define classes and functions at the top of a module, or stay in this process",
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
            return SharedObject(name)
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._records)
            self._alive.append(value)
            self._records.append(None)
            self._paths.append(path)
            self._records[number] = self._record(value, path)
        return Reference(number)

    def _record(self, value: Any, path: str) -> Record:
        kind = type(value)
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if kind in _CONTAINERS or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            extra = getattr(value, "maxlen", getattr(value, "default_factory", None))
            if isinstance(value, dict):
                return Container(kind, self._pairs(value, path), extra)
            return Container(kind, [self.saved(item, f"{path}.{k}") for k, item in enumerate(value)], extra)
        if isinstance(value, FunctionType | MethodType | BuiltinFunctionType | partial):
            return self._function(value, path)
        if isinstance(value, _COPIED):
            return Copied(copied(value))
        if kind in _LOCKS:
            return Lock(_LOCKS[kind])
        way = getattr(kind, "saved_as", "attributes")
        if way == "value" or isinstance(value, _VALUES) or (_is_frozen(value) and not self._refers(value)):
            return Value(value)
        if way == "code":
            return Code(kind.__qualname__, value)
        return Nothing() if way == "nothing" else self._object(value, path)

    def _refers(self, value: Any) -> bool:
        """Return whether a value refers to an object that it would have to follow into another simulation."""
        if isinstance(value, (*_PLAIN, *_VALUES, np.ndarray)) or getattr(value, "saved_as", "") in _KEPT:
            return False
        if id(value) in self._shared:
            return True
        if isinstance(value, FunctionType):
            return any(self._refers(_content(cell)) for cell in value.__closure__ or ())
        if isinstance(value, list | tuple | set | frozenset):
            # A long table is one of numbers throughout.
            return not isinstance(next(iter(value), 0), _PLAIN) and any(map(self._refers, value))
        if isinstance(value, dict):
            return any(map(self._refers, value.values()))
        return not _is_frozen(value) or any(map(self._refers, fields_of(value).values()))

    def _array(self, value: Array, path: str) -> View | Copied:
        if value.dtype.hasobject:
            raise _unsaved(value, path)
        base = memory_of(value)
        if base is value and value.flags.c_contiguous:
            return Copied(value.copy())
        if base is value:
            base = np.lib.stride_tricks.as_strided(value, (value.size,), (value.itemsize,)).copy()
            offset = 0
        else:
            offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        owner = self.saved(base, path)
        return View(owner, offset, value.shape, value.strides, value.dtype, value.flags.writeable)

    def _function(self, value: Any, path: str) -> Record:
        if isinstance(value, partial):
            parts = value.func, value.args, value.keywords
            return Partial([self.saved(part, path) for part in parts])
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, ModuleType):
            names = [n for kind in type(owner).__mro__ for n, item in vars(kind).items()
                     if item is getattr(value, "__func__", value)]  # fmt: skip
            return Method(self.saved(owner, path), (names or [value.__name__])[0])
        if not isinstance(value, FunctionType) or not self._refers(value):
            return Code(value.__qualname__, value)
        contents = [
            self.saved(_content(cell), f"{path}.{value.__name__}") for cell in value.__closure__ or ()
        ]
        return Closure(value.__qualname__, value, contents)

    def _pairs(self, value: Mapping[Any, Any], path: str) -> list[tuple[Saved, Saved]]:
        return [(self.saved(key, path), self.saved(item, f"{path}.{key}")) for key, item in value.items()]

    def _object(self, value: Any, path: str) -> Object | Copied:
        kind: Any = type(value)
        if isinstance(value, (*_REFUSED, list, tuple, set, frozenset, deque)):
            raise _unsaved(value, path)
        try:
            # Like pickle, it refuses what is not made of attributes, such as an open file.
            object.__reduce_ex__(value, 2)
            empty(kind)
            own = kind.__getstate__ is not object.__getstate__
            state = value.__getstate__() if own else None
        except (TypeError, ValueError):
            try:
                return Copied(copied(value))
            except Exception:  # Whatever the class raises.
                raise _unsaved(value, path) from None
        pairs = self._pairs(value, path) if isinstance(value, dict) else []
        if own:
            return Object(kind, None, self.saved(state, path), pairs)
        found = {name: self.saved(item, f"{path}.{name}") for name, item in fields_of(value).items()}
        return Object(kind, found, None, pairs)


class _Restorer:
    def __init__(self, records: list[Record], paths: list[str], shared: Mapping[str, Any]) -> None:
        self._records, self._paths, self._shared = records, paths, shared
        self._made: dict[int, Any] = {}
        self._paired: dict[int, Any] = {}
        self._taken = {id(item) for item in shared.values()}

    def pair(self, saved: Saved, live: Any) -> None:
        """Keep a live object for what is saved, wherever it is met first."""
        if isinstance(saved, Reference):
            self._paired[saved.number] = live

    def put(self, saved: Saved, live: Any = None) -> Any:
        """Return a saved value: the live one, changed, if that is an object of the same class."""
        if isinstance(saved, SharedObject):
            return self._shared[saved.name]
        if not isinstance(saved, Reference):
            return saved
        number = saved.number
        if number not in self._made:
            made = self._records[number].restored(self, number, self._paired.get(number, live))
            self._made[number] = made
        return self._made[number]

    def keep(self, number: int, kind: type, live: Any) -> Any:
        """Return the object that takes the attributes of a saved one: the live one, or an empty one."""
        stays = type(live) is kind and id(live) not in self._taken and not _is_frozen(live)
        made = self._made[number] = live if stays else empty(kind)
        self._taken.add(id(made))
        return made

    def path(self, number: int) -> str:
        """Return where an object was found."""
        return self._paths[number]


def _is_frozen(value: Any) -> bool:
    """Return whether a value is of a frozen dataclass that does not say how it is saved."""
    frozen: bool = getattr(getattr(type(value), "__dataclass_params__", None), "frozen", False)
    return frozen and not hasattr(value, "saved_as")


def _content(cell: CellType) -> Any:
    """Return what a function keeps in a cell; None if the cell is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _unsaved(value: Any, path: str) -> ConfigError:
    return ConfigError(
        "cannot be saved",
        field=path,
        value=type(value).__name__,
        remedy="give its class a method __getstate__ that leaves it out, and __setstate__ that makes it anew",
    )
