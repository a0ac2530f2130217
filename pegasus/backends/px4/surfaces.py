"""PX4 parameters of control surfaces and tilt servos, found from the loads of the model."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pegasus.backends.mavlink.airframe import OutputMap
from pegasus.backends.px4.roles import Kind, Roles, Tilt, commands_at
from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.control.allocation import pseudo_inverse
from pegasus.core.multirotor import Multirotor
from pegasus.core.trim import search_of

SURFACE_LIMIT, TILT_LIMIT = 8, 4
"""Maximum number of servos, and of tilts, of PX4's control allocation."""
TO_FRD = np.array([1.0, -1.0, -1.0])
"""Signs that turn vectors from the body frame (FLU) to PX4's (FRD)."""

_AIRSPEED, _ABOVE_STALL = 15.0, 1.2
"""PX4's default of FW_AIRSPD_TRIM [m/s], and least trim airspeed by the stall speed."""
_OWN_LEAST, _AXIS_LEAST = 0.25, 0.25
"""Least torque about an axis with which a surface controls it: by its own largest torque, and by that of the
strongest surface about the axis. PX4's airframes name the main axes of a surface only, too."""
_SIDE = 0.02
"""Distance of a hinge from the plane of symmetry up to which it is in the middle [m]."""
_TRIM_LIMIT = 0.5
"""Limit of TRIM_PITCH."""
_UPRIGHT, _FORWARD = math.radians(30.0), math.radians(60.0)
"""Largest angle of a nacelle in hover, and least in forward flight."""
_CUSTOM, _FLAPS = 12, (9, 10)
# CA_SV_CS_TYPE by control of roll, pitch and yaw: on the left, on the right, in the middle.
_TYPES = {
    (True, False, False): (1, 2, 15),
    (False, True, False): (3, 3, 3),
    (False, False, True): (4, 4, 4),
    (True, True, False): (5, 6, _CUSTOM),
    (False, True, True): (7, 8, _CUSTOM),
    (False, False, False): (*_FLAPS, _CUSTOM),
}


class SurfaceEffects(NamedTuple):
    """Effects of S control surfaces at the trim airspeed, per output from 0 to 1."""

    torque: Array
    """Torque about the centre of mass, PX4's body frame (FRD) [N m], shape (S, 3)."""
    lift: Array
    """Lift by mass [m/s^2], shape (S,)."""
    trim: Array
    """Outputs in steady level flight, shape (S,)."""


def surface_effects(
    vehicle: Multirotor, outputs: OutputMap, joints: Sequence[int], airspeed: float
) -> SurfaceEffects:
    """Return the effects of control surfaces, by the model's own loads.

    Args:
        vehicle: The vehicle, in a simulation.
        outputs: Map from PX4's outputs to commands.
        joints: Places of the surfaces' joints.
        airspeed: Trim airspeed [m/s]; 1.2 times the stall speed if that is larger.
    """
    search = search_of(vehicle, None)
    lift = search.largest_lift()
    stall = 0.0 if lift is None else math.sqrt(search.loads.weight / lift)
    found = search.steady(max(airspeed, _ABOVE_STALL * stall), 0.0, 0.0)
    torque, lifts, trim = [], [], []
    for k in joints:
        channel = vehicle.machines[0].joints[k].channel
        ends = []
        for value in commands_at(outputs, channel):
            command = found.command.copy()
            command[channel] = value
            ends.append(search.loads.rates(found.flight, command))
        (force_low, turning_low), (force_high, turning_high) = ends
        torque.append(0.5 * TO_FRD * (vehicle.inertia * (turning_high - turning_low)).sum(axis=1))
        lifts.append(0.5 * float(((force_high - force_low) * found.flight.upward).sum()))
        trim.append((found.command[channel] - outputs.offset[channel]) / outputs.scale[channel])
    return SurfaceEffects(np.array(torque).reshape(-1, 3), np.array(lifts), np.array(trim))


