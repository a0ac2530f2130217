"""Wall time and simulated time: when a step is due, and what is called the speed that is reached."""

import pytest

from pegasus.panel.pace import Pace


def test_steps_are_due_in_time():
    """Steps would come too early or too late at any speed but one."""
    pace = Pace()
    for speed in (0.5, 1.0, 4.0):
        pace.speed = speed
        pace.begin(100.0, 7.0)
        assert pace.wait(100.0, 7.0) == 0.0
        assert pace.wait(100.0, 7.004) == pytest.approx(0.004 / speed)
        assert pace.wait(100.0 + 0.004 / speed + 1e-9, 7.004) == 0.0


def test_as_fast_as_it_goes():
    """Full speed would be held back."""
    pace = Pace()
    pace.speed = None
    pace.begin(0.0, 0.0)
    assert pace.wait(0.0, 1e9) == 0.0


def test_lost_time_is_lost():
    """After a second's halt, a second's worth of steps would come in a burst."""
    pace = Pace()
    pace.begin(0.0, 0.0)
    assert pace.wait(0.2, 0.0) == 0.0
    assert pace.wait(0.2, 0.2) == 0.0
    assert pace.wait(1.2, 0.2) == 0.0
    assert pace.wait(1.2, 0.204) == pytest.approx(0.004)


def test_speed_that_is_reached():
    """The real-time factor would be another number than simulated by wall time, or be of long ago."""
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
