"""Tests of tracking errors against figures made by hand."""

import numpy as np
import pytest
from recording_stand_ins import Simulation, Vehicle, fly

from pegasus.control.reference import Reference
from pegasus.recording import TrackingAudit, TrackingError


def follow(
    vehicle: Vehicle, segment: str, errors: list[tuple[float, float, float]], *, idle: bool = False
) -> None:
    """Set a reference that each copy misses by an error."""
    vehicle.reference = Reference.hold(vehicle.state.position - np.array(errors), np.zeros(vehicle.count))
    vehicle.reference.segment = segment
    vehicle.reference.idle[:] = idle


def test_errors_are_those_of_the_segments() -> None:
    """Were this to fail, the table after a flight would be wrong."""

    def move(vehicle: Vehicle, t: float) -> None:
        vehicle.state.position[:] = (t, -t, 5.0)
        if t < 2:
            follow(vehicle, "arm", [(9.0, 9.0, 9.0)], idle=True)
        elif t < 4:
            follow(vehicle, "climb", [(3.0, 4.0, 0.0)] if t < 3 else [(0.0, 0.0, 1.0)])
        elif t < 8:
            follow(vehicle, "circle", [(2.0, 1.0, -2.0)])
        else:
            follow(vehicle, "climb", [(0.0, 2.0, 0.0)])

    audit = TrackingAudit()
    fly([audit], Vehicle(), move, steps=9, rate=1.0)
    found = audit.errors()["iris"]
    assert list(found.segments) == ["climb", "circle"]
    assert found.segments["climb"] == TrackingError(4.0, pytest.approx(np.sqrt((25 + 1 + 4 + 4) / 4)), 5.0)
    assert found.segments["circle"] == TrackingError(4.0, 3.0, 3.0)
    assert found.overall == TrackingError(8.0, pytest.approx(np.sqrt((34 + 4 * 9) / 8)), 5.0)


def test_copies_count_while_they_fly() -> None:
    """Were this to fail, a copy that waits on the ground would spoil or flatter the others' figures."""

    def move(vehicle: Vehicle, t: float) -> None:
        follow(vehicle, "hover", [(1.0, 0.0, 0.0), (0.0, 7.0, 0.0)])
        assert vehicle.reference is not None
        vehicle.reference.idle[:] = (3 <= t < 5, t < 3)

    audit = TrackingAudit()
    fly([audit], Vehicle(count=2), move, steps=5, rate=1.0)
    # The first copy flies for three steps, the second for two, and both in the last one.
    wanted = TrackingError(6.0, pytest.approx(np.sqrt((4 * 1 + 3 * 49) / 7)), 7.0)
    assert audit.errors()["iris"].segments["hover"] == wanted


def test_every_step_counts() -> None:
    """Were this to fail, an error between two recorded states would go unseen."""

    def move(vehicle: Vehicle, t: float) -> None:
        follow(vehicle, "", [(6.0 if round(t * 250) == 101 else 0.0, 0.0, 0.0)])

    audit = TrackingAudit()
    fly([audit], Vehicle(), move, steps=249)
    assert audit.errors()["iris"].segments[""].maximum == 6.0
    assert audit.errors()["iris"].overall.rms == pytest.approx(6 / np.sqrt(250))
    assert audit.errors()["iris"].overall.duration == 1.0


def test_vehicles_without_a_flight_are_absent() -> None:
    """Were this to fail, a vehicle that follows nothing would be given an error of zero."""
    still, waiting = Vehicle("still"), Vehicle("waiting")
    follow(waiting, "arm", [(1.0, 1.0, 1.0)], idle=True)
    simulation, audit = Simulation([still, waiting]), TrackingAudit()
    audit.start(simulation)
    audit.record(simulation)
    audit.stop()
    assert audit.errors() == {}
    waiting.reference = Reference.hold(np.ones((1, 3)), np.zeros(1))
    audit.record(simulation)
    assert list(audit.errors()) == ["waiting"]
    audit.start(simulation)
    assert audit.errors() == {}
