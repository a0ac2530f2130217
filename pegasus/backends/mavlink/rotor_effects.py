"""Thrust and torque of a vehicle's rotors, from which the settings of an autopilot follow."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pegasus.arrays import Array
from pegasus.backends.mavlink.rotor_map import RotorMap
from pegasus.control.allocation import Allocation
from pegasus.errors import ConfigError

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor


class RotorEffects(NamedTuple):
    """Effects of R rotors on the airframe, in still air at the world's origin."""

    thrust: Array
    """Thrust of each rotor at full output [N], shape (R,)."""
    moment_ratio: float
    """Torque by thrust of a rotor [m]."""
    torque: Array
    """Torque about the centre of mass by thrust, body frame [m], shape (R, 3)."""
    hover_output: float
    """Mean output of the rotors while hovering, 0 to 1."""
    thrust_slope: float
    """Mean change of a rotor's thrust by its output while hovering [N]."""


def rotor_effects(vehicle: "Multirotor", rotors: RotorMap) -> RotorEffects:
    """Return the effects of a vehicle's rotors.

    Args:
        vehicle: The vehicle, in a simulation.
        rotors: Map from the outputs of its autopilot to rotor speeds.

    Raises:
        ConfigError: If the rotors cannot control the vehicle.
    """
    layout, curve, environment = vehicle.layout, vehicle.thrust_curve, vehicle.environment
    ground, still = np.zeros((1, 3)), np.zeros((1, layout.count))
    density = environment.air_density(ground)[:, None]
    scale, offset = np.array(rotors.scale), np.array(rotors.offset)
    full_speed = np.minimum(scale + offset, vehicle.motor.max_speed)[None]
    thrust, torque = curve.thrust(full_speed, still, density)
    moment_ratio = float((torque / thrust).mean())
    try:
        matrix = Allocation(layout, vehicle.center_of_mass, moment_ratio).matrix
    except ConfigError as error:
        raise error.within(file=vehicle.file) from None
    weight = vehicle.mass * float(np.sqrt((environment.gravity_vector(ground) ** 2).sum()))
    share = np.full((1, 1), weight / max(float(layout.axis[:, 2].sum()), 1e-3))
    hover_speed = curve.rotor_speed(share, density)
    hover_output = float(((hover_speed - offset) / scale).mean())
    step = 0.01 * full_speed
    less, more = (curve.thrust(hover_speed + change, still, density)[0] for change in (-step, step))
    thrust_slope = float(((more - less) / (2.0 * step) * scale).mean())
    return RotorEffects(thrust[0], moment_ratio, matrix[3:].T, hover_output, thrust_slope)
