"""Diagnosis of the installation: packages, autopilots, ROS 2, GPU and ports."""

import importlib.metadata
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from pegasus.base.errors import ConfigError
from pegasus.cli.requirements import Requirement
from pegasus.cli.terminal import console
from pegasus.config.settings import ardupilot_directory, px4_directory
from pegasus.version import __version__
from pegasus_multirotor import other_package

_DISTRIBUTION = "pegasus-multirotor"
_OLDEST, _NEWEST = (3, 11), (3, 13)
# First port of each link; instance N uses the N-th or 10 N-th port after it.
_PORTS = (
    ("PX4 link, TCP 4560", socket.SOCK_STREAM, 4560, "end the PX4 or the simulator that holds it"),
    ("ArduPilot link, UDP 9002", socket.SOCK_DGRAM, 9002, "end the ArduPilot or the simulator that holds it"),
    (
        "ground station, UDP 14550",
        socket.SOCK_DGRAM,
        14550,
        "expected if a ground station runs here",
    ),
)
_TIMEOUT = 10.0


class Status(Enum):
    """Severity of a finding."""

    OK = "ok"
    OPTIONAL = "-"
    """Not found, but required for some features only."""
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """Result of one check."""

    status: Status
    subject: str
    found: str
    remedy: str = ""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print all findings as JSON.")] = False,
) -> None:
    """Report what is installed, and the remedy for what is missing; in a pipe, only what is not found."""
    findings = examine()
    missing = [finding for finding in findings if finding.status is Status.MISSING]
    terminal = console()
    if as_json:
        content = [asdict(finding) | {"status": finding.status.name.lower()} for finding in findings]
        print(json.dumps(content, indent=2))
    elif terminal.is_terminal:
        terminal.print(_table(findings))
    else:
        for finding in missing:
            print(f"missing: {finding.subject}: {finding.found}; {finding.remedy}")
        optional = [finding for finding in findings if finding.status is Status.OPTIONAL]
        for finding in optional:
            print(f"optional: {finding.subject}: {finding.found}; {finding.remedy}")
        lacking = f", without {', '.join(finding.subject for finding in optional)}" if optional else ""
        state = f"{len(missing)} parts are missing" if missing else f"ready to fly{lacking}"
        print(f"Pegasus {__version__}: {state}")
    if missing:
        raise typer.Exit(1)


def _table(findings: Iterable["Finding"]) -> Table:
    """Return findings as a table for the terminal."""
    table = Table("", "check", "result", box=None)
    table.columns[2].overflow = "fold"
    styles = {Status.OK: "green", Status.OPTIONAL: "yellow", Status.MISSING: "red"}
    for finding in findings:
        found = "; ".join(part for part in (finding.found, finding.remedy) if part)
        table.add_row(
            Text(finding.status.value, style=styles[finding.status]), Text(finding.subject), Text(found)
        )
    return table


def examine(environment: Mapping[str, str] | None = None) -> list[Finding]:
    """Check this machine.

    Args:
        environment: Environment variables; those of this process when None.
    """
    environment = os.environ if environment is None else environment
    return [
        Finding(Status.OK, "Pegasus", f"{__version__} ({Path(__file__).parents[1]})"),
        *_name(),
        _python(),
        *_packages(),
        _gpu(),
        _px4(environment),
        _ardupilot(environment),
        _ros2(environment),
        *(_port(*port) for port in _PORTS),
    ]


def _name() -> list[Finding]:
    other = other_package()
    return [] if other is None else [Finding(Status.MISSING, "package name", *other.split("; ", 1))]


def _python() -> Finding:
    version = platform.python_version()
    fits = _OLDEST <= sys.version_info[:2] <= _NEWEST
    remedy = "" if fits else "use Python 3.11, 3.12 or 3.13"
    return Finding(Status.OK if fits else Status.MISSING, "Python", f"{version} ({sys.executable})", remedy)


