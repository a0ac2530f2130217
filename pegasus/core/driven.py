"""Checks of vehicles with driven motors, whose rotor speeds are integrated with the body."""

import numpy as np

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.vehicle import Vehicle
from pegasus.dynamics import DrivenMotor, Motor
from pegasus.model.dynamics_models import VehicleParameters
from pegasus.model.multirotor import hub_inertia
from pegasus.model.rotors import RotorLayout

_STABLE = 2.0
"""Largest product of step and rate; the classical Runge-Kutta method is stable up to 2.78."""


def require_driven_rotors(layout: RotorLayout, parameters: VehicleParameters) -> None:
    """Raise a ConfigError if driven rotors have no inertia, or more than their vehicle.

    Args:
        layout: The rotors.
        parameters: Parameters of the vehicle.
    """
    driven = [found for found in _kinds(parameters) if isinstance(found[1], DrivenMotor)]
    if not driven:
        return
    for where, _, inertia in driven:
        require(
            inertia > 0,
            f"{where}propeller.inertia",
            inertia,
            "must be above 0 kg m^2 for a motor that gives a torque",
            f"give it, or {where}motor.inertia",
        )
    least = float(np.linalg.eigvalsh(hub_inertia(layout, parameters))[0])
    require(
        least > 0,
        f"{driven[0][0]}propeller.inertia",
        driven[0][2],
        "must leave some inertia of the vehicle to its airframe, with motor.inertia and for all rotors",
        "lower it, or raise the vehicle's inertia",
    )


def require_slow_motors(vehicle: Vehicle, dt: float) -> None:
    """Raise a ConfigError if a driven motor is faster than the steps of the physics can follow.

    Args:
        vehicle: The vehicle.
        dt: Length of a step [s].
    """
    for where, motor, inertia in (kind for p in vehicle.parameters for kind in _kinds(p)):
        if isinstance(motor, DrivenMotor):
            rate = motor.fastest_rate(inertia)
            if rate * dt > _STABLE:
                raise ConfigError(
                    f"of vehicle {vehicle.name!r} settles at {rate:.4g} 1/s, too fast for steps of {dt:g} s",
                    field=f"{where}motor",
                    remedy=f"raise the physics rate to {rate / _STABLE:.0f} Hz, lower the gains, or check "
                    "resistance and inertia",
                )


def _kinds(p: VehicleParameters) -> list[tuple[str, Motor, float]]:
    """Return where each kind of motor stands in the file, the motor, and the inertia of its rotors."""
    others = p.airframe.kinds.items()
    return [
        ("", p.motor, p.rotor_inertia),
        *((f"propulsion.{name}.", kind.motor, kind.inertia) for name, kind in others),
    ]
