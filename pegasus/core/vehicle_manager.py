"""Vehicles of a simulation by name, with the states of all bodies as one batch."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.errors import ConfigError, unknown_name
from pegasus.base.frames import matrix_from_quaternion
from pegasus.config.scenario import SpawnPoint
from pegasus.contracts.engine import NO_CONTACTS, BodyIds, BodyState, Contacts, Engine, RayHits
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.actuation import warn_of_battery
from pegasus.core.air import AirInputs
from pegasus.core.aircraft import Aircraft
from pegasus.core.backend_bank import Backends
from pegasus.core.contact import Contact, contacts_by_vehicle
from pegasus.core.manager import ChangeableVehicle
from pegasus.core.movers import Movers
from pegasus.core.plant import Plant
from pegasus.core.plant_energy import clear_energy
from pegasus.core.sensor_bank import SensorBank
from pegasus.core.visuals import Visuals
from pegasus.core.wheels import WheelInputs
from pegasus.environment import Environment
from pegasus.model.dynamics_models import VehicleParameters

_DEEPEST_START = 0.05  # [m]


class VehicleManager(Collection[Aircraft]):
    """All vehicles of a simulation, in the order of addition; their states are rows of one array.

    Iterating gives the vehicles, indexing finds one by its name.

    Args:
        engine: Physics engine with the world loaded.
        environment: Environment of the vehicles.
        rate: Physics rate [Hz].
        seed: Seed of the simulation.
    """

    visuals: Visuals
    """Rendered world and vehicles; set by the simulation."""

    spawn_points: Sequence[SpawnPoint] = ()
    """Spawn points of the world; set by the simulation."""

    movers: Movers
    """Objects that move by themselves; set by the simulation."""

    def __init__(self, engine: Engine, environment: Environment, *, rate: float, seed: int) -> None:
        self.rate, self.seed = rate, seed
        self._engine, self._environment = engine, environment
        self._vehicles: dict[str, Aircraft] = {}
        self._ids: dict[str, BodyIds] = {}
        self._found: Contacts | None = None
        self._contacts: dict[str, list[Contact]] = {}
        self._plant = Plant()
        self._sensors, self._backends = SensorBank(rate), Backends(rate)
        self._rearrange()

    def __getitem__(self, name: str) -> Aircraft:
        """Return the vehicle of a name."""
        try:
            return self._vehicles[name]
        except KeyError:
            raise unknown_name("vehicle", name, self._vehicles) from None

    def __contains__(self, name: object) -> bool:
        return name in self._vehicles

    def __iter__(self) -> Iterator[Aircraft]:
        return iter(self._vehicles.values())

    def __len__(self) -> int:
        return len(self._vehicles)

    @property
    def bodies(self) -> BodyState:
        """Poses and velocities of all bodies, vehicle by vehicle and copy by copy; the arrays are live."""
        return self._bodies

    @property
    def faulty(self) -> Sequence[Aircraft]:
        """Vehicles with faults, acting or not."""
        return self._faulty

    def add(self, vehicle: Aircraft) -> None:
        """Add a vehicle, also while others fly, without disturbing them.

        Args:
            vehicle: The vehicle.

        Raises:
            ConfigError: If its name is taken, or a sensor or backend does not fit.
        """
        taken = {*self._vehicles, *self.movers.names}
        if vehicle.name in taken:
            if vehicle.named_by_user:
                raise ConfigError("is taken", field="name", value=vehicle.name, remedy="choose another")
            vehicle.name = next(
                name for k in range(1, len(taken) + 2) if (name := f"{vehicle.name}{k}") not in taken
            )
        self._require_own_parts(vehicle)
        vehicle.join(self, self._environment)
        try:
            self._ids[vehicle.name] = self._engine.add_bodies(vehicle.bodies())
        except BaseException:
            vehicle.leave()
            vehicle.backends.stop()
            raise
        self._vehicles[vehicle.name] = vehicle
        vehicle.faults.reset(self.seed)
        self._rearrange()
        clear_energy(vehicle.columns)
        vehicle.columns["gust_step"][...] = 0
        vehicle.columns["gravity"][...] = self._environment.gravity_vector(vehicle.state.position)
        try:
            self._require_free_start(vehicle)
        except ConfigError:
            self.remove(vehicle.name)
            raise

    def remove(self, name: str) -> None:
        """Remove a vehicle and stop its backends, without disturbing others.

        Args:
            name: Name of the vehicle.
        """
        vehicle = self[name]
        try:
            vehicle.backends.stop()
        finally:
            vehicle.leave()
            self._engine.remove_bodies(self._ids.pop(name))
            del self._vehicles[name]
            self._rearrange()

    def clear(self) -> None:
        """Remove all vehicles."""
        for name in list(self._vehicles):
            self.remove(name)

    def sense(self, step: int, t: float) -> None:
        """Take the readings of all vehicles that are due at a step.

        Args:
            step: Number of the step.
            t: Simulation time [s].
        """
        for vehicle in self._faulty:
            vehicle.faults.update(t)
        self._sensors.measure(self, self._plant.columns, step, t)
        for vehicle in self._faulty:
            vehicle.faults.sense(t)
        for estimator in self._estimators:
            estimator.update(t)

    def publish(self, step: int, t: float) -> None:
        """Pass states and new readings to all backends.

        Args:
            step: Number of the step.
            t: Simulation time [s].
        """
        self._backends.publish(self, self._plant.columns, step, t)

    def command(self, t: float) -> None:
        """Set the commands of all vehicles that were published.

        Args:
            t: Simulation time [s].

        Raises:
            ConfigError: If a command has the wrong shape.
        """
        self._backends.command(self, self._plant.columns, t)

    @property
    def environment(self) -> Environment:
        """Environment of the vehicles."""
        return self._environment

    @property
    def engine(self) -> str:
        """Name of the class of the engine."""
        return type(self._engine).__name__

    @property
    def shared(self) -> dict[str, Any]:
        """Columns in which vehicles and sensors have views, and tables of sensors, by name."""
        self._sensors.arrange(self, self._plant.columns)
        return {**self._plant.columns, **self._sensors.shared}

    def save_state(self) -> dict[str, Any]:
        """Return the state of the engine and of the schedules."""
        return {
            "engine": self._engine.save_state(),
            "sensors": self._sensors.save_state(),
            "backends": self._backends.save_state(),
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on after all vehicles have got saved states.

        Args:
            state: What `save_state` gave.
        """
        self._engine.restore_state(state["engine"])
        self._sensors.restore_state(state["sensors"])
        self._backends.resume(state["backends"])
        self.keep_gusts()
        self._found = None
        self.note_faults()

    def keep_gusts(self) -> None:
        """Take the gusts in the columns as the state of the present turbulence, with its random key."""
        self._air.keep_gusts()

    def prepare(self) -> None:
        """Compile the step for the present vehicles, so that no autopilot waits for it.

        Raises:
            ConfigError: If a custom law cannot be compiled.
        """
        failing = [vehicle for vehicle in self._faulty if vehicle.faults.may_alter_step]
        self._plant.prepare(1.0 / self.rate, local_air=self._air.differs, failing=failing)

    def audit_energy(self) -> None:
        """Add up the energy balance of each step from now on, in the columns `energy_*` of each vehicle."""
        self._plant.audit(self._environment)

    def actuate(self, t: float, dt: float) -> None:
        """Integrate all vehicles over the step from t to t + dt, as if nothing touched them.

        Args:
            t: Simulation time [s].
            dt: Length of the step [s].

        Raises:
            ConfigError: If a command or wrench is not finite, or the motion of a vehicle has diverged.
        """
        self._air.update(t, dt)
        failing = [vehicle for vehicle in self._faulty if vehicle.faults.actuate(t, dt)]
        for vehicle in self._prepared:
            vehicle.actuation.prepare(vehicle, t)
        rung = self._plant.advance(dt, t, local_air=self._air.differs, failing=failing)
        if rung:
            for vehicle in self:
                warn_of_battery(vehicle, t)

    def apply(self) -> None:
        """Hand the mean wrenches with the weights, and the states of free flight, to the engine."""
        columns = self._plant.columns
        self._wheels.apply(self._engine)
        self._engine.apply(columns["load"], columns["torque"], self._free)

    def observe(self) -> None:
        """Read the state after a step, and compute accelerations over it."""
        self._engine.read(self._bodies)
        if self._plant.audited:
            contacts = self._engine.contacts()
            if len(contacts.body):
                self._plant.columns["touched"][...] = self.involved(contacts)
        self._plant.observe(1.0 / self.rate)
        self._wheels.turn(self._engine, self._ids, 1.0 / self.rate)

    def in_contact(self, vehicle: Vehicle) -> BoolArray:
        """Return whether each copy of a vehicle touched something during the last step, shape (N,).

        Args:
            vehicle: The vehicle.
        """
        contacts = self._engine.contacts()
        if not len(contacts.body):
            return np.zeros(vehicle.count, dtype=bool)
        touching: BoolArray = np.isin(self._ids[vehicle.name], (contacts.body, contacts.other))
        return touching

    def contacts(self, vehicle: Vehicle) -> list[Contact]:
        """Return the contacts of the copies of a vehicle in the last step.

        Args:
            vehicle: The vehicle.
        """
        contacts = self._engine.contacts()
        if contacts is NO_CONTACTS:
            return []
        if contacts is not self._found:
            self._found, self._contacts = contacts, contacts_by_vehicle(self._ids, contacts)
        return list(self._contacts[vehicle.name])

    def touching(self, contacts: Contacts) -> dict[str, BoolArray]:
        """Return by name which copies of each vehicle are in contacts, shape (N,) each.

        Args:
            contacts: Contacts of the engine.
        """
        ends = np.cumsum([len(ids) for ids in self._ids.values()])
        return dict(zip(self._ids, np.split(self.involved(contacts), ends), strict=False))

    def involved(self, contacts: Contacts) -> BoolArray:
        """Return which bodies are in contacts, in the order of `bodies`, shape (M,).

        Args:
            contacts: Contacts of the engine.
        """
        bodies = {*contacts.body.tolist(), *contacts.other.tolist()}
        return np.array([body in bodies for ids in self._ids.values() for body in ids.tolist()], dtype=bool)

    def place(self, vehicle: Vehicle, target: BodyState, rows: IntArray) -> None:
        """Set the poses and velocities of copies without an acceleration.

        Args:
            vehicle: The vehicle.
            target: New poses and velocities, K rows.
            rows: Indices of the copies, shape (K,).
        """
        self._engine.write(self._ids[vehicle.name][rows], target)
        columns = vehicle.columns
        columns["position"][rows], columns["orientation"][rows] = target.position, target.orientation
        for name in ("velocity", "angular_velocity"):
            columns[name][rows] = columns[f"last_{name}"][rows] = getattr(target, name)
        # In an observer the step is already integrated: the copies end it where they are placed.
        for field in fields(BodyState):
            columns[f"free_{field.name}"][rows] = getattr(target, field.name)
        columns["start_position"][rows] = target.position
        columns["start_orientation"][rows] = target.orientation
        columns["rotation"][rows] = matrix_from_quaternion(target.orientation)
        columns["acceleration"][rows] = columns["angular_acceleration"][rows] = 0.0
        columns["gravity"][rows] = self._environment.gravity_vector(target.position)

    def cast(
        self,
        vehicle: Vehicle,
        origins: Array,
        directions: Array,
        max_range: float,
        *,
        rows: IntArray | slice = slice(None),
    ) -> RayHits:
        """Cast rays in the world that pass through the copy of the vehicle that casts them.

        Args:
            vehicle: The vehicle.
            origins: Origins of the rays [m], the same number for each copy, shape (K, 3).
            directions: Their directions in the world, shape (K, 3).
            max_range: Longest distance [m].
            rows: Copies that cast rays; all by default.
        """
        ids = self._ids[vehicle.name][rows]
        skip = np.repeat(ids, len(origins) // len(ids))
        return self._engine.raycast(origins, directions, max_range, skip=skip)

    def note_faults(self) -> None:
        """Look for vehicles with faults, after one was injected."""
        self._faulty = [vehicle for vehicle in self if len(vehicle.faults)]

    def refit(self, vehicle: ChangeableVehicle, parameters: Sequence[VehicleParameters] | None) -> None:
        """Change the mass properties of a vehicle in flight.

        Args:
            vehicle: The vehicle.
            parameters: Parameters of each copy; those of before all changes if None.

        Raises:
            ConfigError: If the engine cannot change them.
        """
        before = list(vehicle.parameters) if vehicle.is_refitted else None
        vehicle.take_parameters(parameters)
        try:
            self._engine.refit_bodies(self._ids[vehicle.name], vehicle.bodies())
        except ConfigError:
            vehicle.take_parameters(before)
            raise
        self._rearrange()

    def reset(self) -> None:
        """Return every vehicle to its start, at rest and with fresh sensors."""
        for vehicle in self:
            vehicle.faults.reset(self.seed)
            if vehicle.is_refitted:
                self.refit(vehicle, None)
            target = BodyState.zeros(vehicle.count)
            target.position[...], target.orientation[...] = vehicle.start.position, vehicle.start.orientation
            rows = np.arange(vehicle.count)
            self.place(vehicle, target, rows)
            vehicle.sensors.place(rows)
            vehicle.begin(rate=self.rate, seed=self.seed)
            clear_energy(vehicle.columns)
            vehicle.columns["gust_step"][...] = 0

    def release(self) -> None:
        """Release all vehicles, which may then join another simulation; their bodies stay in the engine."""
        for vehicle in self:
            vehicle.leave()
        self._vehicles, self._ids = {}, {}

    def _require_own_parts(self, vehicle: Aircraft) -> None:
        """Raise a ConfigError if a vehicle shares a stateful backend or sensor with another."""
        others = {
            id(part): other.name
            for other in self
            for part in (*other.backends, *other.sensors.values(), other.estimator)
        }
        for part in (*vehicle.backends, *vehicle.sensors.values(), vehicle.estimator):
            if part is None:
                continue
            if id(part) in others:
                raise ConfigError(
                    f"already belongs to vehicle {others[id(part)]!r}",
                    field=f"{type(part).__name__} of vehicle {vehicle.name!r}",
                    remedy="make one for each vehicle",
                )
            others[id(part)] = vehicle.name

    def _require_free_start(self, vehicle: Aircraft) -> None:
        contacts = self._engine.contacts()
        ids = self._ids[vehicle.name]
        depth = np.where(np.isin(contacts.body, ids) | np.isin(contacts.other, ids), -contacts.distance, 0.0)
        worst = int(np.argmax(depth)) if len(depth) else 0
        if len(depth) and depth[worst] > _DEEPEST_START:
            raise ConfigError(
                f"starts {depth[worst]:.2f} m deep in an obstacle at "
                f"({', '.join(f'{c:.2f}' for c in contacts.position[worst])}) m",
                field="position",
                value=vehicle.start.position.tolist(),
                remedy="move it to a free place",
            )

    def _rearrange(self) -> None:
        """Assign to every vehicle its rows in the arrays of all bodies."""
        self._found = None
        self._plant.arrange(list(self))
        columns = self._plant.columns
        self._bodies = BodyState(*(columns[field.name] for field in fields(BodyState)))
        self._free = BodyState(*(columns[f"free_{field.name}"] for field in fields(BodyState)))
        self._engine.read(self._bodies)
        columns["last_velocity"][...] = self._bodies.velocity
        columns["last_angular_velocity"][...] = self._bodies.angular_velocity
        columns["rotation"][...] = matrix_from_quaternion(self._bodies.orientation)
        columns["start_position"][...] = self._bodies.position
        columns["start_orientation"][...] = self._bodies.orientation
        self._air = AirInputs(
            list(self),
            columns,
            self._environment,
            density_used=any(vehicle.actuation.uses_air_density for vehicle in self),
            last=getattr(self, "_air", None),
        )
        self._wheels = WheelInputs(list(self))
        self.note_faults()
        self._prepared = [vehicle for vehicle in self if not vehicle.actuation.is_compiled]
        self._estimators = [vehicle.estimator for vehicle in self if vehicle.estimator is not None]
