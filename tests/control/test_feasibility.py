"""Tests of the check of whole flights before they are flown."""

import logging
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.frames import matrix_from_quaternion
from pegasus.contracts.trajectory import Point, Trajectory
from pegasus.control import CascadedPIDController, GeometricController, trajectories
from pegasus.control.airloads import Airframe
from pegasus.dynamics import QuadraticDrag
from pegasus.environment import ConstantWind, Gusts
from pegasus.recording import TrackingAudit
from tests.flyers import PLAIN_IRIS


def warnings_of(caplog, *controllers, count=1, model="iris", wind=None, **parts):
    """Return the warnings at adding Irises."""
    caplog.clear()
    with Simulation("flat") as sim, caplog.at_level(logging.WARNING):
        if wind is not None:
            sim.environment.wind = wind
        for k, controller in enumerate(controllers):
            sim.add(Multirotor(model, name=f"iris_{k}", count=count, backends=[controller], **parts))
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
    calm = [
        trajectories.circle(radius=5.0),
        trajectories.relay(),
        trajectories.minimum_snap(((0, 0, 3), (4, 2, 4), (8, 0, 3))),
        trajectories.sequence(trajectories.takeoff(height=3.0), trajectories.land()),
        trajectories.race_line(
            [{"position": [0, 0, 2], "radius": 1.0}, {"position": [9, 2, 3], "radius": 1.0}]
        ),
    ]
    assert warnings_of(caplog, *map(GeometricController, calm)) == []
    assert warnings_of(caplog, GeometricController(Swing(0.98))) == []


@pytest.mark.parametrize("count", [1, 3])
def test_tilt_of_any_trajectory(count, caplog):
    """If this fails, a path that needs more tilt than is commanded is left by metres in silence."""
    (line,) = warnings_of(caplog, GeometricController(Swing(1.05)), count=count)
    assert line.startswith("trajectory of iris_0: exceeds the vehicle: swing at ")
    assert "needs a tilt of 60 degrees, 57 are allowed" in line
    assert "raise tilt_limit" in line
    # 1.99 at rest; where it climbs with 5 m/s along its axis, the propellers have less.
    assert "needs 1.91 times the weight, 1.79 are available" in line
    # The other controller allows 0.6 rad.
    (line,) = warnings_of(caplog, CascadedPIDController(Swing(0.7)), count=count)
    assert "needs a tilt of 40 degrees, 34 are allowed" in line


def test_thrust_and_turning(caplog):
    """If this fails, saturated rotors, or a corner that no torque follows, are flown in silence."""
    up = trajectories.function(lambda t: (0.0, 0.0, 5.0 + 0.9 * math.cos(3.2 * t)), duration=8.0)
    heavy = {"extends": str(PLAIN_IRIS), "mass": 2.0}
    (line,) = warnings_of(caplog, GeometricController(up), model=heavy)
    weight = 2.0 * 9.80665
    needed, available = 1.0 + 0.9 * 3.2**2 / 9.80665, 0.9 * 4 * 8.54858e-6 * 1100.0**2 / weight
    assert f"needs {needed:.3g} times the weight, {available:.3g} are available" in line
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


def straight(speed):
    """Return a straight path that reaches a speed slowly, with 1/12 of it in a second."""
    return trajectories.function(
        lambda t: (speed * 3.0 * math.log1p(math.exp((t - 18.0) / 3.0)), 0.0, 20.0), duration=36.0
    )


def test_drag_tilts_and_pulls(caplog):
    """If this fails, a fast straight flight, which needs tilt and thrust against drag, passes in silence."""
    assert warnings_of(caplog, GeometricController(straight(16.0)), model=PLAIN_IRIS) == []
    # The same drag in all directions, so that it does not depend on the tilt: D = rho / 2 A v^2.
    areas = 27.0 / (0.5 * 1.2223 * 16.0**2)
    drag = QuadraticDrag(areas=(areas,) * 3)
    (line,) = warnings_of(caplog, GeometricController(straight(16.0)), model=PLAIN_IRIS, drag=drag)
    tilt = math.degrees(math.atan2(27.0, 1.5 * 9.80665))
    assert re.search(rf"function at \d+\.\d s needs a tilt of {tilt:.0f} degrees", line)
    half = QuadraticDrag(areas=(0.5 * areas,) * 3)
    assert warnings_of(caplog, GeometricController(straight(16.0)), model=PLAIN_IRIS, drag=half) == []


def test_the_mean_wind_counts(caplog):
    """If this fails, a hover that the wind blows away passes in silence, or is to be flown slower."""
    hold = trajectories.hold(height=3.0, duration=5.0)
    assert warnings_of(caplog, GeometricController(hold), wind=ConstantWind((0.0, -12.0, 0.0))) == []
    for wind in (ConstantWind((0.0, -25.0, 0.0)), Gusts((0.0, -25.0, 0.0))):
        wind.bind(np.random.default_rng(1))
        (line,) = warnings_of(caplog, GeometricController(hold), wind=wind)
        assert "times the weight" in line
        assert "slower" not in line
        assert "take a stronger vehicle" in line
    # With the wind the same speed over ground needs less.
    limited = {"tilt_limit": 0.3, "relative": False}
    (line,) = warnings_of(caplog, GeometricController(straight(14.0), **limited))
    assert "17 are allowed" in line
    downwind = ConstantWind((3.5, 0.0, 0.0))
    assert warnings_of(caplog, GeometricController(straight(14.0), **limited), wind=downwind) == []


