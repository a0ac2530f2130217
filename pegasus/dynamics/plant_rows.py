"""Rows of the plant: parameters by kind of vehicle, state, inputs and outputs by copy, and model dispatch."""

from dataclasses import dataclass
from typing import Any

from pegasus.base.step_math import (
    Column,
    Mat33,
    Quat,
    Real,
    Reals,
    Table,
    Vec3,
)
from pegasus.dynamics.drag import LinearDrag, QuadraticDrag, linear_drag, quadratic_drag
from pegasus.dynamics.ground_effect import GroundEffect, image_sources
from pegasus.dynamics.motors import FirstOrderMotor, IdealMotor, first_order_motor, ideal_motor
from pegasus.dynamics.propeller_curve import PropellerTables, propeller_thrust
from pegasus.dynamics.thrust_curves import (
    PolynomialThrust,
    QuadraticCoefficients,
    polynomial_thrust,
    quadratic_thrust,
)

HELD = 0
"""Number of a model whose output is an input of the step, computed by Python and held over it."""
MOTORS: dict[Any, int] = {ideal_motor: 1, first_order_motor: 2}
"""Numbers of the shipped laws of motors."""
THRUST_CURVES: dict[Any, int] = {quadratic_thrust: 1, polynomial_thrust: 2, propeller_thrust: 3}
"""Numbers of the shipped laws of thrust curves."""
DRAGS: dict[Any, int] = {linear_drag: 1, quadratic_drag: 2}
"""Numbers of the shipped laws of drag."""
GROUND_EFFECTS: dict[Any, int] = {image_sources: 1}
"""Numbers of the shipped laws of ground effect; 0 is none."""
Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Airframe:
    """Parameters of the rigid body of a kind of vehicle, and the numbers of its models."""

    mass: float
    """Mass [kg]."""
    center_of_mass: Triple
    """Centre of mass in the body frame [m]."""
    inertia_x: Triple
    """Rows of the inertia about the centre of mass, body frame [kg m^2]."""
    inertia_y: Triple
    inertia_z: Triple
    inverse_x: Triple
    """Rows of its inverse [1/(kg m^2)]."""
    inverse_y: Triple
    inverse_z: Triple
    rotor_count: int
    """Number of rotors."""
    rotor_inertia: float
    """Inertia of a rotor about its axis [kg m^2]."""
    rotor_radius: float
    """Radius of the rotors [m]."""
    rotor_center: Triple
    """Mean of the rotors' centres in the body frame [m]."""
    span: float
    """Largest distance of two rotors [m]."""
    motor: int
    """Number of the motor's law in `MOTORS`."""
    thrust_curve: int
    """Number of the thrust curve's law in `THRUST_CURVES`."""
    drag: int
    """Number of the drag's law in `DRAGS`."""
    ground_effect: int
    """Number of the ground effect's law in `GROUND_EFFECTS`."""


@dataclass
class WrenchRows:
    """Mean forces and torques on each copy over a step."""

    force: Column[Vec3]
    """Mean force over the step at the centre of mass without gravity, world [N]."""
    torque: Column[Vec3]
    """Mean torque over the step about the centre of mass, body frame [N m]."""
    rotor_force: Column[Vec3]
    """Mean force of the rotors, world [N]."""
    rotor_torque: Column[Vec3]
    """Mean torque of the rotors with their angular momentum, body frame [N m]."""
    drag_force: Column[Vec3]
    """Mean force of the drag, world [N]."""
    drag_torque: Column[Vec3]
    """Mean torque of the drag, body frame [N m]."""


