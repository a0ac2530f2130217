"""Program of PX4: its build, the start of an instance, and the ports of instances."""

import json
import logging
import os
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pegasus.backends.mavlink.link import TcpServerLink
from pegasus.backends.mavlink.ports import PortKind, name_of, peers_of, require_free, server_at
from pegasus.backends.mavlink.process import AutopilotProcess
from pegasus.backends.px4.log_topics import PROFILE, prepare_folder
from pegasus.base.components import require
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.config.settings import places, px4_directory

_log = logging.getLogger(__name__)


_BUILD = Path("build/px4_sitl_default")
_DEFAULT_RATE = 334.0
"""Highest sensor rate at which PX4's defaults give one answer per sample [Hz]."""
_MAX_RATE = 1000.0
_AIRFRAME = re.compile(r"\d+_(.+)")
_AIRSPEED_COUNT = "SYS_HAS_NUM_ASPD"
_WINGS = re.compile(r"^\s*\. .*rc\.(fw|vtol)_defaults", re.MULTILINE)
_NO_AIRSPEED = re.compile(rf"^\s*param set(-default)? {_AIRSPEED_COUNT} 0", re.MULTILINE)
"""Lines of an airframe's script: defaults of winged airframes, and flight without airspeed sensor."""
_RESERVED = {
    "PX4_SIM_MODEL": "use the option airframe",
    "PX4_SIM_HOSTNAME": "Pegasus is the simulator; use connection for a PX4 elsewhere",
    "PX4_SIM_HOST_ADDR": "Pegasus is the simulator; use connection for a PX4 elsewhere",
    "PX4_SIMULATOR": "Pegasus is the simulator",
}
"""Variables that users cannot set, with the remedy."""
_INHERITED = re.compile(rf"(?!({'|'.join(_RESERVED)}|PX4_SYS_AUTOSTART)$)(ROS|PX4)_")
"""Variables that PX4 inherits; not those of another simulation that may select another airframe."""
_PARAMETER = "PX4_PARAM_"
"""Prefix of variables that set parameters."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPEED_FACTOR, _FASTEST = "PX4_SIM_SPEED_FACTOR", 10.0
"""Variable by which PX4's start script multiplies the timeouts of links, and its maximum here."""

HIL_PORT = 4560
PAYLOAD_PORT = 14280
"""First port of the payload link, used by this backend to fly PX4 and to read its estimate."""
PAYLOAD_STREAMS = (1, 30, 33, 36, 65, 74, 83, 85, 87, 105, 111, 132, 141, 231, 290, 291, 331)
"""Messages that PX4 sends there by default, which exceed its 4000 bytes per second:

SYS_STATUS, ATTITUDE, GLOBAL_POSITION_INT, SERVO_OUTPUT_RAW, RC_CHANNELS, VFR_HUD, ATTITUDE_TARGET,
POSITION_TARGET_LOCAL_NED, POSITION_TARGET_GLOBAL_INT, HIGHRES_IMU, TIMESYNC, DISTANCE_SENSOR, ALTITUDE,
WIND_COV, ESC_INFO, ESC_STATUS, ODOMETRY.
"""
_LINKS, _SHARED, _SEPARATE = "px4-rc.mavlink", "=14549", "=$((14840+px4_instance))"
"""PX4's script of links, and the port to which all instances above 9 send there, with what replaces it."""
_SHARED_FROM = 10
_GIMBAL_PORT, _OFFBOARD_PORT, _GROUND_STATION_PORT = 13030, 14580, 18570
_UDP_PORTS = (PAYLOAD_PORT, _GIMBAL_PORT, _OFFBOARD_PORT, _GROUND_STATION_PORT)
"""First ports that PX4 opens after it has connected to its simulator (px4-rc.mavlink)."""
_COMMAND_SOCKET, _LOCK = "/tmp/px4-sock-{}", "/tmp/px4_lock-{}"


