"""Controller of VTOL: hover, transitions, missions, batches, and its parameters."""

import math

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.config import load_world
from pegasus.control import VtolController, trajectories
from pegasus.control.fixed_wing.legs import BACK, CIRCLE, DESCENT, HOVER, LINE, STANDING, TRANSITION, Leg
from pegasus.control.vtol.law import vtol_law
from pegasus.control.vtol.states import VtolState
from tests.control.law_rig import bound, flown, scattered

KINDS = ("standard_vtol", "tiltrotor", "tailsitter")
WEAK = {"model": "first_order", "time_constant_up": 0.0125, "time_constant_down": 0.025, "max_speed": 700.0}
CALM, WIND = (0.0, 0.0, 0.0), (-3.0, 4.0, 0.0)


def world(wind):
    """Return flat ground with gusts about a mean wind."""
    if not any(wind):
        return "flat"
    gusts = {"model": "gusts", "mean_velocity": list(wind), "intensity": 0.3}
    return load_world("flat")[0].model_copy(update={"wind": gusts})


def tracked(sim, vehicle, pilot, command, limit):
    """Step until a command is done; return heights by segment."""
    heights = {}
    for _ in range(round(limit / 0.1)):
        if command.done.all():
            return {name: np.array(values) for name, values in heights.items()}
        sim.run(duration=0.1)
        heights.setdefault(pilot.mission.segment, []).append(vehicle.state.position[0, 2])
    raise AssertionError(f"not done after {limit} s: {pilot.mission.segment}, {pilot.reason(0)}")


@pytest.mark.parametrize("wind", [CALM, WIND], ids=["calm", "wind"])
@pytest.mark.parametrize("model", KINDS)
def test_it_goes_over_to_the_wings_and_back(model, wind):
    """If this fails, a transition drops the vehicle or never ends, or it does not come back."""
    pilot = VtolController()
    with Simulation(world(wind), seed=1) as sim:
        vehicle = sim.add(Multirotor(model, sensors={}, backends=[pilot]))
        home = vehicle.state.position[0].copy()
        pilot.takeoff(height=25.0).wait(sim)
        assert pilot.mission.segment == "hover"
        out = tracked(sim, vehicle, pilot, pilot.goto([220.0, 60.0, 25.0]), 90.0)
        on_wings = pilot.columns["share"][0]
        lifting = vehicle.columns["command"][0, [1, 3]]
        airspeed = np.linalg.norm(vehicle.state.velocity[0] - vehicle.columns["wind"][0])
        back = tracked(sim, vehicle, pilot, pilot.land(), 200.0)
        sim.run(duration=0.1)
        landed = vehicle.state.position[0]
        still = not vehicle.columns["command"][0, :4].any()
    assert on_wings == 1.0
    assert airspeed > 0.9 * pilot.paces.airspeed
    if model != "tailsitter":
        assert not lifting.any()
    assert out["transition"].min() > out["hover"][-1] - 1.0
    assert out["transition"].max() < out["hover"][-1] + 2.0
    begin = back["back_transition"][0]
    assert back["back_transition"].min() > begin - 2.5
    assert back["back_transition"].max() < begin + 3.5
    assert still
    assert math.dist(landed[:2], home[:2]) < 0.6
    assert abs(landed[2] - home[2]) < 0.3


def mission():
    """Return a mission with a hold in hover between two parts on the wings."""
    return trajectories.sequence(
        trajectories.takeoff(height=20.0),
        trajectories.waypoints(
            points=[(0.0, 0.0, 20.0), (250.0, 0.0, 25.0), (250.0, 200.0, 25.0)], stop=True
        ),
        trajectories.hold(duration=3.0),
        trajectories.land(),
    )


def test_a_mission_holds_and_lands():
    """If this fails, transitions are missing between the parts of a mission, or a hold has no end."""
    pilot = VtolController(mission())
    segments, off = [], math.inf
    with Simulation("flat", seed=1) as sim:
        vehicle = sim.add(Multirotor("standard_vtol", sensors={}, backends=[pilot]))
        for _ in range(1500):
            sim.run(duration=0.1)
            off = min(off, math.dist(vehicle.state.position[0], (250.0, 0.0, 25.0)))
            if not segments or segments[-1] != pilot.reference.segment:
                segments.append(pilot.reference.segment)
            if pilot.mission.landed.all():
                break
        place = vehicle.state.position[0]
    legs = ["hover", "transition", "line", "back_transition", "hover", "descent", "idle"]
    assert [name for name in segments if name in legs] == legs
    assert off < 30.0
    assert math.dist(place[:2], (250.0, 200.0)) < 0.6


def test_five_fly_at_once_and_kinds_beside_each_other():
    """If this fails, copies follow each other's legs, or vehicles of another kind another law."""
    pilots = [VtolController(), VtolController()]
    places = [(0.0, 30.0 * k, 0.2) for k in range(5)]
    with Simulation("flat", seed=1) as sim:
        many = sim.add(
            Multirotor("standard_vtol", count=5, sensors={}, position=places, backends=[pilots[0]])
        )
        one = sim.add(Multirotor("tailsitter", sensors={}, position=(0.0, -30.0, 0.4), backends=[pilots[1]]))
        for pilot in pilots:
            pilot.takeoff(height=20.0)
        sim.run(duration=16.0)
        targets = np.array([(250.0, 30.0 * k, 20.0 + k) for k in range(5)])
        order = pilots[0].goto(targets)
        pilots[1].goto([100.0, -30.0, 20.0])
        order.wait(sim)
        assert (pilots[0].columns["share"] == 1.0).all()
        assert np.linalg.norm(many.state.position - targets, axis=1).max() < 5.0
        assert one.state.position[0, 0] > 90.0


