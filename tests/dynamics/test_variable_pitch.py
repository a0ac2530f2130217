"""Propeller of variable pitch: blade integrals, reversal, energy, compiled bits, flight, and wrong input."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from pegasus import Aircraft, ConfigError, Simulation
from pegasus.base.step_math import Vec3
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.base.tracing.launches import program_of
from pegasus.control import PlaneController
from pegasus.design import trim
from pegasus.dynamics import VariablePitchThrust
from pegasus.dynamics.variable_pitch import blade_thrust

RHO, SPEED = 1.225, 500.0
BLADES = {"diameter": 0.508, "blade_count": 2, "chord": 0.035}


def wrench(pitch, velocity, speed=SPEED):
    """Return force [N] and torque [N m] of the law."""
    p = VariablePitchThrust(**BLADES, pitch=pitch).parameters()
    return (np.array([v[k] for k in range(3)]) for v in blade_thrust(p, speed, Vec3(*velocity), RHO))


def integrated(pitch, climb):
    """Return thrust and torque by integrals over helical blades from a tenth of the radius on.

    The disc has one induced velocity; C_l = 5.7 sin(alpha) cos(alpha) up to 1.2, C_d = 0.015.
    """
    radius = 0.5 * BLADES["diameter"]
    edges = np.linspace(0.1 * radius, radius, 401)
    r, dr = 0.5 * (edges[1:] + edges[:-1]), 0.9 * radius / 400
    angle = np.arctan(np.tan(pitch) * 0.75 * radius / r)
    area = math.pi * radius**2

    def forces(v):
        along, through = SPEED * r, climb + v
        square, flow = along**2 + through**2, np.arctan2(through, along)
        alpha = angle - flow
        lift = np.clip(5.7 * np.sin(alpha), -1.2, 1.2) * np.cos(alpha)
        part = 0.5 * RHO * square * BLADES["blade_count"] * BLADES["chord"] * dr
        thrust = part * (lift * np.cos(flow) - 0.015 * np.sin(flow))
        return thrust.sum(), (part * (lift * np.sin(flow) + 0.015 * np.cos(flow)) * r).sum()

    v = brentq(lambda v: forces(v)[0] - 2.0 * RHO * area * v * (climb + v), 0.0, 60.0)
    return forces(v)


@pytest.mark.parametrize("climb", [0.0, 8.0, 16.0, 32.0])
@pytest.mark.parametrize("attack", [0.05, 0.1, 0.15])
def test_it_is_near_the_integrals_over_the_blades(attack, climb):
    """If this fails, one station does not stand for the blade, or the induced velocity is another."""
    pitch = attack + math.atan2(climb, 0.75 * 0.5 * BLADES["diameter"] * SPEED)
    force, torque = wrench(pitch, (0.0, 0.0, climb))
    thrust, moment = integrated(pitch, climb)
    assert force[2] == pytest.approx(thrust, rel=0.06)
    assert torque[2] == pytest.approx(moment, rel=0.06)


def test_small_pitch_in_hover_is_that_of_the_closed_form():
    """If this fails, the momentum balance is not solved: lambda^2 = C_T / 2 with the station's C_T."""
    radius, pitch = 0.5 * BLADES["diameter"], 0.05
    force, torque = wrench(pitch, (0.0, 0.0, 0.0))
    # T = A1 (theta u^2 - u v) with u at 3/4 R, and T = 2 rho A v^2.
    u = 0.75 * radius * SPEED
    a1 = 0.5 * RHO * 5.7 * BLADES["blade_count"] * BLADES["chord"] * 16.0 / 27.0 * radius
    a2 = 2.0 * RHO * math.pi * radius**2
    v = (-a1 * u + math.sqrt((a1 * u) ** 2 + 4.0 * a2 * a1 * pitch * u * u)) / (2.0 * a2)
    assert force[2] == pytest.approx(a2 * v * v, rel=0.01)
    profile = 0.5 * RHO * 0.015 * BLADES["blade_count"] * BLADES["chord"] * radius**4 / 4.0 * SPEED**2
    assert torque[2] == pytest.approx(force[2] * v / SPEED + profile, rel=0.02)


def test_reversed_pitch_reverses_the_thrust():
    """If this fails, a landing plane that reverses its blades is pushed on."""
    for pitch in (0.05, 0.2, 0.5):
        force, torque = wrench(pitch, (3.0, 0.0, 0.0))
        back, same = wrench(-pitch, (3.0, 0.0, 0.0))
        assert force[2] > 0.0
        np.testing.assert_allclose(back, force * (1.0, 1.0, -1.0), rtol=1e-12)
        np.testing.assert_allclose(same, torque, rtol=1e-12)
    force, _ = wrench(-0.2, (0.0, 0.0, 20.0))
    assert force[2] < -30.0


