"""Fingerprints of functions: hashes of all that a trace of them can depend on, equal in each process.

What a function can reach is found by the names in its code: what they stand for among its globals, in its
closure, in classes and in modules. Functions count with their code and the text of their files, data with
their content. A name is taken for all that it may stand for: too much is read rather than too little.
"""

import builtins
import contextlib
import dis
import enum
import functools
import hashlib
import inspect
import linecache
import re
import sys
import types
import typing
from collections import defaultdict, namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, field, is_dataclass, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base import step_types

_PLAIN = frozenset(
    (bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range)
)
_LIBRARIES = frozenset((
    "abc", "builtins", "collections", "dataclasses", "enum", "functools", "itertools", "math", "numbers",
    "numpy", "operator", "struct", "types", "typing",
))  # fmt: skip
"""Libraries whose functions, but for the following ones, depend on arguments alone."""
_IMPURE = frozenset((
    "compile", "eval", "exec", "globals", "hash", "id", "input", "locals", "open", "print", "__import__",
))  # fmt: skip
_OF_NUMPY = frozenset((
    "abs", "all", "any", "arange", "argmax", "array", "asarray", "atleast_1d", "atleast_2d",
    "broadcast_arrays", "broadcast_to", "clip", "column_stack", "concatenate", "cross", "cumsum", "diff",
    "dot", "einsum", "eye", "full", "full_like", "hstack", "interp", "linspace", "max", "mean", "min",
    "moveaxis", "nan_to_num", "norm", "ones", "ones_like", "outer", "prod", "ravel", "repeat", "reshape",
    "round", "searchsorted", "shape", "sort", "squeeze", "stack", "sum", "tile", "transpose", "vstack",
    "where", "zeros", "zeros_like",
))  # fmt: skip
"""Functions of NumPy that depend on arguments alone, beside its ufuncs."""
_COMPUTED = frozenset(("getattr", "setattr", "vars"))
"""Functions by which shipped code reaches fields of dataclasses only, and other code whatever it likes."""
_UNUSED = frozenset((
    "__abstractmethods__", "__class_getitem__", "__dataclass_params__", "__dict__", "__doc__",
    "__firstlineno__", "__hash__", "__module__", "__orig_bases__", "__parameters__", "__repr__",
    "__slotnames__", "__static_attributes__", "__str__", "__subclasshook__", "__weakref__", "_abc_impl",
))  # fmt: skip
"""Members of classes on which no trace depends."""
_WRITTEN_IN_C = 1 << 8
"""Flag of classes that cannot change."""
_IMPORT = dis.opmap["IMPORT_NAME"]
_WORD = re.compile(r"[A-Za-z_]\w*")
_DIGESTS: dict[str, tuple[Any, str]] = {}
_CODES: dict[int, tuple[types.CodeType, str, frozenset[str]]] = {}


class _UnknownError(Exception):
    """Something whose content cannot be told."""


def fingerprint(*values: Any) -> str | None:
    """Return a hash of functions, classes and data, with all that the functions can reach.

    None if the content of something cannot be told, such as files, clocks, imports within functions, objects
    of libraries, and attributes whose names are computed.

    Args:
        values: Functions, classes and data.
    """
    content = _Content()
    try:
        content.read(values)
        content.read_members()
    except (_UnknownError, RecursionError):
        return None
    return content.digest()


@functools.cache
def _versions() -> bytes:
    """Return the hash of what makes a trace: interpreter, NumPy, and the sources of the tracer."""
    found = hashlib.sha256(f"{sys.version} {np.__version__}".encode())
    for file in (*sorted(Path(__file__).parent.glob("*.*")), Path(step_types.__file__)):
        found.update(file.read_bytes())
    return found.digest()


def _digest_of_file(file: str) -> str:
    """Return the hash of the lines of a file, as the tracer gets them."""
    entry, known = linecache.cache.get(file), _DIGESTS.get(file)
    if entry is None or known is None or known[0] is not entry:
        digest = hashlib.sha256("".join(linecache.getlines(file)).encode()).hexdigest()
        known = _DIGESTS[file] = linecache.cache.get(file), digest
    return known[1]


