"""A glider of wings `full_range` at trim: glide ratio and sink rate of polars made apart from the laws."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from pegasus import Multirotor, Simulation
from pegasus.dynamics.wings import FullRangeWing
from pegasus.environment import UniformGravity
from pegasus.environment.atmosphere import Air, Atmosphere
from tests.dynamics.wings.test_full_range import oracle

RHO, GRAVITY, MASS = 1.2, 9.81, 1.5
WING = {"area": 0.16, "span": 0.8, "skin_drag": 0.015, "zero_lift_angle": -0.06, "moment_coefficient": -0.04}
TAIL = {"area": 0.06, "span": 0.45}
FIN = {"area": 0.03, "span": 0.2}
WING_AT, TAIL_AT, INCIDENCE = 0.01, -0.7, -0.05
GLIDER = {
    "name": "glider",
    "mass": MASS,
    "inertia": [0.04, 0.05, 0.08],
    "body": {"size": [0.9, 0.1, 0.12], "leg_height": 0.15},
    "propeller": {"diameter": 0.2},
    "rotors": [{"position": [0.3, 0, 0], "axis": [1, 0, 0], "direction": "cw"}],
    "motor": {"model": "ideal"},
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.01},
    "surfaces": {
        "left": {"model": "full_range", "position": [WING_AT, 0.45, 0], **WING},
        "right": {"model": "full_range", "position": [WING_AT, -0.45, 0], **WING},
        "tail": {
            "model": "full_range",
            "position": [TAIL_AT, 0, 0],
            "forward": [math.cos(INCIDENCE), 0, math.sin(INCIDENCE)],
            **TAIL,
        },
        "fin": {"model": "full_range", "position": [TAIL_AT, 0, 0], "upward": [0, 1, 0], **FIN},
    },
    "sensors": {},
}


class Uniform(Atmosphere):
    """Air of the same density everywhere."""

    def air(self, altitude):
        return Air(*np.broadcast_arrays(288.0 + 0 * altitude, 1e5, RHO))


def loads(alpha):
    """Return lift, drag and nose-up moment about the centre of mass by the dynamic pressure [m^2, m^3]."""
    parts = [(FullRangeWing(**WING), WING_AT, 0.0)] * 2 + [(FullRangeWing(**TAIL), TAIL_AT, INCIDENCE)]
    fin = FullRangeWing(**FIN).skin_drag * FIN["area"]
    total = np.array([0.0, fin, TAIL_AT * fin * math.sin(alpha)])
    for wing, place, incidence in parts:
        lift, drag, moment = (float(c) * wing.area for c in oracle(wing, alpha + incidence))
        up = lift * math.cos(alpha) + drag * math.sin(alpha)
        total += [lift, drag, moment + place * up]
    return total


def test_glide_at_trim():
    """Glide ratio and sink rate would differ from those of the polars, or the glider would leave its trim."""
    alpha = brentq(lambda a: loads(a)[2], -0.05, 0.2, xtol=1e-14)
    lift, drag, _ = loads(alpha)
    ratio, path = lift / drag, math.atan2(drag, lift)
    speed = math.sqrt(2 * MASS * GRAVITY / (RHO * math.hypot(lift, drag)))
    assert 8 < ratio < 25
    pitch = alpha - path
    with Simulation("flat", rate=250) as sim:
        sim.environment.gravity, sim.environment.atmosphere = UniformGravity(GRAVITY), Uniform()
        glider = sim.add(Multirotor(GLIDER, position=(0, 0, 500.0)))
        sim.play()
        velocity = np.array([speed * math.cos(path), 0.0, -speed * math.sin(path)])
        attitude = (0.0, -math.sin(pitch / 2), 0.0, math.cos(pitch / 2))
        glider.place((0, 0, 500.0), orientation=attitude, velocity=velocity)
        energies = []
        for _ in range(20):
            sim.run(1.0)
            moving = glider.state.velocity[0]
            energies.append(moving @ moving / 2 + GRAVITY * glider.state.position[0, 2])
        travelled = glider.state.position[0] - (0, 0, 500.0)
    assert travelled[0] / -travelled[2] == pytest.approx(ratio, rel=1e-6)
    assert -travelled[2] / 20.0 == pytest.approx(speed * math.sin(path), rel=1e-6)
    np.testing.assert_allclose(moving, velocity, atol=1e-6 * speed)
    assert (np.diff(energies) < 0).all()
