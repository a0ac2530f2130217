"""Energy balance of each step, added up for each copy in the launch that sets its motion after the step.

During a step the force is constant in the world and the torque in the body, so their work is force times
displacement of the centre of mass plus torque times the integral of the angular velocity (trapezoidal).
Gravity is that of the middle of the displacement, which is exact to second order in displacement over the
Earth's radius. The remainder is the work of contacts in a step with a contact, else the integration error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pegasus.base.arrays import Array
from pegasus.base.step_math import Column, Quat, Real, Vec3, cross, dot, magnitude, rotate, vector
from pegasus.dynamics.plant import body_momentum, observe
from pegasus.dynamics.plant_rows import Airframe, MotionRows, WrenchRows
from pegasus.environment import Environment, InverseSquareGravity, NormalGravity, UniformGravity
from pegasus.environment.gravity import GravityParameters, gravity_at

ENTRIES = ("gained", "rotors", "drag", "others", "contacts", "residual", "gross")
"""Entries of an energy balance, each in a column `energy_<entry>`."""


@dataclass
class EnergyRows(MotionRows, WrenchRows):
    """Motion of each copy, the mean wrenches over the step that has led to it, and the sums of its energy."""

    kind: Column[int]
    airframe: Column[Airframe]
    gravity_parameters: Column[GravityParameters]
    """Parameters of `gravity_at`, one for all copies."""
    gravity_midway: Column[Vec3]
    """Acceleration of free fall in the middle of the step where gravity is another model [m/s^2]."""
    position: Column[Vec3]
    start_position: Column[Vec3]
    """Pose at the start of the step."""
    start_orientation: Column[Quat]
    touched: Column[int]
    """1 where the copy touched something during the step; set to 0 for the next one."""
    energy_gained: Column[Real]
    """Sums over the steps, see `pegasus.recording.EnergyBalance` [J]."""
    energy_rotors: Column[Real]
    energy_drag: Column[Real]
    energy_others: Column[Real]
    energy_contacts: Column[Real]
    energy_residual: Column[Real]
    energy_gross: Column[Real]


def clear_energy(columns: Mapping[str, Array]) -> None:
    """Set the sums of the energy to zero.

    Args:
        columns: Columns of a vehicle.
    """
    for entry in ENTRIES:
        columns[f"energy_{entry}"][...] = 0.0


def kinetic_energy(frame: Airframe, v: Vec3, w: Vec3) -> Real:
    """Return the kinetic energy of a rigid body, T = m v^2 / 2 + w . J w / 2 (Koenig's theorem) [J].

    Args:
        frame: Mass and inertia.
        v: Velocity of the centre of mass [m/s].
        w: Angular velocity, body frame [rad/s].
    """
    return 0.5 * (frame.mass * dot(v, v) + dot(w, body_momentum(frame, w)))


def wrench_work(force: Vec3, torque: Vec3, displacement: Vec3, turn: Vec3) -> Real:
    """Return the work of a force held in the world and a torque held in the body [J].

    Args:
        force: Force at the centre of mass, world [N].
        torque: Torque about the centre of mass, body frame [N m].
        displacement: Displacement of the centre of mass, world [m].
        turn: Time integral of the angular velocity, body frame [rad].
    """
    return dot(force, displacement) + dot(torque, turn)


def gravity_of(i: int, rows: EnergyRows, altitude: Real, shipped_gravity: int) -> Vec3:
    """Return the acceleration of free fall in the middle of the step [m/s^2]."""
    if shipped_gravity == 1:
        return Vec3(0.0, 0.0, -gravity_at(rows.gravity_parameters[0], altitude))
    return rows.gravity_midway[i]


def add_energy(i: int, rows: EnergyRows, dt: Real, origin_altitude: Real, shipped_gravity: int) -> None:
    """Add the energy balance of a step to the sums of row i, before `observe` overwrites the last velocities.

    Args:
        i: Row of the vehicle.
        rows: The rows.
        dt: Length of the step [s].
        origin_altitude: Altitude of the world's origin [m].
        shipped_gravity: 1 for gravity by `gravity_at`, 0 for that of `gravity_midway`.
    """
    frame = rows.airframe[rows.kind[i]]
    offset = vector(frame.center_of_mass)
    q0 = rows.start_orientation[i]
    q1 = rows.orientation[i]
    w0 = rows.last_angular_velocity[i]
    w1 = rows.angular_velocity[i]
    v0 = rows.last_velocity[i] + rotate(q0, cross(w0, offset))
    v1 = rows.velocity[i] + rotate(q1, cross(w1, offset))
    start = rows.start_position[i] + rotate(q0, offset)
    end = rows.position[i] + rotate(q1, offset)
    displacement = end - start
    turn = (w0 + w1) * (0.5 * dt)
    altitude = 0.5 * (start[2] + end[2]) + origin_altitude
    weight = frame.mass * dot(gravity_of(i, rows, altitude, shipped_gravity), displacement)
    applied = wrench_work(rows.force[i], rows.torque[i], displacement, turn)
    rotors = wrench_work(rows.rotor_force[i], rows.rotor_torque[i], displacement, turn)
    drag = wrench_work(rows.drag_force[i], rows.drag_torque[i], displacement, turn)
    others = applied - rotors - drag
    gained = kinetic_energy(frame, v1, w1) - kinetic_energy(frame, v0, w0) - weight
    excess = gained - applied
    rows.energy_gained[i] = rows.energy_gained[i] + gained
    rows.energy_rotors[i] = rows.energy_rotors[i] + rotors
    rows.energy_drag[i] = rows.energy_drag[i] + drag
    rows.energy_others[i] = rows.energy_others[i] + others
    if rows.touched[i] == 1:
        rows.energy_contacts[i] = rows.energy_contacts[i] - excess
        rows.touched[i] = 0
    else:
        rows.energy_residual[i] = rows.energy_residual[i] + excess
    work = magnitude(rotors) + magnitude(drag) + magnitude(others) + magnitude(weight)
    rows.energy_gross[i] = rows.energy_gross[i] + work
    rows.start_position[i] = rows.position[i]
    rows.start_orientation[i] = q1


def observe_energy(i: int, rows: EnergyRows, rate: Real, origin_altitude: Real, shipped_gravity: int) -> None:
    """Set the motion of a vehicle after a step as `observe` does, and add the step to its energy balance."""
    add_energy(i, rows, 1.0 / rate, origin_altitude, shipped_gravity)
    observe(i, rows, rate)


class EnergyLaunch:
    """Prepared launch of `observe_energy` for all vehicles.

    Args:
        environment: Environment of the vehicles.
        columns: Columns of the plant, M rows each, and parameters of the airframes, by name.
        rate: Steps per second [Hz].
    """

    def __init__(self, environment: Environment, columns: Mapping[str, Any], rate: float) -> None:
        self._environment, self._columns = environment, columns
        self._prepare(rate)

    def __call__(self, rate: float) -> None:
        """Set the motion after a step, and add its energy.

        Args:
            rate: Steps per second [Hz].
        """
        environment, columns = self._environment, self._columns
        if environment.gravity is not self._gravity:
            self._prepare(rate)
        if not self._shipped:
            midway = 0.5 * (columns["start_position"] + columns["position"])
            columns["gravity_midway"][...] = environment.gravity_vector(midway)
        self._launch(rate, environment.origin.altitude, self._shipped)

    def _prepare(self, rate: float) -> None:
        # Not at the top: it imports Warp, which is not needed to build vehicles.
        from pegasus.base.compiler import Rows, shared_kernel

        gravity = self._gravity = self._environment.gravity
        shipped = type(gravity) in (InverseSquareGravity, NormalGravity, UniformGravity)
        parameters = gravity.parameters if shipped else GravityParameters(0.0, 0.0)
        rows = Rows(EnergyRows, {**self._columns, "gravity_parameters": [parameters]})
        self._shipped = int(shipped)
        kernel = shared_kernel(observe_energy, (MotionRows, EnergyRows))
        self._launch = kernel.launch(rows, len(self._columns["position"]), rate, 0.0, 0)
