"""Energy balance of a step.

During a step the force is constant in the world and the torque in the body, so their work is force times
displacement of the centre of mass plus torque times the integral of the angular velocity (trapezoidal).
Gravity is that of the middle of the displacement, which is exact to second order in displacement over the
Earth's radius. The remainder is the work of contacts in a step with a contact, else the integration error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pegasus.base.step_math import Quat, Real, Vec3, cross, dot, magnitude, rotate
from pegasus.model.machine import Body
from pegasus.step.integrator import body_momentum
from pegasus.step.observation import observe
from pegasus.step.values import Moved, Observed


@dataclass(frozen=True)
class Path:
    """What a machine went through during a step."""

    position: Vec3
    """Position at the end, world [m]."""
    start_position: Vec3
    """Pose at the start of the step."""
    start_orientation: Quat
    force: Vec3
    """Mean wrenches over the step; see `Result`."""
    torque: Vec3
    rotor_force: Vec3
    rotor_torque: Vec3
    drag_force: Vec3
    drag_torque: Vec3
    gravity_midway: Vec3
    """Acceleration of free fall in the middle of the step where gravity has no law [m/s^2]."""


@dataclass(frozen=True)
class Energy:
    """Sums over the steps, see `pegasus.recording.EnergyBalance` [J]."""

    energy_gained: Real
    energy_rotors: Real
    energy_drag: Real
    energy_others: Real
    energy_contacts: Real
    energy_residual: Real
    energy_gross: Real
    touched: Real
    """1 where the machine touched something during the step; set to 0 for the next one."""


def kinetic_energy(body: Body, v: Vec3, w: Vec3) -> Real:
    """Return the kinetic energy of a rigid body, T = m v^2 / 2 + w . J w / 2 (Koenig's theorem) [J].

    Args:
        body: Mass and inertia.
        v: Velocity of the centre of mass [m/s].
        w: Angular velocity, body frame [rad/s].
    """
    return 0.5 * (body.mass * dot(v, v) + dot(w, body_momentum(body, w)))


def wrench_work(force: Vec3, torque: Vec3, displacement: Vec3, turn: Vec3) -> Real:
    """Return the work of a force held in the world and a torque held in the body [J].

    Args:
        force: Force at the centre of mass, world [N].
        torque: Torque about the centre of mass, body frame [N m].
        displacement: Displacement of the centre of mass, world [m].
        turn: Time integral of the angular velocity, body frame [rad].
    """
    return dot(force, displacement) + dot(torque, turn)


def audit(
    body: Body,
    moved: Moved,
    path: Path,
    energy: Energy,
    gravity: Callable[[Any, Real], Real] | None,
    parameters: Any,
    origin_altitude: Real,
    rate: Real,
) -> tuple[Observed, Energy, Vec3, Quat]:
    """Return what follows from the motion of a machine, its energy balance, and the start of the next step.

    Args:
        body: Mass and inertia.
        moved: Its motion.
        path: What it went through.
        energy: Sums until the step.
        gravity: Law (parameters, altitude) of free fall; None for that of `gravity_midway`.
        parameters: Its parameters.
        origin_altitude: Altitude of the world's origin [m].
        rate: Steps per second [Hz].
    """
    dt, offset = 1.0 / rate, body.center_of_mass
    q0, q1 = path.start_orientation, moved.orientation
    w0, w1 = moved.last_angular_velocity, moved.angular_velocity
    v0 = moved.last_velocity + rotate(q0, cross(w0, offset))
    v1 = moved.velocity + rotate(q1, cross(w1, offset))
    start = path.start_position + rotate(q0, offset)
    end = path.position + rotate(q1, offset)
    displacement = end - start
    turn = (w0 + w1) * (0.5 * dt)
    fall = path.gravity_midway
    if gravity is not None:
        altitude = 0.5 * (start[2] + end[2]) + origin_altitude
        fall = Vec3(0.0, 0.0, -gravity(parameters, altitude))
    weight = body.mass * dot(fall, displacement)
    applied = wrench_work(path.force, path.torque, displacement, turn)
    rotors = wrench_work(path.rotor_force, path.rotor_torque, displacement, turn)
    drag = wrench_work(path.drag_force, path.drag_torque, displacement, turn)
    others = applied - rotors - drag
    gained = kinetic_energy(body, v1, w1) - kinetic_energy(body, v0, w0) - weight
    excess = gained - applied
    contacts = energy.energy_contacts
    residual = energy.energy_residual
    if energy.touched != 0.0:
        contacts = contacts - excess
    else:
        residual = residual + excess
    work = magnitude(rotors) + magnitude(drag) + magnitude(others) + magnitude(weight)
    sums = Energy(
        energy_gained=energy.energy_gained + gained,
        energy_rotors=energy.energy_rotors + rotors,
        energy_drag=energy.energy_drag + drag,
        energy_others=energy.energy_others + others,
        energy_contacts=contacts,
        energy_residual=residual,
        energy_gross=energy.energy_gross + work,
        touched=0.0,
    )
    return observe(moved, rate), sums, path.position, q1
