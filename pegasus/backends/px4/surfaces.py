"""PX4 parameters of forward flight, control surfaces and tilt servos, found from the loads of the model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.backends.mavlink.airframe import OutputMap
from pegasus.backends.px4.roles import Kind, Roles, Tilt, commands_at
from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.pseudo_inverse import pseudo_inverse
from pegasus.core.aircraft import Aircraft
from pegasus.core.steady_flight import Found
from pegasus.core.steady_loads import SteadyLoads
from pegasus.core.trim import search_of

_SURFACE_LIMIT, _TILT_LIMIT = 8, 4
"""Maximum number of servos, and of tilts, of PX4's control allocation."""
TO_FRD = np.array([1.0, -1.0, -1.0])
"""Signs that turn vectors from the body frame (FLU) to PX4's (FRD)."""

_AIRSPEEDS = {
    "FW_AIRSPD_STALL": (7.0, 1.0),
    "FW_AIRSPD_MIN": (10.0, 1.2),
    "FW_AIRSPD_TRIM": (15.0, 1.4),
    "FW_AIRSPD_MAX": (20.0, 2.0),
}
"""PX4's defaults [m/s], and the least ones by the stall speed."""
_TRANSITION = 10.0
"""PX4's default of VT_ARSP_TRANS [m/s]."""
_LARGEST_THROTTLE = 2.4
"""FW_THR_MAX by FW_THR_TRIM in PX4's airframes of its Gazebo models."""
_OWN_LEAST, _AXIS_LEAST = 0.25, 0.25
"""Least torque about an axis with which a surface controls it: by its own largest torque, and by that of the
strongest surface about the axis. PX4's airframes name the main axes of a surface only, too."""
_SIDE = 0.02
"""Distance of a hinge from the plane of symmetry up to which it is in the middle [m]."""
_TRIM_LIMIT = 0.5
"""Limit of TRIM_PITCH."""
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


@dataclass(frozen=True, eq=False)
class LevelFlight:
    """Steady level flight on the wings at PX4's trim airspeed."""

    stall: float
    """Stall speed [m/s]; 0 if none is found."""
    loads: SteadyLoads
    found: Found
    """The flight, or what comes next to it."""

    @classmethod
    def of(cls, vehicle: Aircraft, given: Mapping[str, float]) -> "LevelFlight":
        """Return the flight of a vehicle.

        Args:
            vehicle: The vehicle, in a simulation.
            given: Parameters of the user.
        """
        search = search_of(vehicle, None)
        lift = search.largest_lift()
        stall = 0.0 if lift is None else search.speed_of(lift)
        least, over_stall = _AIRSPEEDS["FW_AIRSPD_TRIM"]
        airspeed = given.get("FW_AIRSPD_TRIM", max(least, over_stall * stall))
        return cls(stall, search.loads, search.steady(airspeed, 0.0, 0.0))

    def effects(self, vehicle: Aircraft, outputs: OutputMap, channels: Sequence[int]) -> tuple[Array, Array]:
        """Return torque and lift of S servos per output from 0 to 1, by the model's own loads.

        Args:
            vehicle: The vehicle.
            outputs: Map from PX4's outputs to commands.
            channels: Places of the servos' channels.

        Returns:
            Torques about the centre of mass, PX4's body frame (FRD) [N m], shape (S, 3), and lift by mass
            [m/s^2], shape (S,).
        """
        torque, lift = np.zeros((len(channels), 3)), np.zeros(len(channels))
        for k, channel in enumerate(channels):
            ends = []
            for value in commands_at(outputs, channel):
                command = self.found.command.copy()
                command[channel] = value
                ends.append(self.loads.rates(self.found.flight, command))
            (force_low, turning_low), (force_high, turning_high) = ends
            torque[k] = 0.5 * TO_FRD * (vehicle.inertia * (turning_high - turning_low)).sum(axis=1)
            lift[k] = 0.5 * float(((force_high - force_low) * self.found.flight.upward).sum())
        return torque, lift

    def outputs(self, outputs: OutputMap, channels: Sequence[int]) -> Array:
        """Return the outputs of channels in this flight, shape (S,).

        Args:
            outputs: Map from PX4's outputs to commands.
            channels: Places of the channels.
        """
        values = [(self.found.command[k] - outputs.offset[k]) / outputs.scale[k] for k in channels]
        return np.array(values)


