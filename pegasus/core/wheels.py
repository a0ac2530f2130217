"""Brakes, steering and rolling of the wheels of all vehicles."""

from collections.abc import Mapping, Sequence

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import cross, rotate
from pegasus.contracts.engine import BodyIds, Contacts, Engine
from pegasus.contracts.vehicle import Vehicle

_GRIP = 1.0
"""Coefficient of friction of a wheel that is braked fully; that of the ground limits it."""
_REACH = 1.1
"""Distance of a contact from the middle of a wheel that it belongs to, by the radius."""


class WheelInputs:
    """Friction and steering of the wheels of vehicles, which follow from their commands and joints.

    Args:
        vehicles: All vehicles, in the order of the engine's bodies.
    """

    def __init__(self, vehicles: Sequence[Vehicle]) -> None:
        self._wheeled = [
            (vehicle, _Wheels(vehicle)) for vehicle in vehicles if vehicle.parameters[0].airframe.wheels
        ]

    def apply(self, engine: Engine) -> None:
        """Hand friction and steering to the engine.

        Args:
            engine: The engine.
        """
        if not self._wheeled:
            return
        found = [(wheels.friction(vehicle), wheels.steering(vehicle)) for vehicle, wheels in self._wheeled]
        engine.roll(*(np.concatenate([rows.ravel() for rows in part]) for part in zip(*found, strict=True)))

    def turn(self, engine: Engine, bodies: Mapping[str, BodyIds], dt: float) -> None:
        """Turn the wheels that touch something by the way over which they have rolled.

        In the air they stand still, as they do with full brakes. Nothing but images depends on their angles.

        Args:
            engine: The engine, after a step.
            bodies: Handles of the copies of each vehicle by its name.
            dt: Length of the step [s].
        """
        contacts = engine.contacts() if self._wheeled else None
        if contacts is not None and len(contacts.body):
            for vehicle, wheels in self._wheeled:
                wheels.turn(vehicle, bodies[vehicle.name], contacts, dt)


class _Wheels:
    """Wheels of a vehicle, by the places of their channels and joints."""

    def __init__(self, vehicle: Vehicle) -> None:
        airframe = vehicle.parameters[0].airframe
        wheels, joints = airframe.wheels.values(), list(airframe.hinges)
        names = [channel.name for channel in vehicle.channels]
        self._friction = np.array([wheel.rolling_friction for wheel in wheels])
        self._ratio = np.array([0.0 if wheel.joint is None else wheel.steering_ratio for wheel in wheels])
        # A wheel without a brake takes no share of any channel, one without a joint none of any angle.
        self._is_braked = np.array([wheel.brake is not None for wheel in wheels])
        self._braking = np.where(self._is_braked, _GRIP - self._friction, 0.0)
        self._brake = [0 if wheel.brake is None else names.index(wheel.brake) for wheel in wheels]
        self._joint = [0 if wheel.joint is None else joints.index(wheel.joint) for wheel in wheels]
        self._steers = bool(self._ratio.any())
        self._hub = np.array([wheel.position for wheel in wheels])
        self._axle = np.array([wheel.axle for wheel in wheels])
        self._radius = np.array([wheel.radius for wheel in wheels])

    def friction(self, vehicle: Vehicle) -> Array:
        """Return the friction of the wheels of all copies, shape (N, W)."""
        friction: Array = self._friction + self._brakes(vehicle) * self._braking
        return friction

    def steering(self, vehicle: Vehicle) -> Array:
        """Return the steering angles of the wheels of all copies [rad], shape (N, W)."""
        if not self._steers:
            return np.zeros((vehicle.count, len(self._ratio)))
        angle: Array = vehicle.columns["joint_angle"][:, self._joint] * self._ratio
        return angle

    def turn(self, vehicle: Vehicle, ids: BodyIds, contacts: Contacts, dt: float) -> None:
        """Turn the wheels that touch the world; see `WheelInputs.turn`.

        The body moves on above a point of contact by the radius times the angle.
        """
        (ground,) = np.nonzero(np.isin(contacts.body, ids) & (contacts.other < 0))
        copy = np.searchsorted(ids, contacts.body[ground])
        state, normal = vehicle.state, contacts.normal[ground]
        rotation, arm = state.rotation[copy], contacts.position[ground] - state.position[copy]
        away = (arm[:, None] - rotate(rotation[:, None], self._hub)) / self._radius[:, None]
        contact, wheel = np.nonzero((away * away).sum(axis=-1) < _REACH**2)
        copy, rotation, arm = copy[contact], rotation[contact], arm[contact]
        angle = self.steering(vehicle)[copy, wheel]
        c, s = np.cos(angle), np.sin(angle)
        x, y, z = self._axle[wheel].T
        axle = rotate(rotation, np.stack([c * x - s * y, s * x + c * y, z], axis=-1))
        forward = cross(axle, normal[contact])
        size = np.sqrt((forward * forward).sum(axis=-1))
        velocity = state.velocity[copy] + cross(rotate(rotation, state.angular_velocity[copy]), arm)
        # A wheel that lies on its side, or is braked fully, slides.
        rolls = (size > 0.1) & ~(self._is_braked & (self._brakes(vehicle) >= 1.0))[copy, wheel]
        speed = (velocity * forward).sum(axis=-1)[rolls] / size[rolls]
        turned = vehicle.columns["wheel_angle"]
        advance = np.zeros(turned.shape)
        advance[copy[rolls], wheel[rolls]] = speed * dt / self._radius[wheel[rolls]]
        turned[...] = np.remainder(turned + advance, 2 * np.pi)

    def _brakes(self, vehicle: Vehicle) -> Array:
        """Return the command of the channel of each wheel, shape (N, W); of any where it has none."""
        command: Array = vehicle.columns["limited_command"][:, self._brake]
        return command
