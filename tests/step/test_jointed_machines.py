"""Joints: servos, tilting rotors, surfaces in the streams of propellers."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from pegasus.base.frames import matrix_from_quaternion
from pegasus.base.step_math import NOTHING, Quat, Vec3
from pegasus.config.scenario import VehicleSpec, parse
from pegasus.dynamics import Servo, ThrustCurve
from pegasus.dynamics.servos import servo_angle
from pegasus.dynamics.slipstream import stream_speed
from pegasus.model.airframe import Airframe
from pegasus.model.dynamics_models import DynamicsModels, VehicleParameters
from pegasus.model.multirotor import channels_of, machine_of
from pegasus.model.rotors import RotorLayout
from pegasus.step.integrator import advance
from pegasus.step.loads import Flow, loads_of
from pegasus.step.values import Air, Inputs, State

LEVEL = Quat(0.0, 0.0, 0.0, 1.0)


def calm(_p, _speed, _velocity, _density):
    """Return no force and no torque."""
    return Vec3(NOTHING, NOTHING, NOTHING), Vec3(NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True, kw_only=True)
class Calm(ThrustCurve):
    """Rotor in a vacuum."""

    law: ClassVar[Any] = staticmethod(calm)

    def parameters(self):
        return self


def machine(description, **models):
    """Return the machine of a vehicle file's content, with other models."""
    base = {
        "name": "test", "mass": 2.0, "inertia": [0.02, 0.03, 0.04],
        "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
        "propeller": {"diameter": 0.3, "inertia": 2e-4},
    }  # fmt: skip
    spec = parse({**base, **description}, VehicleSpec)
    parameters = VehicleParameters.of(spec, DynamicsModels(**models).completed(spec), Airframe.of(spec))
    layout = RotorLayout.from_specs(spec.rotor_list())
    channels = channels_of(parameters.motor, parameters.airframe, layout.count)
    return machine_of(layout, parameters, spec.propeller.diameter, channels)


def flown(made, command, steps, *, dt=0.002, speed=0.0, rate=(0.0, 0.0, 0.0)):
    """Yield the states of a machine in a vacuum without gravity, in plain Python."""
    none = Vec3(0.0, 0.0, 0.0)
    rest = tuple(0.0 for _ in made.joints)
    speeds = tuple(speed for _ in made.elements)
    state = State(none, LEVEL, Vec3(1.0, 2.0, 3.0), Vec3(*rate), speeds, (none,) * len(speeds), rest)
    inputs = Inputs(tuple(command), 0.0, 1e4, 12.0, none, none, none)
    yield state
    for _ in range(steps):
        r = advance(made, state, inputs, Air(none, 1.2), None, None, None, dt)
        state = State(
            r.free_position, r.free_orientation, r.free_velocity, r.free_angular_velocity, r.rotor_speed,
            r.motor_state, r.joint_angle,
        )  # fmt: skip
        yield state


def numbers(v, size=3):
    return np.array([v[k] for k in range(size)])


def momentum(made, state):
    """Return the angular momentum of body and shafts in the world [N m s]."""
    w, body = numbers(state.angular_velocity), made.body
    inertia = np.array([numbers(row) for row in (body.inertia_x, body.inertia_y, body.inertia_z)])
    total = inertia @ w
    for element, speed in zip(made.elements, state.rotor_speed, strict=True):
        z = numbers(element.z)
        if element.joint is not None:
            joint, angle = made.joints[element.joint], state.joint_angle[element.joint]
            z = turned(numbers(joint.axis), angle) @ z
        total = total + element.sense * element.inertia * speed * z
    return matrix_from_quaternion(numbers(state.orientation, 4)[None])[0] @ total


def turned(axis, angle):
    """Return the rotation matrix about an axis (Rodrigues)."""
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


@pytest.mark.parametrize(("rate", "lag"), [(None, 0.05), (2.0, 0.05), (2.0, 0.0), (None, 0.0)])
def test_a_servo_follows_its_law(rate, lag):
    """The law is the exact solution of a' = (c - a) / T within the rate limit, for any step."""
    servo = Servo(low=-1.0, high=1.0, rate_limit=rate, time_constant=lag)
    p, fine, angle = servo.parameters(), -0.7, -0.7
    largest = rate or math.inf

    def slope(a, command):
        return max(min((command - a) / lag, largest), -largest)

    for command in (0.6, 0.55, -1.0, 0.0):
        for _ in range(7):
            angle = servo_angle(p, angle, command, 0.013)
        if lag:
            for _ in range(9_100):
                fine += 1e-5 * slope(fine + 0.5e-5 * slope(fine, command), command)
        else:
            fine += max(min(command - fine, largest * 0.091), -largest * 0.091)
        assert angle == pytest.approx(fine, abs=1e-8)


DRIVES = {
    "by speed": {"model": "first_order", "time_constant_up": 0.05, "time_constant_down": 0.05,
                 "max_speed": 900.0},
    "by torque": {"model": "electric", "kv": 800.0, "resistance": 0.1, "nominal_voltage": 12.0,
                  "max_speed": 900.0},
}  # fmt: skip


