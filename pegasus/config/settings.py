"""Lookup of shipped and user files (user files take precedence), and settings of autopilots and panel."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError

from pegasus.base.components import StrictModel
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.base.file_kinds import refuse_other_kinds
from pegasus.base.system import at_home, resource, user_config
from pegasus.base.validation import config_error

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PX4_PREFIX = "gz_"
"""Prefix of the models that PX4 starts in Gazebo."""
"""Loader of YAML; that of libyaml is ten times as fast."""

Instance = Annotated[int, Field(ge=0, lt=250)]


class PX4Settings(StrictModel):
    """Defaults for the options of PX4 backends."""

    directory: Path | None = None
    """PX4-Autopilot, built; relative to the settings file."""
    airframe: str | None = None
    """Airframe that PX4 starts with; that of the vehicle file when None."""
    instance: Instance | None = None
    """Lowest instance number to use; 0 if None."""


class ArduPilotSettings(StrictModel):
    """Defaults for the options of ArduPilot backends."""

    directory: Path | None = None
    """ardupilot, built; relative to the settings file."""
    instance: Instance | None = None
    """Lowest instance number to use; 0 if None."""


class OriginSettings(StrictModel):
    """Geographic origin of worlds in the panel; that of the world when None."""

    latitude: Annotated[float, Field(ge=-90, le=90)] | None = None
    """Latitude [deg]."""
    longitude: Annotated[float, Field(ge=-180, le=180)] | None = None
    """Longitude [deg]."""
    altitude: Annotated[float, Field(ge=-1000, le=85000)] | None = None
    """Altitude above mean sea level [m]."""


class PanelSettings(StrictModel):
    """Initial choices of the panel."""

    origin: OriginSettings = OriginSettings()
    backend: Literal["built-in", "px4", "ardupilot", "ros2"] | None = None
    """Backend that is chosen at first; the built-in controllers when None."""
    controller: str | None = None
    """Controller that is chosen at first."""
    launch: bool = True
    """Start autopilots with the run."""


class Settings(StrictModel):
    """The user's settings file."""

    version: Literal[1] = 1
    """Version of the file's layout."""
    px4: PX4Settings = PX4Settings()
    ardupilot: ArduPilotSettings = ArduPilotSettings()
    panel: PanelSettings = PanelSettings()


def user_settings() -> Settings:
    """Return the user's settings; the defaults without a settings file.

    Raises:
        ConfigError: If the file cannot be read or is invalid.
    """
    path = _settings_file()
    return _settings(read_yaml(path)) if path.exists() else Settings()


def change_settings(section: str, changes: Mapping[str, Any]) -> Path:
    """Change a section of the user's settings file, created if missing, and return the file's path.

    The file is replaced atomically. Comments are lost; a file with comments is copied to `settings.yaml.bak`
    first.

    Args:
        section: Path of the section, such as "px4" or "panel.origin".
        changes: New values by name; None removes a value.

    Raises:
        ConfigError: If a value is not allowed, or the file is broken or cannot be written.
    """
    path = _settings_file()
    content = read_yaml(path) if path.exists() else {}
    _settings(content)
    content = {"version": 1, **content}
    place = content
    for name in section.split("."):
        place[name] = place = dict(place.get(name) or {})
    for name, value in changes.items():
        if value is None:
            place.pop(name, None)
        else:
            place[name] = str(value) if isinstance(value, Path) else value
    _settings(content)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if "#" in before:
            _replace(path.with_name(f"{path.name}.bak"), before)
        _replace(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=path) from None
    return path


def set_aside_broken_settings() -> str | None:
    """Rename an invalid settings file, and return a message with the problem and the new path.

    Return None if the file is valid. A file of a later version of Pegasus is not renamed.

    Raises:
        ConfigError: If it is by a later version, or cannot be renamed.
    """
    path = _settings_file()
    try:
        user_settings()
        return None
    except ConfigError as error:
        if error.field == "version":
            raise
        problem = str(error)
    number = 1
    while (aside := path.with_name(f"{path.name}.broken-{number}")).exists():
        number += 1
    try:
        path.rename(aside)
    except OSError as error:
        raise ConfigError(f"{problem}; cannot be set aside: {error.strerror}") from None
    return f"{problem}; it is set aside as {aside}, and the defaults are used"


