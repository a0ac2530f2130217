"""Comparison of runs from snapshots with uninterrupted ones, shared by the tests of snapshots."""

import dataclasses
import hashlib
import pickle

import numpy as np

from pegasus.cameras.capture import Capture


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