@pytest.mark.parametrize("motor", DRIVES.values(), ids=DRIVES)
def test_tilting_rotors_keep_the_angular_momentum(motor):
    """If this fails, a nacelle that tilts with a turning rotor gives the vehicle momentum from nothing."""
    made = machine(
        {
            "motor": motor,
            "rotors": [
                {"position": [0.3, 0.4, 0.1], "direction": "ccw", "joint": "left"},
                {"position": [0.3, -0.4, 0.1], "direction": "ccw", "joint": "right"},
                {"position": [-0.4, 0.0, 0.1], "direction": "cw"},
            ],
            "joints": {
                "left": {"position": [0.3, 0.4, 0.0], "servo": {"low": 0.0, "high": 1.6, "rate_limit": 3.0}},
                "right": {"position": [0.3, -0.4, 0.0], "axis": [0.2, 1.0, 0.1],
                          "servo": {"low": -1.6, "high": 1.6, "time_constant": 0.1}},
            },
        },
        thrust_curve=Calm(),
    )  # fmt: skip
    command = [700.0, 500.0, 300.0, 1.5, -1.0]
    errors = []
    for dt in (0.004, 0.002):
        states = list(flown(made, command, int(0.4 / dt), dt=dt, speed=400.0, rate=(0.4, -0.3, 0.2)))
        assert states[-1].joint_angle[0] == pytest.approx(1.2)
        assert np.abs(numbers(states[-1].angular_velocity) - (0.4, -0.3, 0.2)).max() > 0.5
        first, last = momentum(made, states[0]), momentum(made, states[-1])
        errors.append(np.abs(last - first).max() / np.abs(first).max())
    assert errors[1] < 1e-8
    assert errors[0] / errors[1] > 12.0


def test_a_propeller_blows_over_the_surface_behind_it():
    """At rest the stream far behind is twice the induced velocity sqrt(T / (2 rho A)), at the disc once."""
    radius, density, thrust = 0.15, 1.2, 4.0
    induced = math.sqrt(thrust / (2 * density * math.pi * radius**2))
    assert stream_speed(thrust, 0.0, density, radius, 0.0) == pytest.approx(induced, rel=1e-12)
    assert stream_speed(thrust, 0.0, density, radius, 50.0) == pytest.approx(2 * induced, rel=1e-5)
    assert stream_speed(thrust, 0.0, density, radius, -50.0) == pytest.approx(0.0, abs=1e-4)
    climbing = stream_speed(thrust, 10.0, density, radius, 0.0)
    assert thrust == pytest.approx(
        2 * density * math.pi * radius**2 * climbing * (10.0 + climbing), rel=1e-12
    )
    assert stream_speed(-thrust, 10.0, density, radius, 0.5) == 0.0


def test_a_surface_feels_its_own_flow():
    """Rotation, the stream of its propeller and its deflection reach a surface, and its force its lever."""
    description = {
        "rotors": [{"position": [0.4, 0.0, 0.0], "axis": [1, 0, 0], "direction": "cw"}],
        "center_of_mass": [0.02, 0.01, -0.03],
        "joints": {"rudder": {"axis": [0, 0, 1]}},
        "surfaces": {
            "fin": {
                "model": "lift_drag", "position": [-0.6, 0.0, 0.1], "upward": [0, 1, 0], "area": 0.05,
                "cla": 4.0, "cda": 0.5, "controls": ["rudder"], "control_joint_rad_to_cl": 1.5,
                "slipstream": [0],
            },
        },
    }  # fmt: skip
    made = machine(description)
    (fin,) = made.surfaces
    speed, w, v = 600.0, np.array([0.3, -0.5, 0.8]), np.array([12.0, 1.0, -2.0])
    thrust = 1e-5 * speed * speed
    at_disc = (v + np.cross(w, [0.38, -0.01, 0.03]))[0]
    blown = stream_speed(thrust, at_disc, 1.2, 0.15, 1.0)
    local = v + np.cross(w, [-0.62, -0.01, 0.13]) + (blown, 0.0, 0.0)
    # The frame of the fin: x forward, z to the left, so y down.
    frame = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    force, torque = fin.air.law(fin.air.parameters, Vec3(*frame @ local), Vec3(*frame @ w), (0.1,), 1.2)
    none = Vec3(0.0, 0.0, 0.0)
    flow = Flow(Vec3(*v), Vec3(*v), none, (none,), 1.2)
    loads = loads_of(made, (1.0,), (1.0,), None, flow, none, LEVEL, Vec3(*w), (speed,), (0.1,))
    expected = frame.T @ numbers(force)
    np.testing.assert_allclose(numbers(loads.drag_force), expected, rtol=1e-12, atol=1e-12)
    lever = np.cross([-0.62, -0.01, 0.13], expected) + frame.T @ numbers(torque)
    np.testing.assert_allclose(numbers(loads.drag_torque), lever, rtol=1e-12, atol=1e-12)
    without = replace(made, surfaces=())
    rest = loads_of(without, (1.0,), (1.0,), None, flow, none, LEVEL, Vec3(*w), (speed,), (0.1,))
    assert numbers(rest.drag_force).tolist() == [0.0, 0.0, 0.0]
