"""Trim of vehicles: steady flight at an airspeed, climb angle and turn rate; stall speed."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, row_product
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_matrix
from pegasus.core.bounded_search import size_of
from pegasus.core.steady_flight import (
    Found,
    SteadySearch,
    body_from_path,
    path_from_world,
)
from pegasus.core.steady_loads import Conditions
from pegasus.core.step_vehicle import StepVehicle
from pegasus.environment import Environment

_NOTABLE = 0.2
"""Share of what is missing most from which something else is named."""


@dataclass(frozen=True, eq=False)
class Trim:
    """Steady flight in still air, and its commands."""

    airspeed: float
    """Speed of the centre of mass [m/s]."""
    climb: float
    """Angle of the path above the horizon [rad]."""
    turn_rate: float
    """Rate of the heading, positive to the left [rad/s]."""
    angle_of_attack: float
    """Angle of the body's x axis above the path, in the plane of symmetry [rad]."""
    sideslip: float
    """Angle of the path to the right of that plane [rad]."""
    bank: float
    """Bank about the path, positive with the right side down [rad]."""
    command: Array
    """Commands by channel: speeds of rotors [rad/s], angles of joints [rad]; shape (U,)."""
    orientation: Array
    """Attitude (x, y, z, w) on the course along the world's x axis, shape (4,)."""
    velocity: Array
    """Velocity of the centre of mass, body frame [m/s], shape (3,)."""
    angular_velocity: Array
    """Angular velocity, body frame [rad/s], shape (3,)."""

    @property
    def roll(self) -> float:
        """Bank about the body's x axis, positive with the right side down [rad]."""
        x, y, z, w = self.orientation.tolist()
        return math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))

    @property
    def pitch(self) -> float:
        """Angle of the body's x axis above the horizon [rad]."""
        x, y, z, w = self.orientation.tolist()
        return math.asin(max(-1.0, min(1.0, 2.0 * (x * z - w * y))))


def trim(
    vehicle: StepVehicle,
    airspeed: float,
    climb: float | None = 0.0,
    turn_rate: float = 0.0,
    *,
    environment: Environment | None = None,
) -> Trim:
    """Return the steady flight of a vehicle at an airspeed, that of its first copy.

    An aircraft flies on its wings: rotors along its flight drive it, others rest, nacelles are tilted
    forward. Only where this cannot be are all rotors and tilts free. The flight is coordinated, without a
    force along the body's y axis, if that can be. Of all commands that hold it, those nearest to rest are
    taken, by their ranges.

    Args:
        vehicle: The vehicle.
        airspeed: Airspeed of the centre of mass [m/s].
        climb: Climb angle [rad]; None for the glide with resting rotors.
        turn_rate: Rate of the heading, positive to the left [rad/s].
        environment: Air and gravity; by default those at the vehicle, or of a default world if it is in none.

    Raises:
        ConfigError: If there is no such flight within the limits of its channels; the message says why.
    """
    search = search_of(vehicle, environment)
    found = search.steady(airspeed, climb, turn_rate)
    if not found.is_steady:
        problem = f"cannot be trimmed at {airspeed:.4g} m/s: {what_is_missing(search, found, turn_rate)}"
        raise ConfigError(problem, field="vehicle", value=vehicle.name)
    alpha, slip, bank, path = found.path[:4].tolist()
    body_from_world = row_product(body_from_path(found.path), path_from_world(found.path))
    return Trim(
        airspeed=airspeed,
        climb=path,
        turn_rate=turn_rate,
        angle_of_attack=alpha,
        sideslip=slip,
        bank=bank,
        command=found.command,
        orientation=quaternion_from_matrix(body_from_world.T),
        velocity=found.flight.velocity,
        angular_velocity=found.flight.angular_velocity,
    )


def stall_speed(vehicle: StepVehicle, *, environment: Environment | None = None) -> float | None:
    """Return the least airspeed at which the surfaces alone carry a vehicle in level flight [m/s].

    It is sqrt(2 W / (rho S CL)) at the largest lift coefficient at which the deflections hold the moments;
    None if the lift has no maximum up to 0.8 rad, or there is none.

    Args:
        vehicle: The vehicle.
        environment: Air and gravity; see `trim`.
    """
    search = search_of(vehicle, environment)
    lift = search.largest_lift()
    return None if lift is None else search.speed_of(lift)


def require_flight(vehicle: StepVehicle, environment: Environment) -> None:
    """Raise a ConfigError if a vehicle with surfaces can neither hover, fly level nor glide at any airspeed.

    Args:
        vehicle: The vehicle, of which the first copy is taken.
        environment: Air and gravity.
    """
    search = search_of(vehicle, environment)
    if search.loads.largest_lift() > search.loads.weight:
        return
    found = search.at_any_speed()
    if not found.is_steady and not search.glides():
        speed = size_of(found.flight.velocity)
        missing = what_is_missing(search, found, 0.0)
        raise ConfigError(
            f"cannot be trimmed at any airspeed; at {speed:.3g} m/s {missing}",
            field="surfaces",
            remedy="move the centre of mass, or change areas, angles or limits of the surfaces",
        )


def search_of(vehicle: StepVehicle, environment: Environment | None) -> SteadySearch:
    """Return the search for steady flights of the first copy of a vehicle; see `trim`."""
    if environment is None:
        # It is set once the vehicle has joined a simulation.
        environment = getattr(vehicle, "environment", None)
    conditions = Conditions.of(environment or Environment(), np.asarray(vehicle.state.position[:1]))
    return SteadySearch(vehicle.machines[0], conditions)


def what_is_missing(search: SteadySearch, found: Found, turn_rate: float) -> str:
    """Return why a flight is not steady: too little lift or thrust, or a channel at its limit.

    Args:
        search: The search.
        found: The flight that came next to steady flight.
        turn_rate: Rate of the heading [rad/s].
    """
    loads = search.loads
    weight = loads.weight
    speed = size_of(found.flight.velocity)
    lift = search.largest_lift() if loads.largest_lift() < weight else None
    pressure = 0.5 * loads.conditions.density * speed**2
    needed = weight * math.hypot(math.cos(found.path[3]), speed * turn_rate / loads.conditions.gravity)
    if lift is not None and lift * pressure < needed:
        carried = "it weighs" if turn_rate == 0.0 else "the turn needs"
        return f"the wings lift {lift * pressure:.4g} N at most, {carried} {needed:.4g} N"
    channels = loads.machine.channels
    at_limit = [
        f"{channels[k].name} at {round(float(found.command[k]), 6):g}"
        for k in range(len(channels))
        if found.command[k] != loads.idle[k]
        and min(found.command[k] - loads.low[k], loads.high[k] - found.command[k]) < 1e-9 * search.scale[k]
    ]
    forces = row_product(found.left[:3], body_from_path(found.path))
    notable = _NOTABLE * float(np.abs([*forces, *found.left[3:6]]).max())
    missing = [
        f"{abs(force) * weight:.3g} N too {'little' if force < 0 else 'much'} force {direction}"
        for force, direction in zip(forces, ("along the flight", "to the left", "upward"), strict=True)
        if abs(force) > notable
    ]
    axes = ("roll", "pitch", "yaw")
    turning = [axes[k] for k in range(3) if abs(found.left[3 + k]) > notable]
    if turning:
        missing.append(f"moments of {' and '.join(turning)} that are not held")
    limits = f" with {', '.join(at_limit)}" if at_limit else ""
    return f"{', '.join(missing)}{limits}"
