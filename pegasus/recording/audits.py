"""Audits of tracking errors and energy over a run."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter, is_not
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.frames import matrix_from_quaternion
from pegasus.contracts.state import Reference
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.plant_energy import ENTRIES
from pegasus.core.simulation import Simulation
from pegasus.recording.rows import Rows, packed

_BLOCK_ROWS = 512
"""Number of rows of a block, for all copies together."""
_NO_DIRECTION = 1e-6
"""Length below which a vector has no direction."""


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
    attitude_rms: float
    """Root mean square of the angle to the attitude of the reference, the asked one or that of its heading
    with the thrust along its acceleration less gravity; drag is neglected [rad]."""
    attitude_maximum: float
    """Maximum of that angle [rad]."""


@dataclass
class _Tally:
    steps: int = 0
    samples: int = 0
    squares: float = 0.0
    largest: float = 0.0
    angle_squares: float = 0.0
    largest_angle: float = 0.0

    def add(self, squares: Array, angles: Array, flying: BoolArray) -> None:
        self.steps += int(flying.any(axis=1).sum())
        squares, angles = squares[flying], angles[flying]
        self.angle_squares += float((angles * angles).sum())
        self.largest_angle = float(np.maximum(self.largest_angle, angles.max()))
        self.samples += len(squares)
        self.squares += float(squares.sum())
        self.largest = float(np.maximum(self.largest, squares.max()))

    def merge(self, other: "_Tally") -> None:
        self.steps += other.steps
        self.samples += other.samples
        self.squares += other.squares
        self.largest = float(np.maximum(self.largest, other.largest))
        self.angle_squares += other.angle_squares
        self.largest_angle = float(np.maximum(self.largest_angle, other.largest_angle))

    def error(self, rate: float) -> TrackingError:
        return TrackingError(
            self.steps / rate, math.sqrt(self.squares / self.samples), math.sqrt(self.largest)
        )


class _Stretch:
    """Steps of a vehicle on one segment, to be evaluated together."""

    def __init__(self, vehicle: Vehicle, reference: Reference) -> None:
        self.vehicle, self.segment = vehicle, reference.segment
        self.limit = max(1, _BLOCK_ROWS // vehicle.count)
        self.last = _arrays(reference)
        self.state = state = vehicle.state
        names = ("position", "orientation", "wanted", "acceleration", "yaw", "idle", "attitude")
        self.arrays = state.position, state.orientation, *self.last
        self.rows = Rows(dict(zip(names, self.arrays, strict=True)))

    def take(self, arrays: tuple[npt.NDArray[Any], ...]) -> bool:
        """Return whether arrays of a reference have the types and shapes of the last ones, and keep them."""
        last, self.last = self.last, arrays
        self.state = state = self.vehicle.state
        self.arrays = state.position, state.orientation, *arrays
        return all(a.dtype == b.dtype and a.shape == b.shape for a, b in zip(last, arrays, strict=True))


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
            stretch, arrays = self._stretches.get(vehicle.name), _arrays(reference)
            if (
                stretch is None
                or stretch.vehicle is not vehicle
                or stretch.segment != reference.segment
                # Arrays that are written in place are those of last time.
                or (
                    (vehicle.state is not stretch.state or any(map(is_not, stretch.last, arrays)))
                    and not stretch.take(arrays)
                )
            ):
                self._evaluate(vehicle.name)
                stretch = self._stretches[vehicle.name] = _Stretch(vehicle, reference)
            rows = stretch.rows.rows
            rows.append(packed(stretch.arrays))
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
            rms = math.sqrt(overall.angle_squares / overall.samples)
            result[name] = VehicleTracking(overall.error(self._rate), errors, rms, overall.largest_angle)
        return result

    def _evaluate(self, name: str) -> None:
        """Add the copied steps of a vehicle to the tally of their segment."""
        stretch = self._stretches.get(name)
        if stretch is None or not stretch.rows.rows:
            return
        block = stretch.rows.block()
        flying = ~block["idle"]
        if flying.any():
            error = block["position"] - block["wanted"]
            segments = self._tallies.setdefault(name, {})
            gravity = stretch.vehicle.columns["gravity"]
            angles = _attitude_errors(block["orientation"], block["acceleration"], block["yaw"], gravity)
            cosine = np.abs((block["orientation"] * block["attitude"]).sum(axis=-1))
            asked = block["attitude"].any(axis=-1)
            angles = np.where(asked, 2.0 * np.arccos(np.minimum(cosine, 1.0)), angles)
            segments.setdefault(stretch.segment, _Tally()).add((error * error).sum(axis=-1), angles, flying)
        stretch.rows.rows.clear()


_arrays: Callable[[Reference], tuple[npt.NDArray[Any], ...]] = attrgetter(
    "position", "acceleration", "yaw", "idle", "attitude"
)


def _attitude_errors(orientation: Array, acceleration: Array, yaw: Array, gravity: Array) -> Array:
    """Return the angles between attitudes and those of references [rad], shape (T, N).

    Where the reference leaves an axis open (free fall, thrust along the heading), it is the vehicle's own.
    """
    actual = matrix_from_quaternion(orientation.reshape(-1, 4)).reshape((*yaw.shape, 3, 3))
    z = _unit(acceleration - gravity, actual[..., 2])
    heading = np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=-1)
    y = _unit(np.cross(z, heading), _unit(np.cross(z, actual[..., 0]), actual[..., 1]))
    wanted = np.stack([np.cross(y, z), y, z], axis=-1)
    angles: Array = np.arccos(np.clip(((wanted * actual).sum(axis=(-2, -1)) - 1.0) / 2.0, -1.0, 1.0))
    return angles


def _unit(vectors: Array, otherwise: Array) -> Array:
    """Return unit vectors along vectors, and others in place of those that have no direction."""
    length = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return np.where(length > _NO_DIRECTION, vectors / np.maximum(length, _NO_DIRECTION), otherwise)


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


class EnergyAudit:
    """Observer of the energy balance of every vehicle; the step adds it up, see `core.plant_energy`."""

    def __init__(self) -> None:
        self._present: dict[Vehicle, Array] = {}
        self._totals: dict[str, Array] = {}
        self._balances: dict[str, EnergyBalance] | None = {}

    def start(self, simulation: Simulation) -> None:
        """Reset the audit.

        Args:
            simulation: The simulation.
        """
        simulation.vehicles.audit_energy()
        self._simulation, self._first, self._balances = simulation, simulation.step_count, None
        self._bodies = simulation.vehicles.bodies
        self._present = {vehicle: _energy(vehicle) for vehicle in simulation.vehicles}
        self._totals = {vehicle.name: np.zeros(len(ENTRIES)) for vehicle in simulation.vehicles}

    def record(self, simulation: Simulation) -> None:
        """Follow the vehicles that are added and removed.

        Args:
            simulation: The simulation.
        """
        bodies = simulation.vehicles.bodies
        if bodies is not self._bodies:
            self._bodies, before, zero = bodies, self._present, np.zeros(len(ENTRIES))
            self._present = {vehicle: before.pop(vehicle, zero) for vehicle in simulation.vehicles}
            for vehicle in self._present:
                self._totals.setdefault(vehicle.name, zero)
            for vehicle, energy in before.items():
                self._totals[vehicle.name] = self._totals[vehicle.name] + _energy(vehicle) - energy

    def stop(self) -> None:
        """End the run; the balances remain."""
        self._balances = self.balances()

    def balances(self) -> dict[str, EnergyBalance]:
        """Return the balance of each vehicle, summed over copies and steps."""
        if self._balances is not None:
            return self._balances
        if self._simulation.step_count == self._first:
            return {}
        totals = dict(self._totals)
        for vehicle, before in self._present.items():
            totals[vehicle.name] = totals[vehicle.name] + _energy(vehicle) - before
        return {name: EnergyBalance(*total.tolist()) for name, total in totals.items()}


def _energy(vehicle: Vehicle) -> Array:
    """Return the sums over the copies of a vehicle, in the order of `ENTRIES` [J]."""
    return np.array([vehicle.columns[f"energy_{entry}"].sum() for entry in ENTRIES])
