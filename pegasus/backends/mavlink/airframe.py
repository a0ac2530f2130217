"""Airframe as autopilots see it: outputs to commands, effects of rotors, orientation of sensors."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pegasus.base.arrays import Array, row_product
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import ActuatorMap
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.control.airloads import hover_speed
from pegasus.control.allocation import Allocation
from pegasus.model.machine import Channel
from pegasus.sensors import ImuReading

_HALF = math.sqrt(0.5)
# MAV_SENSOR_ORIENTATION of a beam along each axis of the body and against it (FLU).
_ORIENTATIONS = {
    (1, 0, 0): 0,
    (0, -1, 0): 2,
    (-1, 0, 0): 4,
    (0, 1, 0): 6,
    (0, 0, 1): 24,
    (0, 0, -1): 25,
}


class OutputMap(NamedTuple):
    """Linear map from the outputs of an autopilot to commands by channel, in the units of the channels."""

    outputs: Sequence[int]
    """Output of each channel."""
    scale: Sequence[float]
    """Command per unit of output."""
    offset: Sequence[float]
    """Command at an output just above zero."""
    channels: Sequence[Channel]
    """The channels; one whose commands may be negative takes negative outputs too."""

    def commands(self, controls: Sequence[float]) -> list[float]:
        """Return the commands of armed outputs; a channel rests at an output that is not finite."""
        outputs = [controls[output] for output in self.outputs]
        return [
            u * scale + offset if 0.0 < u <= 1.0 else _limited(u, scale, offset, channel)
            for u, scale, offset, channel in zip(outputs, self.scale, self.offset, self.channels, strict=True)
        ]


def _limited(u: float, scale: float, offset: float, channel: Channel) -> float:
    """Return the command of an output that is not above 0 and up to 1."""
    if not math.isfinite(u):
        return channel.idle
    if channel.low < 0.0:
        return math.copysign(min(abs(u), 1.0) * scale + offset, u) if u else 0.0
    return min(max(u, 0.0), 1.0) * scale + offset


def output_map(
    actuators: ActuatorMap,
    channels: Sequence[Channel],
    *,
    output_count: int,
    field: str,
    file: Path | None = None,
) -> OutputMap:
    """Return the map from an autopilot's outputs to commands.

    Args:
        actuators: Actuator map of the vehicle's file.
        channels: Channels of the vehicle.
        output_count: Number of outputs of the autopilot.
        field: Section of the file, for errors.
        file: The vehicle's file, for errors.

    Raises:
        ConfigError: If a list does not have one item per channel, an output does not exist, or a channel has
            no upper limit to scale by.
    """
    names = ", ".join(channel.name for channel in channels)

    def one_each(name: str, value: float | Sequence[float]) -> list[float]:
        values = [float(value)] * len(channels) if isinstance(value, float | int) else list(value)
        if len(values) != len(channels):
            raise ConfigError(
                f"must have one item for each of the {len(channels)} channels {names}",
                file=file,
                field=f"{field}.{name}",
                value=value,
            )
        return values

    scale = actuators.scale
    if scale is None:
        for channel in channels:
            if not math.isfinite(channel.high):
                raise ConfigError(
                    f"is required, because {channel} has no upper limit",
                    file=file,
                    field=f"{field}.scale",
                    remedy=f"set the command at full output [{channel.unit}]",
                )
        scale = [channel.high for channel in channels]
    given = list(range(len(channels))) if actuators.channels is None else actuators.channels
    outputs = [int(output) for output in one_each("channels", given)]
    if max(outputs) >= output_count:
        raise ConfigError(
            f"must be outputs 0 to {output_count - 1}", file=file, field=f"{field}.channels", value=outputs
        )
    return OutputMap(outputs, one_each("scale", scale), one_each("offset", actuators.offset), channels)


class RotorEffects(NamedTuple):
    """Effects of R rotors on the airframe, in still air at the world's origin."""

    thrust: Array
    """Thrust of each rotor at full output [N], shape (R,)."""
    moment_ratio: float
    """Torque by thrust of a rotor [m]."""
    torque: Array
    """Torque about the centre of mass by thrust, body frame [m], shape (R, 3)."""
    hover_output: float
    """Mean output of the rotors while hovering, 0 to 1."""
    thrust_slope: float
    """Mean change of a rotor's thrust by its output while hovering [N]."""


def rotor_effects(vehicle: Rotorcraft, outputs: OutputMap) -> RotorEffects:
    """Return the effects of a vehicle's rotors.

    Args:
        vehicle: The vehicle, in a simulation.
        outputs: Map from the outputs of its autopilot to rotor speeds.

    Raises:
        ConfigError: If the rotors cannot control the vehicle.
    """
    layout, curve, environment = vehicle.layout, vehicle.thrust_curve, vehicle.environment
    ground, still = np.zeros((1, 3)), np.zeros((1, layout.count))
    density = environment.air_density(ground)[:, None]
    scale, offset = np.array(outputs.scale), np.array(outputs.offset)
    full_speed = np.minimum(scale + offset, vehicle.motor.max_speed)[None]
    thrust, torque = curve.thrust(full_speed, still, density)
    moment_ratio = float((torque / thrust).mean())
    try:
        matrix = Allocation(layout, vehicle.center_of_mass, moment_ratio).matrix
    except ConfigError as error:
        raise error.within(file=vehicle.file) from None
    weight = vehicle.mass * float(np.sqrt((environment.gravity_vector(ground) ** 2).sum()))
    hovering = hover_speed(vehicle, weight, density)
    hover_output = float(((hovering - offset) / scale).mean())
    step = 0.01 * full_speed
    below, above = (curve.thrust(hovering + change, still, density)[0] for change in (-step, step))
    thrust_slope = float(((above - below) / (2.0 * step) * scale).mean())
    return RotorEffects(thrust[0], moment_ratio, matrix[3:].T, hover_output, thrust_slope)


def orientation_of(direction: Sequence[float]) -> int:
    """Return the MAV_SENSOR_ORIENTATION nearest to a direction.

    Args:
        direction: Direction in the body frame (FLU), not zero, shape (3,).
    """

    def alignment(axis: tuple[int, int, int]) -> float:
        return sum(a * d for a, d in zip(axis, direction, strict=True))

    return _ORIENTATIONS[max(_ORIENTATIONS, key=alignment)]


def in_body_frame(reading: ImuReading, mounting: Array) -> ImuReading:
    """Return a sample of an IMU in the body frame, as autopilots expect it.

    Args:
        reading: The sample in the frame of the IMU.
        mounting: Rotation matrix from the frame of the IMU to the body frame, shape (3, 3).
    """
    to_body = mounting.T
    return ImuReading(
        reading.stamp,
        row_product(reading.angular_velocity, to_body),
        row_product(reading.specific_force, to_body),
    )


def other_attitude(x: float, y: float, z: float, w: float) -> tuple[float, float, float, float]:
    """Return the real part and the vector of a FLU-to-ENU attitude as FRD-to-NED, or back.

    It is `pegasus.base.frames.swap_attitude_convention` of one vehicle, in plain numbers.

    Args:
        x: First component of the unit quaternion.
        y: Second component.
        z: Third component.
        w: Real part.
    """
    return _HALF * z + _HALF * w, _HALF * x + _HALF * y, _HALF * x - _HALF * y, _HALF * w - _HALF * z
