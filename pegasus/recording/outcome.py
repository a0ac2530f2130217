"""Outcomes of flights: landed, flying, touched something, never flown, or crashed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.frames import rotate
from pegasus.contracts.engine import NO_CONTACTS, BodyState
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.core.vehicle_manager import VehicleManager

HARDEST_LANDING = 3.0
"""Speed at the first contact from which on it is a crash [m/s]; with wheels that along the normal."""
LARGEST_TILT = np.radians(60.0)
"""Tilt in contact from which on it is a crash [rad]."""
OUTCOMES = ("landed", "flying", "touched", "grounded", "crashed")
"""Outcomes, the worst last."""
_AT_REST = 0.1  # [m/s]
_LARGEST_LIFT = 0.5
"""Part of the weight that the rotors of a vehicle at rest on something carry at most."""
_AWAY = 0.2
"""Distance from its last contact, with wheels the height over it, at which a vehicle has left it [m]."""
_INTERVAL = 0.05  # [s]


@dataclass(frozen=True)
class Outcome:
    """End of the flight of a vehicle's N copies."""

    crashed: BoolArray
    """Touched something at `HARDEST_LANDING` or faster, or tilted by `LARGEST_TILT` or more, shape (N,)."""
    touched: BoolArray
    """Touched something in flight without coming to rest on it, shape (N,)."""
    landed: BoolArray
    """Has flown, has not crashed, and rests on something that carries it, shape (N,)."""
    flown: BoolArray
    """Has left its place, shape (N,)."""
    impact_speed: Array
    """Largest speed with which a contact began [m/s], with wheels that along the normal, shape (N,)."""
    position: Array
    """Last position [m], shape (N, 3)."""
    crash_time: Array
    """Time of the crash [s], NaN without one, shape (N,)."""
    fault_time: Array
    """Time at which the first fault began [s], NaN without one, shape (N,)."""
    deviation: Array
    """Largest distance from the reference, without one from the place where the first fault began, since then
    or, without a fault, since the start [m], shape (N,); 0 in a run without faults."""

    def words(self) -> list[str]:
        """Return one of `OUTCOMES` for each copy."""
        conditions = (self.crashed, ~self.flown, self.touched, self.landed)
        chosen = np.select(conditions, ("crashed", "grounded", "touched", "landed"), "flying")
        return [str(word) for word in chosen]

    def word(self) -> str:
        """Return the worst outcome of the copies."""
        return max(self.words(), key=OUTCOMES.index)

    def crash_line(self) -> str:
        """Return the time of the first crash, its speed, and the number of copies that crashed."""
        first = int(np.nanargmin(self.crash_time))
        copies = f", {self.crashed.sum()} of {len(self.crashed)} copies" if len(self.crashed) > 1 else ""
        return f"at {self.crash_time[first]:.2f} s, with {self.impact_speed[first]:.1f} m/s{copies}"

    def to_json(self) -> dict[str, Any]:
        """Return the worst outcome, and the values of each copy, for a summary."""
        names = ("impact_speed", "position", "crash_time", "fault_time", "deviation")
        values = {name: getattr(self, name) for name in names}
        return {"outcome": self.word(), "copies": self.words(), **values}


