"""Tests of expectations of vehicles: what passes and fails, when, by how much, and by which copies."""

import math

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from pegasus.estimation import EKF
from pegasus.faults import Region
from pegasus.verdicts import Expectations

DROP = 5.0


@pytest.fixture
def falling():
    """Three Irises without power that fall from 5, 6 and 7 m for 0.5 s."""
    with Simulation("flat", seed=1, rate=500.0) as sim:
        places = [(4.0 * k, 0.0, DROP + k) for k in range(3)]
        sim.add(Multirotor("iris", count=3, position=places, name="stone"))
        yield sim


def fallen(sim, duration=0.5):
    """Fall, and return the heights at the looks, 100 per second, by time."""
    heights = {}

    class Looks:
        def start(self, simulation): ...

        def record(self, simulation):
            if simulation.step_count % 5 == 0:
                heights[simulation.time] = simulation.vehicles["stone"].state.position[:, 2].copy()

        def stop(self): ...

    sim.add_observer(Looks())
    sim.run(duration)
    heights[sim.time] = sim.vehicles["stone"].state.position[:, 2].copy()
    return heights


def judged(sim, *expected, duration=0.5):
    """Return heights by time, and the verdicts on expectations: kind, test, options."""
    expect = Expectations(sim)
    for kind, test, options in expected:
        getattr(expect, kind)(test, **options)
    sim.add_observer(expect)
    heights = fallen(sim, duration)
    sim.stop()
    return heights, expect.verdicts()


def test_always(falling):
    """The first failure, its copy, its value or the worst value would be another one."""
    heights, (held, failed) = judged(
        falling, ("always", "height > 3.0", {}), ("always", "stone.height > 4.5", {"name": "high"})
    )
    assert held.passed
    assert held.worst == pytest.approx(min(h[0] for h in heights.values()))
    first = min(t for t, h in heights.items() if h[0] <= 4.5)
    assert (failed.passed, failed.copies, failed.time) == (False, (0,), pytest.approx(first))
    assert failed.value == pytest.approx(heights[failed.time][0])
    assert failed.worst == pytest.approx(heights[0.5][0])
    assert failed.worst_time == pytest.approx(0.5)
    assert failed.line() == (
        f"stone: high: failed at {first:.2f} s with {failed.value:.4g}, worst {failed.worst:.4g} at 0.50 s, "
        "copies 0"
    )


def test_never_is_the_opposite_of_always(falling):
    """A condition would be turned round, or its bound taken from the wrong side."""
    heights, (failed, held) = judged(
        falling, ("never", "height < 4.5", {}), ("never", "height < 3.0 and speed > 1", {})
    )
    assert held.passed
    assert not failed.passed
    assert failed.worst == pytest.approx(heights[0.5][0])


@pytest.mark.parametrize(
    ("before", "passed", "reason"),
    [
        (0.5, (True, True, True), ""),
        (0.2, (False, False, False), "did not come true by 0.20 s; closest"),
        (None, (True, True, True), ""),
    ],
)
def test_eventually(falling, before, passed, reason):
    """What comes true after its time would pass; one copy would pass for all."""
    _, (verdict,) = judged(falling, ("eventually", "speed > 3.0", {"before": before}))
    assert verdict.passed == all(passed)
    assert verdict.reason.startswith(reason)
    if verdict.passed:
        assert 0.25 < verdict.time < 0.4


def test_eventually_is_asked_of_each_copy(falling):
    _, (verdict,) = judged(falling, ("eventually", "height < 4.5", {}))
    assert (verdict.passed, verdict.copies) == (False, (1, 2))
    assert verdict.reason.startswith("did not come true by 0.50 s; closest 5.786")