def flight_parameters(outputs: OutputMap, roles: Roles, flight: LevelFlight) -> dict[str, float | int]:
    """Return airspeeds and throttles of forward flight.

    Args:
        outputs: Map from PX4's outputs to commands.
        roles: Roles of its channels.
        flight: Its level flight.
    """
    parameters: dict[str, float | int] = {
        name: round(max(least, by_stall * flight.stall), 1) for name, (least, by_stall) in _AIRSPEEDS.items()
    }
    if roles.kind is not Kind.PLANE:
        parameters["VT_ARSP_TRANS"] = round(max(_TRANSITION, flight.stall), 1)
    pushing = [k for k in (*roles.lift, *roles.forward) if flight.found.command[k] > 0.0]
    if pushing and flight.found.is_steady:
        throttle = float(np.clip(flight.outputs(outputs, pushing), 0.0, 1.0).mean())
        parameters["FW_THR_TRIM"] = round(throttle, 3)
        parameters["FW_THR_MAX"] = round(min(_LARGEST_THROTTLE * throttle, 1.0), 3)
    return parameters


def surface_parameters(
    vehicle: Aircraft, outputs: OutputMap, roles: Roles, flight: LevelFlight
) -> dict[str, float | int]:
    """Return CA_SV_CS* of a vehicle's control surfaces, and TRIM_PITCH.

    The torques are scaled axis by axis so that a full command deflects the strongest surface fully, as by
    PX4's own airframes.

    Args:
        vehicle: The vehicle, in a simulation.
        outputs: Map from PX4's outputs to commands.
        roles: Roles of its channels.
        flight: Its level flight.

    Raises:
        ConfigError: If there are too many servos for PX4.
    """
    joints, machine = roles.surfaces, vehicle.machines[0]
    if len(joints) + len(roles.tilts) > _SURFACE_LIMIT:
        raise ConfigError(
            f"PX4 moves {_SURFACE_LIMIT} servos at most, the vehicle has {len(joints) + len(roles.tilts)}",
            file=vehicle.file,
            field="joints",
            remedy="let some rest by null in px4.channels",
        )
    parameters: dict[str, float | int] = {"CA_SV_CS_COUNT": len(joints)}
    if not joints:
        return parameters
    channels = [machine.joints[k].channel for k in joints]
    torque, lift = flight.effects(vehicle, outputs, channels)
    torque = _scaled(torque)
    trim = float((torque[:, 1] * flight.outputs(outputs, channels)).sum())
    parameters["TRIM_PITCH"] = _number(min(max(trim, -_TRIM_LIMIT), _TRIM_LIMIT))
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
        flap = _flap(outputs, channels[servo], lift[servo]) if kind in _FLAPS else 0
        parameters |= {
            f"CA_SV_CS{servo}_{name}": x for name, x in (("TRIM", 0), ("FLAP", flap), ("SPOIL", 0))
        }
    return parameters


def tilt_parameters(vehicle: Aircraft, roles: Roles) -> dict[str, float | int]:
    """Return CA_SV_TL* of a vehicle's tilt servos.

    Args:
        vehicle: The vehicle.
        roles: Roles of its channels.

    Raises:
        ConfigError: If there are too many for PX4.
    """
    tilts = roles.tilts
    if len(tilts) > _TILT_LIMIT:
        raise ConfigError(
            f"PX4 moves {_TILT_LIMIT} tilts at most, the vehicle has {len(tilts)}",
            file=vehicle.file,
            field="joints",
            remedy="let some rest by null in px4.channels",
        )
    parameters: dict[str, float | int] = {"CA_SV_TL_COUNT": len(tilts)}
    for number, tilt in enumerate(tilts):
        hover, flight = reversed(tilt.ends) if tilt.is_reversed else tilt.ends
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
