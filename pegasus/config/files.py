"""Reading of vehicle, world and scenario files: files that extend others, and changes of single fields."""

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from pegasus.base.components import StrictModel
from pegasus.base.errors import ConfigError
from pegasus.base.system import REMOTE
from pegasus.config.changes import Changes
from pegasus.config.environments import remote_world
from pegasus.config.light_specs import LightSpec, SkySpec
from pegasus.config.mover_specs import MoverSpec
from pegasus.config.scenario import ScenarioSpec, ScenarioVehicle, VehicleSpec, WorldSpec, parse
from pegasus.config.settings import find, find_beside, read_yaml

M = TypeVar("M", bound=StrictModel)
D = TypeVar("D", VehicleSpec, WorldSpec)

_MODELS: dict[str, type[StrictModel]] = {
    "vehicles": VehicleSpec,
    "worlds": WorldSpec,
    "scenarios": ScenarioSpec,
}

_FILES = ("usd", "file", "static_file", "world", "extends")
"""Fields that are paths of files, or names."""


def read_file(path: Path, model: type[M]) -> M:
    """Return the content of a YAML file as a model; the file extends no other.

    Args:
        path: The file.
        model: Model of the content.

    Raises:
        ConfigError: If the file cannot be read, is not YAML, or does not match the model.
    """
    try:
        return parse(read_yaml(path), model)
    except ConfigError as error:
        raise error.within(file=path) from None


def load_vehicle(name: str | Path) -> tuple[VehicleSpec, Path]:
    """Return a vehicle's description, its paths made absolute, and the file that it came from.

    Args:
        name: Name of a vehicle, or the path of its YAML file.
    """
    return _loaded("vehicles", name, VehicleSpec)


def load_world(name: str | Path) -> tuple[WorldSpec, Path]:
    """Return a world's description, its paths made absolute, and the file that it came from.

    Args:
        name: Name of a world, or the path of its YAML file.
    """
    return _loaded("worlds", name, WorldSpec)


def described_vehicle(content: Mapping[str, Any]) -> VehicleSpec:
    """Return the description of a vehicle given as a mapping, which may extend a vehicle.

    Args:
        content: Fields by name, as in a file in the current folder.

    Raises:
        ConfigError: If a field is unknown, missing or not allowed.
    """
    return parse(_extended("vehicles", content, Path(), []), VehicleSpec)


def described_world(content: Mapping[str, Any]) -> WorldSpec:
    """Return the description of a world given as a mapping, which may extend a world.

    Args:
        content: Fields by name, as in a file in the current folder.

    Raises:
        ConfigError: If a field is unknown, missing or not allowed.
    """
    return _placed(parse(_extended("worlds", content, Path(), []), WorldSpec), Path())


def load_scenario(name: str | Path, changes: Changes | None = None) -> tuple[ScenarioSpec, Path]:
    """Return a scenario and the file that it came from.

    Args:
        name: Name of a scenario, or the path of its YAML file.
        changes: Changes of its fields.
    """
    path = find("scenarios", name)
    changes = changes or Changes({})
    content = _content("scenarios", path)
    try:
        content = changes.apply(content)
        content["world"] = _inline("worlds", content.get("world", "courtyard"), path, "world")
        vehicles = content.get("vehicles")
        for k, entry in enumerate(vehicles if isinstance(vehicles, list) else ()):
            if isinstance(entry, dict) and "model" in entry:
                entry["model"] = _inline("vehicles", entry["model"], path, f"vehicles.{k}.model")
        return parse(content, ScenarioSpec), path
    except ConfigError as error:
        raise changes.with_path_of_change(_redirected(error)).within(file=path) from None


def yaml_text(content: Mapping[str, Any]) -> str:
    """Return the fields of a model as YAML that can be saved and used as a file.

    Args:
        content: Fields as `model_dump(mode="json")` returns them.
    """
    # Components hold tuples and other types that YAML lacks.
    plain = json.loads(json.dumps({name: value for name, value in content.items() if value is not None}))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110))


