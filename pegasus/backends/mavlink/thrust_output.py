"""Outputs of an autopilot that give a thrust."""

import numpy as np

from pegasus.backends.mavlink.airframe import OutputMap, lift_shares
from pegasus.base.arrays import Array
from pegasus.contracts.vehicle import Rotorcraft


class ThrustOutput:
    """Mean output of the rotors of N vehicles for a thrust along the body's z axis, in still air.

    Args:
        vehicle: The vehicles, in a simulation.
        outputs: Map from the outputs of their autopilots to rotor speeds.
    """

    def __init__(self, vehicle: Rotorcraft, outputs: OutputMap) -> None:
        self._vehicle, self._scale = vehicle, np.array(outputs.scale)
        self._offset, self._upright = np.array(outputs.offset), lift_shares(vehicle.layout, outputs)
        self._full = np.minimum(self._scale + self._offset, vehicle.motor.max_speed)

    @property
    def weight(self) -> Array:
        """Weight of each vehicle [N], shape (N,)."""
        gravity = self._vehicle.environment.gravity_vector(self._vehicle.state.position)
        weight: Array = self._vehicle.mass * np.sqrt((gravity * gravity).sum(axis=1))
        return weight

    @property
    def density(self) -> Array:
        """Density of the air at each vehicle [kg/m^3], shape (N,)."""
        return self._vehicle.environment.air_density(self._vehicle.state.position)

    @property
    def most(self) -> Array:
        """Thrust at full outputs [N], shape (N,)."""
        speed = np.broadcast_to(self._full, (self._vehicle.count, len(self._full)))
        thrust, _ = self._vehicle.thrust_curve.thrust(speed, np.zeros(speed.shape), self.density[:, None])
        most: Array = (thrust * self._upright).sum(axis=1)
        return most

    def of(self, thrust: Array) -> Array:
        """Return the mean outputs, 0 to 1, shape (N,).

        Args:
            thrust: Thrust of each vehicle, to which all rotors contribute alike [N], shape (N,).
        """
        each = (thrust / self._upright.sum())[:, None] * np.ones(len(self._full))
        speed = self._vehicle.thrust_curve.rotor_speed(each, self.density[:, None])
        outputs: Array = np.clip(((speed - self._offset) / self._scale).mean(axis=1), 0.0, 1.0)
        return outputs
