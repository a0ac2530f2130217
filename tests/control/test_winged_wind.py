"""Wind of planes and VTOLs that fly on estimates."""

import math

import numpy as np
import pytest

from pegasus import Aircraft, Simulation
from pegasus.base.step_math import Vec3
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


def test_planes_fly_their_missions_on_estimates():
    """If this fails, true wind is flown on, or gusts and a missing airspeed sensor bring planes down."""
    named = {
        "with": {"estimator": EKF},
        "without": {"estimator": EKF, "sensors": {"airspeed": None}},
    }
    pilots = {name: PlaneController(mission(), airspeed=13.0) for name in named}
    planes, slowest, off = {}, dict.fromkeys(named, math.inf), {name: [] for name in named}
    with Simulation(GUSTS, seed=1) as sim:
        for k, (name, changes) in enumerate(named.items()):
            planes[name] = sim.add(
                Aircraft(
                    {"extends": "plane", **changes},
                    name=name,
                    position=(0.0, 200.0 * k, 0.2),
                    heading=math.pi,
                    backends=[pilots[name]],
                )
            )
        for _ in range(300):
            sim.run(duration=0.5)
            for name, plane in planes.items():
                wind, seen = plane.columns["wind"][0], pilots[name].air["state.wind"][0]
                if pilots[name].reference.segment in ("climb", "line", "circle"):
                    through = plane.state.velocity[0] - wind
                    slowest[name] = min(slowest[name], float(np.linalg.norm(through)))
                    off[name].append(seen[:2] - (6.0, 0.0))
            if all(pilot.mission.landed.all() for pilot in pilots.values()):
                break
    assert all(pilot.mission.landed.all() for pilot in pilots.values())
    for name in named:
        assert slowest[name] > 0.95 * pilots[name].figures.least_airspeed
        assert np.abs(np.median(off[name][-30:], axis=0)).max() < 1.0
    # It has not turned yet: the head wind is unknown.
    first = slice(0, 10)
    assert np.abs(np.mean(off["with"][first], axis=0)[0]) < 1.0
    assert np.mean(off["without"][first], axis=0)[0] < -2.0


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
