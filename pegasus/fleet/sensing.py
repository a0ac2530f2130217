"""Sensors in the step of a fleet: the step functions of a simulation's sensors, on columns of the rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from dataclasses import fields as fields_of
from typing import Any, get_args, get_origin

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import annotations_of
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Real, Table, Vec3
from pegasus.base.streams import stream
from pegasus.base.tracing import Argument, column, uniform
from pegasus.contracts.sensor import Sensor
from pegasus.core.aircraft import Aircraft
from pegasus.core.compiled_sensor import BODY, INPUTS, SHARED, CompiledSensor
from pegasus.core.schedule import Schedule
from pegasus.core.sensor_row import measured
from pegasus.environment import Environment
from pegasus.step.values import State

Sensors = Mapping[str, Sensor]
"""Sensors by name."""
_NOT_MEASURED = tuple(name for name in INPUTS if name != "gravity")
_WIDTHS = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}


@dataclass(frozen=True)
class SensorPlan:
    """Sensor in a step: what is known when its function is traced."""

    name: str
    function: Callable[..., None]
    columns: type
    """Dataclass of its columns."""
    given: tuple[str, ...]
    """Names of its parameters and own columns, in the order of the arguments."""
    recorded: tuple[tuple[str, str], ...]
    """Columns of the body that are recorded, by the names of the records."""
    steps: int
    """Number of steps by which it is late."""
    numerator: int
    """Steps between readings, as a fraction."""
    denominator: int

    def measure(
        self, values: Sequence[Any], state: State, gravity: Vec3, t: Real, dt: Real, step: int
    ) -> dict[str, Any]:
        """Return what the sensor writes, by column.

        Args:
            values: Parameters, own columns, then what was recorded of each column, the newest first.
            state: State now.
            gravity: Acceleration of free fall, world [m/s^2].
            t: Time [s].
            dt: Length of a step [s].
            step: Number of the step.
        """
        known = dict(zip(self.given, values, strict=False))
        body = {name: getattr(state, name) for name in BODY} | {"gravity": gravity}
        known |= {name: value for name, value in body.items() if name in annotations_of(self.columns)}
        made: dict[str, Any] = {}
        for (record, of_body), past in zip(self.recorded, values[len(self.given) :], strict=True):
            every = (body[of_body], *past)
            known[f"{record}_before"], known[f"{record}_after"] = every[self.steps], every[self.steps - 1]
            if self.steps == 0:
                known[f"{record}_after"] = body[of_body]
            else:
                made[f"{self.name}.{record}_past"] = every[: self.steps]
        due = 0
        if self._number(step) > self._number(step - 1):
            due = 1
        known |= {"time": (t, dt), "due": due}
        written = measured(self.function, self.columns, tuple(known), None, *known.values())
        return made | {f"{self.name}.{name}": value for name, value in written.items()}

    def _number(self, step: int) -> int:
        """Return the number of the last reading due at a step or before; see `Schedule.number`."""
        return step * self.denominator // self.numerator


class FleetSensors:
    """Sensors of the rows of a fleet, bound as those of a simulation.

    Args:
        sensors: Sensors by name, in no vehicle.
        vehicle: The vehicle.
        environment: Its environment.
        rate: Steps per second [Hz].
        count: Number of rows N.
        seed: Seed of their random numbers.

    Raises:
        ConfigError: If one has no step function, or needs what the step of a fleet does not have.
    """

    def __init__(
        self,
        sensors: Sensors,
        vehicle: Aircraft,
        environment: Environment,
        rate: float,
        count: int,
        seed: int,
    ) -> None:
        self.plans: list[SensorPlan] = []
        self.arguments: list[list[Any]] = []
        """Arguments of each plan: parameters, own columns, records."""
        self.start: dict[str, Array] = {}
        """First values of columns, shape (1, W) or (N, W)."""
        self.given: dict[str, dict[str, str]] = {}
        """Columns of the readings of each sensor, by field."""
        for name, sensor in sensors.items():
            if not isinstance(sensor, CompiledSensor):
                raise ConfigError(
                    "has no step function",
                    field=f"sensors.{name}",
                    value=type(sensor).__name__,
                    remedy="use an IMU or odometry; for distances, `Rays` of a fleet",
                )
            sensor.bind(vehicle, environment, stream(seed, vehicle.name, name))
            self._add(name, sensor, rate, count)

    def _add(self, name: str, sensor: CompiledSensor, rate: float, count: int) -> None:
        """Add the plan, arguments and first values of a sensor."""
        hints = annotations_of(sensor.columns)
        missing = set(_NOT_MEASURED) & set(hints) & {*sensor.inputs(), "magnetic_field"}
        if missing or sensor.is_fed:
            raise ConfigError(
                f"needs {', '.join(sorted(missing)) or 'values from Python'}, which a fleet does not give it",
                field=f"sensors.{name}",
                value=type(sensor).__name__,
                remedy="use it in a simulation; an IMU without vibration and temperature is fine",
            )
        schedule = Schedule(sensor.rate_hz, rate, name=name)
        numerator, denominator = schedule.period, schedule.number(schedule.period)
        parameters = sensor.parameters()
        delayed = "delay" in hints
        steps = sensor.delay().steps if delayed else 0
        recorded = tuple(sensor.recorded.items())
        of_records = {f"{record}_{end}" for record, _ in recorded for end in ("before", "after")}
        skipped = {*SHARED, *BODY, "gravity", *of_records, *parameters}
        own = [
            column_name
            for column_name, hint in hints.items()
            if column_name in sensor.rows
            and column_name not in skipped
            and not is_dataclass(get_args(hint)[0])
        ]
        arguments: list[Any] = [uniform(f"{name}.{n}", value) for n, value in parameters.items()]
        for n in own:
            kind, is_table = get_args(hints[n])[0], get_origin(hints[n]) is Table
            width = sensor.rows[n].shape[1] if is_table else 0
            arguments.append(() if is_table and not width else column(f"{name}.{n}", kind, width))
            first = sensor.rows[n].reshape(1, -1)
            self.start[f"{name}.{n}"] = first
            if n == "copy":
                self.start[f"{name}.{n}"] = np.arange(count, dtype=np.float64)[:, None]
        for record, of_body in recorded:
            kind = get_args(hints[f"{record}_before"])[0]
            past = column(f"{name}.{record}_past", kind, steps) if steps else ()
            arguments.append(past)
            self.start[f"{name}.{record}_past"] = np.zeros((1, steps * _WIDTHS[of_body]))
        self.plans.append(
            SensorPlan(
                name,
                type(sensor).function,
                sensor.columns,
                (*parameters, *own),
                recorded,
                steps,
                numerator,
                denominator,
            )
        )
        self.arguments.append(arguments)
        gives = [f.name for f in fields_of(sensor.gives[0])][1:] if sensor.gives else []
        named = dict(zip(gives, sensor.gives[1:], strict=False))
        named = named or {n.removeprefix("seen_"): n for n in own if n.startswith("seen_")}
        self.given[name] = {field: f"{name}.{n}" for field, n in (named | {"stamp": "stamp"}).items()}

    @property
    def parameters(self) -> list[Argument]:
        """Arguments that do not change in flight."""
        return [a for part in self.arguments for a in part if isinstance(a, Argument) and a.values]

    @property
    def flat(self) -> list[Any]:
        """All arguments, one behind the other."""
        return [a for part in self.arguments for a in part]


def apart(plans: Sequence[SensorPlan], values: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the values of each plan of those of all, one behind the other."""
    found, first = [], 0
    for plan in plans:
        last = first + size_of((plan,))
        found.append(values[first:last])
        first = last
    return found


def size_of(plans: Sequence[SensorPlan]) -> int:
    """Return the number of values of plans."""
    size = 0
    for plan in plans:
        size += len(plan.given) + len(plan.recorded)
    return size
