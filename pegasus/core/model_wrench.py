"""Wrench of a vehicle's models at given states and rotor speeds, as the step evaluates it."""

from dataclasses import dataclass, fields

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_math import Quat, Real, Reals, Vec3, cross, rotate
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.core.aircraft import Aircraft
from pegasus.dynamics.ground_effect import FAR
from pegasus.model.machine import Machine
from pegasus.step.integrator import turning
from pegasus.step.loads import NO_VECTOR, Flow, loads_of
from pegasus.step.values import Planes


@dataclass(frozen=True)
class Sample:
    """State of a machine at an instant; see `MotionSamples`."""

    position: Vec3
    orientation: Quat
    velocity: Vec3
    angular_velocity: Vec3
    rotor_speed: Reals
    rotor_acceleration: Reals
    air_density: Real


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


def wrench_at(machine: Machine, sample: Sample, planes: Planes | None) -> tuple[Vec3, Vec3]:
    """Return force [N] and torque about the centre of mass [N m] of a machine at an instant, body frame.

    Args:
        machine: The machine.
        sample: Its state.
        planes: Planes below and above its elements, for a machine with `proximity`.
    """
    body, q, w = machine.body, sample.orientation, sample.angular_velocity
    ones = tuple(1.0 for _ in machine.elements)
    velocity = sample.velocity + cross(w, body.center_of_mass)
    wake = tuple(NO_VECTOR for _ in machine.elements)
    flow = Flow(rotate(q, velocity), velocity, NO_VECTOR, wake, sample.air_density)
    level = tuple(0.0 for _ in machine.joints)
    x = sample.position + rotate(q, body.center_of_mass)
    loads = loads_of(machine, ones, ones, planes, flow, x, q, w, sample.rotor_speed, level)
    spin = turning(machine, sample.rotor_speed)
    rise = turning(machine, sample.rotor_acceleration)
    torque = loads.rotor_torque + loads.drag_torque - cross(w, spin) - rise
    return loads.rotor_force + loads.drag_force, torque


def model_wrench(vehicle: Aircraft, samples: MotionSamples, *, air_density: float) -> tuple[Array, Array]:
    """Return force without gravity [N] and torque [N m] that the models give at each instant, (T, 3) each.

    Both are in the body frame, the torque about the centre of mass. It includes the reaction to the angular
    momentum h of the rotors, -w x h - h', so that it equals J w' + w x J w of the whole vehicle. A vehicle
    with a ground effect flies over level ground at height 0. Wakes, wind and the battery are left out.

    Args:
        vehicle: The vehicle.
        samples: The states.
        air_density: Air density [kg/m^3].
    """
    # Not at the top: it imports Warp, which is not needed to build vehicles.
    from pegasus.base.tracing.launches import program_of

    machine = vehicle.machines[0]
    count, rotors = len(samples.position), len(machine.elements)
    columns = {field.name: np.ascontiguousarray(getattr(samples, field.name)) for field in fields(samples)}
    columns["air_density"] = np.full(count, air_density)
    columns |= {name: np.zeros((count, rotors, 3)) for name in ("ground_normal", "ceiling_normal")}
    columns |= {"ground_offset": np.zeros((count, rotors)), "ceiling_offset": np.full((count, rotors), -FAR)}
    columns["ground_normal"][..., 2], columns["ceiling_normal"][..., 2] = 1.0, -1.0
    given = uniform("machine", machine)
    planes = column("", Planes, rotors) if machine.proximity is not None else None
    arguments = [given, column("", Sample, rotors), planes]
    program = program_of(wrench_at, *arguments, outputs=("force", "torque"), count=count)
    force, torque = np.zeros((count, 3)), np.zeros((count, 3))
    arrays = {**columns, **uniform_values(given), "force": force, "torque": torque}
    program.launch(arrays, count)()
    return force, torque


def measured_wrench(
    vehicle: Aircraft, samples: MotionSamples, specific_force: Array, angular_acceleration: Array
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