def _packages() -> list[Finding]:
    try:
        metadata = importlib.metadata.metadata(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return [
            Finding(Status.MISSING, "packages", "Pegasus is not installed", "pip install . in its folder")
        ]
    lines = metadata.get_all("Requires-Dist", [])
    requirements = [item for line in lines if (item := Requirement.parse(line)).applies]
    extras = metadata.get_all("Provides-Extra", [])
    home = "standalone" if find_spec("isaacsim") is None else "isaac"
    found = [_package(item) for item in requirements if item.extra in (None, home)]
    further = sorted({*extras} - {"standalone", "isaac"})
    return found + [_extra(name, [item for item in requirements if item.extra == name]) for name in further]


def _package(requirement: Requirement) -> Finding:
    version = _version(requirement)
    if version is not None and requirement.allows(version):
        return Finding(Status.OK, requirement.name, version)
    needed = f"{requirement.name}{requirement.bounds}"
    found = f"{version}, too old or too new" if version else "not installed"
    return Finding(Status.MISSING, requirement.name, found, f'pip install "{needed}"')


def _extra(name: str, requirements: Iterable[Requirement]) -> Finding:
    unmet = [found for found in map(_package, requirements) if found.status is not Status.OK]
    subject = f"extra [{name}]"
    if not unmet:
        return _photo(subject) if name == "photo" else Finding(Status.OK, subject, "installed")
    missing = ", ".join(f"{finding.subject} {finding.found}" for finding in unmet)
    return Finding(Status.OPTIONAL, subject, missing, f'pip install "{_DISTRIBUTION}[{name}]"')


def _version(requirement: Requirement) -> str | None:
    try:
        return importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _photo(subject: str) -> Finding:
    """Check LLVM, without which the packages of photo mode render nothing."""
    from pegasus.render.photo.renderer import load_mitsuba

    try:
        version = load_mitsuba()[1].detail.llvm_version()
    except ConfigError as error:
        return Finding(Status.OPTIONAL, subject, error.problem, error.remedy or "")
    return Finding(Status.OK, subject, f"installed, LLVM {'.'.join(map(str, version))}")


def _gpu() -> Finding:
    subject = "NVIDIA GPU"
    program = shutil.which("nvidia-smi")
    remedy = "required for Isaac Sim only; the standalone simulator runs on the CPU"
    if program is None:
        return Finding(Status.OPTIONAL, subject, "none found", remedy)
    query = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(Status.OPTIONAL, subject, f"nvidia-smi failed: {error}", "check the driver")
    return Finding(Status.OK, subject, "; ".join(answer.stdout.strip().splitlines()))


def _px4(environment: Mapping[str, str]) -> Finding:
    try:
        source = px4_directory(environment=environment)
    except ConfigError as error:
        return _no_autopilot("PX4", "build px4_sitl_default", error)
    program = source / "build/px4_sitl_default/bin/px4"
    if program.is_file():
        return Finding(Status.OK, "PX4", str(program))
    return Finding(Status.OPTIONAL, "PX4", f"{source}, not built", f"make -C {source} px4_sitl_default")


def _ardupilot(environment: Mapping[str, str]) -> Finding:
    try:
        source = ardupilot_directory(environment=environment)
    except ConfigError as error:
        return _no_autopilot("ArduPilot", "build it with waf for the board sitl", error)
    program = source / "build/sitl/bin/arducopter"
    if program.is_file():
        return Finding(Status.OK, "ArduPilot", str(program))
    remedy = f"in {source}: ./waf configure --board sitl && ./waf copter"
    return Finding(Status.OPTIONAL, "ArduPilot", f"{source}, not built", remedy)


def _no_autopilot(subject: str, build: str, error: ConfigError) -> Finding:
    if error.field is None:
        return Finding(Status.OPTIONAL, subject, "not found", f"clone it and {build}; {error.remedy}")
    return Finding(Status.OPTIONAL, subject, str(error).removesuffix(f"; {error.remedy}"), error.remedy or "")


def _ros2(environment: Mapping[str, str], installed: Path = Path("/opt/ros")) -> Finding:
    distribution = environment.get("ROS_DISTRO")
    package = "rclpy" if distribution else "cyclonedds"
    problem = _driver_problem(package)
    if problem is None and find_spec("rosbags") is None:
        remedy = "pip install pegasus-multirotor[rosbags]"
        return Finding(Status.OPTIONAL, "ROS 2", "the package rosbags is missing", remedy)
    if distribution and problem is None:
        return Finding(Status.OK, "ROS 2", f"{distribution}, rclpy for this Python")
    if distribution:
        remedy = "run Pegasus with the Python that this ROS 2 was built for"
        return Finding(Status.OPTIONAL, "ROS 2", f"{distribution} sourced, but {problem}", remedy)
    if problem is None:
        return Finding(Status.OK, "ROS 2", f"cyclonedds {importlib.metadata.version('cyclonedds')}")
    if setups := sorted(installed.glob("*/setup.bash")):
        return Finding(Status.OPTIONAL, "ROS 2", f"{setups[-1].parent}, not sourced", f"source {setups[-1]}")
    return Finding(
        Status.OPTIONAL,
        "ROS 2",
        "not found",
        "install ROS 2 and source it, or pip install pegasus-multirotor[ros2]",
    )


def _driver_problem(package: str) -> str | None:
    """Return the reason why a driver of ROS 2 cannot be used; None if it can."""
    if find_spec(package) is None:
        return f"no {package} for this Python"
    # Not at the top: it imports all backends, which no completion needs.
    from pegasus.backends.ros2.transport import find_driver

    try:
        find_driver(package)
    except ConfigError as error:
        return f"{package} {error.problem}"
    return None


def _port(subject: str, kind: socket.SocketKind, port: int, remedy: str) -> Finding:
    with socket.socket(socket.AF_INET, kind) as probe:
        if kind is socket.SOCK_STREAM:
            # A recently closed connection does not block the port for a new listener.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return Finding(Status.OPTIONAL, subject, f"not free ({error.strerror})", remedy)
    return Finding(Status.OK, subject, "free")
