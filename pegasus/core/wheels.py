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
    """Wheels of a vehicle, by place of their channels and joints; -1 for none."""

    def __init__(self, vehicle: Vehicle) -> None:
        airframe = vehicle.parameters[0].airframe
        wheels, joints = airframe.wheels.values(), list(airframe.hinges)
        names = [channel.name for channel in vehicle.channels]
        self._friction = np.array([wheel.rolling_friction for wheel in wheels])
        self._ratio = np.array([0.0 if wheel.joint is None else wheel.steering_ratio for wheel in wheels])
        self._brake = [-1 if wheel.brake is None else names.index(wheel.brake) for wheel in wheels]
        self._joint = [-1 if wheel.joint is None else joints.index(wheel.joint) for wheel in wheels]

    def of(self, vehicle: Vehicle) -> tuple[Array, Array]:
        """Return friction and steering angles [rad] of the wheels of all copies, those of the first first."""
        commands, angles = (
            np.pad(vehicle.columns[name], ((0, 0), (0, 1))) for name in ("limited_command", "joint_angle")
        )
        friction = self._friction + commands[:, self._brake] * (_GRIP - self._friction)
        return friction.ravel(), (angles[:, self._joint] * self._ratio).ravel()
