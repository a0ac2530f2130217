"""Wind of planes and VTOLs that fly on estimates."""

import math

import numpy as np
import pytest

from pegasus import Aircraft, Simulation
from pegasus.base.step_math import Quat, Vec3
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.base.tracing.launches import program_of
from pegasus.config import load_world
from pegasus.control import PlaneController, VtolController, trajectories
from pegasus.control.fixed_wing.wind import Pitot, WindState, observed_wind
from pegasus.control.mission_step import Motion
from tests.control.law_rig import STEP, bound, row, scattered

EKF = {"model": "ekf", "start": "known"}
GUSTS = load_world("flat")[0].model_copy(
    update={"wind": {"model": "gusts", "mean_velocity": [6.0, 0.0, 0.0], "intensity": 0.5}}
)


def mission():
    """Return a mission against and across the wind."""
    return trajectories.sequence(
        trajectories.takeoff(height=20.0),
        trajectories.waypoints(points=[(-20.0, 0.0, 20.0), (-20.0, 90.0, 25.0)], stop=True),
        trajectories.land(),
    )


def test_a_plane_flies_its_mission_on_estimates():
    """If this fails, the true wind is flown on, or gusts bring down a plane that does not know it."""
    pilot, off = PlaneController(mission(), airspeed=13.0), []
    with Simulation(GUSTS, seed=1) as sim:
        sim.add(
            Aircraft(
                {"extends": "plane", "estimator": EKF},
                name="with",
                position=(0.0, 0.0, 0.2),
                heading=math.pi,
                backends=[pilot],
            )
        )
        for _ in range(300):
            sim.run(duration=0.5)
            if pilot.reference.segment in ("climb", "line", "circle"):
                off.append(pilot.air["state.wind"][0, :2] - (6.0, 0.0))
            if pilot.mission.landed.all():
                break
    assert pilot.mission.landed.all()
    assert np.abs(np.median(off, axis=0)).max() < 1.0


def test_without_an_airspeed_sensor_the_wind_across_the_heading_is_seen():
    """If this fails, a plane without the sensor takes its ground speed for a reading."""
    pilot = PlaneController()
    bound(pilot, "plane")
    state = WindState(Vec3(0.0, 0.0, 0.0), 10.0)
    motion = Motion(Vec3(0, 0, 0), Quat(0, 0, 0, 1), Vec3(20.0, 5.0, 0.0), Vec3(0, 0, 0))
    for known, along in ((0.0, 0.0), (1.0, 8.0)):
        pitot = Pitot(Vec3(1.0, 0.0, 0.0), 0.5 * 1.2 * 12.0**2, known)
        found = state
        for _ in range(5000):
            found = observed_wind(
                *(pilot.flight_axes, pilot.wings, motion, pitot, 1.2, Vec3(0, 0, -9.8), found, 0.004)
            )
        assert found.wind[0] == pytest.approx(along, abs=0.05)
        assert found.wind[1] == pytest.approx(5.0, abs=0.05)


@pytest.mark.parametrize("model", ["plane", "tailsitter"])
def test_the_estimate_is_compiled_with_the_same_bits(model):
    """If this fails, the law that is tested is not the one that flies."""
    count = 32
    pilot = PlaneController() if model == "plane" else VtolController()
    bound(pilot, model)
    columns = scattered(count, {"pitot": Pitot, "state": WindState}, seed=7)
    columns["pitot.pressure"] *= 40.0
    columns["pitot.known"][...] = np.resize([0.0, 1.0, 1.0], count)
    columns["state.time"][...] = np.resize([0.0, 1.0, 20.0], count)
    expected = [
        observed_wind(
            *(
                pilot.flight_axes,
                pilot.wings,
                row(Motion, "motion", columns, k),
                row(Pitot, "pitot", columns, k),
            ),
            *(1.2, Vec3(*columns["gravity"][k].tolist()), row(WindState, "state", columns, k), STEP),
        )
        for k in range(count)
    ]
    before = columns["state.wind"].copy()
    given = uniform("axes", pilot.flight_axes), uniform("p", pilot.wings)
    arguments = (
        *(*given, column("motion", Motion), column("pitot", Pitot), column("air_density")),
        *(column("gravity", Vec3), column("state", WindState), uniform("elapsed", 0.0)),
    )
    arrays = {**columns, "elapsed": np.full(1, STEP)}
    arrays |= {name: value for one in given for name, value in uniform_values(one).items()}
    program_of(observed_wind, *arguments, outputs=("state",), count=count).launch(arrays, count).run()
    np.testing.assert_array_equal(columns["state.wind"], [[s.wind[k] for k in range(3)] for s in expected])
    np.testing.assert_array_equal(columns["state.time"], [s.time for s in expected])
    assert (columns["state.wind"] != before).any()


def test_whose_wind_is_flown_on():
    """If this fails, flights on the true state have other bits, or a filter.s wind is unused."""
    pilots = [PlaneController(), PlaneController()]
    with Simulation("flat") as sim:
        sim.add(Aircraft({"extends": "plane", "estimator": {**EKF, "flown": False}}, backends=pilots[:1]))
        states = {"extends": "plane", "estimator": {**EKF, "wind": True}}
        plane = sim.add(Aircraft(states, position=(0.0, 20.0, 0.2), backends=pilots[1:]))
        sim.run(duration=0.2)
        plane.estimator.columns["error"][0, plane.estimator.parameters.wind] = 3.0
        sim.step()
    assert not pilots[0].air
    assert not pilots[1].observes
    assert pilots[1].air["state.wind"][0, 0] == pytest.approx(3.0, abs=0.5)
