"""Audits of tracking errors and energy over a run."""

import math
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, row_product
from pegasus.base.frames import cross, matrix_from_quaternion, rotate
from pegasus.core.multirotor import Multirotor
from pegasus.core.simulation import Simulation
from pegasus.core.state import Reference
from pegasus.recording.rows import Rows, packed


@dataclass(frozen=True)
class TrackingError:
    """Distance between a vehicle's position and its reference."""

    duration: float
    """Simulated time [s]."""
    rms: float
    """Root mean square over steps and copies [m]."""
    maximum: float
    """Maximum [m]."""


@dataclass(frozen=True)
class VehicleTracking:
    """Tracking errors of a vehicle."""

    overall: TrackingError
    """Over all segments."""
    segments: dict[str, TrackingError]
    """By flight segment, in the order of their first steps."""


@dataclass
class _Tally:
    steps: int = 0
    samples: int = 0
    squares: float = 0.0
    largest: float = 0.0

    def add(self, squares: Array, flying: BoolArray) -> None:
        self.steps += int(flying.any(axis=1).sum())
        squares = squares[flying]
        self.samples += len(squares)
        self.squares += float(squares.sum())
        self.largest = float(np.maximum(self.largest, squares.max()))

    def merge(self, other: "_Tally") -> None:
        self.steps += other.steps
        self.samples += other.samples
        self.squares += other.squares
        self.largest = float(np.maximum(self.largest, other.largest))

    def error(self, rate: float) -> TrackingError:
        return TrackingError(
            self.steps / rate, math.sqrt(self.squares / self.samples), math.sqrt(self.largest)
        )


class _Stretch:
    """Steps of a vehicle on one segment, to be evaluated together."""

    def __init__(self, vehicle: Multirotor, reference: Reference) -> None:
        self.vehicle, self.segment = vehicle, reference.segment
        self.limit = _rows_of(vehicle)
        self.position, self.idle = reference.position, reference.idle
        self.rows: Rows[None] = Rows(
            {"position": vehicle.state.position, "wanted": reference.position, "idle": reference.idle}
        )

    def fits(self, reference: Reference) -> bool:
        """Return whether a reference has other arrays than the last one, but of the same types and shapes."""
        pairs = ((reference.position, self.position), (reference.idle, self.idle))
        self.position, self.idle = reference.position, reference.idle
        return all(now.dtype == last.dtype and now.shape == last.shape for now, last in pairs)


