"""Faults of servos, and of commands on their way to drives and servos."""

from dataclasses import dataclass
from typing import ClassVar

from pegasus.base.arrays import BoolArray
from pegasus.base.components import require
from pegasus.contracts.fault import Fault, Injection
from pegasus.contracts.vehicle import Vehicle
from pegasus.faults.rotor_faults import require_rotor


def channel_number(vehicle: Vehicle, name: str) -> int:
    """Return the place of a channel among those of a vehicle.

    Args:
        vehicle: The vehicle.
        name: Name of the channel.

    Raises:
        ConfigError: If the vehicle has no such channel.
    """
    names = [channel.name for channel in vehicle.channels]
    require(name in names, "channel", name, f"must be a channel of {vehicle.name!r}: {', '.join(names)}")
    return names.index(name)


def joint_number(vehicle: Vehicle, name: str) -> int:
    """Return the place of a joint among those of a vehicle, which are its last channels.

    Args:
        vehicle: The vehicle.
        name: Name of the joint, which is that of its channel.

    Raises:
        ConfigError: If the vehicle has no such joint.
    """
    count = vehicle.columns["joint_angle"].shape[1]
    names = [channel.name for channel in vehicle.channels][len(vehicle.channels) - count :]
    known = ", ".join(names) or "none"
    require(name in names, "joint", name, f"must be a joint of {vehicle.name!r}: {known}")
    return names.index(name)


@dataclass(frozen=True)
class ServoStuck(Fault):
    """Servo that jams where it is, or that runs to an angle and stays there (hardover)."""

    joint: str
    """Name of the joint."""
    angle: float | None = None
    """Angle that it runs to, within the servo's limits [rad]; none for where it is."""

    takes_ramp: ClassVar[bool] = False

    def concerns(self) -> list[str]:
        """Return the name of the joint."""
        return [self.joint]

    def fit(self, vehicle: Vehicle) -> None:
        """Raise a ConfigError if the vehicle has no such joint, or its servo does not reach the angle."""
        joint_number(vehicle, self.joint)
        if self.angle is not None:
            channel = vehicle.channels[channel_number(vehicle, self.joint)]
            allowed = f"must be from {channel.low:g} to {channel.high:g} rad, the limits of {channel.name!r}"
            require(channel.low <= self.angle <= channel.high, "angle", self.angle, allowed)

    def begin(self, injection: Injection, copies: BoolArray) -> None:
        """Note the angle at which the servo jams."""
        vehicle = injection.vehicle
        now = vehicle.columns["joint_angle"][:, joint_number(vehicle, self.joint)]
        kept = injection.kept("angle", now.copy)
        kept[copies] = now[copies]

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Command the angle, unless the servo is stuck already."""
        vehicle = injection.vehicle
        override = vehicle.columns["override"][:, channel_number(vehicle, self.joint)]
        free = injection.active & (override != override)
        override[free] = injection.state["angle"][free] if self.angle is None else self.angle


@dataclass(frozen=True)
class CommandDelay(Fault):
    """Commands that arrive late at motors and servos, as by a busy bus."""

    rotor: int | None = None
    """Number of the rotor, from 0."""
    delay: float = 0.05
    """Delay, rounded to steps [s]."""
    channel: str | None = None
    """Name of the channel, in place of the rotor; all channels without either."""

    takes_ramp: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.delay <= 10, "delay", self.delay, "must be above 0 s and at most 10 s")
        require(
            self.rotor is None or self.channel is None,
            "channel",
            self.channel,
            "must be left out where rotor is given",
        )

    def concerns(self) -> list[str]:
        """Return the rotor or the channel."""
        return [f"rotor {self.rotor}"] if self.rotor is not None else [self.channel] if self.channel else []

    def fit(self, vehicle: Vehicle) -> None:
        """Raise a ConfigError if the vehicle has no such rotor or channel."""
        require_rotor(vehicle, self.rotor)
        if self.channel is not None:
            channel_number(vehicle, self.channel)

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Delay the commands."""
        vehicle, chosen = injection.vehicle, slice(None)
        place = self.rotor if self.channel is None else channel_number(vehicle, self.channel)
        if place is not None:
            chosen = slice(place, place + 1)
        steps = max(1, round(self.delay * vehicle.physics_rate))
        vehicle.columns["command_delay"][injection.active, chosen] += steps
