"""Roles of a vehicle's channels for PX4: rotors of lift and thrust, tilt servos, control surfaces, wheels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from pegasus.backends.mavlink.airframe import OutputMap
from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.core.aircraft import Aircraft
from pegasus.core.steady_loads import array_of
from pegasus.model.machine import Machine
from pegasus.model.rotors import RotorLayout
from pegasus.step.pose import posed

_ALONG = 0.7
"""Least component of a rotor's axis along an axis of the body along which it counts as pushing."""
_UPRIGHT, _FORWARD = math.radians(30.0), math.radians(60.0)
"""Largest angle of a nacelle in hover, and least in forward flight."""


class Kind(Enum):
    """Kind of a vehicle for PX4: CA_AIRFRAME, and the airframe of that kind that PX4 starts with."""

    MULTIROTOR = 0, "none_iris"
    PLANE = 1, "gazebo-classic_plane"
    STANDARD_VTOL = 2, "gazebo-classic_standard_vtol"
    TILTROTOR = 3, "gazebo-classic_tiltrotor"
    TAILSITTER = 4, "gazebo-classic_tailsitter"

    def __init__(self, number: int, airframe: str) -> None:
        self.number = number
        """CA_AIRFRAME."""
        self.airframe = airframe
        """Airframe, as PX4_SIM_MODEL names it."""


@dataclass(frozen=True, eq=False)
class Tilt:
    """Joint that turns rotors from upright to forward."""

    joint: int
    """Place among the joints."""
    rotors: tuple[int, ...]
    """Rotors that it turns."""
    ends: tuple[float, float]
    """Angles of the rotors from upright at outputs -1 and 1 [rad]."""
    direction: Array
    """Horizontal direction in which they tilt, body frame, shape (3,)."""

    @property
    def is_reversed(self) -> bool:
        """Whether the rotors are upright at output 1."""
        return abs(self.ends[1]) < abs(self.ends[0])


@dataclass(frozen=True, eq=False)
class Roles:
    """Roles of the channels that have an output; rotors, tilts and joints are in the order of the outputs."""

    kind: Kind
    lift: tuple[int, ...]
    """Rotors that carry the vehicle in hover."""
    layout: RotorLayout
    """Those rotors as they stand in hover."""
    forward: tuple[int, ...]
    """Rotors that push forward."""
    tilts: tuple[Tilt, ...]
    surfaces: tuple[int, ...]
    """Joints that deflect control surfaces."""
    wheels: tuple[int, ...]
    """Joints that steer wheels only."""


def roles_of(vehicle: Aircraft, outputs: OutputMap) -> Roles:
    """Return the roles of a vehicle's channels; those without an output have none.

    Args:
        vehicle: The vehicle.
        outputs: Map from PX4's outputs to commands.

    Raises:
        ConfigError: If PX4 has no airframe of its kind, or a tilt is not upright at one end of its output and
            forward at the other.
    """
    machine = vehicle.machines[0]
    joints = sorted(
        (k for k, joint in enumerate(machine.joints) if outputs.scale[joint.channel] != 0.0),
        key=lambda k: outputs.outputs[machine.joints[k].channel],
    )
    rotors = sorted(
        (k for k in range(vehicle.rotor_count) if outputs.scale[k] != 0.0), key=lambda k: outputs.outputs[k]
    )
    carried = {k: tuple(r for r in rotors if machine.elements[r].joint == k) for k in joints}
    tilts = tuple(_tilt(vehicle, outputs, k, carried[k]) for k in joints if carried[k])
    in_air = {k for surface in machine.surfaces for k in (*surface.controls, surface.joint)}
    surfaces = tuple(k for k in joints if k in in_air and not carried[k])
    wheels = tuple(k for k in joints if k not in in_air and not carried[k])
    layout = vehicle.layout if not tilts else _in_hover(vehicle, machine, outputs, tilts)
    lift: tuple[int, ...] = tuple(rotors)
    forward: tuple[int, ...] = ()
    if machine.surfaces:
        lift = tuple(k for k in rotors if layout.axis[k, 2] > _ALONG)
        forward = tuple(k for k in rotors if layout.axis[k, 0] > _ALONG)
        others = [machine.channels[k].name for k in rotors if k not in lift and k not in forward]
        if others:
            raise _no_airframe(vehicle, f"{', '.join(others)} push neither upward nor forward")
    kind = _kind(vehicle, machine, bool(lift), bool(forward), tilts, bool(surfaces))
    part = RotorLayout(layout.position[list(lift)], layout.axis[list(lift)], layout.spin[list(lift)])
    return Roles(kind, lift, part, forward, tilts, surfaces, wheels)


