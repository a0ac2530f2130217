"""Comparison of runs from snapshots with uninterrupted ones, shared by the tests of snapshots."""

import dataclasses
import hashlib
import pickle

import numpy as np

from pegasus import Backend, Multirotor, Simulation
from pegasus.cameras.capture import Capture
from pegasus.sensors import Reading, Sensor


def bits(sim, steps):
    """Return the SHA-256 of all columns, readings and contacts, now and after each of some steps."""
    found = hashlib.sha256()

    def add(value):
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                add(getattr(value, field.name))
        elif isinstance(value, Capture):
            found.update(repr(value._seeds).encode())
            add(value.snapshot.position)
            add(value.previous.position)
        elif isinstance(value, np.ndarray):
            found.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, float | int | str):
            found.update(repr(value).encode())

    for k in range(steps + 1):
        sim.step(min(k, 1))
        for vehicle in sim.vehicles:
            for values in vehicle.columns.values():
                add(values)
            for reading in vehicle.new_readings.values():
                add(reading)
            for contact in vehicle.contacts:
                add(contact)
            add(vehicle.reference)
    for vehicle in sim.vehicles:
        add(vehicle.estimate)
    return found.hexdigest()


def require_same_bits(make, before, after):
    """Compare runs from a snapshot with the run that it was taken of: there, anew, and pickled elsewhere."""
    with make() as sim:
        sim.step(before)
        taken = sim.snapshot()
        uninterrupted = bits(sim, after)
        for _ in range(2):
            sim.restore(taken)
            assert sim.time == taken.time
            assert bits(sim, after) == uninterrupted
    with make() as sim:
        sim.restore(pickle.loads(pickle.dumps(taken)))
        assert bits(sim, after) == uninterrupted
    with make() as sim:
        sim.step(before + 7)
        sim.restore(taken)
        assert bits(sim, after) == uninterrupted
    return uninterrupted


class Drifting(Sensor):
    """Sensor in Python with a state of its own, a random stream and a reference to another part."""

    rate_hz = 50.0

    def bind(self, vehicle, environment, rng):
        super().bind(vehicle, environment, rng)
        self.drift, self.past, self.source = np.zeros(vehicle.count), [], vehicle.sensors["imu"]
        self.now = None

    def measure(self, state, t):
        self.drift = self.drift + self.rng.standard_normal(self.count)
        self.past.append(self.drift)
        self.now = state.position if self.now is None else self.now
        assert self.source.vehicle is self.vehicle
        assert np.shares_memory(self.now, self.vehicle.columns["position"])
        return OwnReading(t, self.drift + sum(part.sum() for part in self.past), self.now[:, 2].copy())


@dataclasses.dataclass(frozen=True, eq=False)
class OwnReading(Reading):
    drift: np.ndarray
    height: np.ndarray


class Integral(Backend):
    """Driver in Python: an integral of the height."""

    drives = True

    def __init__(self, sim=None):
        self.sim = sim

    def bind(self, vehicle):
        self.vehicle, self.sum = vehicle, np.zeros((vehicle.count, 1))

    def start(self):
        self.sum[...] = 0.0

    def publish(self, t, state, readings):
        assert self.sim is None or self.sim.vehicles["iris"] is self.vehicle
        self.sum += 0.004 * (3.0 - state.position[:, 2:])

    def command(self, t):
        return np.full((self.vehicle.count, 4), 640.0) + 5.0 * self.sum


class Deciding(Integral):
    """Driver with a function that it may get during a run."""

    def start(self):
        super().start()
        self.rule = None


def own(seed=1, backends=(), **parts):
    sim = Simulation("flat", seed=seed)
    parts.setdefault("extra_sensors", {"own": Drifting()})
    sim.add(Multirotor("iris", position=(0, 0, 2), backends=[Integral(sim), *backends], **parts))
    return sim
