"""Wrench of a vehicle's models at given states and rotor speeds, as the step evaluates it."""

from dataclasses import dataclass

import numpy as np

from pegasus.base import frames
from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import cross, rotate, vector
from pegasus.core.multirotor import Multirotor
from pegasus.core.plant import Plant
from pegasus.core.plant_models import custom_laws, law_of, parameters_of, plant_kernel, plant_rows_of
from pegasus.dynamics.plant import drag, rotors, spin_momentum
from pegasus.dynamics.plant_rows import PlantRows


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """States of a vehicle with R rotors at T instants."""

    position: Array
    """Origin of the body frame in the world [m], shape (T, 3)."""
    orientation: Array
    """Attitudes, unit quaternions xyzw, shape (T, 4)."""
    velocity: Array
    """Velocity of that origin through the air, body frame [m/s], shape (T, 3)."""
    angular_velocity: Array
    """Angular velocity, body frame [rad/s], shape (T, 3)."""
    rotor_speed: Array
    """Rotor speeds in the order of the vehicle's rotors [rad/s], shape (T, R)."""
    rotor_acceleration: Array
    """Their rates [rad/s^2], shape (T, R)."""


def find_wrench(i: int, rows: PlantRows) -> None:
    """Set the wrench of rotors and drag at the present state and rotor speeds.

    Args:
        i: Row of the vehicle.
        rows: The rows; forces are set in the world, torques in the body frame.
    """
    kind = rows.kind[i]
    offset = vector(rows.airframe[kind].center_of_mass)
    q = rows.orientation[i]
    w = rows.angular_velocity[i]
    for j in range(rows.airframe[kind].rotor_count):
        rows.speed_middle[i, j] = rows.rotor_speed[i, j]
    x = rows.position[i] + rotate(q, offset)
    through_air = rows.velocity[i] + rotate(q, cross(w, offset)) - rows.wind[i]
    lift, moment, power = rotors(i, rows, 2, x, q, through_air, w)
    resistance, damping = drag(i, rows, q, through_air, w)
    spin = spin_momentum(i, rows, rows.rotor_speed[i])
    rows.rotor_force[i] = rotate(q, lift)
    rows.rotor_torque[i] = moment - cross(w, spin)
    rows.drag_force[i] = rotate(q, resistance)
    rows.drag_torque[i] = damping
    rows.shaft_power[i] = power


def model_wrench(vehicle: Multirotor, samples: MotionSamples, *, air_density: float) -> tuple[Array, Array]:
    """Return force without gravity [N] and torque [N m] that the models give at each instant, (T, 3) each.

    Both are in the body frame, the torque about the centre of mass. It includes the reaction to the angular
    momentum h of the rotors, -w x h - h', so that it equals J w' + w x J w of the whole vehicle. A vehicle
    with a ground effect flies over level ground at height 0. Wakes, wind and the battery are left out.

    Args:
        vehicle: The vehicle, in no simulation; its columns are overwritten.
        samples: The states, as many as the vehicle has copies.
        air_density: Air density [kg/m^3].

    Raises:
        ConfigError: If its thrust curve or drag is a model in NumPy, which the step cannot evaluate alone.
    """
    for field, model in (("thrust_curve", vehicle.thrust_curve), ("drag", vehicle.drag)):
        if model is not None and law_of(model) is None:
            raise ConfigError(
                "is a model in NumPy, whose wrench at an instant is not known",
                field=f"{field} of vehicle {vehicle.name!r}",
                value=type(model).__name__,
                remedy="give it a law that is compiled with the step",
            )
    plant = Plant()
    plant.arrange([vehicle])
    columns = plant.columns
    columns["position"][...] = samples.position
    columns["orientation"][...] = samples.orientation
    columns["angular_velocity"][...] = samples.angular_velocity
    columns["rotor_speed"][...] = samples.rotor_speed
    columns["air_density"][...] = air_density
    rotation = frames.matrix_from_quaternion(samples.orientation)
    columns["velocity"][...] = frames.rotate(rotation, samples.velocity)
    custom = custom_laws([vehicle])
    parameters = parameters_of([vehicle])
    rows = plant_rows_of(custom, {**columns, **parameters})
    plant_kernel(custom, find_wrench).launch(rows, vehicle.count)()
    force = frames.rotate_inverse(rotation, columns["rotor_force"] + columns["drag_force"])
    spins = parameters["rotor_spin"][0][:, None] * parameters["rotor_z"][0]
    reaction = (samples.rotor_acceleration[:, :, None] * spins).sum(axis=1)
    inertia = vehicle.parameters[0].rotor_inertia
    return force, columns["rotor_torque"] + columns["drag_torque"] - inertia * reaction


def measured_wrench(
    vehicle: Multirotor, samples: MotionSamples, specific_force: Array, angular_acceleration: Array
) -> tuple[Array, Array]:
    """Return the force without gravity [N] and torque [N m] that a motion takes, body frame, (T, 3) each.

    With the centre of mass c in the body frame, F = m (f + w' x c + w x (w x c)) and M = J w' + w x J w
    (Newton and Euler).

    Args:
        vehicle: The vehicle, for mass, centre of mass and inertia.
        samples: The states.
        specific_force: Acceleration of the body frame's origin minus gravity, body frame [m/s^2], (T, 3).
        angular_acceleration: Angular acceleration, body frame [rad/s^2], shape (T, 3).
    """
    w, center = samples.angular_velocity, vehicle.center_of_mass
    swing = np.cross(angular_acceleration, center) + np.cross(w, np.cross(w, center))
    force: Array = vehicle.mass * (specific_force + swing)

    def momentum(rate: Array) -> Array:
        product: Array = (vehicle.inertia * rate[:, None, :]).sum(axis=-1)
        return product

    return force, momentum(angular_acceleration) + np.cross(w, momentum(w))
