"""Trajectories from scenario files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pegasus.base.components import build, require
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.base.registry import Registry
from pegasus.contracts.trajectory import Trajectory
from pegasus.control.trajectories.csv_file import Csv
from pegasus.control.trajectories.function import FunctionPath
from pegasus.control.trajectories.maneuvers import Hold, Idle, Land, Takeoff
from pegasus.control.trajectories.race_line import RaceLine
from pegasus.control.trajectories.sequence import Sequence
from pegasus.control.trajectories.shapes import Circle, Lemniscate, Relay, Square
from pegasus.control.trajectories.turn import Turn
from pegasus.control.trajectories.waypoints import MinimumSnap, Waypoints

TRAJECTORIES: Registry[Trajectory] = Registry(
    "trajectory",
    group="pegasus.trajectories",
    shipped={
        kind.name: kind
        for kind in (
            *(Idle, Takeoff, Hold, Waypoints, MinimumSnap, RaceLine, Relay, Square, Circle, Lemniscate),
            *(Csv, Land, Turn),
        )
    },
)
"""Trajectories by their name in YAML."""


def located(spec: Any, folder: Path) -> Any:
    """Return a trajectory list with its file paths resolved against a folder.

    Args:
        spec: The list; other values are returned unchanged.
        folder: Folder of the scenario file.
    """
    if not isinstance(spec, list | tuple):
        return spec
    return [_located(entry, folder) for entry in spec]


def _located(entry: Any, folder: Path) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    return {
        name: {**parameters, "file": str(folder / Path(parameters["file"]).expanduser())}
        if isinstance(parameters, Mapping) and isinstance(parameters.get("file"), str)
        else parameters
        for name, parameters in entry.items()
    }


def trajectory_from_spec(spec: Any, *, field: str = "trajectory") -> Trajectory:
    """Return a trajectory from an object, a function of time, or a list in a scenario file.

    Each entry of a list is a mapping of one name to its parameters, such as `square: {side: 5.0}`, or the
    name of a part without parameters. `package.module:Class` names a custom trajectory.

    Args:
        spec: The trajectory.
        field: Dotted path of it in its file, for error messages.

    Raises:
        ConfigError: If it is none of these, a name is not known, or a parameter is unknown or not allowed.
    """
    if isinstance(spec, Trajectory):
        return spec
    if callable(spec):
        try:
            return FunctionPath(spec)
        except ConfigError as error:
            raise error.about(field) from None
    if not isinstance(spec, list | tuple) or not spec:
        raise ConfigError(
            "must be a list of parts",
            field=field,
            value=spec,
            remedy="such as [{takeoff: {height: 3.0}}, {circle: {radius: 10.0}}, {land: {}}]",
        )
    parts = [_part(entry, f"{field}.{index}") for index, entry in enumerate(spec)]
    try:
        return Sequence(*parts)
    except ConfigError as error:
        place = (error.field or "").removeprefix("parts")
        raise ConfigError(error.problem, field=field + place, remedy=error.remedy) from None


def trajectories_from_spec(given: Any) -> Trajectory | list[Trajectory]:
    """Return a trajectory from any form of it, or a list of them, one for each copy."""
    parts = given if isinstance(given, list | tuple) else []
    known = [isinstance(one, Trajectory) or callable(one) for one in parts]
    if not any(known):
        return trajectory_from_spec(given)
    allowed = "must be a trajectory or a function of time, as there is one of another copy"
    for k, one in enumerate(parts):
        require(known[k], f"trajectory.{k}", one, allowed)
    return [trajectory_from_spec(one, field=f"trajectory.{k}") for k, one in enumerate(parts)]


def _part(entry: Any, field: str) -> Trajectory:
    if isinstance(entry, str):
        entry = {entry: {}}
    known = ", ".join(sorted(TRAJECTORIES))
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise ConfigError(
            "must be a mapping of one name to its parameters",
            field=field,
            value=entry,
            remedy=f"known are {known}",
        )
    name, parameters = next(iter(entry.items()))
    if name not in TRAJECTORIES and ":" not in str(name):
        remedy = " ".join([*did_you_mean(str(name), TRAJECTORIES), "or package.module:Class"])
        raise ConfigError(f"must be one of {known}", field=field, value=name, remedy=remedy)
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, Mapping):
        raise ConfigError("must be a mapping of parameters", field=f"{field}.{name}", value=parameters)
    return build(Trajectory, TRAJECTORIES, {"model": name, **parameters}, field=f"{field}.{name}")