@pytest.mark.parametrize(("model", "speed"), [("iris", 10.0), ("crazyflie", 2.5), ("racer", 15.0)])
def test_the_foreseen_tilt_is_the_flown_one(model, speed):
    """If this fails, the check counts another drag than the vehicle flies with, of its body or its rotors."""
    controller = GeometricController(straight(speed), relative=False)
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor(model, backends=[controller], sensors={}))
        while controller.reference.segment != "function":
            sim.step()
        sim.run(duration=35.0)
        up = matrix_from_quaternion(vehicle.state.orientation)[0, 2, 2]
        share = vehicle.mass * 9.80665 / vehicle.rotor_count
        hover = float(vehicle.thrust_curve.rotor_speed(np.full((1, 1), share), np.full((1, 1), 1.222))[0, 0])
        airframe = replace(Airframe.of(vehicle), hover_speed=hover)
        point = np.zeros((1, 14))
        point[0, :3], point[0, 3:6] = vehicle.position[0], vehicle.velocity[0]
        free = np.array([[0.0, 0.0, 9.80665]])
        need = (free - airframe.loads(point, free)[0])[0]
    foreseen = math.degrees(math.atan2(math.hypot(need[0], need[1]), need[2]))
    assert foreseen > 3.0
    assert math.degrees(math.acos(up)) == pytest.approx(foreseen, abs=0.25)


class Slowed(Trajectory):
    """A trajectory whose time is longer by a factor."""

    name = "slowed"

    def __init__(self, other, factor):
        self.other, self.factor, self.duration = other, factor, other.duration * factor

    def samples(self, times):
        points, idle = self.other.samples(times / self.factor)
        for k in (1, 2, 3):
            points[:, 3 * k : 3 * k + 3] /= self.factor**k
        points[:, 13] /= self.factor
        return points, idle

    def sample(self, t):
        points, _ = self.samples(np.array([t]))
        return Point(*(points[0, k : k + 3] for k in (0, 3, 6, 9)))


def swerve(folder):
    """Return a recorded path that needs a tilt of 90 degrees and 2.5 times the weight."""
    t = np.arange(0.0, 6.0, 0.01)
    one, other = (np.exp(-(((t - middle) / 0.25) ** 2)) for middle in (3.0, 4.2))
    acceleration = np.stack([20.0 * math.tanh(1.0) * (one - other), 0.0 * t, -9.8 * (one - other)], axis=1)
    position = (0.0, 0.0, 20.0) + np.cumsum(np.cumsum(acceleration, axis=0) * 0.01, axis=0) * 0.01
    file = folder / "swerve.csv"
    np.savetxt(file, np.c_[t, position], delimiter=",", header="time,x,y,z", comments="", fmt="%.12f")
    return trajectories.csv(file)


GATES = [{"position": place, "radius": 1.0} for place in ([0, 0, 20], [9, 2, 21], [14, 10, 21], [4, 14, 20])]
TOO_HARD = {
    "swerve": swerve,
    "race line of more tilt": lambda _: trajectories.race_line(GATES, tilt=1.2, thrust=2.4, speed=12.0),
    "race line of more thrust": lambda _: trajectories.race_line(GATES, thrust=2.0, speed=12.0),
    "relay beyond a right angle": lambda _: trajectories.relay(s=0.28, height=20.0),
}


def flown(caplog, trajectory, mass=1.5, *, flies=True, **parameters):
    """Return the largest error of an Iris along a trajectory [m] if it flies, and the warnings."""
    caplog.clear()
    controller = GeometricController(
        trajectories.sequence(trajectories.takeoff(height=20.0, speed=5.0), trajectory),
        relative=False,
        **parameters,
    )
    audit = TrackingAudit()
    with Simulation("flat", observers=[audit]) as sim, caplog.at_level(logging.WARNING):
        model = {"extends": "iris", "mass": mass}
        sim.add(Multirotor(model, name="iris", backends=[controller], sensors={}))
        sim.run(duration=controller.mission.duration if flies else 0.004)
    lines = [record.getMessage() for record in caplog.records]
    return audit.errors()["iris"].segments[trajectory.name].maximum if flies else None, lines


@pytest.mark.parametrize("case", TOO_HARD)
def test_a_remedy_that_is_followed_cures(case, caplog, tmp_path):
    """If this fails, the warning asks for too little, or for more than flies."""
    path = TOO_HARD[case](tmp_path)
    _, (line,) = flown(caplog, path, flies=False)
    assert path.name in line
    assert "are allowed" in line or "are available" in line
    factor = float(line.split("fly it ")[1].split(" times slower")[0])
    error, lines = flown(caplog, Slowed(path, factor))
    assert lines == []
    assert error < 0.4
    # A little less is not enough.
    assert flown(caplog, Slowed(path, factor - 0.03), flies=False)[1] != []


def test_thrust_that_is_given_cures(caplog, tmp_path):
    """If this fails, the tilt limit and the mass that the warning names do not suffice."""
    path = swerve(tmp_path)
    _, (line,) = flown(caplog, path, flies=False)
    mass = float(line.split("lower the mass to ")[1].split(" kg")[0])
    tilt = float(line.split("raise tilt_limit to ")[1].split()[0])
    error, lines = flown(caplog, path, mass=mass, tilt_limit=tilt)
    assert lines == []
    assert error < 0.35
    assert flown(caplog, path, mass=mass + 0.03, tilt_limit=tilt, flies=False)[1] != []
    # One alone is not enough.
    assert flown(caplog, path, tilt_limit=tilt, flies=False)[1] != []