class PX4Program:
    """Built PX4 program for one airframe.

    Args:
        directory: Folder of PX4-Autopilot; see `pegasus.config.settings.px4_directory`.
        airframe: Airframe, as PX4_SIM_MODEL names it.
        parameters: PX4 parameters to set at the start.
        derived: Parameters that Pegasus sets unless they are given, as `parameters` or as variables.
        environment: Environment variables; they override all others.
        sensor_rate: Rate of the IMU [Hz].

    Raises:
        ConfigError: If the folder or the program is missing, PX4 does not know the airframe or a parameter,
            or the rate is too high.
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
        if sensor_rate > _MAX_RATE:
            raise ConfigError(
                f"is more than the {_MAX_RATE:g} Hz that PX4 follows",
                field="sensors.imu.rate_hz",
                value=sensor_rate,
                remedy="lower the IMU's rate",
            )
        inherited = {name: os.environ[name] for name in os.environ if _INHERITED.match(name)}
        self._environment = {**_variables(derived), **inherited, "PX4_SIM_MODEL": airframe}
        if sensor_rate > _DEFAULT_RATE:
            # Otherwise PX4 answers only every second or fourth sample.
            self._environment |= {"PX4_PARAM_IMU_GYRO_RATEMAX": "2000", "PX4_PARAM_IMU_INTEG_RATE": "1000"}
        self._environment |= {**_variables(parameters), **(environment or {})}
        self._logs_few = f"{_PARAMETER}{PROFILE}" not in self._environment
        # With SYS_HAS_NUM_ASPD at 0 PX4 arms and flies without airspeed sensor.
        self.has_wings = parameters.get(_AIRSPEED_COUNT, 1) != 0 and self._has_wings(airframe)
        """Whether the airframe has wings, so that PX4 does not arm it without airspeed sensor."""

    def process(
        self, instance: int, *, directory: Path, log: Path, speed: float | None = 1.0
    ) -> AutopilotProcess:
        """Return the process of an instance, not yet started.

        Args:
            instance: Instance number, which determines ports and system id.
            directory: Working directory.
            log: File for its output.
            speed: Real-time factor of the simulation; None for unlimited.
        """
        # PX4 runs by simulation time, a ground station by wall time.
        factor = _FASTEST if speed is None else min(speed, _FASTEST)
        scaled = {_SPEED_FACTOR: f"{factor:g}"} if factor > 1.0 else {}
        if instance >= _SHARED_FROM:
            scaled |= self._separate_links(directory)
        prepare_folder(directory, self._data, reduced=self._logs_few)
        script = "etc/init.d-posix/rcS"
        arguments = [str(self._binary), str(self._data), "-s", script, "-i", str(instance), "-d"]
        return AutopilotProcess(
            arguments,
            environment={**scaled, **self._environment},
            directory=directory,
            log=log,
            name=f"PX4 {instance}",
        )

    def parameter(self, name: str) -> float:
        """Return the value of a parameter that PX4 is started with.

        Args:
            name: Its name.

        Raises:
            ConfigError: If a variable gives it that is not a number.
        """
        variable = f"{_PARAMETER}{name}"
        value = self._environment[variable]
        try:
            return float(value)
        except ValueError:
            raise ConfigError("must be a number", field=f"environment.{variable}", value=value) from None

    def _separate_links(self, directory: Path) -> dict[str, str]:
        """Write a script of links with a port of the instance's own, and return the PATH to it."""
        original = self._data / "init.d-posix" / _LINKS
        # A folder that cannot be written is reported at the start.
        with suppress(OSError):
            text = original.read_text(encoding="utf-8").replace(_SHARED, _SEPARATE)
            directory.mkdir(parents=True, exist_ok=True)
            (directory / _LINKS).write_text(text, encoding="utf-8")
        return {"PATH": f"{directory.resolve()}:{os.environ.get('PATH', '')}"}

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
                f"PX4 has no such airframe; it has for example {', '.join(alike[:8])}",
                field="airframe",
                value=airframe,
                remedy=places("airframe", "px4.airframe", "the vehicle file's px4.airframe"),
            )


def _variables(parameters: Mapping[str, float | int]) -> dict[str, str]:
    """Return the variables by which PX4's start script sets parameters, after the airframe's own."""
    return {f"{_PARAMETER}{name}": str(value) for name, value in parameters.items()}


