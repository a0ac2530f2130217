"""Models of the rows of a fleet: those of a vehicle's file, with parameters that differ between rows."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.random_numbers import draw_key
from pegasus.base.step_math import Vec3, Word
from pegasus.base.streams import stream
from pegasus.base.tracing import Argument, column, folded, shape, uniform, uniform_values
from pegasus.config.distributions import Distribution
from pegasus.config.scenario import VehicleSpec, parse
from pegasus.core.aircraft import Aircraft
from pegasus.core.driven import require_driven_rotors, require_slow_motors
from pegasus.core.trim import require_flight
from pegasus.core.variation import Variation, drawn_values, of_copy, one_per_copy
from pegasus.dynamics.battery_state import BatteryState
from pegasus.dynamics.battery_step import Cells, Supply
from pegasus.environment import Environment
from pegasus.environment.samples import SampledLaws, models_in_numpy
from pegasus.environment.turbulence import Filters
from pegasus.fleet.levels import Pilot, Piloted, inputs_of, pilot_of
from pegasus.fleet.sensing import FleetSensors, Sensors
from pegasus.fleet.step import FleetStep, Gusts, Limits, Link
from pegasus.fleet.touches import touches_of
from pegasus.fleet.world import World, WorldArguments
from pegasus.model.dynamics_models import MODELS, DynamicsModels, VehicleParameters
from pegasus.model.multirotor import machine_of
from pegasus.model.rotors import require_hover
from pegasus.step.values import AXES, State

Model = str | Path | Mapping[str, Any] | VehicleSpec | Aircraft
Vary = Mapping[str, Any]
"""Values by dotted field of the vehicle's file, `wind`, `push` or `delay`: (low, high) to draw from, an array
with one entry per row, or a distribution as in `Aircraft(variation=...)`."""
_OF_FLEETS = {"wind": np.zeros(3), "push": np.zeros(3), "delay": np.zeros(())}
"""Fields that may differ besides those of the vehicle's file."""
_LONGEST = 50
"""Longest delay of commands [steps]."""