def test_a_snapshot_in_a_transition_goes_on_with_the_same_bits():
    """If this fails, a state or the legs that come are missing in a snapshot, or a seed fixes no run."""

    def begun():
        pilot = VtolController()
        sim = Simulation(world(WIND), seed=3)
        vehicle = sim.add(Multirotor("tiltrotor", sensors={}, backends=[pilot]))
        pilot.takeoff(height=15.0)
        sim.run(duration=12.0)
        pilot.goto([200.0, 0.0, 15.0])
        sim.run(duration=4.5)
        return pilot, sim, vehicle

    ends = []
    for _ in range(2):
        pilot, sim, vehicle = begun()
        with sim:
            assert pilot.mission.segment == "transition"
            assert pilot.columns["time"][0] > 0.0
            saved = sim.snapshot()
            sim.run(duration=8.0)
            ends.append(vehicle.state.copy())
            assert pilot.mission.segment == "line"
            sim.restore(saved)
            sim.run(duration=8.0)
            ends.append(vehicle.state.copy())
    for end in ends[1:]:
        np.testing.assert_array_equal(end.position, ends[0].position)
        np.testing.assert_array_equal(end.orientation, ends[0].orientation)
        np.testing.assert_array_equal(end.angular_velocity, ends[0].angular_velocity)


def test_a_transition_that_takes_too_long_ends_in_hover():
    """If this fails, a vehicle that does not reach the airspeed flies on to nowhere, and nobody says why."""
    pilot = VtolController(transition_timeout=2.0)
    with Simulation("flat", seed=1) as sim:
        vehicle = sim.add(Multirotor("standard_vtol", sensors={}, backends=[pilot]))
        pilot.takeoff(height=15.0).wait(sim)
        order = pilot.goto([300.0, 0.0, 15.0])
        message = (
            r"did not reach transition_airspeed = 13\.8 m/s in transition_timeout = 2 s, and hovers again"
        )
        with pytest.raises(TimeoutError, match=message):
            order.wait(sim, timeout=25.0)
        assert pilot.mission.segment == "hover"
        assert abs(vehicle.state.position[0, 2] - 15.0) < 2.0
        assert np.linalg.norm(vehicle.state.velocity[0]) < 0.2
        pilot.hold()
        sim.run(duration=0.1)
        assert not pilot.reason(0)


@pytest.mark.parametrize("model", ["tiltrotor", "tailsitter"])
def test_compiled_and_python_give_the_same_bits(model):
    """If this fails, the law that is tested is not the one that flies."""
    count, pilot = 24, VtolController()
    width = bound(pilot, model)
    columns = scattered(count, {"leg": Leg, "state": VtolState}, seed=5, speed=9.0)
    columns["leg.kind"][...] = np.resize([STANDING, HOVER, TRANSITION, BACK, DESCENT, LINE, CIRCLE], count)
    columns["leg.radius"][...], columns["leg.airspeed"][...] = 50.0, 12.0
    columns["state.share"][...] = np.linspace(0.0, 1.0, count)
    python, compiled = flown(vtol_law, VtolState, pilot, columns, width)
    for name, values in python.items():
        np.testing.assert_array_equal(compiled[name], values, err_msg=name)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"transition_airspeed": 5.0}, r"transition_airspeed = 5\.0: must be from 12\.1 to 27\.\d m/s"),
        ({"blend_airspeed": 14.0}, r"blend_airspeed = 14\.0: must be below transition_airspeed, 13\.8 m/s"),
        ({"landing_speed": 0.0}, r"landing_speed = 0\.0: must be above 0"),
        ({"hover": {"gain": 1.0}}, r"hover = .*: must hold parameters of a geometric controller"),
    ],
)
def test_wrong_parameters_are_named(values, message):
    """If this fails, a wrong figure shows up as a crash."""
    with pytest.raises(ConfigError, match=message), Simulation("flat") as sim:
        sim.add(Multirotor("standard_vtol", backends=[VtolController(**values)]))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("iris", "has no rotor that pushes forward"),
        ("plane", "its rotors do not control roll and pitch and yaw and lift in hover"),
        ({"extends": "standard_vtol", "motor": WEAK}, r"its rotors lift 39\.18 N in hover, it weighs 49\.42"),
    ],
)
def test_what_is_no_vtol_is_named(model, message):
    """If this fails, a vehicle that cannot hover or cannot fly is thrown into the air."""
    with pytest.raises(ConfigError, match=message), Simulation("flat") as sim:
        sim.add(Multirotor(model, backends=[VtolController()]))


def test_near_points_are_reached_in_hover():
    """If this fails, a way of some metres goes by a transition, or `hold` circles."""
    pilot = VtolController()
    with Simulation("flat", seed=1) as sim:
        vehicle = sim.add(Multirotor("tailsitter", sensors={}, backends=[pilot]))
        pilot.takeoff(height=10.0).wait(sim)
        pilot.goto([8.0, 6.0, 12.0]).wait(sim)
        sim.run(duration=4.0)
        assert math.dist(vehicle.state.position[0], (8.0, 6.0, 12.0)) < 0.3
        assert pilot.mission.segment == "hover"
        pilot.loiter([8.0, 6.0, 15.0]).wait(sim)
        sim.run(duration=12.0)
        assert pilot.mission.segment == "circle"
        pilot.hold()
        sim.run(duration=15.0)
        assert pilot.mission.segment == "hover"
        assert np.linalg.norm(vehicle.state.velocity[0]) < 0.2
