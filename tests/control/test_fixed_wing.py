"""Controller of planes: paths, energy, stall, launch and landing, batches, and its parameters."""

import math

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.config import load_world
from pegasus.control import PlaneController, trajectories
from pegasus.control.fixed_wing.law import PlaneState, plane_law
from pegasus.control.fixed_wing.legs import CIRCLE, CLIMB, GLIDE, LAUNCH, LINE, RUN, STANDING, Leg
from tests.control.law_rig import bound, flown, scattered

GUSTS = load_world("flat")[0].model_copy(
    update={"wind": {"model": "gusts", "mean_velocity": [4.0, 0.0, 0.0], "intensity": 0.5}}
)
HEAVY = {"extends": "plane", "mass": 2.2, "inertia": [0.3, 0.22, 0.22]}


def airspeed(plane):
    """Return the airspeed of each copy [m/s]."""
    return np.linalg.norm(plane.state.velocity - plane.columns["wind"], axis=1)


def observed(sim, plane, duration):
    """Yield after every tenth of a second."""
    for _ in range(round(duration / 0.1)):
        sim.run(duration=0.1)
        yield plane.state.position, airspeed(plane)


def flown_circle(world, model="plane", speed=13.0, settling=30.0, radius=60.0):
    """Return the largest errors of radius, height and airspeed on a circle, once it has settled [s]."""
    pilot = PlaneController(airspeed=speed)
    with Simulation(world, seed=1) as sim:
        plane = sim.add(Multirotor(model, backends=[pilot]))
        pilot.takeoff(height=30.0).wait(sim)
        pilot.loiter([100.0, 0.0, 40.0], radius=radius)
        sim.run(duration=settling)
        errors = [
            (math.hypot(x[0, 0] - 100.0, x[0, 1]) - radius, x[0, 2] - 40.0, v[0] - speed)
            for x, v in observed(sim, plane, 40.0)
        ]
    return np.abs(errors).max(axis=0)


@pytest.mark.parametrize(
    ("model", "airspeed", "settling", "radius", "largest"),
    [
        ("plane", 13.0, 30.0, 60.0, (0.1, 0.05, 0.05)),
        ("aerosonde", 22.0, 30.0, 100.0, (0.5, 0.3, 0.2)),
        # Its servos lag by 0.1 s: errors die away over a minute.
        ("rc_cessna", 14.0, 60.0, 60.0, (0.9, 0.3, 0.3)),
    ],
)
def test_it_keeps_circle_height_and_airspeed(model, airspeed, settling, radius, largest):
    """If this fails, guidance or total energy control has a steady error in calm air."""
    assert (flown_circle("flat", model, airspeed, settling, radius) < largest).all()


def test_wind_and_gusts_move_it_little():
    """In 4 m/s with gusts of 0.5 m/s; if this fails, guidance takes the airspeed for that over the ground."""
    radius, height, speed = flown_circle(GUSTS)
    assert radius < 1.0
    assert height < 3.0
    assert speed < 0.7


def test_another_plane_needs_no_tuning():
    """If this fails, gains are those of one plane instead of following from the model."""
    radius, height, speed = flown_circle("flat", HEAVY, speed=15.0)
    assert radius < 1.0
    assert height < 0.5
    assert speed < 0.3


def test_a_mission_from_launch_to_landing():
    """If this fails, a leg never ends, a corner is missed, or the flare drops or floats."""
    points = [(150.0, 0.0, 30.0), (150.0, 150.0, 40.0), (-100.0, 150.0, 40.0), (-100.0, 0.0, 30.0)]
    flight = trajectories.sequence(
        trajectories.takeoff(height=30.0),
        trajectories.waypoints(points=points, stop=True),
        trajectories.land(),
    )
    pilot = PlaneController(flight, airspeed=13.0)
    nearest, down = np.full(len(points), np.inf), None
    with Simulation("flat", seed=1) as sim:
        plane = sim.add(Multirotor("plane", backends=[pilot]))
        for x, _ in observed(sim, plane, 160.0):
            nearest = np.minimum(nearest, np.linalg.norm(np.array(points) - x[0], axis=1))
            if pilot.reference.segment == "approach" and x[0, 2] < 0.4 and down is None:
                down = x[0].copy(), plane.state.velocity[0].copy()
        assert pilot.mission.finished
        assert pilot.mission.landed.all()
        assert not plane.columns["command"][:, 0].any()
    # The reference point cuts corners.
    assert nearest.max() < 12.0, nearest
    place, velocity = down
    assert abs(place[0] + 100.0) < 40.0
    assert abs(place[1]) < 1.0
    assert -0.8 < velocity[2] < 0.0


