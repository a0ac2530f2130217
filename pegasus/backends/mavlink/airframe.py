"""Airframe as autopilots see it: outputs to commands, effects of rotors, orientation of sensors."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pegasus.base.arrays import Array, row_product
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.config.autopilot_specs import ActuatorMap, OutputSpec
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.control.airloads import hover_speed
from pegasus.control.allocation import Allocation
from pegasus.model.machine import Channel
from pegasus.model.rotors import RotorLayout
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
    """Command of a servo at output 0; of a rotor at an output just above zero."""
    channels: Sequence[Channel]
    """The channels; a servo, and a rotor that can be reversed, take negative outputs too."""

    def part(self, rows: Sequence[int]) -> "OutputMap":
        """Return the map of some of the channels.

        Args:
            rows: Their places.
        """
        outputs, scale, offset, channels = self
        return OutputMap(
            [outputs[k] for k in rows],
            [scale[k] for k in rows],
            [offset[k] for k in rows],
            [channels[k] for k in rows],
        )

    def commands(self, controls: Sequence[float]) -> list[float]:
        """Return the commands of armed outputs; a channel rests at an output that is not finite."""
        outputs = [controls[output] for output in self.outputs]
        return [
            u * scale + offset if 0.0 < u <= 1.0 and channel.supplied else _limited(u, scale, offset, channel)
            for u, scale, offset, channel in zip(outputs, self.scale, self.offset, self.channels, strict=True)
        ]


def _limited(u: float, scale: float, offset: float, channel: Channel) -> float:
    """Return the command of any output."""
    if not math.isfinite(u):
        return channel.idle
    if not channel.supplied:
        return min(max(min(max(u, -1.0), 1.0) * scale + offset, channel.low), channel.high)
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
        ConfigError: If a channel has no output or several items, an output does not exist or is used twice,
            or a channel has no upper limit to scale by.
    """
    try:
        specs = _specs(actuators, channels)
        used = [spec.output for spec in specs if spec is not None]
        if max(used, default=0) >= output_count:
            raise ConfigError(f"must be outputs 0 to {output_count - 1}", field="channels", value=used)
        for channel, spec in zip(channels, specs, strict=True):
            if spec is not None and used.count(spec.output) > 1:
                problem = f"uses output {spec.output} twice, once for {channel}"
                raise ConfigError(problem, field="channels", value=used, remedy="name each output once")
            if spec is not None and channel.supplied and spec.scale is not None and spec.scale <= 0.0:
                problem = f"must be above 0 for {channel}"
                raise ConfigError(problem, field="scale", value=spec.scale)
            if spec is not None and spec.scale is None and not math.isfinite(channel.high):
                raise ConfigError(
                    f"is required, because {channel} has no upper limit",
                    field="scale",
                    remedy=f"set the command at full output [{channel.unit}]",
                )
    except ConfigError as error:
        raise error.within(field=field, file=file) from None
    rows = [
        (0, 0.0, channel.idle)
        if spec is None
        else (spec.output, channel.high if spec.scale is None else spec.scale, spec.offset)
        for channel, spec in zip(channels, specs, strict=True)
    ]
    outputs, scale, offset = (list(column) for column in zip(*rows, strict=True))
    return OutputMap(outputs, scale, offset, channels)


def _specs(actuators: ActuatorMap, channels: Sequence[Channel]) -> list[OutputSpec | None]:
    """Return the output of each channel, None for one that rests."""
    given, names = actuators.channels, [channel.name for channel in channels]
    if isinstance(given, dict):
        for name in given:
            if name not in names:
                remedy = " ".join(did_you_mean(name, names)) or f"it has {', '.join(names)}"
                raise ConfigError("is no channel of the vehicle", field="channels", value=name, remedy=remedy)
        for channel in channels:
            if channel.name not in given:
                raise ConfigError(
                    f"names no output for {channel}",
                    field="channels",
                    remedy="name one, or null to let it rest",
                )
        return [given[name] for name in names]

    def one_each(name: str, value: float | Sequence[Any] | None) -> Sequence[Any]:
        values = value if isinstance(value, Sequence) else [value] * len(channels)
        if len(values) != len(channels):
            raise ConfigError(
                f"must have one item for each of the {len(channels)} channels {', '.join(names)}",
                field=name,
                value=value,
            )
        return values

    outputs = one_each("channels", range(len(channels)) if given is None else given)
    rows = zip(outputs, one_each("scale", actuators.scale), one_each("offset", actuators.offset), strict=True)
    return [OutputSpec(output=output, scale=scale, offset=offset) for output, scale, offset in rows]


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


def rotor_effects(vehicle: Rotorcraft, outputs: OutputMap, layout: RotorLayout | None = None) -> RotorEffects:
    """Return the effects of a vehicle's rotors.

    Args:
        vehicle: The vehicle, in a simulation.
        outputs: Map from the outputs of its autopilot to the speeds of these rotors.
        layout: The rotors, with the vehicle's own motors and propellers; all of them by default.

    Raises:
        ConfigError: If the rotors cannot control the vehicle.
    """
    layout = vehicle.layout if layout is None else layout
    curve, environment = vehicle.thrust_curve, vehicle.environment
    ground, still = np.zeros((1, 3)), np.zeros((1, layout.count))
    density = environment.air_density(ground)[:, None]
    scale, offset = np.array(outputs.scale), np.array(outputs.offset)
    full_speed = np.minimum(scale + offset, vehicle.motor.max_speed)[None]
    thrust, torque = curve.thrust(full_speed, still, density)
    moment_ratio = float((torque / thrust).mean())
    try:
        reversible = _are_reversible(outputs)
        matrix = Allocation(layout, vehicle.center_of_mass, moment_ratio, reversible=reversible).matrix
    except ConfigError as error:
        raise error.within(file=vehicle.file) from None
    weight = vehicle.mass * float(np.sqrt((environment.gravity_vector(ground) ** 2).sum()))
    hovering = hover_speed(vehicle, weight, density, lift_shares(layout, outputs))
    hover_output = float(((hovering - offset) / scale).mean())
    step = 0.01 * full_speed
    below, above = (curve.thrust(hovering + change, still, density)[0] for change in (-step, step))
    thrust_slope = float(((above - below) / (2.0 * step) * scale).mean())
    return RotorEffects(thrust[0], moment_ratio, matrix[3:].T, hover_output, thrust_slope)


def lift_shares(layout: RotorLayout, outputs: OutputMap) -> Array:
    """Return lift by thrust of each rotor, shape (R,); those that can be reversed carry it with either sense.

    Args:
        layout: The rotors.
        outputs: Map from the outputs of an autopilot to their speeds.
    """
    upright: Array = layout.axis[:, 2]
    return np.abs(upright) if _are_reversible(outputs) else upright


def _are_reversible(outputs: OutputMap) -> bool:
    return any(channel.low < 0.0 for channel in outputs.channels)


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
