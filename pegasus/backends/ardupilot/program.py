"""Program of ArduPilot: its build, command line, and parameters."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pegasus.backends.ardupilot.json_fdm import MAX_RANGES
from pegasus.backends.mavlink.airframe import orientation_of
from pegasus.base.errors import ConfigError
from pegasus.config.settings import ardupilot_directory
from pegasus.environment.geodesy import Geodetic
from pegasus.sensors import Airspeed, Rangefinder, Sensor

PARAMETER_FILE = "own.parm"
"""Name of an instance's parameter file in its working directory."""

_BINARIES = Path("build", "sitl", "bin")
_DEFAULTS = {
    "copter": Path("Tools", "autotest", "default_params", "copter.parm"),
    "plane": Path("Tools", "autotest", "models", "plane.parm"),
}
"""Default parameters of ArduPilot's simulated vehicles."""
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,15}")
_LOOP_RATES = {"copter": 400.0, "plane": 50.0}
"""Default of SCHED_LOOP_RATE of each kind of vehicle [Hz]."""
_MIN_LOOP_RATE = 50
"""Minimum of SCHED_LOOP_RATE [Hz]."""
_FROM_SIMULATOR = 100
"""RNGFND1_TYPE and ARSPD_TYPE of sensors simulated outside of ArduPilot."""
_MIN_RATIO = 1.8
"""Minimum number of physics steps per cycle of the main loop for arming."""


@dataclass(frozen=True)
class Program:
    """ArduCopter or ArduPlane, built for simulation."""

    binary: Path
    """The program."""
    defaults: Path
    """Default parameters of ArduPilot's simulated vehicles of its kind."""

    @classmethod
    def find(cls, directory: str | Path | None = None, vehicle: str = "copter") -> "Program":
        """Return the program of a source directory.

        Args:
            directory: ArduPilot's source directory; found by `ardupilot_directory` if None.
            vehicle: Kind of vehicle, copter or plane.

        Raises:
            ConfigError: If there is no such directory, or the program is not built in it.
        """
        folder = ardupilot_directory(directory).resolve()
        binary, defaults = _BINARIES / f"ardu{vehicle}", _DEFAULTS[vehicle]
        remedies = {
            binary: f"build it there: ./waf configure --board sitl && ./waf {vehicle}",
            defaults: "give ArduPilot's source directory",
        }
        for file, remedy in remedies.items():
            if not (folder / file).is_file():
                raise ConfigError(f"contains no {file}", field="directory", value=str(folder), remedy=remedy)
        return cls(folder / binary, folder / defaults)

    def arguments(
        self,
        instance: int,
        *,
        home: str,
        speedup: float = 1.0,
        parameter_files: Sequence[Path] = (),
        wipe: bool = True,
    ) -> list[str]:
        """Return the command that starts an instance in its working directory.

        Args:
            instance: Instance number.
            home: Origin of positions and initial heading: latitude, longitude [deg], altitude [m], heading
                clockwise from north [deg], separated by commas.
            speedup: Speed-up option of ArduPilot.
            parameter_files: Parameter files between its defaults and `PARAMETER_FILE`.
            wipe: Whether to delete parameters of an earlier run in the working directory.

        Raises:
            ConfigError: If the path of a file contains a comma, ArduPilot's separator.
        """
        files = [str(self.defaults), *(str(file.resolve()) for file in parameter_files), PARAMETER_FILE]
        for file in files:
            if "," in file:
                raise ConfigError(
                    "must not contain a comma", field="parameter file", value=file, remedy="move it"
                )
        return [
            *(str(self.binary), "--model", "JSON:127.0.0.1", "--speedup", f"{speedup:g}"),
            *("-I", str(instance), "--sysid", str(instance + 1), "--home", home),
            # Its default waits for a MAVLink client before the first servo packet.
            *("--defaults", ",".join(files), "--serial0", "tcp:0"),
            *(["-w"] if wipe else []),
        ]


