"""Ports and the command socket of PX4's instances: search, check, and reserve them."""

import logging
import socket
from collections.abc import Callable
from pathlib import Path

from pegasus.backends.mavlink.link import TcpServerLink
from pegasus.backends.mavlink.ports import PortKind, name_of, peers_of, require_free, server_at
from pegasus.backends.mavlink.process import AutopilotProcess
from pegasus.errors import ConfigError

_log = logging.getLogger(__name__)

HIL_PORT = 4560
PAYLOAD_PORT = 14280
"""First port of the link to a payload, which is used here alone: to fly PX4, and to ask for its estimate."""
PAYLOAD_STREAMS = (1, 30, 33, 36, 65, 74, 83, 85, 87, 105, 111, 132, 141, 231, 290, 291, 331)
"""Messages that PX4 sends there several times a second, which its 4000 bytes a second are too few for:

SYS_STATUS, ATTITUDE, GLOBAL_POSITION_INT, SERVO_OUTPUT_RAW, RC_CHANNELS, VFR_HUD, ATTITUDE_TARGET,
POSITION_TARGET_LOCAL_NED, POSITION_TARGET_GLOBAL_INT, HIGHRES_IMU, TIMESYNC, DISTANCE_SENSOR, ALTITUDE,
WIND_COV, ESC_INFO, ESC_STATUS, ODOMETRY.
"""
_GIMBAL_PORT, _OFFBOARD_PORT, _GROUND_STATION_PORT = 13030, 14580, 18570
_UDP_PORTS = (PAYLOAD_PORT, _GIMBAL_PORT, _OFFBOARD_PORT, _GROUND_STATION_PORT)
"""First ports that PX4 opens once it is connected to its simulator (px4-rc.mavlink)."""
_COMMAND_SOCKET = "/tmp/px4-sock-{}"


def hil_port(instance: int) -> list[tuple[PortKind, int]]:
    """Return the port at which an instance looks for its simulator.

    Args:
        instance: PX4's instance number.
    """
    return [("tcp", HIL_PORT + instance)]


def all_ports(instance: int) -> list[tuple[PortKind, int]]:
    """Return every port that belongs to an instance which is started here.

    Args:
        instance: PX4's instance number.
    """
    return hil_port(instance) + [("udp", first + instance) for first in _UDP_PORTS]


def require_unused(instance: int) -> None:
    """Check that PX4 can be started as an instance.

    Args:
        instance: PX4's instance number.

    Raises:
        ConfigError: If a PX4 with this number runs, or one of its UDP ports is in use.
    """
    # A PX4 that waits for its simulator has no port yet, only the socket that takes its commands.
    if holder := server_at(Path(_COMMAND_SOCKET.format(instance))):
        raise ConfigError(
            f"a PX4 of this number runs already: {holder}",
            field="instance",
            value=instance,
            remedy="end it, or choose another instance",
        )
    for first in _UDP_PORTS:
        require_free(first + instance, "udp")


def reserve(link: TcpServerLink, process: AutopilotProcess) -> None:
    """Keep a link for the PX4 that was started for it: any other program that connects is refused.

    Args:
        link: The link at which PX4 is waited for.
        process: PX4's process, started.
    """
    link.admits = _doorkeeper(process)


def _doorkeeper(process: AutopilotProcess) -> Callable[[socket.socket], bool]:
    refused: set[str] = set()

    def admits(connection: socket.socket) -> bool:
        peers = peers_of(connection)
        if peers is None or any(map(process.owns, peers)):
            return True
        names = ", ".join(map(name_of, sorted(peers))) or "a process that has ended or is another user's"
        # One that tries again and again is named once.
        if names not in refused:
            refused.add(names)
            _log.warning(
                "%s: refused the connection of %s, which this run has not started; "
                "end it, or choose another instance",
                process.name,
                names,
            )
        return False

    return admits