def environment_of(values: Mapping[str, str | float]) -> dict[str, str]:
    """Return environment variables for PX4, validated.

    Raises:
        ConfigError: If a name or value is invalid, or the variable is set by Pegasus.
    """
    for name, value in values.items():
        where = f"environment.{name}"
        require(_NAME.fullmatch(name) is not None, where, value, "is not a name of an environment variable")
        valid = isinstance(value, str | int | float) and not isinstance(value, bool)
        require(valid and "\0" not in str(value), where, value, "must be text or a number")
        require(name not in _RESERVED, where, value, "is set by Pegasus", _RESERVED.get(name))
    return {name: str(value) for name, value in values.items()}


def _require_parameters(parameters: Mapping[str, float | int], file: Path) -> None:
    """Raise a ConfigError for a parameter that is not in the list of PX4's build."""
    if not parameters or not file.is_file():
        return
    known = {parameter["name"] for parameter in json.loads(file.read_text(encoding="utf-8"))["parameters"]}
    for name, value in parameters.items():
        if name not in known:
            raise ConfigError(
                "PX4 has no such parameter",
                field=f"parameters.{name}",
                value=value,
                remedy=" ".join(did_you_mean(name, known)) or f"{file} lists them",
            )


def hil_port(instance: int) -> list[tuple[PortKind, int]]:
    """Return the port at which an instance expects its simulator.

    Args:
        instance: PX4's instance number.
    """
    return [("tcp", HIL_PORT + instance)]


def all_ports(instance: int) -> list[tuple[PortKind, int]]:
    """Return every port of an instance that is launched by Pegasus.

    Args:
        instance: PX4's instance number.
    """
    return hil_port(instance) + [("udp", first + instance) for first in _UDP_PORTS]


def require_unused(instance: int) -> None:
    """Require that an instance number is free.

    Args:
        instance: PX4's instance number.

    Raises:
        ConfigError: If a PX4 of this number is running, or one of its UDP ports is in use.
    """
    # A PX4 that waits for its simulator has no port yet, only its command socket.
    if holder := server_at(Path(_COMMAND_SOCKET.format(instance))):
        raise ConfigError(
            f"a PX4 of this number is already running: {holder}",
            field="instance",
            value=instance,
            remedy="end it, or choose another instance",
        )
    for first in _UDP_PORTS:
        require_free(first + instance, "udp")


def listen_for(instances: Iterable[int], *, launched: bool) -> list[TcpServerLink]:
    """Open the ports at which instances look for their simulator, of all or of none.

    Args:
        instances: Their numbers.
        launched: Whether they are launched by Pegasus; others may be on another machine.

    Raises:
        ConfigError: If an instance or port is in use.
    """
    links: list[TcpServerLink] = []
    try:
        for number in instances:
            if launched:
                require_unused(number)
            links.append(TcpServerLink("127.0.0.1" if launched else "0.0.0.0", HIL_PORT + number))
    except ConfigError:
        for link in links:
            link.close()
        raise
    return links


def remove_remains(instance: int) -> None:
    """Remove the files that an ended instance leaves outside of its folder.

    Args:
        instance: PX4's instance number.
    """
    for name in (_COMMAND_SOCKET, _LOCK):
        with suppress(OSError):
            Path(name.format(instance)).unlink()


def reserve(link: TcpServerLink, process: AutopilotProcess) -> None:
    """Reserve a link for the PX4 launched for it; other programs are rejected.

    Args:
        link: The link.
        process: Process of PX4, started.
    """
    link.admits = _admission(process)


def _admission(process: AutopilotProcess) -> Callable[[socket.socket], bool]:
    rejected: set[str] = set()

    def admits(connection: socket.socket) -> bool:
        peers = peers_of(connection)
        if peers is None or any(map(process.owns, peers)):
            return True
        names = (
            ", ".join(map(name_of, sorted(peers))) or "a process that has ended or belongs to another user"
        )
        # Repeated attempts are reported once.
        if names not in rejected:
            rejected.add(names)
            _log.warning(
                "%s: rejected the connection of %s, which this run has not started; "
                "end it, or choose another instance",
                process.name,
                names,
            )
        return False

    return admits
