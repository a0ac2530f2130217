"""Available worlds, vehicles and backends, with thumbnails, or the reason why one cannot be used."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pegasus.backends import BACKENDS
from pegasus.backends.ardupilot.program import Program
from pegasus.backends.ros2.transport import find_driver
from pegasus.base.errors import ConfigError
from pegasus.base.system import resource, user_config
from pegasus.config import settings
from pegasus.config.files import load_vehicle, load_world
from pegasus.config.scenario import VehicleSpec, WorldSpec
from pegasus.control import Controller, PlaneController

BUILT_IN, PX4, ARDUPILOT, ROS2 = "built-in", "px4", "ardupilot", "ros2"

_PX4_PROGRAM = Path("build/px4_sitl_default/bin/px4")


@dataclass(frozen=True)
class Choice:
    """Entry of a selection list."""

    name: str
    description: str = ""
    thumbnail: Path | None = None
    """Thumbnail file, if any."""
    reason: str = ""
    """Reason why it cannot be used; empty if it can."""
    remedy: str = ""
    """Remedy for that reason."""

    @property
    def available(self) -> bool:
        """Whether it can be used."""
        return not self.reason


def world_choices() -> list[Choice]:
    """Return the shipped and the user's worlds; those with an invalid file carry the reason."""
    return [_choice("worlds", name, load_world) for name in settings.names("worlds")]


def vehicle_choices() -> list[Choice]:
    """Return the shipped and the user's vehicles; those with an invalid file carry the reason."""
    return [_choice("vehicles", name, load_vehicle) for name in settings.names("vehicles")]


def backend_choices(directory: str | None = None, *, chosen: str = "") -> list[Choice]:
    """Return all backends; those that are not installed carry reason and remedy.

    Args:
        directory: Folder of the chosen autopilot, if given.
        chosen: Name of that autopilot.
    """
    return [
        Choice(BUILT_IN, "Hover, waypoints and trajectories with a controller of Pegasus."),
        _backend(PX4, "PX4 in lockstep.", lambda: _find_px4(directory if chosen == PX4 else None)),
        _backend(
            ARDUPILOT,
            "ArduPilot in lockstep.",
            lambda: Program.find(directory if chosen == ARDUPILOT else None),
        ),
        _backend(ROS2, "ROS 2 topics.", find_driver),
    ]


def controller_names() -> tuple[str, ...]:
    """Return the names of the backends that are controllers of Pegasus or of installed packages."""
    names = []
    for name in BACKENDS:
        try:
            kind = BACKENDS[name]
        except ConfigError:  # A broken package must not hide the others; `pegasus list backends` reports it.
            continue
        if issubclass(kind, (Controller, PlaneController)):
            names.append(name)
    return tuple(names)


def thumbnail(kind: str, name: str) -> Path | None:
    """Return the thumbnail of a world or vehicle: next to the user's file, or the shipped one.

    Args:
        kind: `worlds` or `vehicles`.
        name: Its name.
    """
    places = [user_config() / kind, resource("data", "thumbnails", kind)]
    return next((p for place in places if (p := place / f"{name}.jpg").is_file()), None)


def _choice(
    kind: str, name: str, load: Callable[[str], tuple[WorldSpec | VehicleSpec, Path | None]]
) -> Choice:
    try:
        return Choice(name, load(name)[0].description, thumbnail(kind, name))
    except ConfigError as error:
        return Choice(
            name, "", thumbnail(kind, name), reason=str(error.without_content()), remedy="fix the file"
        )


def _backend(name: str, description: str, find: Callable[[], object]) -> Choice:
    try:
        find()
    except ConfigError as error:
        problem = str(error).removesuffix(f"; {error.remedy}")
        return Choice(name, description, None, reason=problem, remedy=error.remedy or "")
    return Choice(name, description)


def _find_px4(directory: str | None) -> None:
    folder = settings.px4_directory(directory)
    if not (folder / _PX4_PROGRAM).is_file():
        raise ConfigError(
            "PX4 is not built there",
            field="directory",
            value=str(folder),
            remedy=f"make -C {folder} px4_sitl_default",
        )
