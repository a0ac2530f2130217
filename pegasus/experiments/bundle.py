"""Bundles that repeat a failed flight: its scenario, versions and verdicts, and the state at the failure."""

import json
import platform
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError
from pegasus.config import ScenarioSpec
from pegasus.config.files import yaml_text
from pegasus.core.simulation import Simulation
from pegasus.recording import Verdict
from pegasus.version import __version__

BUNDLE = "repro.zip"
SCENARIO, _CONTENT = "scenario.yaml", "bundle.json"
_STATE = ("position", "orientation", "velocity", "angular_velocity")
_PACKAGES = ("numpy", "warp-lang", "mujoco", "usd-core")


@dataclass(frozen=True)
class Failure:
    """First failure of a flight."""

    step: int
    """Number of steps before it."""
    time: float
    """Its simulation time [s]."""
    state: dict[str, dict[str, list[Any]]]
    """State of each vehicle then: fields of `VehicleState`, all copies."""


@dataclass(frozen=True)
class Bundle:
    """Content of a bundle."""

    scenario: str
    """The scenario with all defaults, as YAML."""
    file: str
    """File that the scenario was read from, in whose folder its relative paths are found."""
    failure: Failure
    verdicts: list[dict[str, Any]]
    """Fields of the verdicts that failed."""
    versions: dict[str, str]
    """Versions of Pegasus, Python, packages, and the processor."""


def failure_of(simulation: Simulation) -> Failure:
    """Return the present state of a simulation as that of a failure."""
    state = {
        vehicle.name: {name: getattr(vehicle.state, name).tolist() for name in _STATE}
        for vehicle in simulation.vehicles
    }
    return Failure(simulation.step_count, simulation.time, state)


def write_bundle(
    path: Path, spec: ScenarioSpec, file: Path, failure: Failure, verdicts: Sequence[Verdict]
) -> None:
    """Write the bundle of a failed flight.

    Args:
        path: The file, `.zip`.
        spec: The scenario.
        file: File that it was read from.
        failure: Its first failure.
        verdicts: The verdicts that failed.

    Raises:
        ConfigError: If it cannot be written.
    """
    bundle = Bundle(
        scenario=yaml_text(spec.model_dump(mode="json")),
        file=str(file),
        failure=failure,
        verdicts=[verdict.to_json() for verdict in verdicts],
        versions=versions(),
    )
    content = asdict(bundle)
    scenario = content.pop("scenario")
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(SCENARIO, scenario)
            archive.writestr(_CONTENT, json.dumps(content, indent=2))
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=path) from None


def read_bundle(path: str | Path) -> Bundle:
    """Return the content of a bundle.

    Args:
        path: The file, or the folder of a run that has one.

    Raises:
        ConfigError: If it cannot be read, or is no bundle.
    """
    file = Path(path).expanduser()
    file = file / BUNDLE if file.is_dir() else file
    remedy = f"give {BUNDLE} of a run that failed, or its folder"
    try:
        with zipfile.ZipFile(file) as archive:
            scenario = archive.read(SCENARIO).decode()
            content = json.loads(archive.read(_CONTENT))
        return Bundle(scenario=scenario, **{**content, "failure": Failure(**content["failure"])})
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file, remedy=remedy) from None
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError):
        raise ConfigError("is not a bundle of a failed run", file=file, remedy=remedy) from None


def versions() -> dict[str, str]:
    """Return the versions of Pegasus, Python and packages here, and the kind of processor."""
    found = {"pegasus": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
