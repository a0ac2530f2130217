"""Sensor scheduling: which sensors of a vehicle are due at a step, and their last readings."""

import math
from collections.abc import Iterator, Mapping
from typing import TypeVar

from pegasus.base.arrays import Array, IntArray
from pegasus.base.errors import ConfigError, unknown_name
from pegasus.base.streams import stream
from pegasus.contracts.reading import Reading
from pegasus.contracts.readings import NewReadings, Readings
from pegasus.contracts.sensor import Sensor
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.compiled_sensor import CompiledSensor
from pegasus.core.schedule import Schedule

R = TypeVar("R", bound=Reading)


class SensorSuite(Mapping[str, Sensor]):
    """Sensors of a vehicle by name, each measured at its own rate."""

    def __init__(self, sensors: Mapping[str, Sensor]) -> None:
        self._sensors = dict(sensors)
        self._vehicle = ""
        self._schedules: list[tuple[str, Sensor, Schedule]] = []
        self._followers: list[Sensor] = []
        self._compiled = {n: s for n, s in self._sensors.items() if isinstance(s, CompiledSensor)}
        self._each = [(name, self._compiled.get(name)) for name in self._sensors]
        self._given: dict[str, Reading] = {}
        self._new: tuple[float, NewReadings] | None = None
        self.altered: Mapping[str, Reading | None] = {}
        """Last readings of faulty sensors, in place of the true ones; None for one that has given none."""
        self.time: Array | None = None
        """Time of the bank, which `SensorBank` sets; None before the first step."""

    @property
    def now(self) -> float:
        """Simulation time of the present readings [s]; 0 before the first step."""
        return 0.0 if self.time is None else self.time.item(0)

    def __getitem__(self, name: str) -> Sensor:
        try:
            return self._sensors[name]
        except KeyError:
            raise unknown_name("sensor", name, self._sensors) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._sensors)

    def __len__(self) -> int:
        return len(self._sensors)

    def bind(self, vehicle: EquippedVehicle, *, rate: float, seed: int) -> None:
        """Start all sensors from a fresh state, each with its own random stream.

        Args:
            vehicle: The vehicle that carries them.
            rate: Physics rate [Hz].
            seed: Seed of the simulation.
        """
        self._given, self._new = {}, None
        self._vehicle = vehicle.name
        schedules = {name: Schedule(sensor.rate_hz, rate, name=name) for name, sensor in self.items()}
        for name, sensor in self.items():
            try:
                sensor.bind(vehicle, vehicle.environment, stream(seed, vehicle.name, name))
            except ConfigError as error:
                raise error.within(field=f"sensors.{name}") from None
        others = {name: sensor for name, sensor in self.items() if name not in self._compiled}
        self._schedules = [(name, sensor, schedules[name]) for name, sensor in others.items()]
        self._followers = [s for s in others.values() if type(s).follow is not Sensor.follow]

    def measure(self, state: VehicleState, step: int, t: float) -> None:
        """Take the readings that are due at a step, of the sensors that are not compiled.

        Args:
            state: True state at t.
            step: Number of the step.
            t: Simulation time [s].
        """
        for sensor in self._followers:
            sensor.follow(state, t)
        for name, sensor, schedule in self._schedules:
            if schedule.due(step):
                self._given[name] = sensor.measure(state, t)

    def alter(self, readings: Mapping[str, Reading | None]) -> None:
        """Give other readings of faulty sensors than the true ones.

        Args:
            readings: Last reading of each faulty sensor, None for one that has given none.
        """
        self.altered, self._new = readings, None

    def true_reading(self, name: str, t: float) -> Reading | None:
        """Return the reading of an instant without faults; None if there is none.

        Args:
            name: Name of the sensor.
            t: Simulation time [s].
        """
        sensor = self._compiled.get(name)
        reading = self._given.get(name) if sensor is None else sensor.given_at(t)
        return reading if reading is not None and reading.stamp == t else None

    def last_reading(self, name: str) -> Reading | None:
        """Return the last reading without faults; None if there is none.

        Args:
            name: Name of the sensor.
        """
        sensor = self._compiled.get(name)
        if sensor is None:
            return self._given.get(name)
        return None if math.isnan(sensor.stamp) else sensor.given

    @property
    def is_compiled(self) -> bool:
        """Whether all sensors are compiled; `measure` does nothing then."""
        return not self._schedules

    def place(self, rows: IntArray) -> None:
        """Take the coming state of copies as that of vehicles placed there: no acceleration led to it.

        Args:
            rows: Indices of the copies, shape (K,).
        """
        for sensor in self._compiled.values():
            sensor.place(rows)

    def reset_copies(self, rows: IntArray) -> None:
        """Start the sensors of copies from a fresh state.

        Args:
            rows: Indices of the copies, shape (K,).
        """
        self._new = None
        for sensor in self.values():
            sensor.reset_copies(rows)

    def last_given(self, name: str) -> Reading | None:
        """Return the last reading, altered by faults; None if there is none.

        Args:
            name: Name of the sensor.
        """
        return self.altered[name] if name in self.altered else self.last_reading(name)

    @property
    def readings(self) -> Readings:
        """Last reading of each sensor that has given one."""
        found = Readings(self)
        for name in self._sensors:
            if (reading := self.last_given(name)) is not None:
                found[name] = reading
        return found

    @property
    def new_names(self) -> list[str]:
        """Names of the sensors that have given a reading in the last step."""
        now, altered = self.now, self.altered
        found = []
        for name, sensor in self._each:
            if sensor is None or name in altered:
                reading = altered[name] if name in altered else self._given.get(name)
                if reading is not None and reading.stamp == now:
                    found.append(name)
            elif sensor.rows["stamp"].item(sensor.dated) == now:
                found.append(name)
        return found

    @property
    def new_readings(self) -> NewReadings:
        """Readings of the last step."""
        if self.time is None:
            return NewReadings(self)
        number = self.time.item(2)
        if self._new is None or self._new[0] != number:
            new = NewReadings(self)
            now, altered = self.time.item(0), self.altered
            for name, sensor in self._each:
                reading = self.last_given(name) if sensor is None or name in altered else sensor.given_at(now)
                if reading is not None and reading.stamp == now:
                    new[name] = reading
            self._new = number, new
        return self._new[1]

    def reading(self, kind: type[R], name: str | None = None) -> R:
        """Return the last reading of a class.

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
                field=f"reading of vehicle {self._vehicle!r}" + (f", sensor {name!r}" if name else ""),
                value=kind.__name__,
                remedy="name one of them"
                if found
                else f"step the simulation first; its sensors are {', '.join(self)}",
            )
        (only,) = found.values()
        return only
