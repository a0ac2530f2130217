"""PX4's program on this machine: where it is, and how an instance of it is started."""

import difflib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from pegasus.backends.mavlink.process import AutopilotProcess
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.settings import places, px4_directory

_BUILD = Path("build/px4_sitl_default")
_DEFAULT_RATE = 334.0
"""Sensor rate up to which PX4's own settings give one answer per sample [Hz]."""
_HIGHEST_RATE = 1000.0
_AIRFRAME = re.compile(r"\d+_(.+)")
_AIRSPEED_COUNT = "SYS_HAS_NUM_ASPD"
_WINGS = re.compile(r"^\s*\. .*rc\.(fw|vtol)_defaults", re.MULTILINE)
_NO_AIRSPEED = re.compile(rf"^\s*param set(-default)? {_AIRSPEED_COUNT} 0", re.MULTILINE)
"""Lines of an airframe's script: the defaults of what has wings, and that no airspeed sensor is needed."""
_DECIDED_HERE = {
    "PX4_SIM_MODEL": "use the option airframe",
    "PX4_SIM_HOSTNAME": "Pegasus is the simulator; use connection for a PX4 elsewhere",
    "PX4_SIM_HOST_ADDR": "Pegasus is the simulator; use connection for a PX4 elsewhere",
    "PX4_SIMULATOR": "Pegasus is the simulator",
}
"""Variables that a user cannot set, and what to do instead."""
_INHERITED = re.compile(rf"(?!({'|'.join(_DECIDED_HERE)}|PX4_SYS_AUTOSTART)$)(ROS|PX4)_")
"""Variables of this process that PX4 gets as well; one for another simulation may select another airframe."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPEED_FACTOR, _FASTEST = "PX4_SIM_SPEED_FACTOR", 10.0
"""Variable by which PX4's start script multiplies the time-outs of links, and the most that it is set to."""


class PX4Program:
    """PX4 as it was built, for one airframe.

    Args:
        directory: Folder of PX4-Autopilot; see `pegasus.settings.px4_directory`.
        airframe: Airframe, as PX4_SIM_MODEL names it.
        parameters: PX4 parameters to set at the start.
        derived: Parameters that follow from the vehicle, which `parameters` override.
        environment: Environment variables, which override all others.
        sensor_rate: Samples of the IMU per second [Hz].

    Raises:
        ConfigError: If the folder or the program is not there, or PX4 does not know the airframe or a
            parameter, or cannot follow the rate.
    """

    def __init__(
        self,
        directory: str | Path | None,
        *,
        airframe: str,
        parameters: Mapping[str, float | int],
        derived: Mapping[str, float | int],
        sensor_rate: float,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        folder = px4_directory(directory)
        self._binary, self._data = folder / _BUILD / "bin" / "px4", folder / _BUILD / "etc"
        if not self._binary.is_file():
            raise ConfigError(
                "PX4 is not built there",
                field="directory",
                value=str(folder),
                remedy=f"make -C {folder} px4_sitl_default",
            )
        self._require_airframe(airframe)
        _require_parameters(parameters, folder / _BUILD / "parameters.json")
        if sensor_rate > _HIGHEST_RATE:
            raise ConfigError(
                f"is more than the {_HIGHEST_RATE:g} Hz that PX4 follows",
                field="sensors.imu.rate_hz",
                value=sensor_rate,
                remedy="lower the IMU's rate",
            )
        inherited = {name: os.environ[name] for name in os.environ if _INHERITED.match(name)}
        self._environment = {**inherited, "PX4_SIM_MODEL": airframe}
        if sensor_rate > _DEFAULT_RATE:
            # Else PX4 answers every second or fourth sample only.
            self._environment |= {"PX4_PARAM_IMU_GYRO_RATEMAX": "2000", "PX4_PARAM_IMU_INTEG_RATE": "1000"}
        given = {**derived, **parameters}
        self._environment |= {f"PX4_PARAM_{name}": str(value) for name, value in given.items()}
        self._environment |= environment or {}
        # SYS_HAS_NUM_ASPD at 0 tells PX4 to arm and fly without.
        self.has_wings = given.get(_AIRSPEED_COUNT, 1) != 0 and self._has_wings(airframe)
        """True for an airframe with wings, which PX4 does not arm without an airspeed sensor."""

    def process(
        self, instance: int, *, directory: Path, log: Path, speed: float | None = 1.0
    ) -> AutopilotProcess:
        """Return an instance, not yet started.

        Args:
            instance: Its number, from which its ports and its system id follow.
            directory: Its working directory.
            log: File that it prints to.
            speed: Times real time at which the simulation is held; None for as fast as it goes.
        """
        # PX4's clock is the simulation's, a ground station's that on the wall.
        factor = _FASTEST if speed is None else min(speed, _FASTEST)
        scaled = {_SPEED_FACTOR: f"{factor:g}"} if factor > 1.0 else {}
        script = "etc/init.d-posix/rcS"
        arguments = [str(self._binary), str(self._data), "-s", script, "-i", str(instance), "-d"]
        return AutopilotProcess(
            arguments,
            environment={**scaled, **self._environment},
            directory=directory,
            log=log,
            name=f"PX4 {instance}",
        )

    def _has_wings(self, airframe: str) -> bool:
        folder = self._data / "init.d-posix" / "airframes"
        for path in folder.glob(f"*_{airframe}"):
            if (m := _AIRFRAME.fullmatch(path.name)) and m.group(1) == airframe:
                text = path.read_text(encoding="utf-8", errors="replace")
                return _WINGS.search(text) is not None and _NO_AIRSPEED.search(text) is None
        return False

    def _require_airframe(self, airframe: str) -> None:
        folder = self._data / "init.d-posix" / "airframes"
        known = {m.group(1) for path in folder.glob("*_*") if (m := _AIRFRAME.fullmatch(path.name))}
        if known and airframe not in known:
            alike = sorted(name for name in known if airframe.split("_")[-1] in name) or sorted(known)
            raise ConfigError(
                f"PX4 has no such airframe; some that it has are {', '.join(alike[:8])}",
                field="airframe",
                value=airframe,
                remedy=places("airframe", "px4.airframe", "the vehicle file's px4.airframe"),
            )


def environment_of(values: Mapping[str, str | float]) -> dict[str, str]:
    """Return environment variables for PX4, checked.

    Args:
        values: Values by name.

    Raises:
        ConfigError: If one is no variable, or is decided by Pegasus.
    """
    for name, value in values.items():
        where = f"environment.{name}"
        require(_NAME.fullmatch(name) is not None, where, value, "is no name of an environment variable")
        valid = isinstance(value, str | int | float) and not isinstance(value, bool)
        require(valid and "\0" not in str(value), where, value, "must be text or a number")
        require(name not in _DECIDED_HERE, where, value, "is set by Pegasus", _DECIDED_HERE.get(name))
    return {name: str(value) for name, value in values.items()}


def _require_parameters(parameters: Mapping[str, float | int], file: Path) -> None:
    """Raise a ConfigError for a parameter that PX4 would pass over in its log; its build lists them."""
    if not parameters or not file.is_file():
        return
    known = {parameter["name"] for parameter in json.loads(file.read_text(encoding="utf-8"))["parameters"]}
    for name, value in parameters.items():
        if name not in known:
            alike = difflib.get_close_matches(name, known, n=1)
            raise ConfigError(
                "PX4 has no such parameter",
                field=f"parameters.{name}",
                value=value,
                remedy=f"did you mean {alike[0]}?" if alike else f"{file} lists them",
            )