@pytest.mark.parametrize(
    ("wind", "aside"),
    [((0.0, 0.0, 0.0), 0.3), ((-4.0, 0.5, 0.0), 3.0), ((0.0, 2.0, 0.0), 3.0), ((0.0, -4.0, 0.0), 5.0)],
    ids=["calm", "wind", "crosswind", "strong_crosswind"],
)
def test_a_run_on_wheels_ends_in_the_air(wind, aside):
    """If this fails, the plane leaves the runway, noses over, or rotates without a margin over stall."""
    pilot = PlaneController(takeoff_run=True)
    world = load_world("airfield")[0].model_copy(
        update={"wind": {"model": "constant", "mean_velocity": wind}}
    )
    with Simulation(world, seed=1) as sim:
        plane = sim.add(
            Multirotor("plane", sensors={}, position=(-150.0, 0.0, 0.3), heading=0.0, backends=[pilot])
        )
        sim.run(duration=1.5)
        ground = plane.state.position[0, 2]
        order = pilot.takeoff(height=25.0)
        rolled, lifted = [], None
        for x, v in observed(sim, plane, 25.0):
            if pilot.mission.segment == "run":
                rolled.append((x[0, 1], x[0, 2] - ground, abs(plane.state.rotation[0, 2, 1])))
            elif lifted is None:
                lifted = v[0]
            if order.done.all():
                break
        assert order.done.all()
        assert pilot.mission.segment == "circle"
        pilot.goto([200.0, 100.0, 30.0]).wait(sim)
    off, height, roll = np.abs(rolled).max(axis=0)
    assert off < aside
    assert height < 0.15
    assert roll < 0.05
    assert lifted > 1.15 * pilot.figures.least_airspeed


def test_a_steep_climb_does_not_stall():
    """If this fails, the nose is raised for the height until the wings stall."""
    pilot = PlaneController(airspeed=11.0)
    with Simulation("flat", seed=1) as sim:
        plane = sim.add(Multirotor("plane", backends=[pilot]))
        pilot.takeoff(height=20.0).wait(sim)
        sim.run(duration=10.0)
        here = plane.state.position[0] + (60.0, 0.0, 300.0)
        pilot.goto(here)
        slowest, heights = math.inf, []
        for x, v in observed(sim, plane, 30.0):
            slowest, heights = min(slowest, float(v[0])), [*heights, x[0, 2]]
    assert slowest > 1.05 * pilot.figures.least_airspeed
    assert heights[-1] - heights[0] > 60.0


def test_copies_fly_their_own_ways():
    """If this fails, a hundred planes need a hundred launches, or follow each other's legs."""
    count = 100
    pilot = PlaneController(airspeed=13.0)
    places = [(0.0, 20.0 * k, 0.2) for k in range(count)]
    with Simulation("flat", seed=1) as sim:
        plane = sim.add(Multirotor("plane", count=count, sensors={}, position=places, backends=[pilot]))
        pilot.takeoff(height=20.0).wait(sim)
        targets = np.array([(150.0, 20.0 * k, 20.0 + 0.2 * k) for k in range(count)])
        pilot.goto(targets[::2], copies=slice(0, None, 2)).wait(sim)
        off = np.linalg.norm(plane.state.position[::2] - targets[::2], axis=1)
        assert not np.array([course.coming for course in pilot.mission.courses]).any()
        alone = plane.state.position[1, 1] - places[1][1]
        assert abs(plane.state.position[99, 1] - places[99][1] - alone) < 1e-6
    assert off.max() < 40.0


def test_compiled_and_python_give_the_same_bits():
    """If this fails, the law that is tested is not the one that flies."""
    count, pilot = 40, PlaneController()
    width = bound(pilot, "plane")
    columns = scattered(count, {"leg": Leg, "state": PlaneState}, seed=3)
    columns["leg.kind"][...] = np.resize([STANDING, LAUNCH, RUN, CLIMB, LINE, CIRCLE, GLIDE], count)
    columns["leg.radius"][...] = np.resize([-40.0, 50.0], count)
    columns["leg.airspeed"][...] = 12.0
    python, compiled = flown(plane_law, PlaneState, pilot, columns, width)
    for name, values in python.items():
        np.testing.assert_array_equal(compiled[name], values, err_msg=name)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"airspeed": 5.0},
            r"airspeed = 5\.0: must be from 8\.6\d to 24\.\d m/s, in which plane flies level",
        ),
        ({"airspeed": -1.0}, r"airspeed = -1\.0: must be above 0"),
        ({"bank_limit": 1.5}, r"bank_limit = 1\.5: must be above 0, to 1\.2 rad"),
        ({"height": 0.0}, r"height = 0\.0: must be above 0"),
        ({"run_acceleration": 0.0}, r"run_acceleration = 0\.0: must be above 0"),
        ({"trajectory": trajectories.hold(height=20.0, duration=3.0)}, r"hold\.duration"),
    ],
)
def test_wrong_parameters_are_named(values, message):
    """If this fails, a wrong figure shows up as a crash of the plane."""
    with pytest.raises(ConfigError, match=message), Simulation("flat") as sim:
        sim.add(Multirotor("plane", backends=[PlaneController(**values)]))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("iris", "has no rotor that pushes forward"),
        ({"extends": "plane", "mass": 200.0}, "has too little thrust for level flight"),
    ],
)
def test_what_is_no_plane_is_named(model, message):
    """If this fails, a multirotor gets the controller of a plane and falls."""
    with pytest.raises(ConfigError, match=message), Simulation("flat") as sim:
        sim.add(Multirotor(model, backends=[PlaneController()]))


