"""Rotor in forward flight: Glauert's induced velocity, rotor drag, flapping moments, and energy."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.dynamics import PropellerThrust, RotorThrust
from pegasus.dynamics.forward_flight import flow_through

TABLE = {
    "diameter": 0.254,
    "advance_ratio": (0.0, 0.142, 0.216, 0.289, 0.361, 0.438, 0.51, 0.577, 0.647, 0.719),
    "thrust_coefficient": (
        *(0.1185, 0.0994, 0.0885, 0.0770, 0.0652),
        *(0.0502, 0.0343, 0.0178, -0.0011, -0.0218),
    ),
    "power_coefficient": (
        *(0.0480, 0.0451, 0.0436, 0.0414, 0.0392),
        *(0.0352, 0.0308, 0.0258, 0.0199, 0.0130),
    ),
}
"""APC Slow Flyer 10x4.7 at 4014 rpm and at rest, UIUC database."""
ROTOR = RotorThrust(**TABLE, flapping=0.6, induced_drag=0.3, hub_stiffness=0.8)
AXIAL = PropellerThrust(**TABLE, beyond="momentum")
SPEED, RHO = 600.0, 1.2
TIP = SPEED * 0.127
AREA = math.pi * 0.127**2


def at(curve, *velocity, speed=SPEED):
    """Return force and torque of a curve at a velocity through the air."""
    force, torque = curve.law(curve.parameters(), speed, Vec3(*velocity), RHO)
    return np.array([force[k] for k in range(3)]), np.array([torque[k] for k in range(3)])


@pytest.mark.parametrize("across", [0.0, 0.05, 0.3, 1.2])
@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.6])
def test_induced_velocity_is_the_root_of_glauert_equation(ratio, across):
    """A bisection that is stopped too early would leave thrust where there is none."""
    root = brentq(lambda v: v**2 * (across**2 + (ratio + v) ** 2) - 0.27**4, 0.0, 1.0, xtol=1e-15)
    flows = np.array([-5.0, 5.0])
    thrust = np.full(2, math.pi / 2 * 0.27**2)
    found = flow_through(np.array([ratio]), np.array([across]), flows, thrust)[0]
    assert found == pytest.approx(ratio + root, rel=1e-8)


def test_descent_joins_level_flight():
    """A step of the induced velocity between climb and descent would shake every landing."""
    flows, thrust = np.array([-5.0, 5.0]), np.array([0.3, -0.1])
    for across in (0.0, 0.1, 0.5):
        below, above = flow_through(np.array([-1e-9, 1e-9]), np.full(2, across), flows, thrust)
        assert below == pytest.approx(above, abs=1e-8)


@pytest.mark.parametrize("climb", [-12.0, -4.0, 0.0, 2.0, 6.0, 10.0, 16.0])
def test_axial_flight_is_that_of_the_propeller(climb):
    """Tables over the flow that are not those over the advance ratio would change the propeller itself."""
    expected, found = at(AXIAL, 0.0, 0.0, climb), at(ROTOR, 0.0, 0.0, climb)
    np.testing.assert_allclose(found[0], expected[0], atol=0.004 * 5.5)
    np.testing.assert_allclose(found[1], expected[1], atol=0.01 * 0.09)


@pytest.mark.parametrize("climb", [0.0, 1.0, 2.0])
def test_thrust_in_forward_flight_fulfils_momentum_theory(climb):
    """The thrust must be that of the blades at the flow which this thrust itself induces."""
    for level in np.linspace(1.0, 24.0, 24).tolist():
        force, _ = at(ROTOR, level, 0.0, climb)
        hover = force[2] / (2 * RHO * AREA)
        induced = brentq(lambda v, u=level, h=hover: v**2 * (u**2 + (climb + v) ** 2) - h**2, 0.0, 30.0)
        # In axial flight the same flow has the same thrust coefficient.
        flow = climb + induced
        inflow = brentq(lambda v, f=flow: v + axial_induced(v) - f, -15.5, 15.0)
        assert force[2] == pytest.approx(at(AXIAL, 0.0, 0.0, inflow)[0][2], rel=0.007)


def axial_induced(climb):
    """Return the induced velocity of axial flight [m/s], in the vortex-ring state by Leishman's curve."""
    hover = math.sqrt(at(AXIAL, 0.0, 0.0, climb)[0][2] / (2 * RHO * AREA))
    x = climb / hover
    if x >= 0:
        return -climb / 2 + math.sqrt(climb**2 / 4 + hover**2)
    return hover * (1 - 1.125 * x - 1.372 * x**2 - 1.718 * x**3 - 0.655 * x**4)


def test_translational_lift_gives_more_thrust_for_less_power():
    """A rotor without it would need as much power at 8 m/s as in hover."""
    hover, cruise = at(ROTOR, 0.0, 0.0, 0.0), at(ROTOR, 8.0, 0.0, 0.0)
    assert cruise[0][2] > 1.05 * hover[0][2]
    assert cruise[1][2] < 0.98 * hover[1][2]


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.5, -2.0])
def test_force_across_opposes_the_motion_and_is_linear(angle):
    """Rotor drag that does not oppose the motion, or is quadratic, is not that of Faessler et al."""
    for speed in (0.5, 1.0, 2.0):
        u = np.array([math.cos(angle), math.sin(angle), 0.0]) * speed
        force, _ = at(ROTOR, *u)
        np.testing.assert_allclose(force[:2], -force[2] * 0.9 * u[:2] / TIP, rtol=1e-3, atol=1e-9)


