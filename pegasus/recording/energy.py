"""Audit the energy of a flight: what the vehicles gained against the work of what acted on them."""

from dataclasses import dataclass

import numpy as np

from pegasus.arrays import Array, row_product
from pegasus.frames import cross, rotate
from pegasus.recording.observer import ObservedSimulation, ObservedVehicle


def kinetic_energy(velocity: Array, angular_velocity: Array, *, mass: float, inertia: Array) -> Array:
    """Return the kinetic energy of rigid bodies [J], shape (N,).

    Args:
        velocity: Velocity of the centre of mass [m/s], shape (N, 3).
        angular_velocity: Angular velocity in the body frame [rad/s], shape (N, 3).
        mass: Mass [kg].
        inertia: Inertia tensor about the centre of mass in the body frame [kg m^2], shape (3, 3).

    Source: Koenig's theorem, T = m v^2 / 2 + w . J w / 2.
    """
    twice = mass * (velocity * velocity) + angular_velocity * row_product(angular_velocity, inertia)
    energy: Array = 0.5 * twice.sum(axis=-1)
    return energy


def wrench_work(force: Array, torque: Array, displacement: Array, rotation: Array) -> Array:
    """Return the work of a force held in the world and a torque held in the body [J], shape (N,).

    Args:
        force: Force at the centre of mass in the world [N], shape (N, 3).
        torque: Torque about the centre of mass in the body frame [N m], shape (N, 3).
        displacement: Displacement of the centre of mass in the world [m], shape (N, 3).
        rotation: Time integral of the angular velocity in the body frame [rad], shape (N, 3).
    """
    work: Array = (force * displacement + torque * rotation).sum(axis=-1)
    return work


@dataclass(frozen=True)
class EnergyBalance:
    """Where the energy of a vehicle's N copies came from and went, over a whole flight.

    gained = rotors + drag + others - contacts + residual
    """

    gained: float
    """Change of kinetic and potential energy [J]."""
    rotors: float
    """Work of the rotors' thrusts and torques on the body [J]."""
    drag: float
    """Work of the airframe's drag [J]; below zero."""
    others: float
    """Work of any further force and torque [J]."""
    contacts: float
    """Energy that steps with a contact took out, friction and impacts [J]."""
    residual: float
    """Energy that the integration made in free flight [J]; none in a perfect one."""
    gross: float
    """Sum over the steps of the absolute works of rotors, drag, others and gravity [J]."""

    @property
    def relative_residual(self) -> float:
        """Size of the residual over the gross work."""
        return abs(self.residual) / self.gross if self.gross else 0.0


class _Snapshot:
    """A vehicle's motion at one step, and the wrenches that act on it from there on."""

    def __init__(self, vehicle: ObservedVehicle, time: float) -> None:
        state, inertia, center = vehicle.state, vehicle.inertia, vehicle.center_of_mass
        self.vehicle, self.time = vehicle, time
        self.angular_velocity = state.angular_velocity.copy()
        if center.any():
            self.position = state.position + rotate(state.rotation, center)
            velocity = state.velocity + rotate(state.rotation, cross(state.angular_velocity, center))
        else:
            self.position, velocity = state.position.copy(), state.velocity
        self.kinetic = kinetic_energy(velocity, state.angular_velocity, mass=vehicle.mass, inertia=inertia)
        self.applied = vehicle.applied_force.copy(), vehicle.applied_torque.copy()
        self.rotors = vehicle.rotor_force.copy(), vehicle.rotor_torque.copy()
        self.drag = vehicle.drag_force.copy(), vehicle.drag_torque.copy()


class EnergyAudit:
    """Observe the energy of every vehicle, step by step.

    The wrench of a step is a force held in the world and a torque held in the body, so its work is force
    times displacement of the centre of mass plus torque times the integral of the angular velocity
    (trapezoidal). Gravity's work is that of its
    vector midway, exact to second order in a step over the Earth's radius. What is left over in a step
    without contact is the integration's error; with a contact, it is the contact's work.
    """

    def __init__(self) -> None:
        self._last: dict[str, _Snapshot] = {}
        self._sums: dict[str, Array] = {}

    def start(self, simulation: ObservedSimulation) -> None:
        """Begin from nothing.

        Args:
            simulation: The simulation to be observed.
        """
        self._last, self._sums = {}, {}

    def record(self, simulation: ObservedSimulation) -> None:
        """Add up the step that has just ended.

        Args:
            simulation: The simulation, the wrenches of its next step known and not yet applied.
        """
        time = simulation.time
        for vehicle in simulation.vehicles:
            now, last = _Snapshot(vehicle, time), self._last.get(vehicle.name)
            if last is not None and last.vehicle is vehicle and time > last.time:
                self._sums[vehicle.name] = self._sums.get(vehicle.name, 0.0) + _step_balance(last, now)
            self._last[vehicle.name] = now

    def stop(self) -> None:
        """End the observation; the balances stay."""

    def balances(self) -> dict[str, EnergyBalance]:
        """Return the balance of each vehicle, summed over its copies and its steps so far."""
        return {name: EnergyBalance(*sums.tolist()) for name, sums in self._sums.items()}


def _step_balance(last: _Snapshot, now: _Snapshot) -> Array:
    """Return the entries of an `EnergyBalance` for one step, shape (7,)."""
    vehicle = now.vehicle
    displacement = now.position - last.position
    rotation = (0.5 * (now.time - last.time)) * (now.angular_velocity + last.angular_velocity)
    gravity = vehicle.environment.gravity_vector(0.5 * (now.position + last.position))
    weight: Array = vehicle.mass * (gravity * displacement).sum(axis=-1)
    applied = wrench_work(*last.applied, displacement, rotation)
    rotors = wrench_work(*last.rotors, displacement, rotation)
    drag = wrench_work(*last.drag, displacement, rotation)
    others = applied - rotors - drag
    gained = now.kinetic - last.kinetic - weight
    excess = gained - applied
    free = excess * ~vehicle.in_contact
    gross = np.abs(rotors) + np.abs(drag) + np.abs(others) + np.abs(weight)
    balance: Array = np.array([gained, rotors, drag, others, free - excess, free, gross]).sum(axis=1)
    return balance
