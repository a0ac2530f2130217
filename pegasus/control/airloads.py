"""Drag and largest thrust of a vehicle along a path, from the laws of its airframe and rotors."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import cross, normalize
from pegasus.base.step_math import Vec3
from pegasus.dynamics import Drag, ThrustCurve
from pegasus.environment import Environment

_PASSES = 2
"""Repetitions of attitude from thrust and drag from attitude."""


@dataclass(frozen=True)
class Airframe:
    """What the air does to a vehicle: the drag of its body and the forces of its rotors."""

    mass: float
    """Mass [kg]."""
    drag: Drag | None
    """Drag of the body."""
    curve: ThrustCurve
    """Thrust curve of the rotors, which are taken as parallel to the vehicle's z axis."""
    rotor_count: int
    hover_speed: float
    """Rotor speed in hover [rad/s]."""
    max_speed: float
    """Largest rotor speed [rad/s]; may be infinite."""
    environment: Environment
    """Air density and mean wind."""

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
            body, share = self._of_body(velocity, speed, density), self._largest(velocity, density)
            body[:, :2] += self.rotor_count * self._rotor(velocity, speed, density)[:, :2]
            drag = (axes * body[:, :, None]).sum(axis=1) / self.mass
        return drag, share

    def _of_body(self, velocity: Array, speed: Array, density: Array) -> Array:
        """Return the drag of the body at velocities through the air, body frame [N], shape (n, 3)."""
        law: Any = None if self.drag is None else type(self.drag).law
        if self.drag is None:
            return np.zeros_like(velocity)
        if law is None:
            force, _ = self.drag.wrench(velocity, np.zeros_like(velocity), density)
            return force.copy()
        still, count = Vec3(0.0, 0.0, 0.0), self.rotor_count
        rows = zip(velocity.tolist(), speed.tolist(), density[:, 0].tolist(), strict=True)
        return _vectors(law(self.drag, Vec3(*v), still, (w,) * count, rho)[0] for v, w, rho in rows)

    def _rotor(self, velocity: Array, speed: Array, density: Array) -> Array:
        """Return the force of a rotor, body frame [N], shape (n, 3)."""
        law: Any = type(self.curve).law
        if law is None:
            along = self.curve.thrust(speed[:, None], velocity[:, 2:], density)[0]
            return np.concatenate([np.zeros((len(along), 2)), along], axis=1)
        p = self.curve.parameters()
        rows = zip(velocity.tolist(), speed.tolist(), density[:, 0].tolist(), strict=True)
        return _vectors(law(p, w, Vec3(*v), rho)[0] for v, w, rho in rows)

    def _largest(self, velocity: Array, density: Array) -> Array:
        """Return the thrust at the largest speed by that in still air, shape (n,)."""
        if math.isinf(self.max_speed):
            return np.ones(len(velocity))
        fastest = np.full(len(velocity), self.max_speed)
        moving = self._rotor(velocity, fastest, density)[:, 2]
        still = self._rotor(np.zeros((1, 3)), fastest[:1], density[:1])[0, 2]
        share: Array = np.maximum(moving / still, 0.01)
        return share


def _vectors(found: Iterable[Vec3]) -> Array:
    """Return vectors as rows, shape (n, 3)."""
    return np.array([(v[0], v[1], v[2]) for v in found], dtype=np.float64)
