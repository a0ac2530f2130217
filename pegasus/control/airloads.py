"""Loads of the air on body and rotors by their models; drag and largest thrust of a vehicle along a path."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.frames import cross, normalize
from pegasus.base.step_math import Vec3
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.dynamics import Drag, ThrustCurve
from pegasus.environment import Environment

_PASSES = 2
"""Repetitions of attitude from thrust and drag from attitude."""


@dataclass(frozen=True)
class Airframe:
    """Mass, drag, rotors and environment of a vehicle."""

    mass: float
    """Mass [kg]."""
    drag: Drag | None
    """Drag of the body."""
    curve: ThrustCurve
    """Thrust curve of the rotors, which are taken as parallel to the vehicle's z axis."""
    rotor_count: int
    max_speed: float
    """Largest rotor speed [rad/s]; may be infinite."""
    environment: Environment
    """Gravity, air density and mean wind."""
    weight: float
    """Weight on the ground [N]."""
    air_density: float
    """Air density there [kg/m^3]."""
    hover_speed: float
    """Rotor speed in hover there [rad/s]."""
    hover_torque: float
    """Torque of a rotor in hover [N m]."""
    moment_ratio: float
    """Torque by thrust of a rotor [m]."""
    heave: tuple[float, float]
    """Thrust that the rotors lose in a climb along z, by its speed, and gain in a descent [N s/m]."""

    @classmethod
    def of(cls, vehicle: Rotorcraft) -> "Airframe":
        """Return the airframe of a vehicle.

        Raises:
            ConfigError: If there is no gravity.
        """
        environment, curve, ground = vehicle.environment, vehicle.thrust_curve, np.zeros((1, 3))
        weight = vehicle.mass * float(np.sqrt((environment.gravity_vector(ground) ** 2).sum()))
        allowed = "must be above 0 m/s^2 for a controller, whose thrust balances the weight"
        require(weight > 0, "gravity", weight / vehicle.mass, allowed, "use a custom backend")
        density = environment.air_density(ground)[:, None]
        speed = hover_speed(vehicle, weight, density)
        force, torque = curve.thrust(speed, np.zeros((1, 1)), density)
        climb, sink = (curve.thrust(speed, np.full((1, 1), v), density)[0] for v in (0.5, -0.5))
        upward = float((vehicle.layout.axis[:, 2] ** 2).sum())
        return cls(
            *(vehicle.mass, vehicle.drag, curve, vehicle.rotor_count, vehicle.motor.max_speed, environment),
            *(weight, float(density[0, 0]), float(speed[0, 0]), float(torque[0, 0])),
            moment_ratio=float(torque[0, 0] / force[0, 0]),
            heave=(
                float((force - climb)[0, 0]) / 0.5 * upward,
                float((sink - force)[0, 0]) / 0.5 * upward,
            ),
        )

    def loads(self, points: Array, force: Array) -> tuple[Array, Array]:
        """Return the drag by mass [m/s^2], world frame, and the largest thrust by that in still air.

        Their shapes are (n, 3) and (n,).

        The vehicle does not rotate, and its rotors turn as fast as the thrust asks for.

        Args:
            points: Points of the path, shape (n, 14); see `Trajectory.samples`.
            force: Thrust for the acceleration by mass without drag, world frame [m/s^2], shape (n, 3).
        """
        position, yaw = points[:, :3], np.nan_to_num(points[:, 12])
        through_air = points[:, 3:6] - self.environment.wind.mean_at(position)
        density = self.environment.air_density(position)[:, None]
        weight = np.sqrt((self.environment.gravity_vector(position) ** 2).sum(axis=1))
        ahead = np.stack([np.cos(yaw), np.sin(yaw), np.zeros(len(yaw))], axis=1)
        drag, share = np.zeros_like(force), np.ones(len(force))
        for _ in range(_PASSES):
            thrust = force - drag
            size = np.sqrt((thrust * thrust).sum(axis=1))
            z = normalize(np.where(size[:, None] > 1e-3, thrust, (0.0, 0.0, 1.0)))
            y = cross(z, ahead)
            # With the thrust along the heading its direction across is free.
            level = (y * y).sum(axis=1, keepdims=True) > 1e-6
            y = normalize(np.where(level, y, np.stack([-ahead[:, 1], ahead[:, 0], ahead[:, 2]], axis=1)))
            axes = np.stack([cross(y, z), y, z], axis=1)
            velocity = (axes * through_air[:, None]).sum(axis=2)
            speed = self.hover_speed * np.sqrt(np.maximum(size / weight, 0.01))
            speeds = np.repeat(speed[:, None], self.rotor_count, axis=1)
            body, share = body_load(self.drag, velocity, speeds, density)[0], self._largest(velocity, density)
            body[:, :2] += self.rotor_count * rotor_load(self.curve, velocity, speed, density)[0][:, :2]
            drag = (axes * body[:, :, None]).sum(axis=1) / self.mass
        return drag, share

    def _largest(self, velocity: Array, density: Array) -> Array:
        """Return the thrust at the largest speed by that in still air, shape (n,)."""
        if math.isinf(self.max_speed):
            return np.ones(len(velocity))
        fastest = np.full(len(velocity), self.max_speed)
        moving = rotor_load(self.curve, velocity, fastest, density)[0][:, 2]
        still = rotor_load(self.curve, np.zeros((1, 3)), fastest[:1], density[:1])[0][0, 2]
        share: Array = np.maximum(moving / still, 0.01)
        return share