def commands_at(outputs: OutputMap, channel: int) -> tuple[float, float]:
    """Return the commands of a channel at its outputs -1 and 1.

    Args:
        outputs: Map from PX4's outputs to commands.
        channel: Place of the channel.
    """
    low, high = (outputs.commands([u] * (max(outputs.outputs) + 1))[channel] for u in (-1.0, 1.0))
    return low, high


def _kind(
    vehicle: Aircraft, machine: Machine, lifts: bool, pushes: bool, tilts: Sequence[Tilt], steers: bool
) -> Kind:
    if not machine.surfaces and not tilts:
        return Kind.MULTIROTOR
    if not machine.surfaces:
        names = ", ".join(machine.channels[machine.joints[tilt.joint].channel].name for tilt in tilts)
        raise _no_airframe(vehicle, f"it has no wings, but rotors that {names} tilt")
    if not lifts:
        return Kind.PLANE
    if tilts:
        return Kind.TILTROTOR
    if pushes:
        return Kind.STANDARD_VTOL
    ahead = np.mean([array_of(surface.x) for surface in machine.surfaces], axis=0)
    if float(ahead[2]) > _ALONG:
        return Kind.TAILSITTER
    if steers:
        raise _no_airframe(vehicle, "it has control surfaces, but nothing that pushes it forward")
    return Kind.MULTIROTOR


def _no_airframe(vehicle: Aircraft, problem: str) -> ConfigError:
    return ConfigError(
        f"PX4 has no airframe of its kind: {problem}",
        file=vehicle.file,
        field="px4.airframe",
        remedy="name one, or let channels rest by null in px4.channels",
    )


def _tilt(vehicle: Aircraft, outputs: OutputMap, k: int, rotors: tuple[int, ...]) -> Tilt:
    """Return a joint with rotors as a tilt."""
    machine, axes = vehicle.machines[0], []
    channel = machine.joints[k].channel
    for command in commands_at(outputs, channel):
        angles = [machine.channels[joint.channel].idle for joint in machine.joints]
        angles[k] = command
        axes.append(array_of(posed(machine, angles).elements[rotors[0]].z))
    moved = np.array([1.0, 1.0, 0.0]) * (axes[1] - axes[0])
    # A joint along the axes of its rotors tilts nothing.
    size = float(np.sqrt((moved * moved).sum()))
    direction = moved / size if size > 0.0 else np.array([1.0, 0.0, 0.0])
    low, high = (float(np.arctan2(axis @ direction, axis[2])) for axis in axes)
    if abs(high) < abs(low):
        # Towards the end that is not upright.
        low, high, direction = -low, -high, -direction
    if machine.surfaces and (min(abs(low), abs(high)) > _UPRIGHT or max(low, high) < _FORWARD):
        raise ConfigError(
            f"turns its rotors from {math.degrees(low):.0f} to {math.degrees(high):.0f} degrees of upright "
            "at outputs -1 to 1; PX4 needs upright at one end, forward at the other",
            file=vehicle.file,
            field=f"px4.channels.{machine.channels[channel].name}",
            remedy="set scale and offset to half of the angle from upright to forward",
        )
    return Tilt(k, rotors, (low, high), direction)


def _in_hover(vehicle: Aircraft, machine: Machine, outputs: OutputMap, tilts: Sequence[Tilt]) -> RotorLayout:
    """Return the layout of all rotors with tilts at their ends that are upright."""
    angles = [machine.channels[joint.channel].idle for joint in machine.joints]
    for tilt in tilts:
        ends = commands_at(outputs, machine.joints[tilt.joint].channel)
        angles[tilt.joint] = ends[int(tilt.is_reversed)]
    elements = posed(machine, angles).elements
    return RotorLayout(
        np.array([array_of(e.position) for e in elements]) + vehicle.center_of_mass,
        np.array([array_of(e.z) for e in elements]),
        vehicle.layout.spin,
    )
