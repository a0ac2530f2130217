"""Tests of thrust curves against published figures."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.dynamics import FadingThrust, GazeboRotor, PolynomialThrust, PropellerThrust, QuadraticThrust

RHO = np.array([[1.225]])
STILL = np.zeros((1, 1))


def at(curve, speed, inflow=0.0, density=1.225):
    force, torque = curve.thrust(np.array([[speed]]), np.array([[inflow]]), np.array([[density]]))
    return float(force[0, 0]), float(torque[0, 0])


def test_iris_hovers_at_its_published_speed():
    """A wrong constant would shift the hover speed of 656 rad/s of 1.5 kg on four rotors."""
    curve = QuadraticThrust(thrust_constant=8.54858e-6, moment_ratio=0.06)
    speed = float(curve.rotor_speed(np.array([[1.5 * 9.80665 / 4]]), RHO)[0, 0])
    assert speed == pytest.approx(656, abs=0.5)
    force, torque = at(curve, speed)
    assert force == pytest.approx(1.5 * 9.80665 / 4)
    assert torque == pytest.approx(0.06 * force)


def test_a_reversed_rotor_pulls():
    """Squaring without the sign would make a backward-turning rotor push forward."""
    curve = QuadraticThrust(thrust_constant=1e-5, torque_constant=1e-7)
    assert at(curve, -100.0) == pytest.approx((-0.1, -0.001))


def test_airsim_rotor():
    """The published pair (4.179446 N, 0.055562 N m at 6396.667 rpm) fixes every factor of the formula."""
    curve = PropellerThrust(diameter=0.2286, thrust_coefficient=0.109919, power_coefficient=0.040164)
    assert at(curve, 6396.667 * 2 * np.pi / 60) == pytest.approx((4.179446, 0.055562), rel=1e-5)


def test_thrust_follows_the_air_density():
    """A propeller that ignores the density would fly as well on a mountain as at the sea."""
    curve = PropellerThrust(diameter=0.2286, thrust_coefficient=0.109919, power_coefficient=0.040164)
    low, high = at(curve, 600.0), at(curve, 600.0, density=0.6125)
    np.testing.assert_allclose(high, np.array(low) / 2, rtol=1e-12)


# UIUC propeller data, APC Slow Flyer 10x4.7 at 4014 rpm: J, C_T, C_P.
UIUC = [(0.142, 0.0994, 0.0451), (0.289, 0.0770, 0.0414), (0.438, 0.0502, 0.0352), (0.612, 0.0083, 0.0228)]


@pytest.mark.parametrize(("ratio", "thrust_coefficient", "power_coefficient"), UIUC)
def test_table_over_advance_ratio(ratio, thrust_coefficient, power_coefficient):
    """An advance ratio by radians instead of turns, or by radius, would look up the wrong row."""
    j, ct, cp = zip(*UIUC, strict=True)
    curve = PropellerThrust(diameter=0.254, thrust_coefficient=ct, power_coefficient=cp, advance_ratio=j)
    turns = 4014 / 60
    force, torque = at(curve, turns * 2 * np.pi, inflow=ratio * turns * 0.254)
    assert force == pytest.approx(thrust_coefficient * 1.225 * turns**2 * 0.254**4, rel=1e-9)
    assert torque == pytest.approx(power_coefficient * 1.225 * turns**2 * 0.254**5 / (2 * np.pi), rel=1e-9)


@pytest.mark.parametrize(
    "curve",
    [
        QuadraticThrust(thrust_constant=1e-5, moment_ratio=0.02),
        PolynomialThrust(
            coefficients=(0.1, -1e-4, 1.5e-5),
            inflow_linear=-2.5e-4,
            inflow_quadratic=0.01,
            moment_ratio=0.02,
            moment_linear=1e-5,
        ),
        PropellerThrust(
            diameter=0.25,
            thrust_coefficient=(0.14, 0.1, 0.02),
            power_coefficient=(0.06, 0.05, 0.03),
            advance_ratio=(-0.3, 0.0, 0.5),
        ),
    ],
)
def test_a_rotor_that_turns_backwards_is_a_mirror_image(curve):
    """A reversed rotor would have thrust of the wrong sign, or take a climb for a descent."""
    for speed, inflow in ((700.0, 0.0), (700.0, 4.0), (300.0, -3.0)):
        forwards, backwards = at(curve, speed, inflow), at(curve, -speed, -inflow)
        assert backwards == pytest.approx((-forwards[0], -forwards[1]), rel=1e-12)


def test_hector_propeller_steady_states():
    """The steady states of the epp1045 at 8, 10 and 12 V (speed, thrust) check the quadratic term."""
    curve = PolynomialThrust(coefficients=(0.0, 0.0, 1.538190483976698e-5), inflow_linear=-2.5224e-4)
    for speed, thrust in ((526.77, 4.268), (609.56, 5.715), (687.40, 7.268)):
        assert at(curve, speed)[0] == pytest.approx(thrust, rel=2e-4)
    assert at(curve, 600.0, inflow=2.0)[0] - at(curve, 600.0)[0] == pytest.approx(-2.5224e-4 * 2 * 600)


def test_crazyflie_polynomial():
    """The published polynomial in rpm, turned to rad/s, must lift 31.9 g at a plausible speed."""
    per_rpm = 60 / (2 * np.pi)
    curve = PolynomialThrust(coefficients=(0.0, -5.382e-7 * per_rpm, 2.4583e-10 * per_rpm**2))
    rpm = 18000.0
    assert at(curve, rpm / per_rpm)[0] == pytest.approx(-5.382e-7 * rpm + 2.4583e-10 * rpm**2, rel=1e-12)


@pytest.mark.parametrize(
    "curve",
    [
        PolynomialThrust(coefficients=(0.0, 1e-5, 1e-5)),
        PolynomialThrust(coefficients=(0.0, 1e-5, 1e-5, 1e-8)),
        PropellerThrust(diameter=0.25, thrust_coefficient=0.1, power_coefficient=0.05),
        PropellerThrust(
            diameter=0.25,
            thrust_coefficient=(0.1, 0.05),
            power_coefficient=(0.05, 0.04),
            advance_ratio=(0.0, 0.5),
        ),
        QuadraticThrust(thrust_constant=1e-5, moment_ratio=0.02),
    ],
)
def test_speed_for_a_thrust_is_the_inverse(curve):
    """A wrong inverse would make every controller push too much or too little."""
    wanted = np.array([[0.5, 2.0, 7.0]])
    speed = curve.rotor_speed(wanted, RHO)
    np.testing.assert_allclose(curve.thrust(speed, np.zeros((1, 3)), RHO)[0], wanted, rtol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: QuadraticThrust(thrust_constant=-1e-6, moment_ratio=0.01),
        lambda: QuadraticThrust(thrust_constant=1e-6),
        lambda: QuadraticThrust(thrust_constant=1e-6, moment_ratio=0.01, torque_constant=1e-8),
        lambda: PropellerThrust(diameter=0.0, thrust_coefficient=0.1, power_coefficient=0.1),
        lambda: PropellerThrust(diameter=0.2, thrust_coefficient=(0.1, 0.05), power_coefficient=0.1),
        lambda: PropellerThrust(
            diameter=0.2,
            thrust_coefficient=(0.1, 0.0),
            power_coefficient=(0.1, 0.0),
            advance_ratio=(0.5, 0.1),
        ),
        lambda: PropellerThrust(diameter=0.2, thrust_coefficient=0.0, power_coefficient=0.1),
        lambda: PropellerThrust(diameter=0.2, thrust_coefficient=0.1, power_coefficient=-0.1),
        lambda: PropellerThrust(
            diameter=0.2,
            thrust_coefficient=(-0.01, 0.1),
            power_coefficient=(0.05, 0.05),
            advance_ratio=(0.0, 0.5),
        ),
    ],
)
def test_impossible_parameters_are_refused(make):
    """An incomplete curve would fail, or give no thrust, during a flight."""
    with pytest.raises(ConfigError):
        make()


def test_gazebo_rotor_by_its_vectors():
    """Drag or rolling moment would differ from Gazebo's, which takes them across the axis in the world."""
    k, m, c, ratio = 8e-5, 2e-6, 9e-6, 0.02
    curve = GazeboRotor(thrust_constant=c, moment_ratio=ratio, rotor_drag=k, rolling_moment=m)
    rng, axis = np.random.default_rng(4), np.array([0.0, 0.0, 1.0])
    for _ in range(100):
        speed, velocity = rng.uniform(-900, 900), rng.normal(size=3) * 20
        force, torque = GazeboRotor.law(curve.parameters(), speed, Vec3(*velocity), 1.2)
        across = velocity - (velocity @ axis) * axis
        thrust = c * speed * abs(speed)
        assert list(force) == pytest.approx(list(thrust * axis - abs(speed) * k * across))
        assert list(torque) == pytest.approx(list(thrust * ratio * axis - abs(speed) * m * across))
    fading = GazeboRotor(thrust_constant=c, moment_ratio=ratio, max_airspeed=25.0)
    still = FadingThrust(thrust_constant=c, moment_ratio=ratio, max_airspeed=25.0)
    air = Vec3(3.0, -2.0, 5.0)
    one, other = (type(x).law(x.parameters(), 500.0, air, 1.2) for x in (fading, still))
    assert [list(v) for v in one] == [list(v) for v in other]
    with pytest.raises(ConfigError, match=r"rotor_drag = -1\.0: must be at least 0 and finite"):
        GazeboRotor(thrust_constant=c, moment_ratio=ratio, rotor_drag=-1.0)
