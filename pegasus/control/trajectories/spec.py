"""Trajectories as scenario files describe them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pegasus.components import build
from pegasus.control.trajectories.csv_file import Csv
from pegasus.control.trajectories.maneuvers import Hold, Idle, Land, Takeoff
from pegasus.control.trajectories.minimum_snap import MinimumSnap
from pegasus.control.trajectories.race_line import RaceLine
from pegasus.control.trajectories.relay import Relay
from pegasus.control.trajectories.sequence import Sequence
from pegasus.control.trajectories.shapes import Circle, Lemniscate, Square
from pegasus.control.trajectories.trajectory import Trajectory
from pegasus.control.trajectories.waypoints import Waypoints
from pegasus.errors import ConfigError

TRAJECTORIES: dict[str, type[Trajectory]] = {
    kind.name: kind
    for kind in (
        *(Idle, Takeoff, Hold, Waypoints, MinimumSnap, RaceLine, Relay, Square, Circle, Lemniscate),
        *(Csv, Land),
    )
}
"""Shipped trajectories by their name in YAML."""


def located(spec: Any, folder: Path) -> Any:
    """Return the list that a scenario file holds, with the paths in it made relative to a folder.

    Args:
        spec: The list; anything else is returned as it is.
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
    """Return the sequence that a list in a scenario file describes.

    Each entry is a mapping of one name to its parameters, such as `square: {side: 5.0, speed: 2.0}`, or the
    bare name of a part without parameters. `package.module:Class` names a user's own.

    Args:
        spec: The list.
        field: Dotted path of the list in its file, for error messages.

    Raises:
        ConfigError: If it is no list, a name is not known, or a parameter is unknown or not allowed.
    """
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
        raise ConfigError(
            f"must be one of {known}", field=field, value=name, remedy="or package.module:Class"
        )
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, Mapping):
        raise ConfigError("must be a mapping of parameters", field=f"{field}.{name}", value=parameters)
    return build(Trajectory, TRAJECTORIES, {"model": name, **parameters}, field=f"{field}.{name}")
