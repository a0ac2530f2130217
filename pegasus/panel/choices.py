"""What can be chosen: worlds, vehicles and backends, with pictures, and with the reason where one cannot."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pegasus import folders, settings
from pegasus.backends.mavlink.ardupilot_program import Program
from pegasus.errors import ConfigError
from pegasus.scenario import VehicleSpec, WorldSpec, load_vehicle, load_world

BUILT_IN, PX4, ARDUPILOT, ROS2 = "built-in", "px4", "ardupilot", "ros2"

_PX4_PROGRAM = Path("build/px4_sitl_default/bin/px4")
_USD = {".usd", ".usda", ".usdc", ".usdz"}


@dataclass(frozen=True)
class Choice:
    """Something that can be chosen, or why it cannot."""

    name: str
    description: str = ""
    thumbnail: Path | None = None
    """Its picture; None where there is none."""
    reason: str = ""
    """Why it cannot be used; empty where it can."""
    remedy: str = ""
    """What to do about that."""

    @property
    def available(self) -> bool:
        """Whether it can be used."""
        return not self.reason


def world_choices() -> list[Choice]:
    """Return the shipped and the user's own worlds; one whose file is broken says so."""
    return [_choice("worlds", name, _world_description) for name in settings.names("worlds")]


def vehicle_choices() -> list[Choice]:
    """Return the shipped and the user's own vehicles; one whose file is broken says so."""
    return [_choice("vehicles", name, _vehicle_description) for name in settings.names("vehicles")]


def backend_choices(directory: str | None = None, *, chosen: str = "") -> list[Choice]:
    """Return all backends, those that are not installed with the reason and the remedy.

    Args:
        directory: Folder of the chosen autopilot where one is given.
        chosen: Which autopilot that folder is of.
    """
    return [
        Choice(BUILT_IN, "Hover, go to points and fly trajectories by a controller of Pegasus."),
        _backend(PX4, "PX4 in lockstep.", lambda: _find_px4(directory if chosen == PX4 else None)),
        _backend(
            ARDUPILOT,
            "ArduPilot in lockstep.",
            lambda: Program.find(directory if chosen == ARDUPILOT else None),
        ),
        _backend(ROS2, "ROS 2 topics.", _find_ros2),
    ]


def thumbnail(kind: str, name: str) -> Path | None:
    """Return the picture of a world or vehicle: beside the user's own file, or the shipped one.

    Args:
        kind: `worlds` or `vehicles`.
        name: Its name.
    """
    places = [folders.user_config() / kind, folders.resource("data", "thumbnails", kind)]
    return next((p for place in places if (p := place / f"{name}.jpg").is_file()), None)


def describe_world(name: str | Path) -> tuple[WorldSpec, Path | None]:
    """Return the description of a world, and the YAML file that it came from.

    Args:
        name: Name of a world, or the path of a YAML or USD file.

    Raises:
        ConfigError: If there is none, or its file is wrong.
    """
    path = Path(name).expanduser()
    if path.suffix.lower() not in _USD:
        return load_world(name)
    if not path.is_file():
        raise ConfigError("no such file", field="world", value=str(name), remedy="check the path")
    return WorldSpec(name=path.stem, usd=path.resolve()), None


def _world_description(name: str) -> str:
    spec: WorldSpec | VehicleSpec = load_world(name)[0]
    return spec.description


def _vehicle_description(name: str) -> str:
    return load_vehicle(name)[0].description


def _choice(kind: str, name: str, describe: Callable[[str], str]) -> Choice:
    try:
        return Choice(name, describe(name), thumbnail(kind, name))
    except ConfigError as error:
        return Choice(
            name, "", thumbnail(kind, name), reason=str(error.without_content()), remedy="fix its file"
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


def _find_ros2() -> None:
    if find_spec("rclpy") is None and find_spec("cyclonedds") is None:
        raise ConfigError(
            "neither rclpy nor cyclonedds is installed",
            remedy="pip install 'pegasus-multirotor[ros2]', or source a ROS 2 installation",
        )