def test_at_end_looks_at_the_last_state(falling):
    heights, (failed, held) = judged(
        falling, ("at_end", "height < 4.5", {}), ("at_end", "4.0 < height < 7.0", {"share": 0.6})
    )
    assert (failed.passed, failed.copies) == (False, (1, 2))
    # Two of three copies are within these bounds.
    assert (heights[0.5] > 4.0).tolist() == [False, True, True]
    assert held.passed


def test_a_window_of_time(falling):
    """What happens outside of the window would count."""
    _, verdicts = judged(
        falling,
        ("always", "speed < 1.0", {"before": 0.08}),
        ("always", "speed > 1.0", {"after": 0.15}),
        ("always", "speed < 1.0", {"after": 0.08, "before": 0.12}),
    )
    assert [verdict.passed for verdict in verdicts] == [True, True, False]


def test_what_was_never_looked_at_fails(falling):
    """A flight that ends too early, or without a reference, would pass."""
    _, (late, unknown) = judged(
        falling, ("always", "height > 0", {"after": 2.0}), ("always", "tracking_error < 1", {})
    )
    assert not late.passed
    assert late.reason == "was never looked at: the flight ended at 0.50 s"
    assert not unknown.passed
    assert unknown.reason == "was never looked at: its quantity was not known"


def test_regions_and_functions(falling):
    _, verdicts = judged(
        falling,
        ("always", lambda vehicle: vehicle.state.position[:, 2] > 4.5, {"name": "function"}),
        ("always", Region(lowest=1.0, highest=8.0), {}),
        ("at_end", Region(center=(0.0, 0.0, 4.0), radius=1.0), {"share": 0.3}),
    )
    assert [verdict.passed for verdict in verdicts] == [False, True, True]
    assert verdicts[0].copies == (0,)
    assert math.isnan(verdicts[0].worst)


def test_logged_fields(falling):
    """A component would be another one, or a command of another channel."""
    _, verdicts = judged(
        falling,
        ("at_end", "state.position.x > 3.0", {}),
        ("at_end", "state.position[0] > 3.0", {}),
        ("at_end", "state.orientation.w > 0.9", {}),
        ("at_end", "command.rotor_0 < 1", {}),
        ("at_end", "sensors.imu.specific_force.z < 1.0", {}),
        ("always", "not in_contact", {}),
        ("at_end", "not crashed", {}),
    )
    assert [verdict.passed for verdict in verdicts] == [False, False, True, True, True, True, True]
    assert verdicts[0].copies == verdicts[1].copies == (0,)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("hieght > 1", "expect = 'hieght': 'hieght' is not known of vehicle 'stone'.*did you mean height"),
        ("state.velocty.x > 1", "'velocty' is not known.*did you mean velocity"),
        ("sensors.gsp.altitude > 1", "'gsp' is not known.*did you mean gps"),
        ("command.rotr_0 > 1", "did you mean rotor_0"),
        ("armed", "needs an autopilot"),
        ("nis.gps < 9", "needs an estimator `ekf`"),
        ("state.position.z >", "expect = 'state.position.z >': must compare a quantity with a number"),
        ("height > 1 or speed > 1", "must compare a quantity with a number"),
        ("state.position..z > 1", "must be a path such as"),
    ],
)
def test_wrong_conditions_are_refused_at_once(falling, test, says):
    with pytest.raises(ConfigError, match=says):
        Expectations(falling).always(test)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("state.position > 1", r"has several numbers; name one, such as \[0\] or .x"),
        ("state.position[3] > 1", "has no component 3"),
        ("sensors.imu.forcce.x > 1", "'forcce' is not known"),
    ],
)
def test_wrong_components_are_refused_at_the_first_look(falling, test, says):
    with pytest.raises(ConfigError, match=says):
        judged(falling, ("always", test, {}))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"vehicle": "iris"}, "vehicle.*'iris'"),
        ({"after": -1.0}, "after = -1.0: must be at least 0 s"),
        ({"after": 2.0, "before": 1.0}, "before = 1.0: must not be earlier than after"),
        ({"share": 0.0}, "share = 0.0: must be above 0"),
    ],
)
def test_wrong_options(falling, options, says):
    with pytest.raises(ConfigError, match=says):
        Expectations(falling).always("height > 1", **options)


