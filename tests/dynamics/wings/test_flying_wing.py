"""The shipped flying wing against the published model of the Skywalker X8 (Gryte et al. 2018)."""

import numpy as np
import pytest

from pegasus import Environment, Multirotor
from pegasus.base.step_math import Vec3
from pegasus.design import trim

AREA, SPAN, CHORD = 0.75, 2.1, 0.35714286
CL = {"0": 0.08673557, "a": 4.02032824, "q": 3.87, "e": 0.27807362}
CD = {"0": 0.01970001, "a": 0.07909146, "aa": 1.05546999, "bb": 0.14781193}
CM = {"0": 0.02275, "a": -0.4629, "q": -1.30123704, "e": -0.2292}
SIDE = {"b": -0.22387216, "p": -0.13735505, "r": 0.08386877, "d": 0.0432764}
ROLL = {"b": -0.08489629, "p": -0.404198, "r": 0.0555206, "d": 0.12018814}
YAW = {"b": 0.0283, "p": 0.00436551, "r": -0.072, "d": -0.00339}


def published(velocity, rate, elevator, aileron, density):
    """Return force and torque of the publication, forward, right and down."""
    u, v, w = velocity
    speed = np.sqrt(u * u + v * v + w * w)
    alpha, beta = np.arctan2(w, u), np.arcsin(v / speed)
    p, r = rate[0] * SPAN / (2 * speed), rate[2] * SPAN / (2 * speed)
    q = rate[1] * CHORD / (2 * speed)
    lift = CL["0"] + CL["a"] * alpha + CL["q"] * q + CL["e"] * elevator
    drag = CD["0"] + CD["a"] * alpha + CD["aa"] * alpha**2 + CD["bb"] * beta**2
    pitch = CM["0"] + CM["a"] * alpha + CM["q"] * q + CM["e"] * elevator
    side, roll, yaw = (c["b"] * beta + c["p"] * p + c["r"] * r + c["d"] * aileron for c in (SIDE, ROLL, YAW))
    ca, sa, cb, sb = np.cos(alpha), np.sin(alpha), np.cos(beta), np.sin(beta)
    wind = np.array([[ca * cb, -ca * sb, -sa], [sb, cb, 0], [sa * cb, -sa * sb, ca]])
    pressure = 0.5 * density * speed**2 * AREA
    force = pressure * wind @ (-drag, side, -lift)
    return force, pressure * np.array([SPAN * roll, CHORD * pitch, SPAN * yaw])


def test_forces_and_torques_are_those_of_the_publication():
    """A coefficient of the file would be another one, or have the wrong sign or axis."""
    airframe = Multirotor("flying_wing").parameters[0].airframe.surfaces["airframe"].model
    rng = np.random.default_rng(2)
    turn = np.array([1.0, -1.0, -1.0])
    for _ in range(200):
        speed = rng.uniform(12, 30)
        alpha, beta = rng.uniform(-0.1, 0.1), rng.choice([-0.2, -0.1, 0.0, 0.1, 0.2])
        velocity = speed * np.array(
            [np.cos(alpha) * np.cos(beta), np.sin(beta), np.sin(alpha) * np.cos(beta)]
        )
        rate, elevator, aileron = rng.normal(size=3) * 0.5, *rng.uniform(-0.3, 0.3, 2)
        # Elevons with the trailing edge up; the elevator is their mean, the aileron half of left less right.
        deflection = (-elevator - aileron, -elevator + aileron)
        law = type(airframe).law
        force, torque = law(
            airframe.parameters(), Vec3(*velocity * turn), Vec3(*rate * turn), deflection, 1.2
        )
        expected, turning = published(velocity, rate, elevator, aileron, 1.2)
        scale = 0.5 * 1.2 * speed**2 * AREA
        assert np.array(list(force)) * turn == pytest.approx(expected, abs=2e-4 * scale)
        assert np.array(list(torque)) * turn == pytest.approx(turning, abs=1e-5 * scale)


def test_its_trim_is_the_published_one():
    """At 18 m/s and sea level it would not fly at the angle and elevator of the publication's simX8.m."""

    class AtSeaLevel(Environment):
        def altitude(self, position):
            return super().altitude(position * 0.0) * 0.0

    found = trim(Multirotor("flying_wing"), 18.0, environment=AtSeaLevel())
    assert found.angle_of_attack == pytest.approx(np.arctan2(0.5551, 17.9914), abs=2e-4)
    # Channels: rotor, brake, left and right elevon. Their mean is the elevator, 0.0370 there.
    assert -found.command[2:].mean() == pytest.approx(0.0370, abs=3e-4)
