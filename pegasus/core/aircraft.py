"""N vehicles of one kind with rotors, wings or wheels, sensors and backends."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import cycle, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require, require_instance
from pegasus.base.errors import ConfigError
from pegasus.base.frames import rotate
from pegasus.config.scenario import VehicleSpec
from pegasus.contracts.backend import Backend
from pegasus.contracts.engine import RayHits, RigidBody
from pegasus.contracts.estimator import Estimator, build_estimator
from pegasus.contracts.fault import Fault, Injection
from pegasus.contracts.reading import Reading
from pegasus.contracts.readings import NewReadings, Readings
from pegasus.contracts.sensor import Sensor, build_sensors, require_sensors
from pegasus.contracts.state import Estimate, Plan, Reference, VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.actuation import Actuation, Wrench
from pegasus.core.assembly import vehicle_of
from pegasus.core.backend_group import BackendGroup
from pegasus.core.columns import ColumnView, StateView, own_columns
from pegasus.core.contact import Contact
from pegasus.core.driven import require_driven_rotors
from pegasus.core.injection import VehicleFaults
from pegasus.core.manager import Manager
from pegasus.core.moves import disturb, place, refit, reset
from pegasus.core.placement import Copies, StartPlacement
from pegasus.core.plausibility import unlikely_figures
from pegasus.core.reprs import vehicle_html, vehicle_line
from pegasus.core.sensor_suite import SensorSuite
from pegasus.core.supply import check_supply
from pegasus.core.trim import require_flight
from pegasus.core.variation import Given, Variation, of_copy
from pegasus.dynamics import Battery, BatteryState, Downwash, Drag, GroundEffect, Motor, ThrustCurve
from pegasus.environment import Environment
from pegasus.model.airframe import Airframe
from pegasus.model.dynamics_models import MODELS, DynamicsModels, VehicleParameters
from pegasus.model.machine import Channel, Machine
from pegasus.model.multirotor import channels_of, machine_of, require_law
from pegasus.model.rotors import RotorLayout, require_hover, require_rotors_above_ground, require_rotors_apart

R = TypeVar("R", bound=Reading)
_log = logging.getLogger(__name__)


class Aircraft:
    """N vehicles of one kind, with rotors, wings or wheels: each one rigid body, with sensors and backends.

    Args:
        model: Name of a shipped vehicle, path of a YAML file, or the content of such a file.
        count: Number of vehicles N.
        name: Unique name; if left out, that of the model, with a number if it is taken.
        position: Start positions of the body frames [m]: one point, or shape (N, 3). One point and a count
            make a square grid around it that does not collide. The name of a spawn point of the world: there,
            or on free ground around it. If left out, free spawn points, or the origin of a world without any.
        heading: Direction of the x axis at the start, counter-clockwise from east [rad]; one or (N,). If left
            out, that of the spawn point, or 0 at a given position.
        spacing: Distance of neighbours in that grid [m]; if left out, enough for rotors and wings.
        backends: Controllers, autopilots and listeners; at most one of them drives.
        sensors: Sensors by name, in place of those of the vehicle's file.
        extra_sensors: Further sensors by name.
        estimator: Estimator of the state, on which controllers fly, in place of that of the vehicle's file.
        motor: Motor in place of that of the vehicle's file.
        thrust_curve: Thrust curve in place of that of the vehicle's file.
        drag: Drag in place of that of the vehicle's file.
        battery: Battery in place of that of the vehicle's file; a sensor named `battery` reads it ten times a
            second, unless another sensor has that name.
        ground_effect: Ground effect in place of that of the vehicle's file.
        downwash: Downwash in place of that of the vehicle's file.
        variation: Parameters that differ between the copies, by dotted field of the vehicle's file: arrays of
            shape (N, ...), or distributions, which are drawn by the seed of the simulation that the vehicle
            joins: `{"mass": np.linspace(1.2, 1.8, 256), "motor.max_speed": {"normal": {"mean": 1.0,
            "std": 0.05, "relative": True}}}`. Controllers know the values of the file only.
        wrench: Function (vehicle, simulation time [s]) -> (force [N], torque [N m]) in NumPy, each of shape
            (N, 3) in the body frame, which is added to the wrench of the models. It is called before each
            step and held over it, to first order; a `law` of a model costs less and is exact.

    Raises:
        ConfigError: If the model is unknown or its file is wrong, an argument is not allowed, or rotors
            overlap or reach as low as the airframe.
    """

    environment: Environment
    """Gravity, air, wind and magnetic field; set when the vehicle joins a simulation."""
    state: VehicleState
    """True state; its arrays are live and read-only."""
    position, orientation = StateView("position"), StateView("orientation")
    """Position and orientation of `state`."""
    velocity, angular_velocity = StateView("velocity"), StateView("angular_velocity")
    """Velocity and angular velocity of `state`."""
    command = ColumnView("command")
    """Commands of the driving backend by channel, in the units of `channels`, shape (N, U)."""
    rotor_command = ColumnView("limited_command")
    """Commands that are obeyed in the coming step: within the limits of the channels, shape (N, U)."""
    applied_force = ColumnView("force")
    """Mean force at the centre of mass over the coming step, world frame, without gravity [N], (N, 3)."""
    applied_torque = ColumnView("torque")
    """Mean torque about the centre of mass over the coming step, body frame [N m], shape (N, 3)."""
    rotor_force = ColumnView("rotor_force")
    """Mean force of all rotors over the coming step, world frame [N], shape (N, 3)."""
    rotor_torque = ColumnView("rotor_torque")
    """Mean torque of all rotors about the centre of mass, with their angular momentum, body [N m], (N, 3)."""
    drag_force = ColumnView("drag_force")
    """Mean drag over the coming step, world frame [N], shape (N, 3)."""
    drag_torque = ColumnView("drag_torque")
    """Mean torque of the drag about the centre of mass, body frame [N m], shape (N, 3)."""
    physics_rate: float
    """Steps per second of the simulation that the vehicle has joined [Hz]."""

    def __init__(
        self,
        model: str | Path | Mapping[str, Any] | VehicleSpec,
        *,
        count: int = 1,
        name: str | None = None,
        position: npt.ArrayLike | str | None = None,
        heading: npt.ArrayLike | None = None,
        spacing: float | None = None,
        backends: Sequence[Backend] = (),
        sensors: Mapping[str, Sensor] | None = None,
        extra_sensors: Mapping[str, Sensor] | None = None,
        estimator: Estimator | None = None,
        motor: Motor | None = None,
        thrust_curve: ThrustCurve | None = None,
        drag: Drag | None = None,
        battery: Battery | None = None,
        ground_effect: GroundEffect | None = None,
        downwash: Downwash | None = None,
        variation: Given | None = None,
        wrench: Wrench | None = None,
    ) -> None:
        whole = isinstance(count, int | np.integer) and count >= 1
        require(whole, "count", count, "must be a whole number from 1 up")
        self.count = int(count)
        models = DynamicsModels(motor, thrust_curve, drag, battery, ground_effect, downwash)
        require_sensors("sensors", sensors)
        require_sensors("extra_sensors", extra_sensors)
        self.backends = BackendGroup(backends)
        spec, file = vehicle_of(model)
        # Not at the top: Isaac Sim brings its own OpenUSD, which must be loaded by Kit first.
        from pegasus.scene.vehicle_asset import VehicleAsset

        self.file = file
        """YAML file of the model; None for a model given as a mapping."""
        try:
            self.asset: VehicleAsset = VehicleAsset(spec, file)
            self.spec = spec = self.asset.spec
            self.layout = RotorLayout.from_specs(spec.rotor_list())
            diameters = spec.propeller_diameters()
            require_rotors_apart(self.layout, diameters)
            require_rotors_above_ground(
                self.layout, diameters, self.asset.airframe_bottom, drawn=spec.usd is None
            )
            models = models.completed(spec)
            airframe = Airframe.of(spec)
            nominal = VehicleParameters.of(spec, models, airframe)
            for field in ("motor", "thrust_curve", "drag"):
                require_law(field, getattr(nominal, field))
            self.motor, self.thrust_curve = nominal.motor, nominal.thrust_curve
            self.drag, self.downwash = nominal.drag, nominal.downwash
            self.ground_effect = nominal.ground_effect
            self.battery: BatteryState | None = None
            if nominal.battery is not None:
                self.battery = BatteryState(nominal.battery, self.motor)
            if sensors is None:
                sensors = build_sensors(spec.sensors)
            if estimator is None:
                estimator = build_estimator(spec.estimator)
        except ConfigError as error:
            raise error.within(file=file) from None
        fitted = {**sensors, **(extra_sensors or {})}
        if self.battery is not None and "battery" not in fitted:
            fitted |= build_sensors({"battery": {"model": "battery_monitor"}})
        self.sensors = SensorSuite(fitted)
        if estimator is not None:
            require_instance(Estimator, "estimator", estimator)
        self.estimator = estimator
        """Estimator of its state; None without one."""
        self.name = name or spec.name
        self.named_by_user = name is not None
        valid_name = bool(self.name) and "/" not in self.name and self.name == self.name.strip()
        require(valid_name, "name", self.name, "must not be empty, hold a slash or begin or end with a space")
        self.mass = nominal.mass
        """Mass of one vehicle by its file [kg]; like all models and parameters here without `variation`."""
        self.inertia = nominal.inertia
        """Inertia about the centre of mass in the body frame [kg m^2], shape (3, 3)."""
        self.center_of_mass: Array = nominal.center_of_mass
        """Centre of mass in the body frame [m], shape (3,)."""
        self._changed: Sequence[VehicleParameters] | None = None
        self._variation = Variation(spec, models, airframe, self.count, variation or {})
        self._nominal = nominal
        radius = self.layout.swept_radius(diameters)
        if airframe.surfaces:
            radius = max(radius, self.asset.reach)
        self.start = StartPlacement(
            count=self.count,
            position=position,
            heading=heading,
            spacing=spacing,
            radius=radius,
            lowest_point=self.asset.lowest_point,
        )
        self.columns: dict[str, Array] = {}
        """State, inputs and outputs of the step by name, N rows each; see `pegasus.step.values`."""
        widths = self.rotor_count, len(self.channels), len(airframe.hinges), len(airframe.wheels)
        self.take_columns(own_columns(self.count, *widths))
        self.actuation = Actuation(self, nominal, wrench)
        self._vary()
        self._manager: Manager | None = None
        self.faults = VehicleFaults(self, self.sensors)
        """Faults of the vehicle; see `inject`."""

    place, reset, disturb, refit = place, reset, disturb, refit
    __repr__, _repr_html_ = vehicle_line, vehicle_html

    @property
    def has_own_wrench(self) -> bool:
        """Whether a function in Python adds a wrench to each step."""
        return self.actuation.wrench is not None

    @property
    def readings(self) -> Readings:
        """Last reading of each sensor, by sensor name; see `Simulation.step` for its instant."""
        return self.sensors.readings

    @property
    def new_readings(self) -> NewReadings:
        """Readings that are new at this step, by sensor name."""
        return self.sensors.new_readings

    def reading(self, kind: type[R], name: str | None = None) -> R:
        """Return the last reading of a class, such as `vehicle.reading(ImuReading)`.

        After a step it is that of the step's start or older, by its `stamp`; `state` is that of its end.

        Args:
            kind: Class of the reading.
            name: Name of the sensor; needed where several sensors give such readings.

        Raises:
            ConfigError: If no sensor has given such a reading yet, or several have.
        """
        return self.sensors.reading(kind, name)

    def inject(self, fault: Fault, *, copies: Copies = None) -> Injection:
        """Inject a fault, which begins at its time and place, or at the coming step.

        A reset begins it anew, unless it was injected during the run without a `start`.

        Args:
            fault: The fault, such as `pegasus.faults.MotorLoss(2)`.
            copies: The copies that it concerns; all if None.

        Raises:
            ConfigError: If the vehicle does not have what fails.
        """
        injection = self.faults.inject(fault, copies)
        if self._manager is not None:
            self._manager.note_faults()
        return injection

    def heal(self, fault: Fault | Injection | str | None = None, *, copies: Copies = None) -> list[str]:
        """End faults at the coming step, and return their names.

        Args:
            fault: The fault, its injection or its name; all if None.
            copies: The copies; all if None.

        Raises:
            ConfigError: If there is no such fault.
        """
        return self.faults.heal(fault, copies)

    @property
    def variation(self) -> Mapping[str, Array]:
        """Values that differ between the copies by field, shape (N, ...); drawn ones once it has joined."""
        return MappingProxyType(self._variation.values)

    @property
    def parameters(self) -> Sequence[VehicleParameters]:
        """Parameters of the step: one entry for all copies, or one for each of a varied vehicle."""
        return self.built_parameters if self._changed is None else self._changed

    @property
    def built_parameters(self) -> Sequence[VehicleParameters]:
        """`parameters` before all changes in flight."""
        names = ("mass", "inertia", "center_of_mass", *MODELS)
        own = {name: getattr(self, name) for name in names if name != "battery"}
        return self._varied or [replace(self._nominal, **own)]

    @property
    def channels(self) -> Sequence[Channel]:
        """Commands that each vehicle takes, in the order of `command`: speeds of rotors, angles of joints."""
        return channels_of(self.motor, self._nominal.airframe, self.rotor_count)

    @property
    def machines(self) -> Sequence[Machine]:
        """Models of the step: one for all copies, or one for each of a varied vehicle."""
        diameter = self.spec.propeller.diameter
        return [machine_of(self.layout, p, diameter, self.channels) for p in self.parameters]

    @property
    def wake(self) -> Array:
        """Air velocity at each rotor beyond the wind, such as by jets, world [m/s], shape (N, R, 3)."""
        return self.columns["wake"]

    @property
    def rotor_count(self) -> int:
        """Number of rotors R of each vehicle."""
        return self.layout.count

    @property
    def rotor_centers(self) -> Array:
        """Centres of the discs in the world [m], shape (N, R, 3)."""
        centers: Array = self.state.position[:, None] + rotate(
            self.state.rotation[:, None], self.layout.position
        )
        return centers

    @property
    def reference(self) -> Reference | None:
        """Reference that the driving backend follows, if it reports one."""
        driver = self.backends.driver
        return driver.reference if driver is not None else None

    @property
    def estimate(self) -> Estimate | None:
        """State estimate of the autopilots, if the driving backend reports one, else of its estimator."""
        driver = self.backends.driver
        if driver is not None and driver.estimate is not None:
            return driver.estimate
        return None if self.estimator is None else self.estimator.estimate

    @property
    def feedback(self) -> VehicleState:
        """State that controllers get: that of its estimator if they fly on it, else the true one."""
        estimator = self.estimator
        return self.state if estimator is None or not estimator.flown else estimator.state

    def plan(self, t: float) -> Plan | None:
        """Return the remaining flight, if the driving backend reports it.

        Args:
            t: Simulation time [s].
        """
        driver = self.backends.driver
        return driver.plan(t) if driver is not None else None

    @property
    def is_refitted(self) -> bool:
        """Whether its mass properties were changed in flight."""
        return self._changed is not None

    @property
    def in_contact(self) -> BoolArray:
        """Whether each copy touched something during the last step, shape (N,)."""
        return self.manager.in_contact(self)

    @property
    def contacts(self) -> list[Contact]:
        """Contact points of all copies in the last step: with what, where, and how hard."""
        return self.manager.contacts(self)

    @property
    def manager(self) -> Manager:
        """Manager of the vehicles of its simulation.

        Raises:
            RuntimeError: If the vehicle is in no simulation.
        """
        if self._manager is None:
            raise RuntimeError(f"vehicle {self.name!r} is in no simulation; add it to one first")
        return self._manager

    def usd_file(self) -> Path:
        """Return the USD file of one vehicle; that of a drawn vehicle is in the user's cache."""
        return self.asset.file()

    def bodies(self) -> list[RigidBody]:
        """Return the rigid bodies of the N vehicles at their start."""
        return [
            RigidBody(
                name=f"{self.name}/{i}",
                mass=parameters.mass,
                center_of_mass=parameters.center_of_mass,
                inertia=parameters.inertia,
                colliders=self.asset.colliders,
                position=self.start.position[i],
                orientation=self.start.orientation[i],
                appearance=self.usd_file,
            )
            for i, parameters in enumerate(islice(cycle(self.parameters), self.count))
        ]

    def raycast(
        self, directions: Array, max_range: float, *, origin: npt.ArrayLike = (0.0, 0.0, 0.0)
    ) -> RayHits:
        """Cast rays from each vehicle; they pass through its own body.

        Args:
            directions: Directions in the body frame, shape (K, 3).
            max_range: Longest distance [m].
            origin: Origin of the rays in the body frame [m], shape (3,).

        Returns:
            N * K hits, those of the first vehicle first.
        """
        state, rays = self.state, len(directions)
        origins = state.position + rotate(state.rotation, np.asarray(origin, dtype=np.float64)[None])
        world = rotate(state.rotation[:, None], np.asarray(directions, dtype=np.float64))
        return self.manager.cast(self, np.repeat(origins, rays, axis=0), world.reshape(-1, 3), max_range)

    def publish(self, t: float, backends: Iterable[Backend]) -> None:
        """Pass the state and new readings to backends of this vehicle.

        Args:
            t: Simulation time [s].
            backends: The backends.
        """
        readings: Mapping[str, Reading] = self.new_readings if self.backends.reads_sensors else {}
        for backend in backends:
            backend.publish(t, self.feedback if backend.takes_feedback else self.state, readings)

    def take_columns(self, columns: dict[str, Array]) -> None:
        """Use other arrays for state, inputs and outputs of the step.

        Args:
            columns: Arrays with the present values.
        """
        self.columns = columns
        if self.battery is not None:
            self.battery.columns = columns
        state = VehicleState(**{field.name: columns[field.name] for field in fields(VehicleState)})
        self.state = state.read_only()

    def join(self, manager: Manager, environment: Environment) -> None:
        """Join a simulation in which the rotors can carry the weight: bind sensors and backends.

        Args:
            manager: Manager that the vehicle now belongs to.
            environment: Environment of the simulation.

        Raises:
            ConfigError: If the vehicle cannot hover, is in a simulation already, or a part does not fit.
        """
        if self._manager is not None:
            raise ConfigError("is already in a simulation", field="vehicle", value=self.name)
        if self._variation.draw(manager.seed, self.name):
            self._vary()
        warnings = []
        for k, p in enumerate(self.parameters):
            try:
                require_driven_rotors(self.layout, p)
                if p.airframe.surfaces:
                    if k == 0:
                        require_flight(self, environment)
                else:
                    require_hover(self.layout, p.motor, p.thrust_curve, p.mass, environment)
                    warnings.append(check_supply(self.layout, p, environment))
            except ConfigError as error:
                raise (of_copy(error, k) if self.variation else error.within(file=self.file)) from None
        # Figures in wrong units, which are reported instead, may ask too much of any battery.
        if (warning := next(filter(None, warnings), None)) and not unlikely_figures(self):
            _log.warning("%s: %s", self.name, warning)
        self.environment, self.physics_rate = environment, manager.rate
        try:
            self.sensors.bind(self, rate=manager.rate, seed=manager.seed)
        except ConfigError as error:
            # Sensors that were given as arguments are not in the vehicle's file.
            name = (error.field or "").removeprefix("sensors.").split(".")[0]
            raise error.within(file=self.file if name in self.spec.sensors else None) from None
        if self.estimator is not None:
            try:
                self.estimator.bind(self)
            except ConfigError as error:
                raise error.within(file=self.file if self.spec.estimator is not None else None) from None
        self._manager = manager
        try:
            self.backends.bind(self)
        except BaseException:
            self._manager = None
            raise

    def _vary(self) -> None:
        """Take the present values of the variation, and reset rotors and batteries."""
        self._varied = self._variation.parameters()
        self._fit_battery()
        self.actuation.reset(self)

    def _fit_battery(self) -> None:
        if self.battery is not None:
            parameters = self.parameters
            self.battery.fit([(p.battery, p.motor) for p in parameters if p.battery is not None])

    def take_parameters(self, parameters: Sequence[VehicleParameters] | None) -> None:
        """Fly with other parameters, one entry for each copy; with those of before if None.

        Args:
            parameters: Parameters of the copies.
        """
        self._changed = parameters
        self._fit_battery()

    def leave(self) -> None:
        """Leave the simulation; the last state is kept."""
        self.take_columns({name: column.copy() for name, column in self.columns.items()})
        self._manager, self._changed = None, None

    def begin(self, *, rate: float, seed: int) -> None:
        """Bring rotors, battery, external wrench and sensors to their initial state, that of the first run.

        Args:
            rate: Physics rate [Hz].
            seed: Seed of the simulation.
        """
        self.actuation.reset(self)
        self.disturb()
        self.sensors.bind(self, rate=rate, seed=seed)
        if self.estimator is not None:
            self.estimator.restart()


Multirotor = Aircraft
"""Name of the class for vehicles that rotors alone carry."""


def as_aircraft(vehicle: Vehicle) -> Aircraft:
    """Return a vehicle as one that a file describes, for a part that serves no other vehicles.

    Args:
        vehicle: The vehicle.

    Raises:
        ConfigError: If it is another.
    """
    if not isinstance(vehicle, Aircraft):
        raise ConfigError("must be an Aircraft", field="vehicle", value=vehicle.name)
    return vehicle