class FleetModel:
    """Vehicle of a fleet, and the parameters of its rows.

    Args:
        model: See `Fleet`.
        level: Level of commands; see `Fleet`.
        count: Number of rows N.
        rate: Steps per second [Hz].
        environment: Its environment.
        vary: Parameters that differ between rows.
        seed: Seed of drawn ones, and of turbulence.
        world: What stands around; None for open air.
        sensors: Sensors by name.

    Raises:
        ConfigError: If it cannot fly, or a law of it is not compiled.
    """

    def __init__(
        self,
        model: Model,
        level: str,
        count: int,
        rate: float,
        environment: Environment,
        vary: Vary,
        seed: int,
        world: World | None,
        sensors: Sensors,
    ) -> None:
        if environment.wind.turbulence is not None:
            # Its own random numbers, those of a simulation with this seed.
            environment = copy.deepcopy(environment)
            environment.bind(stream(seed, "environment"))
        self.vehicle = vehicle = model if isinstance(model, Aircraft) else Aircraft(model)
        if vehicle.has_own_wrench or vehicle.variation or vehicle.count > 1:
            raise ConfigError(
                "must be one vehicle without a variation or a function `wrench` of its own",
                field="model",
                remedy="give count and vary to the fleet, and laws in place of the function",
            )
        vehicle.environment = environment
        self.count, self.rate, self.environment = count, rate, environment
        self.varied: dict[str, Array] = {}
        """Values that differ between rows by field, shape (N, ...)."""
        parameters = self._varied(vary, seed)
        for k, p in enumerate(parameters):
            try:
                require_driven_rotors(vehicle.layout, p)
                if not p.airframe.surfaces:
                    require_hover(vehicle.layout, p.motor, p.thrust_curve, p.mass, environment)
                elif k == 0:
                    require_flight(vehicle, environment)
            except ConfigError as error:
                raise (of_copy(error, k) if vary else error.within(file=vehicle.file)) from None
        require_slow_motors(vehicle, 1.0 / rate)
        diameter, channels = vehicle.spec.propeller.diameter, vehicle.channels
        self.machines = [machine_of(vehicle.layout, p, diameter, channels) for p in parameters]
        self.limits = [Limits(float(p.motor.min_speed), float(p.motor.max_speed)) for p in parameters]
        self.cells: Sequence[Cells] = ()
        self.start: dict[str, Any] = {
            name: values[:1].reshape(1, -1) for name, values in vehicle.columns.items()
        }
        """Values of columns by name, of all rows or of each, at the start of an episode."""
        if vehicle.battery is not None:
            self._charge(parameters)
        self.start |= {name: self.varied[name] for name in ("wind", "push") if name in self.varied}
        self.inputs = inputs_of(level, vehicle)
        """Commands that a row takes."""
        self._pilot: Pilot | None = None
        self._gains: dict[str, Any] = {"own": None, "p": None}
        if level != "channels":
            self._pilot, self._gains["own"], self._gains["p"] = pilot_of(level, vehicle, rate)
            self.start["command"] = np.array([[channel.idle for channel in self.inputs]])
        self.around = None if world is None else WorldArguments(world, count, touches_of(vehicle))
        if self.around is not None:
            self.start |= self.around.values()
        vehicle.physics_rate = rate
        if environment.wind.turbulence is not None:
            key = draw_key(stream(environment.wind.turbulence.key, "turbulence", vehicle.name))
            self.start["gust_key"] = np.array([[key]], dtype=np.uint64)
        self.sensors = FleetSensors(sensors, vehicle, environment, rate, count, seed)
        self.start |= self.sensors.start
        self.start["row"] = np.arange(count, dtype=np.float64).reshape(-1, 1)
        self._longest = 0
        if "delay" in self.varied:
            lag = np.rint(self.varied["delay"] * rate)
            self._longest = int(lag.max())
            self.start |= {"link.lag": lag, "link.sent": np.tile(self.start["command"], (1, self._longest))}

    def _varied(self, vary: Vary, seed: int) -> Sequence[VehicleParameters]:
        """Return the parameters of all rows, or of each."""
        nominal = self.vehicle.parameters[0]
        given = {field: _distribution(values) for field, values in vary.items()}
        for field, still in _OF_FLEETS.items():
            if field in given:
                self.varied[field] = self._drawn(field, given.pop(field), still, seed)
        if not given:
            return [nominal]
        models = DynamicsModels(**{name: getattr(nominal, name) for name in MODELS})
        made = Variation(self.vehicle.spec, models, nominal.airframe, self.count, given)
        made.draw(seed, self.vehicle.name)
        self.varied |= made.values
        return made.parameters()

    def _drawn(self, field: str, given: Any, still: Array, seed: int) -> Array:
        """Return the values of a field that is not of the vehicle's file."""
        try:
            if isinstance(given, Mapping):
                distribution = parse(given, Distribution)
                values = drawn_values(distribution, still, self.count, seed, self.vehicle.name, field)
            else:
                values = one_per_copy(given, self.count)
            allowed = f"must be finite numbers of shape {(self.count, *still.shape)}"
            require(
                values.shape == (self.count, *still.shape) and bool(np.isfinite(values).all()),
                field,
                values.shape,
                allowed,
            )
            longest = _LONGEST / self.rate
            inside = field != "delay" or bool(((values >= 0) & (values <= longest)).all())
            require(inside, field, values.tolist(), f"must be from 0 to {longest:g} s, {_LONGEST} steps")
        except ConfigError as error:
            raise error.within(field="vary") from None
        return values

    def _charge(self, parameters: Sequence[VehicleParameters]) -> None:
        """Set the parameters and the initial charge of the batteries."""
        packs = [(p.battery, p.motor) for p in parameters if p.battery is not None]
        state = BatteryState(*packs[0])
        state.fit(packs)
        names = list(Supply.__dataclass_fields__)
        columns = {name: np.zeros((len(packs), 3) if name == "cell_state" else len(packs)) for name in names}
        state.columns = columns | {"charge_share": np.ones(len(packs))}
        state.reset()
        self.cells = state.cells
        self.start |= {name: values.reshape(len(packs), -1) for name, values in columns.items()}

    def function(self, *, by_clock: bool) -> FleetStep:
        """Return the step function of a row.

        Args:
            by_clock: See `FleetStep`.

        Raises:
            ConfigError: If a model of the environment has no law.
        """
        environment, wind = self.environment, self.environment.wind
        uncompiled = models_in_numpy(environment)
        if uncompiled or wind.at_rotors is not None:
            raise ConfigError(
                "must have a law for each row by itself" if uncompiled else "must be the same at all rotors",
                field=f"environment.{uncompiled[0] if uncompiled else 'wind'}",
                remedy="use a model with a step function, and wind that does not vary over a vehicle",
            )
        dense = self.vehicle.actuation.uses_air_density
        laws = SampledLaws(
            environment.gravity.step_function,
            environment.atmosphere.step_function if dense else None,
            None if wind.calm else wind.step_function,
        )
        places = environment.gravity.parameters, environment.atmosphere.parameters, wind.parameters
        gusts, turbulence, vehicle = None, wind.turbulence, self.vehicle
        if turbulence is not None:
            span = float(vehicle.layout.span + vehicle.spec.propeller.diameter)
            gusts = Gusts(type(turbulence).gust_law, span)
        around = self.around
        return FleetStep(
            laws,
            places,
            environment.origin.altitude,
            self.rate,
            self._pilot,
            by_clock,
            gusts,
            None if around is None else around.law,
            () if around is None else tuple(around.world.sets()),
            tuple(self.sensors.plans),
        )

    @property
    def parameters(self) -> list[Argument | None]:
        """First arguments of the step function, those that do not change in flight.

        Raises:
            ConfigError: If rows differ in more than numbers.
        """
        parts: dict[str, Sequence[Any]] = {
            "machine": self.machines,
            "limits": self.limits,
            "cells": self.cells,
            **{name: [] if values is None else [values] for name, values in self._gains.items()},
        }
        for values in parts.values():
            known: dict[int, int] = {}
            shapes = [shape(value, known) for value in values]
            for k, one in enumerate(shapes):
                if one != shapes[0]:
                    raise ConfigError(
                        "must differ in numbers only: whole numbers and lengths of tables shape the code",
                        field=f"vary, row {k}",
                        remedy="use one fleet for each",
                    )
        turbulence = self.environment.wind.turbulence
        made = [folded(name, values) if values else None for name, values in parts.items()]
        made.append(
            None
            if turbulence is None
            else uniform("gusts", turbulence.gust_parameters(self.environment.wind))
        )
        return [*made, None if self.around is None else self.around.terrain]

    @property
    def numbers(self) -> dict[str, Array]:
        """Numbers of these by the names of their columns and tables: of all rows, or shape (N, ...)."""
        every = (*self.parameters, *self.sensors.parameters)
        made = [uniform_values(a) for a in every if a is not None]
        return {name: np.asarray(x) for one in made for name, x in one.items()}

    @property
    def arguments(self) -> list[Any]:
        """Arguments of the step function: its parameters, and columns that it hands on."""
        machine = self.machines[0]
        numbers = {"channel": len(machine.channels), "joint": len(machine.joints)}
        widths = {name: numbers[axis] for name, axis in AXES.items()}
        return [
            *self.parameters,
            column("", Supply) if self.cells else None,
            column("pilot", Piloted) if self._pilot is not None else None,
            column("", State, len(machine.elements), **widths),
            column("command", float, len(self.inputs)),
            column("wind", Vec3) if "wind" in self.varied else None,
            column("link", Link, self._longest * len(self.inputs)) if self._longest else None,
            column("push", Vec3) if "push" in self.varied else None,
            column("step_count", int),
            None if self.environment.wind.turbulence is None else column("", Filters),
            None if self.environment.wind.turbulence is None else column("gust_key", Word),
            column("row", int),
            column("felt_gravity", Vec3) if self.sensors.plans else None,
            *(() if self.around is None else self.around.arguments),
            *self.sensors.flat,
        ]


def _distribution(values: Any) -> Any:
    """Return values of a field, a pair (low, high) as a uniform distribution."""
    if isinstance(values, tuple) and len(values) == 2:
        return {"uniform": {"low": values[0], "high": values[1]}}
    return values
