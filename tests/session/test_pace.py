"""Tests of pacing: due times of steps and the measured real-time factor."""

import pytest

from pegasus.session.worker import Pace


def test_steps_are_due_in_time():
    """Steps would be too early or too late at every speed factor but one."""
    pace = Pace()
    for speed in (0.5, 1.0, 4.0):
        pace.speed = speed
        pace.begin(100.0, 7.0)
        assert pace.wait(100.0, 7.0) == 0.0
        assert pace.wait(100.0, 7.004) == pytest.approx(0.004 / speed)
        assert pace.wait(100.0 + 0.004 / speed + 1e-9, 7.004) == 0.0


def test_as_fast_as_it_goes():
    """An unlimited speed would be held back."""
    pace = Pace()
    pace.speed = None
    pace.begin(0.0, 0.0)
    assert pace.wait(0.0, 1e9) == 0.0


def test_lost_time_is_lost():
    """After a halt of one second, the missed steps would follow in a burst."""
    pace = Pace()
    pace.begin(0.0, 0.0)
    assert pace.wait(0.2, 0.0) == 0.0
    assert pace.wait(0.2, 0.2) == 0.0
    assert pace.wait(1.2, 0.2) == 0.0
    assert pace.wait(1.2, 0.204) == pytest.approx(0.004)


def test_speed_that_is_reached():
    """The real-time factor would not be recent simulated time divided by wall time."""
    pace = Pace()
    pace.begin(10.0, 1.0)
    pace.measure(10.5, 2.0)
    assert pace.real_time_factor == 0.0
    pace.measure(11.0, 4.0)
    assert pace.real_time_factor == 3.0
    pace.measure(13.0, 5.0)
    assert pace.real_time_factor == 0.5
    pace.begin(13.0, 5.0)
    assert pace.real_time_factor == 0.0
