"""Tables that user code and installed packages extend: classes by name, and entries by class."""

import importlib
import logging
import sys
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pegasus.base.errors import ConfigError, package_error, unknown_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Registry(Mapping[str, type[T]]):
    """Mapping from the names used in YAML to the classes of one kind of component.

    Classes are imported when they are first looked up; listing the names imports none. Packages add classes
    by entry points, which are read when a name is not shipped or all names are listed::

        [project.entry-points."pegasus.sensors"]
        sonde = "sonde_package.sensor:Sonde"

    Args:
        what: Noun for error messages, such as "sensor".
        group: Group of entry points, such as "pegasus.sensors".
        shipped: Classes by name, as classes or as "module:Class".
    """

    def __init__(self, what: str, *, group: str, shipped: Mapping[str, str | type[T]]) -> None:
        self._what, self._group = what, group
        self._kinds: dict[str, str | type[T]] = dict(shipped)

    def register(self, name: str, kind: type[T]) -> None:
        """Add a class of user code; a class that is redefined under the same path replaces the earlier one.

        Raises:
            ConfigError: If the name belongs to another class, or `kind` is not a class.
        """
        if not isinstance(kind, type):
            raise ConfigError(
                f"must be the class of a {self._what}, not an instance", field="kind", value=kind
            )
        path, known = f"{kind.__module__}:{kind.__qualname__}", self._kinds.get(name)
        if known is not None and path != (
            known if isinstance(known, str) else f"{known.__module__}:{known.__qualname__}"
        ):
            raise ConfigError(
                f"is the name of another {self._what}", field="name", value=name, remedy="choose another name"
            )
        self._kinds[name] = kind

    def name_of(self, kind: type) -> str | None:
        """Return the name of a class, None if it has none; nothing is imported."""
        installed = {name: points[0].value for name, points in self._installed.items()}
        for name, known in {**installed, **self._kinds}.items():
            if known is kind or (isinstance(known, str) and _imported(known) is kind):
                return name
        return None

    def __getitem__(self, name: str) -> type[T]:
        """Return the class of a name, imported now if needed.

        Raises:
            UnknownNameError: If there is no such name; it is a KeyError too.
            ConfigError: If its package is not installed or broken, or two packages have the name.
        """
        known = self._kinds.get(name)
        if known is None:
            if name not in self._installed:
                raise unknown_name(self._what, name, sorted(self))
            known = self._load(name, self._installed[name])
        elif isinstance(known, str):
            module, _, attribute = known.partition(":")
            try:
                known = cast("type[T]", getattr(importlib.import_module(module), attribute))
            except ModuleNotFoundError as error:
                raise package_error(error) from None
        self._kinds[name] = known
        return known

    def __contains__(self, name: object) -> bool:
        return name in self._kinds or name in self._installed

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._kinds, *self._installed]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @cached_property
    def _installed(self) -> "dict[str, list[EntryPoint]]":
        """Entry points by name."""
        found: dict[str, list[EntryPoint]] = {}
        for point in _entry_points(tuple(sys.path)).select(group=self._group):
            if point.name in self._kinds:
                _log.warning(
                    "the %s %r of the package %s is not used: the name is taken; rename its entry point",
                    *(self._what, point.name, _package(point)),
                )
            else:
                found.setdefault(point.name, []).append(point)
        return dict(sorted(found.items()))

    def _load(self, name: str, points: "list[EntryPoint]") -> type[T]:
        if len(points) > 1:
            packages = " and ".join(sorted(_package(point) for point in points))
            raise ConfigError(
                f"is a {self._what} of the packages {packages}", value=name, remedy="uninstall one of them"
            )
        try:
            return cast("type[T]", points[0].load())
        except Exception as error:
            raise ConfigError(
                f"the {self._what} of the package {_package(points[0])} cannot be imported: {error}",
                value=name,
                remedy="update or uninstall that package",
            ) from error


class ClassTable(Generic[T]):
    """Table of entries by class: a subclass without an entry inherits that of its nearest base."""

    def __init__(self, entries: Mapping[type, T]) -> None:
        self._entries = dict(entries)

    def register(self, kind: type, entry: T) -> None:
        """Add the entry of a class, in place of an earlier one."""
        self._entries[kind] = entry

    def find(self, item: object) -> T | None:
        """Return the entry of an object's class, None if neither it nor a base has one."""
        for kind in type(item).__mro__:
            if kind in self._entries:
                return self._entries[kind]
        return None


@cache
def _entry_points(_path: tuple[str, ...]) -> Any:
    """Return the entry points of all packages in the folders of `sys.path`, read once for all tables."""
    from importlib.metadata import entry_points

    return entry_points()


def _imported(path: str) -> object:
    """Return the object at "module:Class" if its module has been imported, else None."""
    module, _, attribute = path.partition(":")
    return getattr(sys.modules.get(module), attribute, None)


def _package(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else point.value
