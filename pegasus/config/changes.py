"""Changes of single fields of a scenario, by their paths."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.base.system import SCENE_SUFFIXES

_MISSION = ("trajectory", "relative", "spin_up", "idle_ratio")
"""Fields that all controllers have; another one keeps them."""
_WITHOUT_MISSION = ("px4", "ardupilot", "ros2")
"""Backends that are no controllers."""
CHANGES = "changes"
"""Place that errors in changes name in place of a file."""


class Changes:
    """Values for fields of a scenario.

    A path has the names of the fields down to the value, with dots between them, such as `seed` or
    `record.images`. An entry of a list is selected by its index, its name or its model:
    `vehicles.0.position`, `vehicles.iris.backends.geometric.trajectory.square.side`; `*` selects all. The
    fields of the world and of a vehicle's model are reached through `world` and `model`:
    `world.wind.mean_velocity`, `vehicles.iris.model.mass`.

    Args:
        values: Values by path.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self._given: dict[str, str] = {}
        """Paths as they were given, by the paths with indices."""

    def apply(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of a scenario file with these changes.

        Raises:
            ConfigError: If a path leads nowhere.
        """
        changed = copy.deepcopy(dict(content))
        # Outer fields first, and the model of a component before its parameters.
        for path in sorted(self._values, key=lambda path: (path.count("."), not path.endswith(".model"))):
            try:
                for place, name, where in list(_places(changed, path.split("."), ())):
                    full = ".".join(map(str, (*where, name)))
                    # Other parameters of the former model mean nothing to another one.
                    component = name == "model" and not (where[:1] == ("vehicles",) and len(where) == 2)
                    if component and place.get("model") != (model := self._values[path]):
                        common = (
                            () if model in _WITHOUT_MISSION or where[-2:-1] != ("backends",) else _MISSION
                        )
                        kept = {field: place[field] for field in common if field in place}
                        place.clear()
                        place.update(kept)
                    place[name] = copy.deepcopy(self._values[path])
                    self._given[full] = path
            except ConfigError as error:
                raise ConfigError(error.problem, file=CHANGES, field=path, remedy=error.remedy) from None
        return changed

    def with_path_of_change(self, error: ConfigError) -> ConfigError:
        """Return an error of the changed scenario, with the path of the change if its value is at fault."""
        field = error.field or ""
        for full, given in self._given.items():
            at_fault = field == full or field.startswith(f"{full}.") or full.startswith(f"{field}.")
            if error.file is None and field and at_fault:
                place = given + field[len(full) :] if field.startswith(full) else field
                return ConfigError(
                    error.problem, file=CHANGES, field=place, value=error.value, remedy=error.remedy
                )
        return error


def _places(
    place: Any, parts: list[str], where: tuple[int | str, ...]
) -> Iterator[tuple[Any, Any, tuple[int | str, ...]]]:
    """Yield the mappings or lists that hold the value at a path, its key in each, and the paths of these."""
    first, rest = parts[0], parts[1:]
    if isinstance(place, list):
        keys: list[Any] = _indices(place, first)
        for key in keys:
            if isinstance(place[key], str) and rest:
                place[key] = {place[key]: {}}  # A part of a trajectory without parameters.
    elif isinstance(place, dict):
        keys = [first]
        if rest and where == () and first == "world":
            place["world"] = _described(place.get("world", "courtyard"))
        elif rest and where[:1] == ("vehicles",) and len(where) == 2 and first == "model":
            place["model"] = _described(place.get("model"))
    else:
        raise ConfigError(
            f"{'.'.join(map(str, where))} is {place!r} and has no fields", remedy="see docs/scenarios.md"
        )
    for key in keys:
        if not rest:
            yield place, key, where
            continue
        if isinstance(place, dict) and place.get(key) is None:
            place[key] = {}
        inner, path = place[key], (*where, key)
        if isinstance(place, list) and isinstance(inner, dict) and list(inner) == [first]:
            # A part of a trajectory, selected by its name.
            inner[first] = inner[first] or {}
            inner, path = inner[first], (*path, first)
        yield from _places(inner, rest, path)


def _described(named: Any) -> Any:
    """Return a world or vehicle as a mapping, so that its fields can be changed."""
    if not isinstance(named, str):
        return named
    path = Path(named)
    return {"name": path.stem, "usd": named} if path.suffix.lower() in SCENE_SUFFIXES else {"extends": named}


def _indices(items: list[Any], part: str) -> list[int]:
    """Return the indices of the entries that a part of a path selects."""
    if part == "*":
        return list(range(len(items)))
    names = [_name(item) for item in items]
    if part.isdecimal() and int(part) < len(items):
        return [int(part)]
    if names.count(part) == 1:
        return [names.index(part)]
    if part in names:
        raise ConfigError(f"{names.count(part)} entries are called {part}", remedy="give the index, from 0")
    known = [*map(str, range(len(items))), *filter(None, names)]
    remedy = " ".join(did_you_mean(part, known))
    raise ConfigError(
        f"no entry is called {part}; there are {', '.join(known) or 'none'}", remedy=remedy or None
    )


def _name(item: Any) -> str:
    """Return the name of a list's entry: its name, its model, or that of a trajectory's part."""
    if isinstance(item, dict):
        model = item.get("model")
        if isinstance(model, dict):
            model = model.get("name") or model.get("extends")
        return str(item.get("name") or model or (next(iter(item)) if len(item) == 1 else ""))
    return str(item) if isinstance(item, str) else ""