def scenario_world(spec: ScenarioSpec, file: Path) -> Path | WorldSpec:
    """Return the file of a scenario's world, or the description that the scenario itself holds.

    Args:
        spec: The scenario.
        file: Its file.
    """
    if isinstance(spec.world, str):
        return remote_world(spec.world) or find_beside("worlds", spec.world, beside=file, field="world")
    return _placed(spec.world, file.parent)


def scenario_model(entry: ScenarioVehicle, file: Path) -> Path | VehicleSpec:
    """Return the file of a vehicle in a scenario, or the description that the scenario itself holds.

    Args:
        entry: Entry of the scenario's vehicles.
        file: File of the scenario.
    """
    if isinstance(entry.model, str):
        return find_beside("vehicles", entry.model, beside=file, field="model")
    return _placed(entry.model, file.parent)


def placed_changes(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return changes of a scenario with the relative paths of files in them made absolute.

    Args:
        values: Values by path; see `Changes`.
        folder: Folder that they are relative to.
    """
    return {path: _placed_change(path.split("."), value, folder) for path, value in values.items()}


def _placed_change(parts: Sequence[str], value: Any, folder: Path) -> Any:
    name = parts[-1]
    if isinstance(value, list) and name in (*_FILES, "model"):
        return [_placed_change(parts, item, folder) for item in value]
    if parts[0] == "vehicles" and len(parts) == 3 and name == "model" and isinstance(value, str):
        return _relocated({"vehicles": [{"model": value}]}, folder)["vehicles"][0]["model"]
    return _relocated({name: value}, folder)[name]


def files_of(kind: str, path: Path) -> list[Path]:
    """Return a YAML file and the files that it extends, the nearest first.

    Args:
        kind: `vehicles`, `worlds` or `scenarios`.
        path: The file.
    """
    chain: list[Path] = []
    _content(kind, path, chain)
    return chain


def _redirected(error: ConfigError) -> ConfigError:
    """Return an error with the path of a vehicle's field that is wanted in a scenario's entry."""
    entry, _, name = (error.field or "").rpartition(".")
    if not (error.quoted and entry.startswith("vehicles.") and name in VehicleSpec.model_fields):
        return error
    if entry.count(".") > 1:
        return error
    remedy = f"it is a field of the vehicle: {entry}.model.{name}"
    return ConfigError(error.problem, field=error.field, remedy=remedy, quoted=True)


def _loaded(kind: str, name: str | Path, model: type[D]) -> tuple[D, Path]:
    path = find(kind, name)
    content = _content(kind, path)
    try:
        return _placed(parse(content, model), path.parent), path
    except ConfigError as error:
        raise error.within(file=path) from None


def _placed(spec: D, folder: Path) -> D:
    """Return a description with the files of its parts, and its USD file, relative to a folder."""
    placed: dict[str, Any] = {"usd": (folder / spec.usd).resolve()} if isinstance(spec.usd, Path) else {}
    if isinstance(spec, VehicleSpec):
        placed["thrust_curve"] = _relocated(spec.thrust_curve, folder.resolve())
        if spec.surfaces:
            placed["surfaces"] = _relocated(spec.surfaces, folder.resolve())
        if spec.propulsion:
            placed["propulsion"] = {
                name: kind.model_copy(
                    update={"thrust_curve": _relocated(kind.thrust_curve, folder.resolve())}
                )
                for name, kind in spec.propulsion.items()
            }
    else:
        if spec.lights:
            placed["lights"] = [_placed_light(light, folder.resolve()) for light in spec.lights]
        if spec.movers:
            placed["movers"] = placed_movers(spec.movers, folder)
    return spec.model_copy(update=placed) if placed else spec


def placed_movers(movers: Sequence[MoverSpec], folder: Path) -> list[MoverSpec]:
    """Return descriptions of movers with the files in them relative to a folder.

    Args:
        movers: The descriptions.
        folder: The folder.
    """
    folder = folder.resolve()
    return [
        mover.model_copy(
            update={
                "usd": None if mover.usd is None else folder / mover.usd.expanduser(),
                "motion": _relocated(mover.motion, folder),
            }
        )
        for mover in movers
    ]


def _placed_light(light: LightSpec, folder: Path) -> LightSpec:
    if not isinstance(light, SkySpec) or light.file is None:
        return light
    return light.model_copy(update={"file": folder / light.file.expanduser()})


def _content(kind: str, path: Path, chain: list[Path] | None = None) -> dict[str, Any]:
    """Return the content of a file over that of the file which it extends.

    Args:
        kind: `vehicles`, `worlds` or `scenarios`.
        path: The file.
        chain: Files that lead to this one, which is appended.
    """
    chain = [] if chain is None else chain
    chain.append(path.resolve())
    content = read_yaml(path)
    if "extends" in content:
        content.setdefault("name", path.stem)
    try:
        return _extended(kind, content, path, chain)
    except ConfigError as error:
        raise error.within(file=path) from None


def _extended(kind: str, content: Mapping[str, Any], file: Path, chain: list[Path]) -> dict[str, Any]:
    """Return fields over those of the file that they extend.

    Args:
        kind: `vehicles`, `worlds` or `scenarios`.
        content: Fields with `extends`.
        file: File that holds them.
        chain: Files that lead to the fields.
    """
    fields = dict(content)
    if (name := fields.pop("extends", None)) is None:
        return fields
    singular = kind.removesuffix("s")
    if not isinstance(name, str):
        problem = f"must be the name of a {singular}, or the path of its file"
        raise ConfigError(problem, field="extends", value=name, remedy="name one")
    if kind == "worlds" and (remote := remote_world(name)) is not None:
        base = remote.model_dump(exclude_unset=True)
    else:
        base = _base(kind, name, file, chain)
    for field, item in _MODELS[kind].model_fields.items():
        if isinstance(item.default, dict):
            base.setdefault(field, copy.deepcopy(item.default))
    merged: dict[str, Any] = _merged(base, fields)
    return merged


def _base(kind: str, name: str, file: Path, chain: list[Path]) -> dict[str, Any]:
    """Return the content of the file that another one extends, its paths relative to that one."""
    found = find_beside(kind, name, beside=file, field="extends", other_than=chain)
    if found.resolve() in chain:
        ring = " > ".join(path.name for path in [*chain, found])
        raise ConfigError(
            f"is a circle: {ring}", field="extends", value=name, remedy="extend another file in one of them"
        )
    base = _content(kind, found, chain)
    same = found.parent.resolve() == file.parent.resolve()
    return base if same else _relocated(base, found.parent.resolve())


def _inline(kind: str, value: Any, file: Path, field: str) -> Any:
    """Return a world or vehicle that a scenario describes itself, over the one that it extends."""
    try:
        return _extended(kind, value, file, [file.resolve()]) if isinstance(value, dict) else value
    except ConfigError as error:
        raise error.within(field=field) from None


def _merged(base: Any, change: Any) -> Any:
    """Return a value over that of the extended file.

    Mappings are merged field by field, and null removes a field. Anything else, lists too, takes the place of
    what was there, and so does a component of another model.
    """
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    if base.get("model") == "none" or ("model" in change and change["model"] != base.get("model")):
        base = {}
    kept = {name: value for name, value in base.items() if name not in change}
    fields = {name: _merged(base.get(name), value) for name, value in change.items() if value is not None}
    return kept | fields


def _relocated(value: Any, folder: Path) -> Any:
    """Return content of a file with its relative paths made absolute."""
    if isinstance(value, list):
        return [_relocated(item, folder) for item in value]
    if not isinstance(value, dict):
        return value
    found = {name: _relocated(item, folder) for name, item in value.items()}
    for name in _FILES:
        # A name has no suffix.
        if isinstance(path := found.get(name), str) and Path(path).suffix and not REMOTE.match(path):
            found[name] = str(folder / Path(path).expanduser())
    vehicles = found.get("vehicles")
    for entry in vehicles if isinstance(vehicles, list) else ():
        if isinstance(entry, dict) and isinstance(path := entry.get("model"), str) and Path(path).suffix:
            entry["model"] = str(folder / Path(path).expanduser())
    return found
