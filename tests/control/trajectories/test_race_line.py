"""Tests of race lines through gates."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.control import GeometricController, trajectories
from pegasus.control.trajectories import Gate, trajectory_from_spec
from pegasus.control.trajectories.limits import GRAVITY

SPLIT_S = [
    Gate((0.0, 0.0, 2.0), 0.0, radius=1.0),
    Gate((8.0, 0.0, 2.0), 0.0, radius=1.0),
    Gate((8.0, 0.0, 4.0), math.pi, radius=1.0),
    Gate((0.0, 0.0, 4.0), math.pi, radius=1.0),
]
OVAL = [
    Gate((10 * math.cos(a), 7 * math.sin(a), 2 + math.sin(2 * a)), a + 0.5 * math.pi, width=1.6, height=1.2)
    for a in np.linspace(0, 2 * math.pi, 6, endpoint=False)
]


@pytest.fixture(scope="module", params=["split_s", "oval"])
def line(request):
    return trajectories.race_line({"split_s": SPLIT_S, "oval": OVAL}[request.param], yaw="forward")


@pytest.fixture(scope="module")
def motion(line, oracle):
    """Position, velocity, acceleration and jerk at 40,001 equidistant times, shape (40001, 4, 3)."""
    return oracle.samples(line, 40001)


def test_crosses_every_gate_in_its_direction(line, motion):
    """If this fails, a gate is missed, hit, or passed from behind."""
    times = np.linspace(0.0, line.duration, len(motion))
    previous = 0.0
    for gate, (t, place) in zip(line.gates, line.crossings, strict=True):
        assert t > previous
        previous = t
        normal = np.array([math.cos(gate.heading), math.sin(gate.heading), 0.0])
        from_gate = motion[:, 0] - gate.position
        ahead = from_gate @ normal
        side, up = from_gate @ [-normal[1], normal[0], 0.0], from_gate[:, 2]
        reach = gate.radius or max(gate.width, gate.height)
        crossed = np.flatnonzero((np.diff(np.sign(ahead)) != 0) & (np.hypot(side, up)[:-1] < reach))
        assert len(crossed) == 1
        k = crossed[0]
        assert times[k] == pytest.approx(t, abs=2e-3)
        np.testing.assert_allclose(motion[k, 0], place, atol=5e-3)
        assert motion[k, 1] @ normal >= 0.499 * np.linalg.norm(motion[k, 1])
        if gate.radius is not None:
            assert math.hypot(side[k], up[k]) <= gate.radius - line.clearance + 1e-3
        else:
            assert abs(side[k]) <= 0.5 * gate.width - line.clearance + 1e-3
            assert abs(up[k]) <= 0.5 * gate.height - line.clearance + 1e-3


def test_keeps_to_its_limits(line, motion):
    """If this fails, the line asks for more than the rotors give."""
    force = motion[:, 2] / GRAVITY + [0, 0, 1]
    assert np.linalg.norm(motion[:, 1], axis=1).max() <= line.speed
    assert np.linalg.norm(force, axis=1).max() <= line.thrust
    assert force[:, 2].min() >= line.least_thrust
    assert np.arctan2(np.hypot(force[:, 0], force[:, 1]), force[:, 2]).max() <= line.tilt
    assert np.linalg.norm(motion[:, 3], axis=1).max() <= line.jerk
    assert motion[:, 0, 2].min() > 0.0
    np.testing.assert_allclose(motion[[0, -1], 1:], 0.0, atol=1e-6)


def test_derivatives_are_exact(line, oracle):
    """If this fails, feed-forward pulls the vehicle off the line."""
    oracle.assert_exact_derivatives(line, tolerance=1e-4)


def test_a_straight_is_nearly_as_quick_as_can_be():
    """If this fails, the line wastes time; the bound is a mass that may step its acceleration.

    Level acceleration is at most thrust times sin(tilt), whatever the height does meanwhile.
    """
    line = trajectories.race_line([Gate((0.0, 0.0, 2.0), radius=1.0)], jerk=1e4)
    bound = 2 * math.sqrt(6.0 / (GRAVITY * line.thrust * math.sin(line.tilt)))
    assert bound < line.duration < 1.1 * bound


def test_a_course_is_nearly_as_quick_as_a_fine_search_finds():
    """If this fails, the line is far from the quickest; a mass that may step its acceleration is quicker."""
    gates = [Gate((0.0, 0.0, 2.0), radius=1.0), Gate((8.0, 4.0, 3.0), 1.5, radius=1.0)]
    line = trajectories.race_line(gates, jerk=1e4)
    best = fine_search(line, steps=5)
    assert 0.999 * best < line.duration < 1.1 * best


def fine_search(line, steps):
    """Return the time of a mass with piecewise linear acceleration under the same limits (SLSQP)."""
    gates, legs = line.gates, len(line.gates) + 1
    crossings = [0.0, *(t for t, _ in line.crossings), line.duration]
    times = np.concatenate([np.linspace(a, b, steps, endpoint=False) for a, b in pairwise(crossings)])
    times = np.append(times, line.duration)
    begin, end = (np.array(line.sample(t).position) for t in (0.0, line.duration))
    normals = np.array([[math.cos(g.heading), math.sin(g.heading), 0.0] for g in gates])
    middles, room = np.array([g.position for g in gates]), gates[0].radius - line.clearance

    def course(x):
        a = x[legs:].reshape(-1, 3)
        h = np.repeat(x[:legs] / steps, steps)[:, None]
        v = np.concatenate([np.zeros((1, 3)), np.cumsum(0.5 * h * (a[1:] + a[:-1]), axis=0)])
        moved = np.cumsum(h * v[:-1] + h * h * (2 * a[:-1] + a[1:]) / 6, axis=0)
        return np.concatenate([begin[None], begin + moved]), v, a

    def met(x):
        p, v, _ = course(x)
        return np.concatenate([p[-1] - end, v[-1], ((p[steps:-1:steps] - middles) * normals).sum(axis=1)])

    def kept(x):
        p, v, a = course(x)
        force = a / GRAVITY + [0, 0, 1]
        level = (force[:, :2] ** 2).sum(axis=1)
        return np.concatenate(
            [
                line.thrust**2 - (force**2).sum(axis=1),
                force[:, 2] - line.least_thrust,
                math.tan(line.tilt) ** 2 * force[:, 2] ** 2 - level,
                1.0 - (v**2).sum(axis=1) / line.speed**2,
                room**2 - ((p[steps:-1:steps] - middles) ** 2).sum(axis=1),
            ]
        )

    def slopes(function):
        def jacobian(x):
            here = function(x)
            return np.stack([(function(x + 1e-7 * e) - here) / 1e-7 for e in np.eye(len(x))], axis=1)

        return jacobian

    guess = np.concatenate([np.diff(crossings), np.concatenate([line.sample(t).acceleration for t in times])])
    found = minimize(
        lambda x: x[:legs].sum(),
        guess,
        jac=lambda x: np.concatenate([np.ones(legs), np.zeros(len(x) - legs)]),
        constraints=[
            {"type": "eq", "fun": met, "jac": slopes(met)},
            {"type": "ineq", "fun": kept, "jac": slopes(kept)},
        ],
        method="SLSQP",
        options={"maxiter": 100, "ftol": 1e-5},
    )
    assert np.abs(met(found.x)).max() < 1e-3
    assert kept(found.x).min() > -1e-2
    return found.fun


def test_an_iris_flies_it_through_the_gates():
    """If this fails, the line's limits are those of no vehicle, and it hits the gates."""
    gates = [replace(gate, width=2.0, height=2.0) for gate in OVAL]
    line = trajectories.race_line(gates, clearance=0.6)
    begin = line.sample(0.0).position
    controller = GeometricController(line, relative=False, drag_compensation=1.0)
    path = []
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", position=(*begin[:2], 0.1), backends=[controller], sensors={}))
        for _ in sim.stepping(controller.mission.duration):
            if iris.reference.segment == "race_line":
                path.append(iris.state.position[0].copy())
    for gate in gates:
        normal = np.array([math.cos(gate.heading), math.sin(gate.heading), 0.0])
        away = np.array(path) - gate.position
        side, up = away @ [-normal[1], normal[0], 0.0], away[:, 2]
        through = np.flatnonzero((np.diff(np.sign(away @ normal)) > 0) & (np.hypot(side, up)[:-1] < 3.0))
        assert len(through) == 1
        # The Iris reaches 0.37 m from its middle to the tips of its propellers.
        assert abs(side[through[0]]) < 1.0 - 0.37
        assert abs(up[through[0]]) < 1.0 - 0.37