def surface_parameters(
    vehicle: Multirotor, outputs: OutputMap, roles: Roles, given: Mapping[str, float]
) -> dict[str, float | int]:
    """Return CA_SV_CS* of a vehicle's control surfaces, and TRIM_PITCH.

    The torques are scaled axis by axis so that a full command deflects the strongest surface fully, as by
    PX4's own airframes.

    Args:
        vehicle: The vehicle, in a simulation.
        outputs: Map from PX4's outputs to commands.
        roles: Roles of its channels.
        given: Parameters of the user.

    Raises:
        ConfigError: If there are too many servos for PX4.
    """
    joints, machine = roles.surfaces, vehicle.machines[0]
    if len(joints) + len(roles.tilts) > SURFACE_LIMIT:
        raise ConfigError(
            f"PX4 moves {SURFACE_LIMIT} servos at most, the vehicle has {len(joints) + len(roles.tilts)}",
            file=vehicle.file,
            field="joints",
            remedy="let some rest by null in px4.channels",
        )
    parameters: dict[str, float | int] = {"CA_SV_CS_COUNT": len(joints)}
    if not joints:
        return parameters
    effects = surface_effects(vehicle, outputs, joints, given.get("FW_AIRSPD_TRIM", _AIRSPEED))
    torque = _scaled(effects.torque)
    parameters["TRIM_PITCH"] = _number(
        min(max(float(torque[:, 1] @ effects.trim), -_TRIM_LIMIT), _TRIM_LIMIT)
    )
    for servo, k in enumerate(joints):
        roll, pitch, yaw = (bool(value) for value in torque[servo])
        if roles.kind is Kind.TAILSITTER:
            # Its axes are those of hover.
            roll, yaw = yaw, roll
        aside = float(machine.joints[k].position[1]) + float(vehicle.center_of_mass[1])
        side = 2 if abs(aside) <= _SIDE else int(aside < 0.0)
        kind = _TYPES.get((roll, pitch, yaw), (_CUSTOM,) * 3)[side]
        parameters[f"CA_SV_CS{servo}_TYPE"] = kind
        for axis, value in zip("RPY", torque[servo].tolist(), strict=True):
            parameters[f"CA_SV_CS{servo}_TRQ_{axis}"] = _number(value)
        flap = _flap(outputs, machine.joints[k].channel, effects.lift[servo]) if kind in _FLAPS else 0
        parameters |= {
            f"CA_SV_CS{servo}_{name}": x for name, x in (("TRIM", 0), ("FLAP", flap), ("SPOIL", 0))
        }
    return parameters


def tilt_parameters(vehicle: Multirotor, roles: Roles) -> dict[str, float | int]:
    """Return CA_SV_TL* of a vehicle's tilt servos.

    Args:
        vehicle: The vehicle.
        roles: Roles of its channels.

    Raises:
        ConfigError: If there are too many for PX4, or one is not upright at one end of its output and forward
            at the other.
    """
    tilts, machine = roles.tilts, vehicle.machines[0]
    if len(tilts) > TILT_LIMIT:
        raise ConfigError(
            f"PX4 moves {TILT_LIMIT} tilts at most, the vehicle has {len(tilts)}",
            file=vehicle.file,
            field="joints",
            remedy="let some rest by null in px4.channels",
        )
    parameters: dict[str, float | int] = {"CA_SV_TL_COUNT": len(tilts)}
    for number, tilt in enumerate(tilts):
        hover, flight = reversed(tilt.ends) if tilt.is_reversed else tilt.ends
        if abs(hover) > _UPRIGHT or flight < _FORWARD:
            raise ConfigError(
                f"turns its rotors from {math.degrees(tilt.ends[0]):.0f} to {math.degrees(tilt.ends[1]):.0f} "
                "degrees of upright at outputs -1 to 1; PX4 needs upright at one end, forward at the other",
                file=vehicle.file,
                field=f"px4.channels.{machine.channels[machine.joints[tilt.joint].channel].name}",
                remedy="set scale and offset to half of the angle from upright to forward",
            )
        forward, left, _ = tilt.direction.tolist()
        aside = [_aside(roles, rotor, forward, left) for rotor in tilt.rotors]
        parameters |= {
            f"CA_SV_TL{number}_MINA": round(math.degrees(hover)),
            f"CA_SV_TL{number}_MAXA": min(round(math.degrees(flight)), 90),
            f"CA_SV_TL{number}_TD": round(math.degrees(math.atan2(-left, forward))) % 360,
            f"CA_SV_TL{number}_CT": int(max(aside) > _SIDE),
        }
    return parameters


def tilt_of(rotor: int, tilts: Sequence[Tilt]) -> int:
    """Return CA_ROTOR_TILT of a rotor: the number of its tilt from 1 on, 0 without one.

    Args:
        rotor: Place of the rotor.
        tilts: The tilts in order.
    """
    return next((number for number, tilt in enumerate(tilts, start=1) if rotor in tilt.rotors), 0)


def _scaled(torque: Array) -> Array:
    """Return the torques about the axes that each surface controls, scaled by axis, shape (S, 3)."""
    size = np.abs(torque)
    best = size.max(axis=0)
    kept = (size >= _OWN_LEAST * size.max(axis=1, keepdims=True)) & (size >= _AXIS_LEAST * best) & (best > 0)
    rows = np.where(kept, torque / np.where(best > 0.0, best, 1.0), 0.0).T
    outputs = pseudo_inverse(rows, cutoff=1e-6)
    scaled: Array = (rows * np.abs(outputs).max(axis=0)[:, None]).T
    return scaled


def _flap(outputs: OutputMap, channel: int, lift: float) -> int:
    """Return CA_SV_CS_FLAP of a flap: the sign of its lift if it rests at the other end, otherwise 0."""
    # Flaps that are not set are at output -1 times this.
    sign = 1 if lift > 0.0 else -1
    rest = commands_at(outputs, channel)[int(sign < 0)]
    return sign if abs(rest - outputs.channels[channel].idle) < 1e-3 else 0


def _aside(roles: Roles, rotor: int, forward: float, left: float) -> float:
    """Return the distance of a rotor from the plane in which it tilts through the origin [m]."""
    x, y, _ = roles.layout.position[roles.lift.index(rotor)].tolist()
    distance: float = abs(forward * y - left * x)
    return distance


def _number(value: float) -> float:
    return float(f"{value + 0.0:.6g}")