def read_parameters(file: Path) -> dict[str, float]:
    """Return the parameters of a file with lines NAME VALUE or NAME,VALUE.

    Raises:
        ConfigError: If it cannot be read, or a line has another form.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not text"
        raise ConfigError(
            f"cannot be read: {reason}", field="parameter_files", value=str(file), remedy="correct the path"
        ) from None
    parameters = {}
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words or words[0].startswith("@"):
            continue
        try:
            parameters[words[0]] = float(words[1])
        except (IndexError, ValueError):
            raise ConfigError("must be NAME VALUE", file=file, field=f"line {number}") from None
    return parameters


def format_parameters(parameters: Mapping[str, float]) -> str:
    """Return parameters as the text of a parameter file.

    Raises:
        ConfigError: If a name or a value is not valid for ArduPilot.
    """
    for name, value in parameters.items():
        if not _NAME.fullmatch(name):
            raise ConfigError(
                "must be up to 16 capital letters, digits and underscores", field="parameters", value=name
            )
        if not math.isfinite(value):
            raise ConfigError("must be finite", field=f"parameters.{name}", value=value)
    return "".join(f"{name} {value:.9g}\n" for name, value in parameters.items())


def sensor_parameters(sensors: Collection[Sensor]) -> dict[str, float]:
    """Return the parameters that enable simulated rangefinders and an airspeed sensor.

    Args:
        sensors: Sensors of the vehicle, in its order.
    """
    rangefinders = [sensor for sensor in sensors if isinstance(sensor, Rangefinder)]
    parameters: dict[str, float] = {}
    for i, sensor in enumerate(rangefinders[:MAX_RANGES], start=1):
        parameters |= {
            f"RNGFND{i}_TYPE": _FROM_SIMULATOR,
            # The numbers are those of MAV_SENSOR_ORIENTATION.
            f"RNGFND{i}_ORIENT": orientation_of(sensor.direction),
            f"RNGFND{i}_MIN": sensor.min_range,
            f"RNGFND{i}_MAX": sensor.max_range,
        }
    if any(isinstance(sensor, Airspeed) for sensor in sensors):
        parameters["ARSPD_TYPE"] = _FROM_SIMULATOR
    return parameters


def require_enough_steps(rate: float, parameters: Mapping[str, float], vehicle: str = "copter") -> None:
    """Raise a ConfigError if the physics rate is too low for ArduPilot to arm.

    Args:
        rate: Rate of the physics [Hz].
        parameters: ArduPilot parameters by name.
        vehicle: Kind of vehicle, copter or plane.
    """
    loop_rate = parameters.get("SCHED_LOOP_RATE", _LOOP_RATES[vehicle])
    if rate >= _MIN_RATIO * loop_rate:
        return
    slower = highest_loop_rate(rate)
    alternative = f", or set ArduPilot's parameter SCHED_LOOP_RATE to {slower} or less"
    raise ConfigError(
        f"ArduPilot, whose main loop runs at {loop_rate:g} Hz, does not arm with physics below "
        f"{_MIN_RATIO * loop_rate:g} Hz",
        field="rate",
        value=rate,
        remedy="raise it" + (alternative if slower >= _MIN_LOOP_RATE else ""),
    )


def highest_loop_rate(rate: float) -> int:
    """Return the highest SCHED_LOOP_RATE [Hz] with which ArduPilot arms at a physics rate [Hz]."""
    return min(math.floor(rate / _MIN_RATIO), round(_LOOP_RATES["copter"]))


def start_place(origin: Geodetic, yaw: float) -> str:
    """Return origin and initial heading in the format of ArduPilot's --home.

    Args:
        origin: Geographic origin of the world.
        yaw: Heading, counter-clockwise from east [rad].
    """
    heading = (90.0 - math.degrees(yaw)) % 360.0
    return f"{origin.latitude:.9f},{origin.longitude:.9f},{origin.altitude:.3f},{heading:.3f}"