def test_hub_pitches_the_nose_up_in_forward_flight():
    """A moment of the other sign would make forward flight statically unstable."""
    _, forward = at(ROTOR, 4.0, 0.0, 0.0)
    mu = (4.0 / TIP) / (1 + (4.0 / TIP) ** 2)
    np.testing.assert_allclose(forward[:2], [0.0, -0.8 * 0.6 * mu], rtol=1e-9, atol=1e-12)
    _, sideways = at(ROTOR, 0.0, 4.0, 0.0)
    np.testing.assert_allclose(sideways[:2], [0.8 * 0.6 * mu, 0.0], rtol=1e-9, atol=1e-12)


def test_air_takes_energy_out_in_any_direction():
    """Shaft power less than thrust times climb and drag times motion would be energy from still air."""
    rng = np.random.default_rng(4)
    for _ in range(3000):
        u = rng.uniform(-25.0, 25.0, 3) * rng.uniform(0.0, 1.0)
        speed = rng.uniform(20.0, 900.0)
        force, torque = at(ROTOR, *u, speed=speed)
        assert torque[2] * speed - force @ u > 0.0, (u, speed)


@pytest.mark.parametrize("curve", [PropellerThrust, RotorThrust])
def test_download_is_that_of_hover_and_follows_the_flow_through_the_disc(curve):
    """A download that stays as the flow is reversed would take energy from still air."""
    loaded = curve(**TABLE, beyond="momentum", download=0.06)
    alone = curve(**TABLE, beyond="momentum")
    for climb, expected in ((0.0, 0.06), (3.0, 0.06), (10.0, 0.06), (-16.0, 0.0)):
        (force, torque), (plain, same) = at(loaded, 0.0, 0.0, climb), at(alone, 0.0, 0.0, climb)
        assert 1.0 - force[2] / plain[2] == pytest.approx(expected, abs=1e-3)
        np.testing.assert_array_equal(torque, same)
    speed = loaded.rotor_speed(np.array([[4.0]]), np.array([[RHO]]))[0, 0]
    assert at(loaded, 0.0, 0.0, 0.0, speed=speed)[0][2] == pytest.approx(4.0, rel=1e-6)
    for climb in np.linspace(-25.0, 16.0, 83):
        force, torque = at(loaded, 0.0, 0.0, climb)
        assert torque[2] * SPEED - force[2] * climb > 0.0


@pytest.mark.parametrize("climb", [-1e-10, 0.0, 1e-10])
def test_rotor_at_rest_has_no_force_across_its_axis(climb):
    """A division by the tip speed would give a rotor at rest in wind an infinite force or NaN."""
    for speed in (0.0, 1e-12, 1e-3):
        force, torque = at(ROTOR, 12.0, -3.0, climb, speed=speed)
        assert np.abs(force).max() < 1e-6
        assert np.abs(torque).max() < 1e-4


@pytest.mark.parametrize("curve", [AXIAL, ROTOR])
@pytest.mark.parametrize("climb", [-20.0, -5.0, 5.0, 20.0])
def test_stopped_rotor_has_the_drag_of_its_blades(curve, climb):
    """A vehicle without power would fall as in vacuum, or slow and stopped rotors have other drags."""
    stopped, _ = at(curve, 0.0, 0.0, climb, speed=0.0)
    # By density, the square of the speed and the area of the disc, of which the blades cover a tenth.
    assert -np.sign(climb) * stopped[2] / (0.5 * RHO * AREA * climb**2) == pytest.approx(0.12, abs=0.03)
    slow, torque = at(curve, 0.0, 0.0, climb, speed=1.0)
    assert slow[2] == pytest.approx(stopped[2], rel=1e-12)
    assert abs(torque[2]) < 1e-5
    # It joins that of a turning rotor: at the end of the tables, J = -2 and 1.71.
    edge = 2 * math.pi * climb / (curve.diameter * (-2.0 if climb < 0 else 1.71))
    for near in (0.999, 1.001):
        turning, _ = at(curve, 0.0, 0.0, climb, speed=near * edge)
        assert turning[2] == pytest.approx(stopped[2], rel=0.03)


def test_speed_in_still_air_is_the_inverse_of_thrust():
    """Controllers would command speeds of another thrust."""
    speed = ROTOR.rotor_speed(np.array([[4.0]]), np.array([[RHO]]))[0, 0]
    assert at(ROTOR, 0.0, 0.0, 0.0, speed=speed)[0][2] == pytest.approx(4.0, rel=0.003)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("flapping", {"flapping": -0.1}),
        ("induced_drag", {"induced_drag": math.inf}),
        ("hub_stiffness", {"hub_stiffness": -1.0}),
        ("download", {"download": 1.0}),
        ("beyond", {"beyond": "held"}),
        ("beyond", {"advance_ratio": None, "thrust_coefficient": 0.1, "power_coefficient": 0.04}),
    ],
)
def test_impossible_parameters_are_refused(field, change):
    """A rotor without tables has no flow, and a negative tilt would push it forward."""
    with pytest.raises(ConfigError, match=f"^{field}(:| =)"):
        RotorThrust(**{**TABLE, **change})