def fly_while_expecting(sim, duration, *expected):
    """Fly for a time [s] within a context that expects: pairs of kind and test."""
    with Expectations(sim) as expect:
        for kind, test in expected:
            getattr(expect, kind)(test)
        sim.run(duration)


def test_in_pytest(falling):
    """Failures would pass in silence, be without their lines, or hide the error of a test."""
    fly_while_expecting(falling, 0.1, ("always", "height > 3"))
    with pytest.raises(AssertionError, match=r"^stone: always height > 6: failed at 0.10 s with 4.9"):
        fly_while_expecting(falling, 0.1, ("always", "height > 6"))
    with pytest.raises(ConfigError, match="duration = -1"):
        fly_while_expecting(falling, -1.0, ("always", "height > 6"))


def test_a_crash_between_two_looks():
    """A contact of one step would be overlooked."""
    with Simulation("flat", seed=1, rate=1000.0) as sim:
        sim.add(Multirotor("iris", position=(0.0, 0.0, 2.0)))
        expected = [("never", "in_contact"), ("never", "crashed"), ("always", "impact_speed < 3")]
        with pytest.raises(AssertionError) as failure:
            fly_while_expecting(sim, 1.5, *expected)
    lines = str(failure.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == [f"{kind} {test}" for kind, test in expected]


def test_a_flight_that_tracks_well():
    """References and estimates would be read from another vehicle or time."""
    with Simulation("flat", seed=1) as sim:
        pilot = GeometricController(trajectories.lemniscate(radius=2.0, height=1.5))
        sim.add(Multirotor("iris", backends=[pilot], estimator=EKF()))
        with Expectations(sim) as expect:
            expect.always("tracking_error < 2.0")
            expect.always("estimation_error < 4.0", after=1.0)
            expect.eventually("1.0 < height < 3.5", before=15.0)
            expect.always("reference.velocity.z < 3")
            expect.always("tilt < 0.5")
            expect.at_end("flown")
            expect.eventually("nis.gps > 0")
            sim.run(12.0)
        assert np.isfinite([verdict.worst for verdict in expect.verdicts()[:2]]).all()


def test_a_run_that_does_not_begin(falling):
    """The end of a run that never began would be looked at, and hide why it did not begin."""
    expect = Expectations(falling)
    expect.always("height > 1")
    expect.stop()
    assert expect.verdicts()[0].reason.startswith("was never looked at")


def test_a_single_vehicle_is_judged_as_one_of_several(falling):
    """The quicker look at a single vehicle would find another value, time or verdict."""
    expected = [
        ("always", "height > 3.0", {}),
        ("always", "height > 4.5", {}),
        ("never", "height < 4.0", {"after": 0.1}),
        ("never", "speed > 2.0", {}),
        ("always", "tracking_error < 1.0", {}),
        ("eventually", "speed > 3.0", {}),
    ]
    _, several = judged(
        falling, *((kind, test, {**options, "share": 0.3}) for kind, test, options in expected)
    )
    with Simulation("flat", seed=1, rate=500.0) as sim:
        sim.add(Multirotor("iris", position=(0.0, 0.0, DROP), name="stone"))
        _, single = judged(sim, *expected)
    names = ("passed", "time", "value", "worst", "worst_time")
    # The first copy falls from the same height, is the lowest, and fails first.
    for one, among, (_, test, _) in zip(single, several, expected, strict=True):
        if "height" in test:
            np.testing.assert_equal(
                [getattr(one, n) for n in names[1:]], [getattr(among, n) for n in names[1:]]
            )
    assert [one.passed for one in single] == [True, False, False, False, False, True]
    assert single[4].reason == "was never looked at: its quantity was not known"
