"""Brakes and steering of the wheels of all vehicles."""

from collections.abc import Sequence

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.engine import Engine
from pegasus.contracts.vehicle import Vehicle

_GRIP = 1.0
"""Coefficient of friction of a wheel that is braked fully; that of the ground limits it."""


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
        found = [wheels.of(vehicle) for vehicle, wheels in self._wheeled]
        engine.roll(*(np.concatenate(part) for part in zip(*found, strict=True)))


class _Wheels:
    """Wheels of a vehicle, by the places of their channels and joints."""

    def __init__(self, vehicle: Vehicle) -> None:
        airframe = vehicle.parameters[0].airframe
        wheels, joints = airframe.wheels.values(), list(airframe.hinges)
        names = [channel.name for channel in vehicle.channels]
        self._friction = np.array([wheel.rolling_friction for wheel in wheels])
        self._ratio = np.array([0.0 if wheel.joint is None else wheel.steering_ratio for wheel in wheels])
        # A wheel without a brake takes no share of any channel, one without a joint none of any angle.
        is_braked = np.array([wheel.brake is not None for wheel in wheels])
        self._braking = np.where(is_braked, _GRIP - self._friction, 0.0)
        self._brake = [0 if wheel.brake is None else names.index(wheel.brake) for wheel in wheels]
        self._joint = [0 if wheel.joint is None else joints.index(wheel.joint) for wheel in wheels]
        self._steers = bool(self._ratio.any())

    def of(self, vehicle: Vehicle) -> tuple[Array, Array]:
        """Return friction and steering angles [rad] of the wheels of all copies, those of the first first."""
        friction = self._friction + vehicle.columns["limited_command"][:, self._brake] * self._braking
        angle = np.zeros(friction.shape)
        if self._steers:
            angle = vehicle.columns["joint_angle"][:, self._joint] * self._ratio
        return friction.ravel(), angle.ravel()