def px4_directory(option: str | Path | None = None, *, environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of PX4-Autopilot.

    It is the option, else `px4.directory` of the user's settings, else the environment variable PX4_DIR, else
    ~/PX4-Autopilot.

    Args:
        option: Option `directory` of the backend.
        environment: Environment variables; those of this process when None.

    Raises:
        ConfigError: If the first of these that is given is no folder, or none is.
    """
    return _directory(option, user_settings().px4.directory, "px4", "PX4_DIR", "PX4-Autopilot", environment)


def ardupilot_directory(
    option: str | Path | None = None, *, environment: Mapping[str, str] | None = None
) -> Path:
    """Return the folder of ardupilot.

    It is the option, else `ardupilot.directory` of the user's settings, else the environment variable
    ARDUPILOT_DIR, else ~/ardupilot.

    Args:
        option: Option `directory` of the backend.
        environment: Environment variables; those of this process when None.

    Raises:
        ConfigError: If the first of these that is given is no folder, or none is.
    """
    setting = user_settings().ardupilot.directory
    return _directory(option, setting, "ardupilot", "ARDUPILOT_DIR", "ardupilot", environment)


def places(option: str, setting: str, default: str) -> str:
    """Return the remedy for a missing or invalid value: the three places to set it.

    Args:
        option: Name of the backend's option.
        setting: Path of the field in the user's settings, such as "px4.airframe".
        default: The place that applies if the other two are not set.
    """
    return f"set the backend's option {option}, {setting} in {_settings_file()}, or {default}"


def names(kind: str) -> list[str]:
    """Return the names of the shipped and the user's own files of a kind, sorted.

    Args:
        kind: `vehicles`, `worlds` or `scenarios`.
    """
    return sorted({path.stem for folder in _folders(kind) for path in folder.glob("*.yaml")})


def find(kind: str, name: str | Path, *, other_than: Collection[Path] = ()) -> Path:
    """Return the YAML file of a name, or the path itself when one is given.

    Args:
        kind: `vehicles`, `worlds` or `scenarios`.
        name: Name of a shipped or user's own file, or the path of one (it has a suffix or a separator). A
            vehicle may have PX4's prefix for models of Gazebo, as in gz_x500.
        other_than: Files, resolved, to which a name leads only if there is no other file of this name.

    Raises:
        ConfigError: If there is no such name or file.
    """
    path = Path(name).expanduser()
    singular = kind.removesuffix("s")
    if path.suffix or path.name != str(name):
        if not path.is_file():
            raise ConfigError("no such file", field=singular, value=str(name), remedy="check the path")
        return path
    found = [place for folder in _folders(kind) if (place := folder / f"{name}.yaml").is_file()]
    if not found and kind == "vehicles" and str(name).startswith(_PX4_PREFIX):
        return find(kind, str(name).removeprefix(_PX4_PREFIX), other_than=other_than)
    if found:
        return next((place for place in found if place.resolve() not in other_than), found[0])
    raise ConfigError(
        f"no such {singular}; known are {', '.join(names(kind))}",
        field=singular,
        value=str(name),
        remedy=" ".join(
            [
                *did_you_mean(str(name), names(kind)),
                f"or give the path of a file, or put one into {user_config() / kind}",
            ]
        ),
    )


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping that a YAML file holds; an empty one for a file in which nothing is said.

    Raises:
        ConfigError: If the file cannot be read, is no YAML or of another program, or holds something else.
    """
    refuse_other_kinds(path, "a YAML file of Pegasus")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise ConfigError("is not valid YAML: it is not text", file=path) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"is not valid YAML: {_yaml_problem(error)}", file=path) from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError("must hold a mapping of fields", file=path, remedy="write them as NAME: VALUE")
    return content


def _yaml_problem(error: Exception) -> str:
    """Return the problem and its position, without text of the file, which may be confidential."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return "it holds a value or a character that is not allowed"
    # Scanner and parser name single characters and kinds of tokens; what comes later quotes names.
    known = isinstance(error, yaml.scanner.ScannerError | yaml.parser.ParserError)
    problem = error.problem if known else "a tag, an alias or a key that is not allowed"
    return f"{problem}, line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1}"


def _directory(
    option: str | Path | None,
    setting: Path | None,
    section: str,
    variable: str,
    folder: str,
    environment: Mapping[str, str] | None,
) -> Path:
    """Return the first folder that is given, absolute."""
    variables = os.environ if environment is None else environment
    file, home = _settings_file(), Path.home() / folder
    given: list[tuple[Path | None, str | None, str | Path | None]] = [
        (None, "directory", option),
        (file, f"{section}.directory", setting and file.parent / at_home(setting)),
        (None, variable, variables.get(variable)),
        (None, None, home),
    ]
    source, field, chosen = next((source, field, str(path)) for source, field, path in given if path)
    path = Path.cwd() / at_home(Path(chosen))
    if path.is_dir():
        return path
    raise ConfigError(
        "no such directory" if field else f"{folder} not found",
        file=source,
        field=field,
        value=chosen if field else None,
        remedy=places("directory", f"{section}.directory", f"{variable}, or put it into {home}"),
    )


def _settings(content: Mapping[str, Any]) -> Settings:
    """Return the content of the settings file, checked."""
    file, version = _settings_file(), content.get("version", 1)
    if isinstance(version, int) and version > 1:
        raise ConfigError(
            "is of a later Pegasus; this one reads version 1",
            file=file,
            field="version",
            value=version,
            remedy="update Pegasus, or move the file away",
        )
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        raise config_error(error, Settings).within(file=file) from None


def _replace(path: Path, text: str) -> None:
    """Write a file as a whole, or leave it as it was."""
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _settings_file() -> Path:
    return user_config() / "settings.yaml"


def _folders(kind: str) -> list[Path]:
    return [user_config() / kind, resource("config", kind)]


def find_beside(kind: str, name: str, *, beside: Path, field: str, other_than: Collection[Path] = ()) -> Path:
    """Return the file for a name, or for a path relative to another file.

    Args:
        kind: `vehicles`, `worlds` or `scenarios`.
        name: The name or path.
        beside: File that contains the name.
        field: Field of that file with the name.
        other_than: See `find`.

    Raises:
        ConfigError: If there is no such file.
    """
    path = Path(name).expanduser()
    try:
        return find(kind, beside.parent / path if path.suffix else name, other_than=other_than)
    except ConfigError as error:
        raise ConfigError(error.problem, field=field, value=name, remedy=error.remedy) from None