def scattered(count):
    """Return random pitches [rad], speeds [rad/s] and velocities [m/s] in all states, some of them zero."""
    rng = np.random.default_rng(4)
    pitch, speed = rng.uniform(-1.5, 1.5, count), rng.uniform(-600.0, 600.0, count)
    velocity = rng.normal(size=(count, 3)) * rng.choice([0.0, 1.0, 30.0], (count, 1))
    speed[::7] = 0.0
    return pitch, speed, velocity


def test_it_never_adds_energy():
    """If this fails for one of 10,000 states, the air drives shaft and motion together in still air."""
    pitch, speed, velocity = scattered(10_000)
    gained, size = [], []
    for angle, w, v in zip(pitch.tolist(), speed.tolist(), velocity, strict=True):
        force, torque = wrench(angle, v, w)
        gained.append(float(force @ v) - float(torque[2]) * w)
        size.append(abs(float(force[2] * v[2])) + abs(float(torque[2] * w)))
    assert np.median(size) > 1.0
    assert (np.array(gained) <= 1e-9 * np.array(size) + 1e-12).all()


def test_compiled_and_python_give_the_same_bits():
    """If this fails, the law that is tested is not the one that flies."""
    pitch, speed, velocity = scattered(200)
    p = VariablePitchThrust(**BLADES).parameters()

    def law(p, w, v):
        force, torque = blade_thrust(p, w, v, RHO)
        return (force, torque)

    given = uniform("p", p)
    force, torque = np.zeros((200, 3)), np.zeros((200, 3))
    arrays = {"w": speed, "v": velocity, "force": force, "torque": torque, **uniform_values(given)}
    program = program_of(law, given, column("w"), column("v", Vec3), outputs=("force", "torque"), count=200)
    program.launch(arrays, 200)()
    for k in range(200):
        pulled, turned = wrench(0.25, velocity[k], float(speed[k]))
        np.testing.assert_array_equal(force[k], pulled)
        np.testing.assert_array_equal(torque[k], turned)
    assert pitch.any()


def test_trim_holds_the_speed_and_pitches_the_blades():
    """If this fails, trim slows the propeller down instead of pitching its blades."""
    plane = Aircraft("variable_pitch_plane")
    slow, fast = trim(plane, 18.0), trim(plane, 32.0)
    blades = [channel.name for channel in plane.channels].index("blades")
    assert slow.command[0] == fast.command[0] == plane.channels[0].high
    assert 0.1 < slow.command[blades] < fast.command[blades] < 0.5


def test_the_controller_flies_by_the_pitch():
    """If this fails, the throttle slows the propeller down, or its blades keep their pitch."""
    pilot = PlaneController(airspeed=22.0)
    with Simulation("flat", seed=1) as sim:
        plane = sim.add(Aircraft("variable_pitch_plane", sensors={}, backends=[pilot]))
        blades = [joint.channel for joint in plane.machines[0].joints].index(
            [channel.name for channel in plane.channels].index("blades")
        )
        pilot.takeoff(height=30.0).wait(sim)
        pilot.loiter([100.0, 0.0, 40.0], radius=100.0)
        errors, angles = [], []
        for _ in range(300):
            sim.run(duration=0.1)
            angles.append(float(plane.columns["joint_angle"][0, blades]))
            x = plane.state.position[0]
            speed = float(np.linalg.norm(plane.state.velocity[0]))
            errors.append((math.hypot(x[0] - 100.0, x[1]) - 100.0, x[2] - 40.0, speed - 22.0))
        assert plane.columns["rotor_speed"][0, 0] == pytest.approx(500.0, abs=0.1)
    assert max(angles) - min(angles) > 0.02
    assert (np.abs(errors[-50:]).max(axis=0) < (0.5, 0.5, 0.4)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.01}},
            r"rotors\.0\.pitch_joint = 'blades': pitches blades whose thrust curve 'quadratic' has no pitch",
        ),
        (
            {
                "rotors": [
                    {"position": [0, 0, 0], "axis": [1, 0, 0], "direction": "cw", "pitch_joint": "blade"}
                ]
            },
            r"rotors\.0\.pitch_joint = 'blade': is no joint of the vehicle; did you mean blades\?",
        ),
        (
            {
                "rotors": [
                    {"position": [0, 0, 0], "axis": [1, 0, 0], "direction": "cw", "pitch_joint": "rudder"}
                ]
            },
            r"rotors\.0\.pitch_joint = 'rudder': also turns another part; give the blades a joint",
        ),
        (
            {"thrust_curve": {"model": "variable_pitch", **BLADES, "chord": 0.3}},
            r"chord = 0\.3: must be below the radius 0\.254 m",
        ),
        (
            {"thrust_curve": {"model": "variable_pitch", **BLADES, "max_lift": 7.0}},
            r"max_lift = 7\.0: must be below lift_slope = 5\.7",
        ),
    ],
)
def test_wrong_input_is_named(changes, message):
    """If this fails, blades that nothing pitches fly at a fixed pitch."""
    with pytest.raises(ConfigError, match=message):
        Aircraft({"extends": "variable_pitch_plane", **changes})