def test_a_run_needs_wheels():
    """If this fails, a plane without wheels slides on its belly."""
    message = r"takeoff_run = True: aerosonde has no wheels"
    with pytest.raises(ConfigError, match=message), Simulation("flat") as sim:
        sim.add(Multirotor("aerosonde", backends=[PlaneController(takeoff_run=True)]))


def test_calls_on_the_ground_are_refused():
    """If this fails, a plane at rest has legs in the air."""
    pilot = PlaneController()
    with Simulation("flat") as sim:
        sim.add(Multirotor("plane", backends=[pilot]))
        sim.run(duration=0.1)
        for call in (pilot.hold, pilot.land, lambda: pilot.goto([1.0, 2.0, 3.0])):
            with pytest.raises(ConfigError, match="is not in the air; take off first"):
                call()


def test_a_snapshot_goes_on_with_the_same_bits():
    """If this fails, the legs that come or the integrals are missing in a snapshot."""
    pilot = PlaneController(airspeed=13.0)
    with Simulation("flat", seed=1) as sim:
        plane = sim.add(Multirotor("plane", backends=[pilot]))
        pilot.takeoff(height=20.0)
        sim.run(duration=2.0)
        saved = sim.snapshot()
        sim.run(duration=8.0)
        first = plane.state.copy()
        sim.restore(saved)
        sim.run(duration=8.0)
        np.testing.assert_array_equal(plane.state.position, first.position)
        np.testing.assert_array_equal(plane.state.orientation, first.orientation)


def test_a_reset_copy_begins_anew():
    """If this fails, a copy that is reset flies on with the legs of its last flight."""
    flight = trajectories.sequence(trajectories.takeoff(height=20.0), trajectories.hold())
    pilot = PlaneController(flight, airspeed=13.0)
    with Simulation("flat", seed=1) as sim:
        plane = sim.add(Multirotor("plane", count=2, position=[(0, 0, 0.2), (0, 30, 0.2)], backends=[pilot]))
        sim.run(duration=12.0)
        assert plane.state.position[:, 2].min() > 15.0
        plane.reset(1)
        sim.run(duration=1.0)
        assert plane.state.position[1, 2] < 5.0
        sim.run(duration=11.0)
        assert plane.state.position[:, 2].min() > 15.0


def test_a_copy_of_a_batch_flies_as_one_alone():
    """If this fails, estimators, batteries or winds of copies that fly beside each other are mixed up."""
    model = {
        "extends": "plane",
        "estimator": {"model": "ekf", "start": "known"},
        "battery": {"model": "lithium_polymer", "cell_count": 3, "capacity": 2.2, "resistance": 0.03},
    }
    seen = []
    for count in (1, 3):
        pilot = PlaneController(airspeed=13.0)
        places = [(0.0, 30.0 * k, 0.2) for k in range(count)]
        with Simulation(GUSTS, seed=2) as sim:
            plane = sim.add(Multirotor(model, name="plane", count=count, position=places, backends=[pilot]))
            pilot.takeoff(height=20.0)
            sim.run(duration=3.0)
            columns = plane.columns
            seen.append(
                {
                    **{
                        name: columns[name][0].copy()
                        for name in ("position", "orientation", "rotor_speed", "command")
                    },
                    "estimate": plane.feedback.position[0].copy(),
                    "wind": pilot.air["state.wind"][0].copy(),
                    "charge": np.array(plane.battery.charge[0]),
                }
            )
    for name, alone in seen[0].items():
        np.testing.assert_array_equal(seen[1][name], alone, err_msg=name)
    assert seen[0]["position"][2] > 2.0
    assert seen[0]["wind"].any()
    assert seen[0]["charge"] < 1.0
