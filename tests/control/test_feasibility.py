"""Tests of the check of whole flights before they are flown."""

import logging
import math

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.control import CascadedPIDController, GeometricController, trajectories
from pegasus.core.trajectory import Point, Trajectory

CALM = [
    trajectories.circle(radius=5.0),
    trajectories.relay(),
    trajectories.minimum_snap(((0, 0, 3), (4, 2, 4), (8, 0, 3))),
    trajectories.sequence(trajectories.takeoff(height=3.0), trajectories.land()),
    trajectories.race_line([{"position": [0, 0, 2], "radius": 1.0}, {"position": [9, 2, 3], "radius": 1.0}]),
]


def warnings_of(caplog, *controllers, count=1):
    """Return the warnings at adding Irises."""
    caplog.clear()
    with Simulation("flat") as sim, caplog.at_level(logging.WARNING):
        for k, controller in enumerate(controllers):
            sim.add(Multirotor("iris", name=f"iris_{k}", count=count, backends=[controller]))
    return [record.getMessage() for record in caplog.records]


class Swing(Trajectory):
    """A user's own oscillation along x, with a tilt of `tilt` at its ends."""

    name = "swing"
    duration = 12.0

    def __init__(self, tilt, rate=2.0):
        self.rate, self.size = rate, 9.80665 * math.tan(tilt) / rate**2

    def sample(self, t):
        w, a = self.rate, self.size
        c, s = math.cos(w * t), math.sin(w * t)
        return Point(
            (a * c, 0.0, 3.0), (-a * w * s, 0.0, 0.0), (-a * w * w * c, 0.0, 0.0), (a * w**3 * s, 0.0, 0.0)
        )


def test_flights_within_the_limits_are_flown_without_a_word(caplog):
    """If this fails, every flight warns, and nobody reads the warnings."""
    assert warnings_of(caplog, *map(GeometricController, CALM)) == []
    assert warnings_of(caplog, GeometricController(Swing(0.98))) == []


@pytest.mark.parametrize("count", [1, 3])
def test_tilt_of_any_trajectory(count, caplog):
    """If this fails, a path that needs more tilt than is commanded is left by metres in silence."""
    (line,) = warnings_of(caplog, GeometricController(Swing(1.05)), count=count)
    assert line.startswith("trajectory of iris_0: exceeds the vehicle: swing at ")
    assert "needs a tilt of 60 degrees, 57 are allowed" in line
    assert "raise tilt_limit" in line
    assert "times the weight, 1.99 are available" in line  # 1 / cos(1.05) = 2.01
    # The other controller allows 0.6 rad.
    (line,) = warnings_of(caplog, CascadedPIDController(Swing(0.7)), count=count)
    assert "needs a tilt of 40 degrees, 34 are allowed" in line


def test_thrust_and_turning(caplog):
    """If this fails, saturated rotors, or a corner that no torque follows, are flown in silence."""
    up = trajectories.function(lambda t: (0.0, 0.0, 5.0 + 1.0 * math.cos(3.2 * t)), duration=8.0)
    (line,) = warnings_of(caplog, GeometricController(up))
    assert "needs 2.04 times the weight, 1.99 are available" in line  # 1 + 3.2^2 / 9.80665
    assert "tilt" not in line
    (line,) = warnings_of(caplog, GeometricController(Swing(0.9, rate=14.0)))
    assert "rad/s^2" in line
    assert "smooth its corners" in line


def test_the_copy_that_cannot_fly_it_is_found(caplog):
    """If this fails, only the first of the trajectories of a batch is looked at."""
    flights = [Swing(0.5), Swing(1.2), Swing(0.5)]
    (line,) = warnings_of(caplog, GeometricController(flights), count=3)
    assert "needs a tilt of 69 degrees" in line
    limits = np.array([1.0, 1.0, 0.4])
    (line,) = warnings_of(caplog, GeometricController(Swing(0.5), tilt_limit=limits), count=3)
    assert "needs a tilt of 29 degrees, 23 are allowed" in line


def test_strict_is_an_error(caplog):
    """If this fails, a scenario cannot ask for an error."""
    with pytest.raises(ConfigError, match=r"exceeds the vehicle: swing at .* tilt of 60 degrees"):
        warnings_of(caplog, GeometricController(Swing(1.05), strict=True))
    assert warnings_of(caplog, GeometricController(Swing(0.9), strict=True)) == []
