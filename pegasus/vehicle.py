"""Vehicles: a rigid body, its sensors, and those who fly it and listen to it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array, BoolArray
from pegasus.backends.backend import Backend
from pegasus.backends.estimate import Estimate
from pegasus.components import require
from pegasus.control.plan import Plan
from pegasus.control.reference import Reference
from pegasus.engines.engine import BodyState, RayHits, RigidBody
from pegasus.environment import Environment
from pegasus.errors import ConfigError
from pegasus.frames import normalize, quaternion_from_euler
from pegasus.scenario import VehicleSpec
from pegasus.scene.scene import Scene
from pegasus.sensors.sensor import Reading, Schedule, Sensor
from pegasus.start import finite_numbers, start_positions, swept_radius, whole_count
from pegasus.state import VehicleState
from pegasus.streams import stream

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor
    from pegasus.render.visuals import Visuals
    from pegasus.vehicle_manager import VehicleManager

R = TypeVar("R", bound=Reading)

START_HEIGHT = 0.1
"""Height above the ground at which a vehicle starts if its legs allow, and that of spawn points [m]."""
_CLEAR_OF_GROUND = 0.01  # [m]


class Vehicle(ABC):
    """N identical vehicles, each one rigid body, with sensors and backends.

    `Multirotor` is the one to use; another kind of vehicle derives from this one and says in `actuate` which
    wrench acts on it.
    """

    mass: float
    """Mass of one vehicle [kg]."""
    inertia: Array
    """Inertia about the centre of mass in the body frame [kg m^2], shape (3, 3)."""
    center_of_mass: Array
    """Centre of mass in the body frame [m], shape (3,)."""
    environment: Environment
    """Where it flies; set when it joins a simulation."""
    physics_rate: float
    """Steps per second of the simulation that it joined [Hz]."""
    rotor_command: Array
    """Commanded rotor speeds of the last step, within the motor's limits [rad/s], shape (N, R)."""

    def __init__(
        self,
        spec: VehicleSpec,
        file: Path | None,
        *,
        count: int,
        name: str | None,
        position: npt.ArrayLike | None,
        heading: npt.ArrayLike | None,
        spacing: float | None,
        backends: Sequence[Backend],
        sensors: Mapping[str, Sensor],
    ) -> None:
        self.spec, self.file, self.count = spec, file, whole_count(count)
        self.name = name or spec.name
        self.named_by_user = name is not None
        valid_name = bool(self.name) and "/" not in self.name and self.name == self.name.strip()
        require(valid_name, "name", self.name, "must not be empty, hold a slash or begin or end with a space")
        self.headed_by_user = heading is not None
        headings = finite_numbers("heading", 0.0 if heading is None else heading, (count,))
        self.start_orientation = quaternion_from_euler(0.0, 0.0, headings)
        self.backends = list(backends)
        drivers = [backend for backend in self.backends if backend.drives]
        if len(drivers) > 1:
            kinds = ", ".join(type(backend).__name__ for backend in drivers)
            raise ConfigError(
                "at most one backend may drive a vehicle",
                field="backends",
                value=kinds,
                remedy="remove the others",
            )
        self._driver = drivers[0] if drivers else None
        self.sensors: dict[str, Sensor] = dict(sensors)
        from pegasus.scene.vehicle_asset import vehicle_scene

        try:
            self.scene: Scene = vehicle_scene(spec, file or Path())
        except ConfigError as error:
            raise error.within(file=file) from None
        self.placed_by_user, self.spacing, self.radius = position is not None, spacing, swept_radius(spec)
        if position is None:
            position = (0.0, 0.0, self.standing_height)
        self.start_position = start_positions(position, count=count, spacing=spacing, clearance=self.radius)
        self.state = VehicleState.at_rest(count, len(spec.rotor_list()))
        self.readings: dict[str, Reading] = {}
        self.new_readings: dict[str, Reading] = {}
        self.command = np.zeros((count, len(spec.rotor_list())))
        self.applied_force = np.zeros((count, 3))
        """Force at the centre of mass during the step that begins now, world frame, no gravity [N]."""
        self.applied_torque = np.zeros((count, 3))
        """Torque about the centre of mass during the step that begins now, body frame [N m]."""
        self._no_command = np.zeros_like(self.command)
        self._disturbance: tuple[Array, Array] | None = None
        self._schedules: list[tuple[str, Sensor, Schedule]] = []
        self._followers: list[Sensor] = []
        self._manager: VehicleManager | None = None

    @abstractmethod
    def actuate(self, t: float, dt: float) -> None:
        """Turn `command` into `applied_force` and `applied_torque` of the step from t to t + dt.

        Args:
            t: Simulation time [s].
            dt: Length of the step [s].
        """

    @abstractmethod
    def reset_actuators(self) -> None:
        """Bring everything that moves the vehicle to rest."""

    @property
    def standing_height(self) -> float:
        """Height above the ground at which the vehicle starts clear of it, however long its legs [m]."""
        from pegasus.scene.colliders import lowest_point

        return max(START_HEIGHT, _CLEAR_OF_GROUND - lowest_point(self.scene.colliders))

    @property
    @abstractmethod
    def rotor_force(self) -> Array:
        """Force of all rotors during the step that begins now, world frame [N], shape (N, 3)."""

    @property
    @abstractmethod
    def rotor_torque(self) -> Array:
        """Torque of all rotors about the centre of mass, body frame [N m], shape (N, 3)."""

    @property
    @abstractmethod
    def drag_force(self) -> Array:
        """Drag during the step that begins now, world frame [N], shape (N, 3)."""

    @property
    @abstractmethod
    def drag_torque(self) -> Array:
        """Torque of the drag about the centre of mass, body frame [N m], shape (N, 3)."""

    @property
    def reference(self) -> Reference | None:
        """What the driving backend is following, where it knows."""
        return self._driver.reference if self._driver is not None else None

    def plan(self, t: float) -> Plan | None:
        """Return what is left to fly, where the driving backend knows.

        Args:
            t: Simulation time [s].
        """
        return self._driver.plan(t) if self._driver is not None else None

    @property
    def estimate(self) -> Estimate | None:
        """What the autopilots believe, where the driving backend tells."""
        return self._driver.estimate if self._driver is not None else None

    @property
    def in_contact(self) -> BoolArray:
        """Whether it touched something during the last step, shape (N,)."""
        return self._joined().in_contact(self)

    @property
    def visuals(self) -> "Visuals":
        """Pictures of the world and all vehicles, for sensors that see."""
        return self._joined().visuals

    def usd_file(self) -> Path:
        """Return the USD file that shows one vehicle; a drawn one is kept in the user's cache."""
        from pegasus.scene.vehicle_asset import vehicle_file

        return vehicle_file(self.spec, self.file or Path())

    def start_at(self, position: Array, heading: Array) -> None:
        """Set where the vehicles start when they were given no place; a heading that was given stays.

        Args:
            position: Where the body frames start [m], shape (N, 3).
            heading: Directions of the x axes [rad], shape (N,).
        """
        self.start_position = position
        if not self.headed_by_user:
            self.start_orientation = quaternion_from_euler(0.0, 0.0, heading)

    def bodies(self) -> list[RigidBody]:
        """Return the rigid bodies of the N vehicles where they start."""
        return [
            RigidBody(
                name=f"{self.name}/{i}",
                mass=self.mass,
                center_of_mass=self.center_of_mass,
                inertia=self.inertia,
                colliders=self.scene.colliders,
                position=self.start_position[i],
                orientation=self.start_orientation[i],
                appearance=self.usd_file,
            )
            for i in range(self.count)
        ]

    def teleport(
        self,
        position: npt.ArrayLike,
        *,
        heading: npt.ArrayLike = 0.0,
        orientation: npt.ArrayLike | None = None,
        velocity: npt.ArrayLike = 0.0,
        angular_velocity: npt.ArrayLike = 0.0,
    ) -> None:
        """Put the vehicles elsewhere, level unless told otherwise; no sensor feels an acceleration from it.

        Args:
            position: New positions [m], shape (3,) or (N, 3).
            heading: New headings [rad], one or shape (N,).
            orientation: New attitudes in place of the headings, quaternions xyzw, shape (4,) or (N, 4).
            velocity: New velocities in the world [m/s], broadcast to (N, 3).
            angular_velocity: New angular velocities in the body frame [rad/s], broadcast to (N, 3).

        Raises:
            ConfigError: If a number is not finite, or a shape does not fit.
            RuntimeError: If the vehicle is in no simulation.
        """
        target = BodyState.zeros(self.count)
        n = self.count
        target.position[...] = finite_numbers("position", position, (n, 3))
        if orientation is None:
            target.orientation[...] = quaternion_from_euler(
                0.0, 0.0, finite_numbers("heading", heading, (n,))
            )
        else:
            turned = finite_numbers("orientation", orientation, (n, 4))
            length = np.sqrt((turned * turned).sum(axis=1))
            unit = bool((np.abs(length - 1.0) < 1e-3).all())
            require(unit, "orientation", orientation, "must be unit quaternions xyzw")
            target.orientation[...] = normalize(turned)
        target.velocity[...] = finite_numbers("velocity", velocity, (n, 3))
        target.angular_velocity[...] = finite_numbers("angular_velocity", angular_velocity, (n, 3))
        self._joined().place(self, target)

    def disturb(self, *, force: npt.ArrayLike = 0.0, torque: npt.ArrayLike = 0.0) -> None:
        """Push and turn the vehicles from the next step on, until told otherwise or reset.

        Args:
            force: Force at the centre of mass in the world [N], broadcast to (N, 3).
            torque: Torque about the centre of mass in the body frame [N m], broadcast to (N, 3).

        Raises:
            ConfigError: If a number is not finite, or a shape does not fit.
        """
        shape = (self.count, 3)
        pushed = finite_numbers("force", force, shape).copy(), finite_numbers("torque", torque, shape).copy()
        self._disturbance = pushed if any(part.any() for part in pushed) else None

    def add_disturbance(self) -> None:
        """Add what `disturb` was told to `applied_force` and `applied_torque`; called after `actuate`."""
        if self._disturbance is not None:
            self.applied_force += self._disturbance[0]
            self.applied_torque += self._disturbance[1]

    def raycast(
        self, directions: Array, max_range: float, *, origin: npt.ArrayLike = (0.0, 0.0, 0.0)
    ) -> RayHits:
        """Cast rays from each vehicle; a vehicle's own body does not stop them.

        Args:
            directions: Directions in the body frame, shape (K, 3).
            max_range: Longest distance [m].
            origin: Where the rays start in the body frame [m], shape (3,).

        Returns:
            N * K hits, those of the first vehicle first.
        """
        return self._joined().raycast(self, directions, max_range, np.asarray(origin, dtype=np.float64))

    def sense(self, step: int, t: float) -> None:
        """Take the readings that are due at a step.

        Args:
            step: Number of the step.
            t: Simulation time [s].
        """
        for sensor in self._followers:
            sensor.follow(self.state, t)
        self.new_readings = {
            name: sensor.measure(self.state, t) for name, sensor, due in self._schedules if due.due(step)
        }
        self.readings.update(self.new_readings)

    def reading(self, kind: type[R], name: str | None = None) -> R:
        """Return the last reading of a sensor, such as `vehicle.reading(ImuReading)`, as what it is.

        Args:
            kind: Class of the reading.
            name: Name of the sensor; needed where several sensors give such readings.

        Raises:
            ConfigError: If no sensor has given such a reading yet, or several have.
        """
        found = {
            sensor: reading
            for sensor, reading in self.readings.items()
            if isinstance(reading, kind) and name in (None, sensor)
        }
        if len(found) != 1:
            raise ConfigError(
                f"is given by {', '.join(found)}" if found else "has not been given",
                field=f"reading of vehicle {self.name!r}" + (f", sensor {name!r}" if name else ""),
                value=kind.__name__,
                remedy="name one of them"
                if found
                else f"step the simulation first; its sensors are {', '.join(self.sensors)}",
            )
        (only,) = found.values()
        return only

    def publish(self, t: float) -> None:
        """Hand state and new readings to every backend.

        Args:
            t: Simulation time [s].
        """
        for backend in self.backends:
            backend.publish(t, self.state, self.new_readings)

    def collect(self, t: float) -> None:
        """Take the command of the driving backend.

        Args:
            t: Simulation time [s].

        Raises:
            ConfigError: If the command has the wrong shape or is not finite.
        """
        command = self._driver.command(t) if self._driver is not None else None
        if command is None:
            self.command = self._no_command
            return
        command = np.asarray(command, dtype=np.float64)
        if command.shape != self._no_command.shape or not np.isfinite(command).all():
            raise self._bad_command(command, t)
        self.command = command

    def join(self, manager: "VehicleManager", environment: Environment) -> None:
        """Enter a simulation: bind sensors and backends.

        Args:
            manager: Manager that the vehicle now belongs to.
            environment: Where it flies.
        """
        if self._manager is not None:
            raise ConfigError("is already in a simulation", field="vehicle", value=self.name)
        self.environment, self.physics_rate = environment, manager.rate
        try:
            self.bind_sensors(manager.rate, manager.seed)
        except ConfigError as error:
            # Sensors that were given beside the vehicle's file do not stand in it.
            name = (error.field or "").removeprefix("sensors.").split(".")[0]
            raise error.within(file=self.file if name in self.spec.sensors else None) from None
        bound: list[Backend] = []
        try:
            for backend in self.backends:
                bound.append(backend)
                backend.bind(self._as_multirotor())
        except BaseException:
            # What a bound backend has taken, such as a port, is given back.
            for backend in bound:
                backend.stop()
            raise
        self._manager = manager

    def leave(self) -> None:
        """Leave the simulation; the last state stays."""
        self.state = self.state.copy()
        self._manager = None

    def stop_backends(self) -> None:
        """Stop every backend, each one even if another fails, then raise the first failure."""
        failures: list[Exception] = []
        for backend in self.backends:
            try:
                backend.stop()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def bind_sensors(self, rate: float, seed: int) -> None:
        """Give the sensors a fresh start, each with its own stream.

        Args:
            rate: Physics rate [Hz].
            seed: Seed of the simulation.
        """
        self.readings, self.new_readings = {}, {}
        self._schedules = [
            (name, sensor, Schedule(sensor.rate_hz, rate, name=name)) for name, sensor in self.sensors.items()
        ]
        self._followers = [s for s in self.sensors.values() if type(s).follow is not Sensor.follow]
        for name, sensor in self.sensors.items():
            sensor.bind(self._as_multirotor(), self.environment, stream(seed, self.name, name))

    def _as_multirotor(self) -> "Multirotor":
        # Whoever is bound asks for what it needs; every vehicle so far has rotors.
        return cast("Multirotor", self)

    def _joined(self) -> "VehicleManager":
        if self._manager is None:
            raise RuntimeError(f"vehicle {self.name!r} is in no simulation; add it to one first")
        return self._manager

    def _bad_command(self, command: Array, t: float) -> ConfigError:
        who = f"command of {type(self._driver).__name__} for vehicle {self.name!r} at t = {t:g} s"
        if command.shape != self._no_command.shape:
            return ConfigError(
                f"must have shape {self._no_command.shape}: one rotor speed [rad/s] per vehicle and rotor",
                field=f"shape of {who}",
                value=command.shape,
            )
        vehicle, rotor = (int(k[0]) for k in np.nonzero(~np.isfinite(command)))
        return ConfigError(
            "rotor speeds must be finite",
            field=f"{who}, copy {vehicle}, rotor {rotor}",
            value=float(command[vehicle, rotor]),
            remedy="check the controller's inputs and gains",
        )
