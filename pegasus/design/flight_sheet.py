"""Flight performance of a vehicle: hover, or stall, trim and modes of an aircraft."""

import math

from pegasus.core.aircraft import Aircraft
from pegasus.core.flight_modes import linearized
from pegasus.core.trim import Trim, stall_speed, trim

_CRUISE = 1.5
"""Airspeed in cruise by the stall speed."""


def flight_sheet(vehicle: Aircraft) -> list[tuple[str, str]]:
    """Return the performance of a vehicle in steady flight, as labels and values.

    Args:
        vehicle: The vehicle.

    Raises:
        ConfigError: If it cannot hover, or an aircraft cannot fly level at 1.5 times its stall speed.
    """
    if not vehicle.machines[0].surfaces:
        return [("hover", _commands(vehicle, trim(vehicle, 0.0)))]
    stall = stall_speed(vehicle)
    if stall is None:
        return [("stall", "none up to 45 degrees")]
    cruise = trim(vehicle, _CRUISE * stall)
    angles = {"angle of attack": cruise.angle_of_attack, "sideslip": cruise.sideslip, "roll": cruise.roll}
    figures = ", ".join(f"{name} {_rounded(math.degrees(angle), 2)}" for name, angle in angles.items())
    modes = linearized(vehicle, cruise).modes
    return [
        ("stall speed", f"{stall:.2f} m/s"),
        ("trim in cruise", f"{cruise.airspeed:.2f} m/s, {figures} degrees"),
        ("commands in cruise", _commands(vehicle, cruise)),
        *((f"mode {k + 1}", str(mode)) for k, mode in enumerate(modes)),
    ]


def _commands(vehicle: Aircraft, found: Trim) -> str:
    """Return the commands of a trim with their channels."""
    pairs = zip(vehicle.channels, found.command.tolist(), strict=True)
    return ", ".join(
        f"{channel.name} {_rounded(value, 4)} {channel.unit}".strip() for channel, value in pairs
    )


def _rounded(value: float, digits: int) -> str:
    """Return a number without a sign of zero."""
    return f"{round(value, digits) + 0.0:g}"
