"""Values of the step: state and inputs at its start, results at its end."""

import math
from dataclasses import dataclass

from pegasus.base.step_math import NOTHING, Mat33, Quat, Real, Reals, Vec3
from pegasus.base.tracing import Signal


@dataclass(frozen=True)
class State:
    """State at the start of a step."""

    position: Vec3
    """Origin of the body frame, attitude and velocities; see `BodyState`."""
    orientation: Quat
    velocity: Vec3
    angular_velocity: Vec3
    rotor_speed: Reals
    """Speeds of the elements' shafts in their own sense of rotation [rad/s]."""
    motor_state: tuple[Vec3, ...]
    """State of each element's drive."""
    joint_angle: Reals
    """Angles of the joints [rad]."""


AXES = {
    **dict.fromkeys(("command", "override", "drive", "limited_command"), "channel"),
    "joint_angle": "joint",
}
"""What fields with several numbers have one for; those of others are for the elements."""


@dataclass(frozen=True)
class Inputs:
    """What others decide, held over a step."""

    command: Reals
    """Commands by channel, in their units."""
    lowest_speed: Real
    """Limits of commanded speeds by the motors and the voltage of the battery [rad/s]."""
    highest_speed: Real
    voltage: Real
    """Voltage of the battery under load [V], 0 without one."""
    gravity: Vec3
    """Acceleration of free fall in the world [m/s^2]."""
    push: Vec3
    """Disturbance: force at the centre of mass in the world [N]."""
    twist: Vec3
    """Disturbance: torque in the body frame [N m]."""


@dataclass(frozen=True)
class Effects:
    """What faults do to a machine during a step: written anew before each, neutral where none acts."""

    override: Reals
    """Command of each channel in place of the given one; NaN for none."""
    drive: Reals
    """Share of the command of each channel within its limits that is obeyed."""
    kept_speed: Reals
    """Share of its speed that each shaft has left as the step begins; the body takes the rest of its angular
    momentum."""
    thrust_share: Reals
    """Shares of the force and the torque of each element."""
    torque_share: Reals
    wind_shock: Vec3
    """Velocity of the air beyond the wind, world [m/s]."""
    fault_force: Vec3
    """Force at the centre of mass in the world [N]."""
    fault_torque: Vec3
    """Torque in the body frame [N m]."""


def no_effects(elements: int, channels: int) -> Effects:
    """Return the effects of no faults on a machine, which cost the step nothing.

    Args:
        elements: Number of its elements.
        channels: Number of its channels.
    """
    whole, nothing = (1.0,) * elements, Vec3(NOTHING, NOTHING, NOTHING)
    commands = (math.nan,) * channels, (1.0,) * channels
    return Effects(*commands, whole, whole, whole, nothing, nothing, nothing)


@dataclass(frozen=True)
class Air:
    """Air at a machine: the same at all its elements."""

    wind: Vec3
    """Velocity of the air in the world [m/s]."""
    air_density: Real
    """Air density [kg/m^3]."""


@dataclass(frozen=True)
class VariedAir(Air):
    """Air that turns, and differs between the elements of a machine."""

    gust_rate: Vec3
    """Angular velocity of the air about the body's origin by turbulence, world [rad/s]."""
    wake: tuple[Vec3, ...]
    """Velocity of the air at each element beyond the wind, world [m/s]."""


@dataclass(frozen=True)
class Planes:
    """Planes below and above each element: normals toward it, and distances from the world's origin [m]."""

    ground_normal: tuple[Vec3, ...]
    ground_offset: Reals
    ceiling_normal: tuple[Vec3, ...]
    ceiling_offset: Reals


@dataclass(frozen=True)
class Held:
    """Wrench that Python computes before the step, and that turns with the body."""

    held_force: Vec3
    """Force at the centre of mass, body frame [N]."""
    held_torque: Vec3
    """Torque, body frame [N m]."""


@dataclass(frozen=True)
class Result:
    """State at the end of a step if nothing touches the body, and means over it."""

    free_position: Vec3
    free_orientation: Quat
    free_velocity: Vec3
    free_angular_velocity: Vec3
    rotor_speed: Reals
    motor_state: tuple[Vec3, ...]
    joint_angle: Reals
    limited_command: Reals
    """Commands by channel that are obeyed: within their limits, by their shares."""
    force: Vec3
    """Mean force at the centre of mass without gravity, world [N]."""
    torque: Vec3
    """Mean torque about the centre of mass, body frame [N m]."""
    load: Vec3
    """`force` and the weight [N]."""
    rotor_force: Vec3
    """Mean force of the elements, world [N]."""
    rotor_torque: Vec3
    """Their mean torque with their angular momentum, body frame [N m]."""
    drag_force: Vec3
    """Mean force of drag and surfaces, world [N]."""
    drag_torque: Vec3
    """Its mean torque, body frame [N m]."""
    shaft_power: Real
    """Mean power of all shafts, torque times speed [W]."""
    electrical_power: Real
    """Mean power that drives with a torque draw [W]."""
    fault: Real
    """1 after a wrench that is not finite, 2 after a motion beyond all bounds, 3 after a command that is not
    finite, else 0."""
    alarm: Signal
    """Whether there is a fault."""


@dataclass(frozen=True)
class Moved:
    """Motion after a step, and at the step before it."""

    orientation: Quat
    velocity: Vec3
    angular_velocity: Vec3
    last_velocity: Vec3
    last_angular_velocity: Vec3


@dataclass(frozen=True)
class Observed:
    """What follows from the motion after a step."""

    last_velocity: Vec3
    last_angular_velocity: Vec3
    rotation: Mat33
    """Rotation matrix of the attitude."""
    acceleration: Vec3
    """Changes of the velocities over the step, divided by its length."""
    angular_acceleration: Vec3
