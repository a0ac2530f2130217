"""Rotor speeds of a thrust and a torque."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.control import Allocation
from pegasus.control.airloads import hover_speed


class Mixer:
    """Allocation of thrust and torque to the rotors of the first copy of a vehicle."""

    def __init__(self, vehicle: Rotorcraft) -> None:
        self._vehicle = vehicle
        density, gravity = self._density(), vehicle.environment.gravity_vector(vehicle.state.position[:1])
        weight = vehicle.mass * float(np.linalg.norm(gravity))
        hover = hover_speed(vehicle, weight, density)
        force, torque = vehicle.thrust_curve.thrust(hover, np.zeros((1, 1)), density)
        ratio = float(torque[0, 0] / force[0, 0])
        self._allocation = Allocation(vehicle.layout, vehicle.center_of_mass, ratio, vehicle.inertia)

    def speeds(self, force: float, torque: Array) -> list[float]:
        """Return the rotor speeds [rad/s] of a thrust [N] along z and a torque [N m], shape (3,)."""
        density, still = self._density(), np.zeros((1, 1))
        fastest = still + self._vehicle.motor.max_speed
        most, _ = self._vehicle.thrust_curve.thrust(fastest, still, density)
        wrench = np.concatenate([[0.0, 0.0, force], torque])[None]
        thrust = self._allocation.allocate(wrench, still, most)
        speeds: list[float] = self._vehicle.thrust_curve.rotor_speed(thrust, density)[0].tolist()
        return speeds

    def _density(self) -> Array:
        environment, position = self._vehicle.environment, self._vehicle.state.position[:1]
        return environment.air_density(position)[:, None]
