"""Feed-forward of the drag across the rotors' axis at the velocity of the trajectory."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_math import Vec3, dot, maximum, norm, rotate_inverse, sqrt
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.control.airloads import body_load, hover_speed, rotor_load
from pegasus.control.control_step import Body

_SLOW, _FAST = 2.0, 8.0
"""Speeds at which the drag of a vehicle is found [m/s]."""
_PASSES, _MOST_LEAN = 6, 0.7
"""Repetitions of lean and rotor speed in level flight at a speed, and the largest sine of the lean."""


@dataclass(frozen=True)
class LevelDrag:
    """Drag of a hovering vehicle across its z axis, c v + d v^2 at a speed v, the mean of x and y."""

    linear: float = 0.0
    """c at the rotor speeds of hovering, with which it grows [N s/m]."""
    quadratic: float = 0.0
    """d [N s^2/m^2]."""
    lever: float = 0.0
    """Height above the centre of mass at which the linear part acts [m]."""


def level_drag(vehicle: Rotorcraft, rotor_speed: float, air_density: float) -> LevelDrag:
    """Return the drag of a vehicle by its own models of rotors and body.

    Args:
        vehicle: The vehicle.
        rotor_speed: Rotor speed in hover [rad/s].
        air_density: Air density [kg/m^3].
    """
    loads = []
    for speed in (_SLOW, _FAST):
        x, y = (_load(vehicle, speed * way, rotor_speed, air_density) for way in np.eye(3)[:2])
        loads.append((float(-(x[0] + y[1]) / 2.0), float((y[3] - x[4]) / 2.0)))
    (slow, moment), (fast, _) = loads
    linear, quadratic = _coefficients((_SLOW, slow / _SLOW), (_FAST, fast / _FAST))
    return LevelDrag(linear, quadratic, moment / _SLOW / linear if linear > 0.0 else 0.0)


def drag_by_axis(vehicle: Rotorcraft, weight: float, air_density: float) -> Array:
    """Return c [N s/m] and d [N s^2/m^2] of the drag c v + d v^2 along x and y, shape (2, 2), by axis.

    At each speed the vehicle leans against the drag and its thrust balances the weight: in forward flight its
    rotors turn more slowly than in hover.

    Args:
        vehicle: The vehicle.
        weight: Its weight [N].
        air_density: Air density [kg/m^3].
    """
    hover = float(hover_speed(vehicle, weight, np.full((1, 1), air_density))[0, 0])
    found = []
    for axis in range(2):
        points = []
        for speed in (_SLOW, _FAST):
            lean, level, rotor_speed = 0.0, 1.0, hover
            for _ in range(_PASSES):
                velocity = speed * (level * np.eye(3)[axis] + lean * np.eye(3)[2])
                force = _load(vehicle, velocity, rotor_speed, air_density)
                lean = min(max(-float(force[axis]) / weight, 0.0), _MOST_LEAN)
                level = math.sqrt(1.0 - lean * lean)
                thrust = weight * (rotor_speed / hover) ** 2 + float(force[2])
                rotor_speed *= math.sqrt(weight * level / max(thrust, 0.01 * weight))
            # The thrust is that share of the weight, with whose root c grows.
            across, growth = speed * level, math.sqrt(level)
            points.append((across / growth, weight * lean / (across * growth)))
        found.append(_coefficients(*points))
    return np.array(found)


def _coefficients(slow: tuple[float, float], fast: tuple[float, float]) -> tuple[float, float]:
    """Return c and d of c + d v through two points of a speed v [m/s] and the drag by it [N s/m]."""
    quadratic = max((fast[1] - slow[1]) / (fast[0] - slow[0]), 0.0)
    return max(slow[1] - quadratic * slow[0], 0.0), quadratic


def _load(vehicle: Rotorcraft, velocity: Array, rotor_speed: float, air_density: float) -> Array:
    """Return force [N] and torque [N m] of rotors and body by a velocity [m/s], body frame, shape (6,)."""
    layout, density = vehicle.layout, np.full((1, 1), air_density)
    speeds = np.full((1, len(layout.axis)), rotor_speed)
    total = np.zeros(6)
    for place, axis in zip(layout.position - vehicle.center_of_mass, layout.axis, strict=True):
        along = float((axis * velocity).sum())
        level = velocity - along * axis
        size = float(np.sqrt((level * level).sum()))
        ahead = level / max(size, 1e-12)
        flows = np.array([[size, 0.0, along], [0.0, 0.0, 0.0]])
        forces, torques = rotor_load(
            vehicle.thrust_curve, flows, np.full(2, rotor_speed), np.full((2, 1), air_density)
        )
        for force, torque, sign in zip(forces, torques, (1.0, -1.0), strict=True):
            push = sign * (force[0] * ahead + force[2] * axis)
            turn = sign * torque[1] * np.cross(axis, ahead)
            total += np.concatenate([push, np.cross(place, push) + turn])
    body = np.concatenate(body_load(vehicle.drag, velocity[None], speeds, density), axis=1)
    load: Array = total + body[0]
    return load


def against_drag(
    body: Body, thrust: Vec3, jerk: Vec3, velocity: Vec3, acceleration: Vec3
) -> tuple[Vec3, Vec3]:
    """Return the acceleration that balances the drag along a trajectory [m/s^2], and its rate [m/s^3].

    The z axis is that of the thrust without it. Source: Faessler, Franchi and Scaramuzza 2018, "Differential
    flatness of quadrotor dynamics subject to rotor drag", with a drag that grows like the rotors' speed.

    Args:
        body: The vehicle.
        thrust: Acceleration by the rotors without drag, world frame [m/s^2].
        jerk: Its rate [m/s^3].
        velocity: Velocity in the world [m/s].
        acceleration: Acceleration in the world [m/s^2].
    """
    size = maximum(norm(thrust), 1e-6)
    z = thrust * (1.0 / size)
    turning = (jerk - z * dot(z, jerk)) * (1.0 / size)
    along = dot(z, velocity)
    level = velocity - z * along
    change = acceleration - turning * along - z * (dot(turning, velocity) + dot(z, acceleration))
    speed = maximum(norm(level), 1e-6)
    linear = body.rotor_drag * sqrt(size / norm(body.gravity))
    gain = (linear + body.body_drag * speed) / body.mass
    growth = body.body_drag * dot(level, change) / (speed * body.mass)
    return level * gain, change * gain + level * growth


def torque_against_drag(body: Body, thrust: Vec3, velocity: Vec3) -> Vec3:
    """Return the torque that balances that of the rotors' drag about the centre of mass [N m].

    Args:
        body: The vehicle.
        thrust: Acceleration by the rotors [m/s^2].
        velocity: Velocity in the world [m/s].
    """
    moment = body.rotor_drag * sqrt(norm(thrust) / norm(body.gravity)) * body.drag_lever
    local = rotate_inverse(body.orientation, velocity)
    return Vec3(-moment * local[1], moment * local[0], 0.0)
