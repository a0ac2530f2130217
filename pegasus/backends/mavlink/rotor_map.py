"""How an autopilot's outputs become rotor speeds."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pegasus.errors import ConfigError
from pegasus.scenario import ActuatorMap

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor


class RotorMap(NamedTuple):
    """How outputs become rotor speeds."""

    channels: Sequence[int]
    """Output of each rotor."""
    scale: Sequence[float]
    """Rotor speed per unit of output [rad/s]."""
    offset: Sequence[float]
    """Rotor speed at an output just above zero [rad/s]."""
    reversible: bool
    """Whether negative outputs turn the rotors backwards."""

    def speeds(self, controls: Sequence[float]) -> list[float]:
        """Return the rotor speeds of armed outputs [rad/s]; for an output that is no number the rotor rests.

        Args:
            controls: The autopilot's outputs.
        """
        speeds = []
        for channel, scale, offset in zip(self.channels, self.scale, self.offset, strict=True):
            u = controls[channel]
            if not math.isfinite(u):
                speeds.append(0.0)
            elif self.reversible:
                speeds.append(math.copysign(min(abs(u), 1.0) * scale + offset, u) if u else 0.0)
            else:
                speeds.append(min(max(u, 0.0), 1.0) * scale + offset)
        return speeds


def rotor_map(actuators: ActuatorMap, vehicle: "Multirotor", *, output_count: int, field: str) -> RotorMap:
    """Return how an autopilot's outputs become rotor speeds.

    Args:
        actuators: What the vehicle's file says.
        vehicle: The vehicle.
        output_count: How many outputs the autopilot has.
        field: Section of the file, for error messages.

    Raises:
        ConfigError: If a list does not have one item per rotor, an output is none of the autopilot's, or
            there is no largest speed to scale by.
    """
    count, motor = vehicle.rotor_count, vehicle.motor
    scale = actuators.scale
    if scale is None:
        if not np.isfinite(motor.max_speed):
            raise ConfigError(
                "is needed, since the motor has no largest speed",
                file=vehicle.file,
                field=f"{field}.scale",
                remedy="give the rotor speed at full output [rad/s]",
            )
        scale = motor.max_speed
    channels = list(range(count)) if actuators.channels is None else actuators.channels

    def one_each(name: str, value: float | Sequence[float]) -> list[float]:
        values = [float(value)] * count if isinstance(value, float | int) else list(value)
        if len(values) != count:
            raise ConfigError(
                f"must hold one item for each of the {count} rotors",
                file=vehicle.file,
                field=f"{field}.{name}",
                value=value,
            )
        return values

    outputs = [int(channel) for channel in one_each("channels", channels)]
    if max(outputs) >= output_count:
        raise ConfigError(
            f"must be outputs 0 to {output_count - 1}",
            file=vehicle.file,
            field=f"{field}.channels",
            value=outputs,
        )
    return RotorMap(
        outputs,
        one_each("scale", scale),
        one_each("offset", actuators.offset),
        reversible=motor.min_speed < 0,
    )
