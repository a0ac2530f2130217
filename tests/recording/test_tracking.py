"""Tests of tracking errors against values calculated by hand."""

import numpy as np
import pytest
from recording_stand_ins import Simulation, Vehicle, fly
from scipy.spatial.transform import Rotation

from pegasus.contracts.state import Reference
from pegasus.recording import TrackingAudit, TrackingError


def follow(
    vehicle: Vehicle, segment: str, errors: list[tuple[float, float, float]], *, idle: bool = False
) -> None:
    """Set a reference with a given error for each copy."""
    vehicle.reference = Reference.hold(vehicle.state.position - np.array(errors), np.zeros(vehicle.count))
    vehicle.reference.segment = segment
    vehicle.reference.idle[:] = idle


def test_errors_are_those_of_the_segments() -> None:
    """The table after a flight would be wrong."""

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
    """A copy that waits on the ground would change the figures of the others."""

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
    """An error between two recorded states would be missed."""

    def move(vehicle: Vehicle, t: float) -> None:
        follow(vehicle, "", [(6.0 if round(t * 250) == 101 else 0.0, 0.0, 0.0)])

    audit = TrackingAudit()
    fly([audit], Vehicle(), move, steps=249)
    assert audit.errors()["iris"].segments[""].maximum == 6.0
    assert audit.errors()["iris"].overall.rms == pytest.approx(6 / np.sqrt(250))
    assert audit.errors()["iris"].overall.duration == 1.0


def test_vehicles_without_a_flight_are_absent() -> None:
    """A vehicle without a reference would be given an error of zero."""
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


@pytest.mark.parametrize("count", [1, 3, 600])
def test_errors_do_not_depend_on_how_many_steps_are_evaluated_together(count: int) -> None:
    """Steps at the ends of blocks would be lost or counted twice."""

    class AskedAtEveryStep(TrackingAudit):
        def record(self, simulation: Simulation) -> None:
            super().record(simulation)
            self.errors()

    rng = np.random.default_rng(6)

    def move(vehicle: Vehicle, t: float) -> None:
        errors = rng.standard_normal((count, 3))
        follow(vehicle, "climb" if t < 100 or t > 800 else "circle", errors)
        assert vehicle.reference is not None
        vehicle.reference.idle[:] = rng.random(count) < 0.4

    together, one_by_one = TrackingAudit(), AskedAtEveryStep()
    fly([together, one_by_one], Vehicle(count=count), move, steps=1100, rate=1.0)
    found, wanted = together.errors()["iris"], one_by_one.errors()["iris"]
    assert list(found.segments) == list(wanted.segments) == ["climb", "circle"]
    for name, error in found.segments.items():
        other = wanted.segments[name]
        assert (error.duration, error.maximum) == (other.duration, other.maximum)
        assert error.rms == pytest.approx(other.rms, rel=1e-12)


def test_figures_come_in_the_order_of_the_vehicles() -> None:
    """The table after a flight would list the vehicles in a random order."""
    vehicles = [Vehicle("first"), Vehicle("second")]
    simulation, audit = Simulation(vehicles), TrackingAudit()
    audit.start(simulation)
    for step in range(20):
        simulation.step_count = step
        for vehicle in vehicles:
            follow(vehicle, "climb" if vehicle is vehicles[0] or step < 10 else "circle", [(1.0, 0.0, 0.0)])
        if step == 15:
            vehicles[1] = Vehicle("second")
        audit.record(simulation)
    assert list(audit.errors()) == ["first", "second"]


def test_references_of_other_types_are_followed() -> None:
    """Whole numbers in a custom reference would be read as the bits of floats."""

    def move(vehicle: Vehicle, t: float) -> None:
        follow(vehicle, "hover", [(3.0, 0.0, 4.0)])
        assert vehicle.reference is not None
        if 3 <= t < 6:
            vehicle.reference.position = vehicle.reference.position.astype(np.int64)

    audit = TrackingAudit()
    fly([audit], Vehicle(), move, steps=9, rate=1.0)
    assert audit.errors()["iris"].overall == TrackingError(10.0, 5.0, 5.0)


def test_attitude_errors_are_angles_to_the_attitude_of_the_reference() -> None:
    """A tilt or a heading that the reference does not ask for would not be counted."""
    right = (9.80665 * np.tan(0.3), 0.0, 0.0)
    # Rotation of the vehicle, acceleration of the reference, and the angle between them. The last two leave
    # the heading or everything open: thrust along the heading, and free fall.
    steps = [
        ("y", 0.3, (0.0, 0.0, 0.0), 0.3),
        ("z", 0.4, (0.0, 0.0, 0.0), 0.4),
        ("y", 0.3, right, 0.0),
        ("y", 0.3, (0.0, 0.0, -20.0), np.pi),
        ("y", 1.5, (5.0, 0.0, -9.80665), np.pi / 2 - 1.5),
        ("x", 1.0, (0.0, 0.0, -9.80665), 0.0),
    ]

    def move(vehicle: Vehicle, t: float) -> None:
        follow(vehicle, "hover", [(0.0, 0.0, 0.0)])
        assert vehicle.reference is not None
        axis, angle, vehicle.reference.acceleration[:], _ = steps[int(t)]
        vehicle.state.orientation[:] = Rotation.from_euler(axis, angle).as_quat()

    audit = TrackingAudit()
    fly([audit], Vehicle(), move, steps=len(steps) - 1, rate=1.0)
    found, wanted = audit.errors()["iris"], np.array([step[3] for step in steps])
    assert found.attitude_rms == pytest.approx(np.sqrt((wanted**2).mean()), abs=1e-6)
    assert found.attitude_maximum == pytest.approx(wanted.max(), abs=1e-6)
