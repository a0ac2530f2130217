"""Wrench of each rotor at a stage of the step.

In the plant's kernel of vehicles with a custom law of the thrust curve, `turn_all_blades` and `found_wrench`
stand in place of `turn_blades` and `rotor_wrench`. A short loop with nothing else in it lets the processor
begin with the next rotor while the operations of one, which wait for each other, are under way.
"""

from dataclasses import dataclass

from pegasus.base.step_math import Quat, Real, Table, Vec3, cross, dot, rotate_inverse, vector
from pegasus.dynamics.plant_rows import HELD, PlantRows, rotor_thrust


def stage_speed(i: int, rows: PlantRows, number: int, j: int) -> Real:
    """Return the speed of a rotor at a stage, 1 to 4 [rad/s]."""
    if number == 1:
        return rows.speed_first[i, j]
    if number == 4:
        return rows.speed_last[i, j]
    return rows.speed_middle[i, j]


def motion_in_air(i: int, rows: PlantRows, q: Quat, through_air: Vec3, w: Vec3) -> tuple[Vec3, Vec3]:
    """Return velocity [m/s] and angular velocity [rad/s] of a vehicle relative to the air, body frame.

    Args:
        i: Row of the vehicle.
        rows: The rows.
        q: Attitude.
        through_air: Velocity of the centre of mass relative to the air at the body's origin, world [m/s].
        w: Angular velocity, body frame [rad/s].
    """
    velocity = rotate_inverse(q, through_air)
    if rows.gust_step[i] == 0:
        return velocity, w
    rate = rotate_inverse(q, rows.gust_rate[i])
    offset = vector(rows.airframe[rows.kind[i]].center_of_mass)
    return velocity - cross(rate, offset), w - rate


def air_at(i: int, rows: PlantRows, j: int, q: Quat, body_velocity: Vec3, w: Vec3) -> Vec3:
    """Return the velocity of a rotor relative to the air, body frame [m/s].

    Args:
        i: Row of the vehicle.
        rows: The rows.
        j: Number of the rotor.
        q: Attitude.
        body_velocity: Velocity of the centre of mass relative to the air, body frame [m/s].
        w: Angular velocity relative to the air, body frame [rad/s].
    """
    air = body_velocity + cross(w, rows.rotor_position[rows.kind[i], j])
    if rows.in_wake[i] == 1:
        air = air - rotate_inverse(q, rows.wake[i, j])
    return air


def turn_blades(i: int, rows: PlantRows, number: int, q: Quat, body_velocity: Vec3, w: Vec3) -> None:
    """Do nothing: each rotor's law is evaluated where its force is added; see `turn_all_blades`."""


def rotor_wrench(
    i: int, rows: PlantRows, j: int, speed: Real, q: Quat, body_velocity: Vec3, w: Vec3
) -> tuple[Vec3, Vec3]:
    """Return force [N] and torque [N m] of a rotor in its frame.

    Args:
        i: Row of the vehicle.
        rows: The rows.
        j: Number of the rotor.
        speed: Rotor speed [rad/s].
        q: Attitude.
        body_velocity: Velocity of the centre of mass relative to the air, body frame [m/s].
        w: Angular velocity relative to the air, body frame [rad/s].
    """
    kind = rows.kind[i]
    return wrench_of_law(i, rows, j, kind, rows.airframe[kind].thrust_curve, speed, q, body_velocity, w)


def wrench_of_law(
    i: int, rows: PlantRows, j: int, kind: int, model: int, speed: Real, q: Quat, body_velocity: Vec3, w: Vec3
) -> tuple[Vec3, Vec3]:
    """Return force and torque of a rotor as `rotor_wrench`, given the vehicle's kind and thrust law."""
    if model == HELD:
        return Vec3(0.0, 0.0, rows.held_thrust[i, j]), Vec3(0.0, 0.0, rows.held_torque[i, j])
    air = air_at(i, rows, j, q, body_velocity, w)
    inflow = Vec3(
        dot(rows.rotor_x[kind, j], air), dot(rows.rotor_y[kind, j], air), dot(rows.rotor_z[kind, j], air)
    )
    return rotor_thrust(rows, kind, model, speed, inflow, rows.air_density[i])


@dataclass
class SeparateRows(PlantRows):
    """Columns of the plant with the wrenches of the rotors."""

    blade_force: Table[Vec3]
    """Force [N] and torque [N m] of each rotor in its frame at the present stage."""
    blade_torque: Table[Vec3]


def turn_all_blades(i: int, rows: SeparateRows, number: int, q: Quat, body_velocity: Vec3, w: Vec3) -> None:
    """Set the forces and torques of all rotors at a stage."""
    kind = rows.kind[i]
    model = rows.airframe[kind].thrust_curve
    for j in range(rows.airframe[kind].rotor_count):
        speed = stage_speed(i, rows, number, j)
        force, torque = wrench_of_law(i, rows, j, kind, model, speed, q, body_velocity, w)
        rows.blade_force[i, j] = force
        rows.blade_torque[i, j] = torque


def found_wrench(
    i: int, rows: SeparateRows, j: int, speed: Real, q: Quat, body_velocity: Vec3, w: Vec3
) -> tuple[Vec3, Vec3]:
    """Return the force and torque found."""
    return rows.blade_force[i, j], rows.blade_torque[i, j]