def test_laps_and_specs():
    """If this fails, gates of a scenario file are not understood, or a second lap is not flown."""
    spec = {"position": [0.0, 0.0, 2.0], "heading": 0.0, "width": 2.0, "height": 2.0}
    back = {"position": [0.0, 6.0, 2.0], "heading": math.pi, "radius": 1.0}
    flight = trajectory_from_spec([{"race_line": {"gates": [spec, back], "laps": 2, "speed": 4.0}}])
    assert len(flight.parts[0].crossings) == 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"gates": []},
            "gates = []: must be a list of gates; such as [{position: [0, 0, 2], radius: 1}]",
        ),
        (
            {"gates": [{"position": [0, 0, -1], "radius": 1.0}]},
            "gates.0 = (0.0, 0.0, -1.0): is below the ground, z = 0 m; "
            "raise it, or set ground to the lowest height of the world's terrain",
        ),
        (
            {"gates": [{"position": [0, 0, 1]}]},
            "gates.0.radius: either radius, or width and height, must be given",
        ),
        (
            {"gates": [{"position": [0, 0, 1], "radius": 1.0, "haeding": 2}]},
            "gates.0.haeding: unknown field; did you mean heading? "
            "allowed here: heading, height, position, radius, width",
        ),
        ({"laps": 0}, "laps = 0: must be at least 1"),
        ({"run": 0.0}, "run = 0.0: must be above 0 m"),
        ({"clearance": -0.1}, "clearance = -0.1: must not be negative"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    """If this fails, a mistake on a course shows up at a gate."""
    with pytest.raises(ConfigError) as caught:
        trajectories.race_line(**{"gates": SPLIT_S[:1], **parameters})
    assert str(caught.value) == message


def test_a_gate_that_is_too_narrow_is_named():
    """If this fails, the vehicle is sent into the frame of a gate."""
    with pytest.raises(
        ConfigError, match=r"has 0\.3 m from its centre to its edge, less than clearance = 0\.4"
    ):
        trajectories.race_line([Gate((0, 0, 2), width=2.0, height=0.6)])