class _Tally:
    def __init__(self, vehicle: Aircraft) -> None:
        count = vehicle.count
        self.crashed, self.touched, self.flown = (np.zeros(count, dtype=bool) for _ in range(3))
        self.touching, self.resting = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.any_touching, self.any_near = False, True
        self.near, self.rested = np.ones(count, dtype=bool), np.ones(count, dtype=bool)
        """Has not been `_AWAY` from its last contact since then; has been at rest in it."""
        self.impact = np.zeros(count)
        self.vehicle, self.rolls = vehicle, bool(vehicle.parameters[0].airframe.wheels)
        self.last_position: Array | None = None
        self.contact_position = vehicle.state.position.copy()
        self.origin = self.contact_position.copy()
        self.crash_time, self.fault_time = np.full(count, np.nan), np.full(count, np.nan)
        self.deviation = np.zeros(count)

    def add(self, touching: BoolArray, t: float, dt: float) -> None:
        """Look at the contacts of the step that ended at t [s] and was dt [s] long."""
        if self.any_near:
            away = self.vehicle.state.position - self.contact_position
            if self.rolls:
                # What rolls away has not left the ground.
                away = away[:, 2:]
            left = self.near & ~self.touching & ((away * away).sum(axis=1) > _AWAY**2)
            if left.any():
                self.touched |= left & self.flown & ~self.rested
                self.flown |= left
                self.near &= ~left
                self.any_near = bool(self.near.any())
        if touching.any():
            self._add_contacts(touching, t, dt)
        elif self.any_touching:
            self.touching, self.resting, self.any_touching = touching, touching, False

    def add_fault(self, t: float) -> None:
        """Add a step to the deviation, which begins anew where the first fault begins."""
        vehicle = self.vehicle
        failing = np.zeros(vehicle.count, dtype=bool)
        for injection in vehicle.faults.acting:
            failing |= injection.active
        first = failing & np.isnan(self.fault_time)
        if first.any():
            self.fault_time[first], self.deviation[first] = t, 0.0
            self.origin[first] = vehicle.state.position[first]
        reference = vehicle.reference
        strayed = vehicle.state.position - (self.origin if reference is None else reference.position)
        self.deviation = np.maximum(self.deviation, np.sqrt((strayed * strayed).sum(axis=1)))

    def outcome(self) -> Outcome:
        last = self.last_position
        landed = self.flown & ~self.crashed & self.resting
        leaning = self.flown & self.touching & ~self.resting
        return Outcome(
            crashed=self.crashed.copy(),
            touched=self.touched | leaning,
            landed=landed,
            flown=self.flown.copy(),
            impact_speed=self.impact.copy(),
            position=self.vehicle.state.position.copy() if last is None else last,
            crash_time=self.crash_time.copy(),
            fault_time=self.fault_time.copy(),
            deviation=self.deviation,
        )

    def _add_contacts(self, touching: BoolArray, t: float, dt: float) -> None:
        vehicle, state = self.vehicle, self.vehicle.state
        begun = touching & self.flown if self.rolls else touching & ~self.touching & self.flown
        if begun.any():
            # The velocity before the contact is that of the start of the step.
            before = state.velocity - vehicle.columns["acceleration"] * dt
            speed = self._closing(before) if self.rolls else np.sqrt((before * before).sum(axis=1))
            self.impact = np.where(begun, np.maximum(self.impact, speed), self.impact)
        up = rotate(state.rotation, np.array([0.0, 0.0, 1.0]))[:, 2]
        self.crashed |= touching & (up <= np.cos(LARGEST_TILT))
        self.crashed |= self.impact >= HARDEST_LANDING
        self.crash_time[self.crashed & np.isnan(self.crash_time)] = t
        slow = (state.velocity * state.velocity).sum(axis=1) < _AT_REST**2
        weight = -vehicle.mass * vehicle.columns["gravity"][:, 2]
        self.resting = touching & slow & (vehicle.rotor_force[:, 2] < _LARGEST_LIFT * weight)
        # A vehicle that lifts off has rested, whatever its last contacts before were.
        self.rested = np.where(touching & ~self.near, False, self.rested) | self.resting
        self.near |= touching
        self.contact_position[touching] = state.position[touching]
        self.touching, self.any_touching, self.any_near = touching, True, True

    def _closing(self, velocity: Array) -> Array:
        """Return the largest speed of each copy against what it touches [m/s], shape (N,)."""
        speed = np.zeros(len(velocity))
        for contact in self.vehicle.contacts:
            closing = -float((velocity[contact.copy] * contact.normal).sum())
            speed[contact.copy] = max(speed[contact.copy], closing)
        return speed


class OutcomeAudit:
    """Observer of contacts, by which flights end.

    A contact is seen in the step in which it begins or ends; positions, tilts in contacts and vehicles at
    rest are looked at every `_INTERVAL` as well.
    """

    def __init__(self) -> None:
        self._tallies: dict[str, _Tally] = {}
        self._flying: list[tuple[_Tally, slice]] = []
        self._bodies: BodyState | None = None
        self._rolls = False
        """Whether a vehicle has wheels, which may meet an obstacle while it rolls."""
        self._contacts, self._touching = NO_CONTACTS, np.zeros(0, dtype=bool)

    def start(self, simulation: Simulation) -> None:
        """Reset the audit.

        Args:
            simulation: The simulation.
        """
        self._tallies, self._flying, self._bodies = {}, [], None
        self._interval = max(1, round(_INTERVAL * simulation.rate))

    def record(self, simulation: Simulation) -> None:
        """Look at the contacts of this step.

        Args:
            simulation: The simulation.
        """
        vehicles, contacts = simulation.vehicles, simulation.engine.contacts()
        look = simulation.step_count % self._interval == 0
        if vehicles.bodies is not self._bodies:
            self._follow(vehicles)
            look = True
        if contacts is not self._contacts:
            self._contacts, before = contacts, self._touching
            self._touching = vehicles.involved(contacts)
            look = look or self._rolls or bool((self._touching != before).any())
        if look:
            touches = len(contacts.body) > 0
            for tally, rows in self._flying:
                if touches or tally.any_touching or tally.any_near:
                    tally.add(self._touching[rows], simulation.time, simulation.dt)
        if vehicles.faulty:
            for tally, _ in self._flying:
                tally.add_fault(simulation.time)

    def _follow(self, vehicles: VehicleManager) -> None:
        """Find the bodies of the present vehicles, each with its tally so far."""
        self._bodies, known = vehicles.bodies, {tally.vehicle: tally for tally, _ in self._flying}
        self._flying, first = [], 0
        for vehicle in vehicles:
            tally = known.get(vehicle) or _Tally(vehicle)
            self._flying.append((tally, slice(first, first + vehicle.count)))
            self._tallies[vehicle.name] = tally
            first += vehicle.count
        self._rolls = any(tally.rolls for tally, _ in self._flying)
        self._contacts, self._touching = NO_CONTACTS, np.zeros(first, dtype=bool)

    def stop(self) -> None:
        """End the run; the outcomes remain."""
        for tally in self._tallies.values():
            tally.last_position = tally.vehicle.state.position.copy()

    def settled(self, vehicle: Aircraft) -> BoolArray:
        """Return which copies of a vehicle rest on something or have crashed, shape (N,).

        Args:
            vehicle: The vehicle.
        """
        tally = self._tallies.get(vehicle.name) or _Tally(vehicle)
        settled: BoolArray = tally.resting | tally.crashed
        return settled

    def outcomes(self) -> dict[str, Outcome]:
        """Return the outcome of each vehicle."""
        return {name: tally.outcome() for name, tally in self._tallies.items()}
