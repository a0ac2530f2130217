"""Faults of whole sensors: off, stuck, late, and with dropouts."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasus.base.arrays import BoolArray
from pegasus.base.components import require
from pegasus.base.random_numbers import philox, uniform
from pegasus.base.step_math import Word
from pegasus.contracts.fault import Injection, SensorFault
from pegasus.contracts.reading import Reading, changed_reading


def with_copies(reading: Reading, other: Reading, copies: BoolArray) -> Reading:
    """Return a reading with the values of another one for some copies.

    Args:
        reading: The reading, whose stamp is kept.
        other: Another reading of the same sensor.
        copies: Copies whose values are those of the other one, shape (N,).
    """
    if copies.all():
        return changed_reading(other, {"stamp": reading.stamp})
    changed = {}
    for field in dataclasses.fields(reading):
        value, last = getattr(reading, field.name), getattr(other, field.name)
        if isinstance(value, np.ndarray) and isinstance(last, np.ndarray) and len(value) == len(copies):
            value = value.copy()
            value[copies] = last[copies]
            changed[field.name] = value
    return changed_reading(reading, changed)


def random_share(injection: Injection, copy: int, t: float, block: int = 0) -> float:
    """Return a number between 0 and 1 of a fault, a copy and a step.

    Args:
        injection: The fault.
        copy: Index of the copy.
        t: Simulation time [s].
        block: Number of the draw within the step.
    """
    step = round(t * injection.vehicle.physics_rate) & 0xFFFFFFFF
    word, *_ = philox(Word(int(injection.keys[copy])), Word(step), Word(copy), Word(block), Word(1))
    return uniform(word)


@dataclass(frozen=True)
class HoldingFault(SensorFault):
    """Base of a fault by which copies keep an earlier reading."""

    def begin(self, injection: Injection, copies: BoolArray) -> None:
        """Keep the last reading of the copies."""
        last = injection.vehicle.sensors.last_reading(self.sensor)
        if last is not None:
            held = injection.state.get("held")
            injection.state["held"] = last if held is None else with_copies(held, last, copies)

    def hold(self, injection: Injection, reading: Reading, copies: BoolArray) -> Reading:
        """Return a reading with the kept values for some copies.

        Args:
            injection: The fault.
            reading: The reading.
            copies: The copies, shape (N,).
        """
        held = injection.state.setdefault("held", reading)
        return with_copies(reading, held, copies)


@dataclass(frozen=True)
class SensorOff(HoldingFault):
    """Sensor that gives no readings.

    Where only some copies of a batch are concerned, the reading of the others is given, and these keep their
    last values in it.
    """

    takes_ramp: ClassVar[bool] = False

    def alter(self, injection: Injection, reading: Reading, t: float) -> Reading | None:
        """Return no reading, or one in which copies keep their values."""
        return None if injection.active.all() else self.hold(injection, reading, injection.active)


@dataclass(frozen=True)
class SensorStuck(HoldingFault):
    """Sensor that gives its last reading again and again."""

    takes_ramp: ClassVar[bool] = False

    def alter(self, injection: Injection, reading: Reading, t: float) -> Reading | None:
        """Return the kept values with the stamp of the reading."""
        return self.hold(injection, reading, injection.active)


@dataclass(frozen=True)
class SensorDropouts(HoldingFault):
    """Sensor of whose readings some are missing; a copy of a batch keeps its last values then."""

    probability: float = 0.5
    """Share of the readings that are missing, above 0 to 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.probability <= 1, "probability", self.probability, "must be above 0, to 1")

    def alter(self, injection: Injection, reading: Reading, t: float) -> Reading | None:
        """Return the reading, or none."""
        missing = np.zeros(injection.vehicle.count, dtype=bool)
        for copy in np.flatnonzero(injection.active).tolist():
            limit = self.probability * float(injection.intensity[copy])
            missing[copy] = random_share(injection, copy, t) < limit
        if missing.all():
            return None
        given = self.hold(injection, reading, missing) if missing.any() else reading
        injection.state["held"] = given
        return given


@dataclass(frozen=True)
class SensorDelay(SensorFault):
    """Sensor whose readings arrive late: their values are those of an earlier reading."""

    delay: float = 0.1
    """Delay [s]."""

    takes_ramp: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.delay <= 60, "delay", self.delay, "must be above 0 s and at most 60 s")

    def alter(self, injection: Injection, reading: Reading, t: float) -> Reading | None:
        """Return the reading of an earlier time with the present stamp; none before there is one."""
        line: list[Reading] = injection.state.setdefault("line", [])
        line.append(reading)
        while len(line) > 1 and line[1].stamp <= t - self.delay + 1e-9:
            del line[0]
        if line[0].stamp > t - self.delay + 1e-9 and injection.active.all():
            return None
        return with_copies(reading, line[0], injection.active)