def _is_pure(value: Any) -> bool:
    """Return whether a function or a class is of a library that is known."""
    return _is_library(str(value.__module__))


@functools.cache
def _is_library(module: str) -> bool:
    return module.lstrip("_").partition(".")[0] in _LIBRARIES


def _is_shipped(module: Any) -> bool:
    return str(module).partition(".")[0] == "pegasus"


def _digest_of_code(code: types.CodeType) -> tuple[str, frozenset[str]]:
    """Return the hash of a code without those within it, and the names and texts in it.

    Raises:
        _UnknownError: If it imports something.
    """
    known = _CODES.get(id(code))
    if known is None or known[0] is not code:
        if _IMPORT in code.co_code[::2]:
            raise _UnknownError(f"an import in {code.co_name}")
        constants = [_plain(c) for c in code.co_consts if not isinstance(c, types.CodeType)]
        texts = (x for c in code.co_consts for x in (c if isinstance(c, tuple | frozenset) else (c,)))
        content = (
            code.co_code, code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars,
            code.co_firstlineno, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, constants,
        )  # fmt: skip
        words = frozenset((*code.co_names, *(x for x in texts if isinstance(x, str))))
        known = _CODES[id(code)] = code, hashlib.sha256(repr(content).encode()).hexdigest(), words
    return known[1:]


def _plain(constant: Any) -> Any:
    """Return a constant of a code in an order that does not differ between processes."""
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