def lift_share(vehicle: Rotorcraft) -> float:
    """Return the lift of all rotors by the thrust of each; reversible ones push up in either direction."""
    upward = vehicle.layout.axis[:, 2]
    return float((np.abs(upward) if vehicle.channels[0].low < 0.0 else upward).sum())


def hover_speed(
    vehicle: Rotorcraft, weight: float, air_density: Array, upright: Array | None = None
) -> Array:
    """Return the rotor speed at which the rotors of a vehicle balance its weight [rad/s], shape (1, 1).

    Args:
        vehicle: The vehicle.
        weight: Its weight [N].
        air_density: Air density [kg/m^3], shape (1, 1).
        upright: Lift by thrust of each rotor that carries it, shape (R,); all carry it by default.
    """
    lift = lift_share(vehicle) if upright is None else float(upright.sum())
    share = weight / np.maximum(lift, 1e-3)
    speed: Array = vehicle.thrust_curve.rotor_speed(np.full((1, 1), share), air_density)
    return speed


def body_load(
    drag: Drag | None, velocity: Array, rotor_speeds: Array, air_density: Array
) -> tuple[Array, Array]:
    """Return force [N] and torque [N m] of the drag of a body that does not rotate, shape (n, 3) each.

    Args:
        drag: Its model; None for no drag.
        velocity: Velocities through the air, body frame [m/s], shape (n, 3).
        rotor_speeds: Rotor speeds [rad/s], shape (n, R).
        air_density: Air density [kg/m^3], shape (n, 1).
    """
    none = np.zeros_like(velocity)
    if drag is None:
        return none, none.copy()
    law: Any = type(drag).law
    still = Vec3(0.0, 0.0, 0.0)
    rows = zip(velocity.tolist(), rotor_speeds.tolist(), air_density[:, 0].tolist(), strict=True)
    return _vectors(law(drag, Vec3(*v), still, tuple(w), rho) for v, w, rho in rows)


def rotor_load(curve: ThrustCurve, velocity: Array, speed: Array, air_density: Array) -> tuple[Array, Array]:
    """Return force [N] and torque [N m] of a rotor with its axis along z, shape (n, 3) each.

    Args:
        curve: Its thrust curve.
        velocity: Velocities through the air [m/s], shape (n, 3).
        speed: Rotor speeds [rad/s], shape (n,).
        air_density: Air density [kg/m^3], shape (n, 1).
    """
    law: Any = type(curve).law
    p = curve.parameters()
    rows = zip(velocity.tolist(), speed.tolist(), air_density[:, 0].tolist(), strict=True)
    return _vectors(law(p, w, Vec3(*v), rho) for v, w, rho in rows)


def _vectors(found: Iterable[tuple[Vec3, Vec3]]) -> tuple[Array, Array]:
    """Return pairs of vectors as rows, shape (n, 3) each."""
    pairs = np.array([(f.x, f.y, f.z, m.x, m.y, m.z) for f, m in found], dtype=np.float64)
    return pairs[:, :3], pairs[:, 3:]