@dataclass
class PlantRows(WrenchRows):
    """Parameters by kind of vehicle; state, inputs and outputs by copy."""

    kind: Column[int]
    """Kind of each copy."""
    airframe: Column[Airframe]
    ideal: Column[IdealMotor]
    first_order: Column[FirstOrderMotor]
    quadratic: Column[QuadraticCoefficients]
    polynomial: Column[PolynomialThrust]
    propeller: Column[PropellerTables]
    linear_drag: Column[LinearDrag]
    quadratic_drag: Column[QuadraticDrag]
    image_sources: Column[GroundEffect]
    rotor_position: Table[Vec3]
    """Centre of each rotor relative to the centre of mass, body frame [m], by kind."""
    rotor_x: Table[Vec3]
    """Axes of each rotor's frame in the body frame, by kind; z is that of positive thrust."""
    rotor_y: Table[Vec3]
    rotor_z: Table[Vec3]
    rotor_spin: Table[Real]
    """+1 for counter-clockwise rotors, -1 for clockwise ones, by kind."""
    rotor_apart: Table[Real]
    """Squared distances of the rotors [m^2], and the share of each in its stream, by kind."""

    position: Column[Vec3]
    """Origin of the body frame, velocity and attitude at the start of the step; see `BodyState`."""
    orientation: Column[Quat]
    velocity: Column[Vec3]
    angular_velocity: Column[Vec3]
    rotor_speed: Table[Real]
    """Rotor speeds [rad/s], brought to the end of the step."""
    motor_state: Table[Vec3]
    """Further state of each motor, brought to the end of the step."""

    command: Table[Real]
    """Commanded rotor speeds, held over the step [rad/s]."""
    drive: Table[Real]
    """Share of the commanded speed within its limits that reaches each motor; 1 without faults."""
    thrust_share: Table[Real]
    """Shares of the force and the torque of each rotor; 1 without faults."""
    torque_share: Table[Real]
    lowest_speed: Column[Real]
    """Limits of the commands [rad/s]."""
    highest_speed: Column[Real]
    voltage: Column[Real]
    """Voltage of the battery under load [V], 0 without one."""
    wind: Column[Vec3]
    """Velocity of the air in the world, held over the step [m/s]."""
    gust_step: Column[int]
    """Number of steps of the turbulence, 0 without any."""
    gust_rate: Column[Vec3]
    """Angular velocity of the air about the body's origin by turbulence, world, held [rad/s]."""
    air_density: Column[Real]
    """Air density, held over the step [kg/m^3]."""
    gravity: Column[Vec3]
    """Acceleration of free fall in the world, held over the step [m/s^2]."""
    wake: Table[Vec3]
    """Velocity of the air at each rotor by the jets of other vehicles, world, held [m/s]."""
    in_wake: Column[int]
    """1 where `wake` is to be used."""
    push: Column[Vec3]
    """Disturbance: force at the centre of mass in the world [N]."""
    twist: Column[Vec3]
    """Disturbance: torque in the body frame [N m]."""
    ground_normal: Table[Vec3]
    """Normal of the ground below each rotor, world."""
    ground_offset: Table[Real]
    """Distance of that plane from the world's origin along the normal [m]."""
    ceiling_normal: Table[Vec3]
    """Normal of the ceiling above each rotor, toward the rotor, world."""
    ceiling_offset: Table[Real]
    """Distance of that plane from the world's origin along the normal [m]."""
    inflow: Table[Real]
    """Speed of each rotor through the air along its axis, where the thrust curve has no law [m/s]."""
    held_thrust: Table[Real]
    """Thrust [N] and torque [N m] of each rotor, held where the thrust curve has no law."""
    held_torque: Table[Real]
    held_drag_force: Column[Vec3]
    """Force [N] and torque [N m] of the drag in the body frame, held where it has no law."""
    held_drag_torque: Column[Vec3]

    free_position: Column[Vec3]
    """State at the end of the step if nothing touches the body."""
    free_orientation: Column[Quat]
    free_velocity: Column[Vec3]
    free_angular_velocity: Column[Vec3]
    shaft_power: Column[Real]
    """Mean power of all rotors, torque times speed [W]."""
    load: Column[Vec3]
    """`force` and the weight [N]."""
    fault: Column[int]
    """1 after a wrench that is not finite, 2 after a motion beyond all bounds, 3 after a command that
    is not finite, else 0."""
    alarm: Column[int]
    """One cell for all copies, set to 1 with any `fault`."""
    limited_command: Table[Real]
    """Commands within the limits [rad/s]."""
    speed_first: Table[Real]
    """Rotor speeds at the beginning, the middle and the end of the step [rad/s]."""
    speed_middle: Table[Real]
    speed_last: Table[Real]
    motor_state_last: Table[Vec3]
    """Further state of each motor at the end of the step."""
    height: Table[Real]
    """Height of each rotor over its ground at the present stage [m]."""
    gap: Table[Real]
    """Distance of each rotor from its ceiling at the present stage [m]."""


@dataclass
class MotionRows:
    """State of each copy after a step, and what follows from it."""

    orientation: Column[Quat]
    velocity: Column[Vec3]
    angular_velocity: Column[Vec3]
    last_velocity: Column[Vec3]
    """Velocities before the last step."""
    last_angular_velocity: Column[Vec3]
    rotation: Column[Mat33]
    """Rotation matrix of `orientation`."""
    acceleration: Column[Vec3]
    """Changes of the velocities over the last step divided by its length."""
    angular_acceleration: Column[Vec3]


def motor_response(
    rows: PlantRows, kind: int, model: int, speed: Real, state: Vec3, command: Real, voltage: Real, dt: Real
) -> tuple[Real, Vec3]:
    """Return speed and state of a motor after dt."""
    if model == 1:
        return ideal_motor(rows.ideal[kind], speed, state, command, voltage, dt)
    return first_order_motor(rows.first_order[kind], speed, state, command, voltage, dt)


def rotor_thrust(
    rows: PlantRows, kind: int, model: int, speed: Real, air_velocity: Vec3, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return force and torque of a rotor in its frame."""
    if model == 1:
        return quadratic_thrust(rows.quadratic[kind], speed, air_velocity, air_density)
    if model == 2:
        return polynomial_thrust(rows.polynomial[kind], speed, air_velocity, air_density)
    return propeller_thrust(rows.propeller[kind], speed, air_velocity, air_density)


def drag_wrench(
    rows: PlantRows,
    kind: int,
    model: int,
    air_velocity: Vec3,
    angular_velocity: Vec3,
    rotor_speeds: Reals,
    air_density: Real,
) -> tuple[Vec3, Vec3]:
    """Return force and torque of the drag in the body frame."""
    if model == 1:
        return linear_drag(rows.linear_drag[kind], air_velocity, angular_velocity, rotor_speeds, air_density)
    return quadratic_drag(
        rows.quadratic_drag[kind], air_velocity, angular_velocity, rotor_speeds, air_density
    )


def ground_upwash(
    rows: PlantRows,
    kind: int,
    model: int,
    heights: Reals,
    apart: Reals,
    j: int,
    count: int,
    radius: Real,
    span: Real,
) -> Real:
    """Return the upwash of the ground at rotor j in hover, relative to its induced velocity."""
    return image_sources(rows.image_sources[kind], heights, apart, j, count, radius, span)