class _Content:
    """Walk over values, each of which is read once; where it is met again, its number stands for it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        """Text of what was read, of which the hash is taken at the end."""
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []
        """Keeps what was read alive, whose ids are in use."""
        self._names: set[str] = set()
        self._files: set[str] = set()
        self._owners: list[tuple[type, set[str]]] = []
        """Classes, and the names of those members that were read."""

    def digest(self) -> str:
        """Return the hash of all values that were read, and of what makes a trace."""
        found = hashlib.sha256(_versions())
        found.update("".join(self._parts).encode("utf-8", "surrogatepass"))
        return found.hexdigest()

    def read(self, value: Any) -> None:
        """Add a value.

        Raises:
            _UnknownError: If its content cannot be told.
        """
        kind = type(value)
        if kind in _PLAIN:
            self._parts.append(f"{kind.__name__} {value!r};")
            return
        number = self._numbers.setdefault(id(value), len(self._kept))
        if number < len(self._kept):
            self._parts.append(f"again {number};")
            return
        self._kept.append(value)
        self._note(kind.__module__, kind.__qualname__)
        if not _is_pure(kind):
            self._read_attributes(value, kind)
        reader = _reader_of(kind)  # type: ignore[arg-type]
        if reader is not None:
            reader(self, value)
        elif any(
            _is_pure(c) and c is not object and c.__module__ not in ("abc", "typing") for c in kind.__mro__
        ):
            raise _UnknownError(f"an object of {kind.__qualname__}")

    def read_members(self) -> None:
        """Add members of classes by all names that were met, until no more are found."""
        found = True
        while found:
            found = False
            for owner, done in list(self._owners):
                members = vars(owner)
                wanted = {name for name in members if name in self._names or name.startswith("__")}
                for name in sorted(wanted - done - _UNUSED):
                    found = True
                    done.add(name)
                    self._note("member", self._numbers[id(owner)], name)
                    self.read(members[name])

    def _note(self, *parts: Any) -> None:
        self._parts.append(repr(parts))

    def _read_attributes(self, value: Any, kind: type) -> None:
        """Add class and attributes of an object."""
        self.read(kind)
        found = dict(getattr(value, "__dict__", {}))
        for owner in kind.__mro__:
            slots = vars(owner).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                with contextlib.suppress(AttributeError):
                    found[name] = object.__getattribute__(value, name)
        self._read_items(found)

    def _read_each(self, values: Iterable[Any]) -> None:
        for value in values:
            self.read(value)
        self._note("end")

    def _read_items(self, values: Mapping[Any, Any]) -> None:
        self._read_each(part for pair in values.items() for part in pair)

    def _read_set(self, values: Any) -> None:
        if any(type(value) not in _PLAIN for value in values):
            raise _UnknownError("a set, whose order differs between processes")
        self._note(*sorted(map(repr, values)))

    def _read_array(self, values: Any) -> None:
        if values.dtype.hasobject:
            raise _UnknownError("an array of objects")
        self._note(values.dtype.str, values.shape)
        self._parts.append(hashlib.sha256(values.tobytes()).hexdigest())

    def _read_function(self, function: types.FunctionType) -> None:
        self._note(function.__module__, function.__qualname__)
        if _is_pure(function):
            self._refuse_of_numpy(function)
            return
        self._read_code(function.__code__, function.__globals__)
        self._read_each((function.__defaults__, function.__kwdefaults__, function.__dict__))
        for cell in function.__closure__ or ():
            try:
                self.read(cell.cell_contents)
            except ValueError:
                self._note("empty")

    def _read_code(self, code: types.CodeType, names: Mapping[str, Any]) -> None:
        """Add the code of a function and of those within it, and what its names stand for."""
        digest, words = _digest_of_code(code)
        self._parts.append(digest)
        self._names |= words
        self._read_file(code.co_filename)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._read_code(constant, names)
        refused = _IMPURE if _is_shipped(names.get("__name__")) else _IMPURE | _COMPUTED
        for name in code.co_names:
            if name in names:
                self._note(name)
                if isinstance(names[name], types.ModuleType):
                    self._read_uses(name, names[name], code)
                else:
                    self.read(names[name])
            elif name in refused:
                raise _UnknownError(f"{name} in {code.co_name}")
            elif name in vars(builtins):
                self._note(name)
                self.read(vars(builtins)[name])

    def _read_file(self, file: str) -> None:
        if file not in self._files:
            self._files.add(file)
            self._parts.append(_digest_of_file(file))

    def _read_class(self, kind: type) -> None:
        self._note(kind.__module__, kind.__qualname__)
        if _is_pure(kind):
            if not issubclass(kind, np.generic) and kind is not np.ndarray:
                self._refuse_of_numpy(kind)
            return
        module: Any = sys.modules.get(kind.__module__)
        if module is None or kind.__flags__ & _WRITTEN_IN_C:
            raise _UnknownError(f"the class {kind.__qualname__}")
        if file := getattr(module, "__file__", None):
            self._read_file(str(file))
        for hint in vars(kind).get("__annotations__", {}).values():
            for name in _WORD.findall(hint) if isinstance(hint, str) else ():
                if name in vars(module):
                    self.read(vars(module)[name])
        if is_dataclass(kind):
            self._names.update(kind.__dataclass_fields__)
        self._owners.append((kind, set()))
        self._read_each((type(kind), *kind.__bases__))

    def _read_uses(self, name: str, module: types.ModuleType, code: types.CodeType) -> None:
        """Add what a code takes of a module.

        Raises:
            _UnknownError: If it hands the module on.
        """
        value: Any = None
        for step in dis.get_instructions(code):
            if isinstance(value, types.ModuleType):
                if step.opname not in ("LOAD_ATTR", "LOAD_METHOD") or step.argval not in vars(value):
                    raise _UnknownError(f"the module {value.__name__}")
                value = vars(value)[step.argval]
                if not isinstance(value, types.ModuleType):
                    self._note(step.argval)
                    self.read(value)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval == name:
                value = module

    def _read_builtin(self, function: types.BuiltinFunctionType) -> None:
        """Add a function of C, of a module or a class: with an object of its own it may do anything."""
        owner: Any = function.__self__
        source = owner if isinstance(owner, type) else function
        is_free = isinstance(owner, type | types.ModuleType | None)
        if not is_free or not _is_pure(source):
            raise _UnknownError(f"the function {function.__qualname__}")
        self._refuse_of_numpy(function)
        self._note(source.__module__, function.__qualname__)

    def _refuse_of_numpy(self, function: Any) -> None:
        """Refuse a function or a class of NumPy that may read files or random numbers."""
        if str(function.__module__).startswith("numpy") and function.__qualname__ not in _OF_NUMPY:
            raise _UnknownError(f"the function {function.__qualname__} of NumPy")

    def _read_array_function(self, function: Any) -> None:
        self._refuse_of_numpy(function)
        self._note(function.__qualname__)

    def _read_descriptor(self, value: Any) -> None:
        """Add a function or a place of a class: those of C are known of libraries only."""
        is_place = isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType)
        if not is_place and not _is_pure(value.__objclass__):
            raise _UnknownError(f"the function {value.__qualname__}")
        self._note(value.__qualname__)

    def _read_cached(self, function: Any) -> None:
        """Add a function whose results are kept: those of shipped ones depend on their arguments alone."""
        if not _is_shipped(function.__module__):
            raise _UnknownError(f"the kept results of {function.__qualname__}")
        self.read(function.__wrapped__)


_MADE = make_dataclass("_", [("x", list, field(default_factory=list))])
_FACTORY = type(inspect.signature(_MADE).parameters["x"].default)
"""Class of what stands for a default that a dataclass makes anew; the factory is read with the field."""
_READERS: tuple[tuple[Any, Callable[[_Content, Any], None]], ...] = (
    (enum.Enum, lambda c, x: c._read_each((x._name_, x._value_))),
    ((np.ndarray, np.generic), _Content._read_array),
    (int, lambda c, x: c._note(int.__repr__(x))),
    (float, lambda c, x: c._note(float.__repr__(x))),
    (str, lambda c, x: c._note(str.__repr__(x))),
    (tuple, lambda c, x: c._read_each(tuple.__iter__(x))),
    (list, lambda c, x: c._read_each(list.__iter__(x))),
    (defaultdict, lambda c, x: c._read_each((x.default_factory, *x.items()))),
    ((dict, types.MappingProxyType), _Content._read_items),
    ((set, frozenset), _Content._read_set),
    (types.FunctionType, _Content._read_function),
    (type, _Content._read_class),
    (types.BuiltinFunctionType, _Content._read_builtin),
    (functools._lru_cache_wrapper, _Content._read_cached),
    ((types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
      types.MemberDescriptorType), _Content._read_descriptor),
    (type(np.where), _Content._read_array_function),
    ((np.ufunc, typing.TypeVar, type(typing.ClassVar)), lambda c, x: c._note(repr(x))),
    ((types.GenericAlias, types.UnionType, type(typing.Annotated[int, 0]),
      type(typing.Callable)), lambda c, x: c._read_each((typing.get_origin(x), *typing.get_args(x)))),
    ((type(MISSING), _FACTORY), lambda c, _: c._note("missing")),
    (Field, lambda c, x: c._read_each((x.name, x.type, x.default, x.default_factory, x.init, x.metadata))),
    (type(namedtuple("_Places", "x").x), lambda c, x: c._note(x.__reduce__()[1][0])),  # type: ignore
    (types.MethodType, lambda c, x: c._read_each((x.__func__, x.__self__))),
    (functools.partial, lambda c, x: c._read_each((x.func, x.args, x.keywords))),
    ((staticmethod, classmethod), lambda c, x: c.read(x.__func__)),
    (property, lambda c, x: c._read_each((x.fget, x.fset))),
    (functools.cached_property, lambda c, x: c.read(x.func)),
    (types.SimpleNamespace, lambda c, x: c.read(vars(x))),
)  # fmt: skip


@functools.lru_cache(maxsize=4096)
def _reader_of(kind: type) -> Callable[[_Content, Any], None] | None:
    """Return the method that reads the content of objects of a class; None for those of attributes alone."""
    return next((reader for kinds, reader in _READERS if issubclass(kind, kinds)), None)