class TrackingAudit:
    """Observer of the distance between position and reference at every step.

    Copies whose rotors idle on the ground are ignored.
    """

    def __init__(self) -> None:
        self._rate = 1.0
        self._tallies: dict[str, dict[str, _Tally]] = {}
        self._stretches: dict[str, _Stretch] = {}

    def start(self, simulation: Simulation) -> None:
        """Reset the audit.

        Args:
            simulation: The simulation.
        """
        self._rate, self._tallies, self._stretches = simulation.rate, {}, {}

    def record(self, simulation: Simulation) -> None:
        """Copy the positions and references of this step.

        Args:
            simulation: The simulation, with the references of the current time.
        """
        for vehicle in simulation.vehicles:
            reference = vehicle.reference
            if reference is None:
                continue
            position, idle = reference.position, reference.idle
            stretch = self._stretches.get(vehicle.name)
            if (
                stretch is None
                or stretch.vehicle is not vehicle
                or stretch.segment != reference.segment
                or (
                    (position is not stretch.position or idle is not stretch.idle)
                    and not stretch.fits(reference)
                )
            ):
                self._evaluate(vehicle.name)
                stretch = self._stretches[vehicle.name] = _Stretch(vehicle, reference)
            rows = stretch.rows.rows
            rows.append((None, packed((vehicle.state.position, position, idle))))
            if len(rows) >= stretch.limit:
                self._evaluate(vehicle.name)

    def stop(self) -> None:
        """End the run; the errors remain."""

    def errors(self) -> dict[str, VehicleTracking]:
        """Return the tracking errors of the vehicles that have followed a reference in flight."""
        for name in self._stretches:
            self._evaluate(name)
        result = {}
        # In the order of the vehicles, not in that of evaluation.
        for name in self._stretches:
            segments = self._tallies.get(name)
            if segments is None:
                continue
            overall = _Tally()
            for tally in segments.values():
                overall.merge(tally)
            errors = {segment: tally.error(self._rate) for segment, tally in segments.items()}
            result[name] = VehicleTracking(overall.error(self._rate), errors)
        return result

    def _evaluate(self, name: str) -> None:
        """Add the copied steps of a vehicle to the tally of their segment."""
        stretch = self._stretches.get(name)
        if stretch is None or not len(stretch.rows):
            return
        block = stretch.rows.block()
        flying = ~block["idle"]
        if flying.any():
            error = block["position"] - block["wanted"]
            segments = self._tallies.setdefault(name, {})
            segments.setdefault(stretch.segment, _Tally()).add((error * error).sum(axis=-1), flying)
        stretch.rows.drop(len(stretch.rows))


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
    """Energy balance of a vehicle's N copies over a whole flight.

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
    """Energy lost in steps with a contact, by friction and impacts [J]."""
    residual: float
    """Energy created by integration errors in free flight [J]; ideally zero."""
    gross: float
    """Sum over the steps of the absolute work of rotors, drag, others and gravity [J]."""

    @property
    def relative_residual(self) -> float:
        """Absolute residual divided by the gross work."""
        return abs(self.residual) / self.gross if self.gross else 0.0


_COLUMNS = (
    *("position", "orientation", "velocity", "angular_velocity"),
    *("force", "torque", "rotor_force", "rotor_torque", "drag_force", "drag_torque"),
)
"""Columns of a vehicle: its state, and the mean wrenches over the coming step."""
# By name among all columns: ten attributes of the vehicle would take three times as long.
_columns_of = itemgetter(*_COLUMNS)


class _Motion:
    """Motion of a vehicle at successive steps, and the wrenches that act during the next one of each."""

    def __init__(self, vehicle: Multirotor) -> None:
        self.vehicle, self.limit = vehicle, _rows_of(vehicle)
        arrays = *_columns_of(vehicle.columns), vehicle.in_contact
        self.rows: Rows[float] = Rows(dict(zip((*_COLUMNS, "in_contact"), arrays, strict=True)))
        """Columns and contacts, by time [s]."""

    def balance(self) -> Array:
        """Return the entries of an `EnergyBalance` over the copied steps, shape (7,); the last is kept."""
        times, motion = np.array(self.rows.keys), self.rows.block()
        balance = _balance(self.vehicle, np.diff(times)[:, None, None], motion)
        self.rows.drop(len(times) - 1)
        return balance


_BLOCK_ROWS = 512
"""Number of rows of a block, for all copies together."""


def _rows_of(vehicle: Multirotor) -> int:
    """Return the number of steps of a vehicle to evaluate together."""
    return max(1, _BLOCK_ROWS // vehicle.count)


class EnergyAudit:
    """Observer of the energy balance of every vehicle.

    During a step the force is constant in the world and the torque in the body, so their work is force times
    displacement of the centre of mass plus torque times the integral of the angular velocity (trapezoidal).
    Gravity is evaluated midway, which is exact to second order in displacement over the Earth's radius. The
    remainder is the integration error in a step without contact, and the work of the contact otherwise.
    """

    def __init__(self) -> None:
        self._motions: dict[str, _Motion] = {}
        self._sums: dict[str, Array] = {}

    def start(self, simulation: Simulation) -> None:
        """Reset the audit.

        Args:
            simulation: The simulation.
        """
        self._motions, self._sums = {}, {}

    def record(self, simulation: Simulation) -> None:
        """Copy the motion of this step, with which the one before has ended.

        Args:
            simulation: The simulation, before the wrenches of the next step are applied.
        """
        time = simulation.time
        for vehicle in simulation.vehicles:
            motion = self._motions.get(vehicle.name)
            if motion is None or motion.vehicle is not vehicle or time <= motion.rows.rows[-1][0]:
                self._evaluate(vehicle.name)
                motion = _Motion(vehicle)
            rows = motion.rows.rows
            rows.append((time, packed((*_columns_of(vehicle.columns), vehicle.in_contact))))
            self._motions[vehicle.name] = motion
            if len(rows) > motion.limit:
                self._evaluate(vehicle.name)

    def stop(self) -> None:
        """End the run; the balances remain."""

    def balances(self) -> dict[str, EnergyBalance]:
        """Return the balance of each vehicle, summed over copies and steps."""
        for name in self._motions:
            self._evaluate(name)
        # In the order of the vehicles, not in that of evaluation.
        known = (name for name in self._motions if name in self._sums)
        return {name: EnergyBalance(*self._sums[name].tolist()) for name in known}

    def _evaluate(self, name: str) -> None:
        """Add the balance of the copied steps of a vehicle."""
        motion = self._motions.get(name)
        if motion is not None and len(motion.rows) > 1:
            self._sums[name] = self._sums.get(name, 0.0) + motion.balance()


def _balance(vehicle: Multirotor, dt: Array, motion: dict[str, npt.NDArray[Any]]) -> Array:
    """Return the entries of an `EnergyBalance`, shape (7,).

    Args:
        vehicle: The vehicle.
        dt: Lengths of the steps [s], shape (T, 1, 1).
        motion: Motion at their T + 1 ends, and wrenches from each of these on, shape (T + 1, N, ...).
    """
    position, velocity, spin = motion["position"], motion["velocity"], motion["angular_velocity"]
    center = vehicle.center_of_mass
    if center.any():
        rotation = matrix_from_quaternion(motion["orientation"])
        position = position + rotate(rotation, center)
        velocity = velocity + rotate(rotation, cross(spin, center))
    kinetic = kinetic_energy(velocity, spin, mass=vehicle.mass, inertia=vehicle.inertia)
    displacement, turn = np.diff(position, axis=0), 0.5 * dt * (spin[1:] + spin[:-1])
    midway = 0.5 * (position[1:] + position[:-1])
    gravity = vehicle.environment.gravity_vector(midway.reshape(-1, 3)).reshape(midway.shape)
    weight: Array = vehicle.mass * (gravity * displacement).sum(axis=-1)
    applied, rotors, drag = (
        wrench_work(motion[f"{part}force"][:-1], motion[f"{part}torque"][:-1], displacement, turn)
        for part in ("", "rotor_", "drag_")
    )
    others = applied - rotors - drag
    gained = np.diff(kinetic, axis=0) - weight
    excess = gained - applied
    free = excess * ~motion["in_contact"][1:]
    gross = np.abs(rotors) + np.abs(drag) + np.abs(others) + np.abs(weight)
    balance: Array = np.array([gained, rotors, drag, others, free - excess, free, gross]).sum(axis=(1, 2))
    return balance
