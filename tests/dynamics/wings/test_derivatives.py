"""Airframes by stability derivatives: the Aerosonde by the formulas of its book, tables, energy, and bits."""

import math

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.base.components import build
from pegasus.dynamics.wings import WINGS, AirframeDerivatives, Expansion, Wing
from tests.dynamics.wings.aerosonde import AEROSONDE, RHO, book_wrench
from tests.dynamics.wings.wing_states import States, differing_bits, power, random_states, wrenches

ALPHAS = np.linspace(-0.5, 0.7, 7)
BETAS = np.linspace(-0.4, 0.4, 5)
GRID = np.sin(3 * ALPHAS[:, None]) * np.cos(BETAS) + 0.3 * BETAS
TABLES = AirframeDerivatives(
    area=0.5,
    span=2.0,
    chord=0.25,
    alpha_range=(-0.5, 0.7),
    beta_range=(-0.4, 0.4),
    CL=Expansion(zero=tuple(np.sin(4 * ALPHAS).tolist()), q=5.0, delta=(0.3, tuple(ALPHAS.tolist()))),
    CD=Expansion(zero=tuple((0.03 + ALPHAS**2).tolist())),
    CD_magnitude=(0.05, 0.1),
    CY=Expansion(zero=(tuple(BETAS.tolist()),)),
    Cl=Expansion(zero=tuple(map(tuple, GRID.tolist())), p=-0.4),
    Cm=Expansion(alpha=-0.5, delta=(-1.0, tuple(map(tuple, GRID.tolist())))),
    wind_axes=True,
)


def flight(alpha, beta, speed=20.0, rate=(0.0, 0.0, 0.0), deflection=()):
    """Return one state."""
    x, y, z = np.cos(alpha) * np.cos(beta), -np.sin(beta), -np.sin(alpha) * np.cos(beta)
    return States(speed * np.array([[x, y, z]]), np.array([rate]), np.array([deflection]))


def test_aerosonde_is_that_of_the_book():
    """A derivative of another sign or scale would fly the Aerosonde otherwise than the book."""
    states = random_states(10_000, 3)
    found = wrenches(AEROSONDE, states, RHO)
    parts = zip(states.velocity, states.rate, states.deflection, strict=True)
    expected = np.array([book_wrench(v, w, d) for v, w, d in parts])
    scale = np.linalg.norm(expected, axis=1, keepdims=True)
    assert (np.abs(found - expected) / scale).max() < 1e-10


def test_tables_against_scipy():
    """Values between the points, and beyond the ends, would not be those of the tables."""
    from scipy.interpolate import RegularGridInterpolator

    both = RegularGridInterpolator((ALPHAS, BETAS), GRID)
    for alpha, beta in np.random.default_rng(3).uniform(-0.9, 0.9, (300, 2)):
        a, b = np.clip(alpha, -0.5, 0.7), np.clip(beta, -0.4, 0.4)
        pressure = 0.5 * 1.2 * 20.0**2 * 0.5
        wrench = wrenches(TABLES, flight(alpha, beta, deflection=(0.1, -0.2)))[0]
        lift = np.interp(a, ALPHAS, np.sin(4 * ALPHAS)) + 0.03 - 0.2 * np.interp(a, ALPHAS, ALPHAS)
        drag = np.interp(a, ALPHAS, 0.03 + ALPHAS**2) + 0.025
        wind = np.array(
            [math.cos(alpha) * math.cos(beta), -math.sin(beta), -math.sin(alpha) * math.cos(beta)]
        )
        up = np.array([math.sin(alpha), 0.0, math.cos(alpha)])
        aside = np.array(
            [-math.cos(alpha) * math.sin(beta), -math.cos(beta), math.sin(alpha) * math.sin(beta)]
        )
        np.testing.assert_allclose(wrench[:3], pressure * (lift * up - drag * wind + b * aside), atol=1e-10)
        surface = both((a, b))
        pitch = -0.5 * alpha - 0.1 - 0.2 * surface
        np.testing.assert_allclose(
            wrench[3:], pressure * np.array([2.0 * surface, -0.25 * pitch, 0.0]), atol=1e-10
        )


def test_near_level_flight_only_takes_energy_out():
    """The Aerosonde would gain energy from still air in the flight that its derivatives were made for."""
    rng = np.random.default_rng(5)
    alpha, beta = rng.uniform(-0.2, 0.35, 5000), rng.uniform(-0.2, 0.2, 5000)
    velocity = 30.0 * np.stack(
        [np.cos(alpha) * np.cos(beta), -np.sin(beta), -np.sin(alpha) * np.cos(beta)], 1
    )
    gained, _ = power(AEROSONDE, States(velocity, rng.uniform(-0.5, 0.5, (5000, 3)), np.zeros((5000, 3))))
    assert (gained < 0).all()


@pytest.mark.parametrize("wing", [AEROSONDE, TABLES], ids=["aerosonde", "tables"])
def test_bits_are_those_of_compiled_code(wing):
    """A law that compiles to other bits than Python's would not be repeatable."""
    assert not differing_bits(wing)


def test_at_rest():
    """An airframe at rest would divide by zero."""
    still = np.zeros((1, 3))
    for wing in (AEROSONDE, TABLES):
        states = States(still, still, np.ones((1, wing.control_count)))
        np.testing.assert_allclose(wrenches(wing, states), 0.0, atol=1e-200)


BODY = {"model": "derivatives", "area": 0.5, "span": 2.0, "chord": 0.25}


def test_parameters_as_in_a_file():
    """A file could not give tables, and derivatives of several control surfaces."""
    lift = {"zero": [0.1, 0.2], "delta": [[0.1, 0.3], 0.2]}
    made = build(Wing, WINGS, {**BODY, "alpha_range": [-0.1, 0.3], "CL": lift}, field="x")
    assert made.CL.delta == ((0.1, 0.3), 0.2)
    assert made.control_count == 2
    assert made.polar(np.array([0.0]))[0][0] == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chord": 0.0}, "^x.chord = 0.0: must be above 0 m"),
        ({"stall_angle": -0.1}, "^x.stall_angle = -0.1: must be above 0, or left out"),
        ({"alpha_range": [0.3, 0.1]}, "^x.alpha_range .* must rise, within -pi and pi rad"),
        ({"CL": {"zero": [0.1, 0.2]}}, "^x.CL.zero .* needs alpha_range"),
        ({"alpha_range": [0, 1], "CL": {"zero": []}}, "^x.CL.zero .* two values at least"),
        ({"alpha_range": [0, 1], "CL": {"zero": [0.1]}}, "^x.CL.zero .* two values at least"),
        ({"alpha_range": [0, 1], "CL": {"zero": [[0.1, 1], [1, 2]]}}, "^x.CL.zero .* needs beta_range"),
        (
            {"alpha_range": [0, 1], "CL": {"zero": [1, 2]}, "CD": {"q": [1, 2, 3]}},
            "^x.CD.q .* must have 2 values over alpha",
        ),
        (
            {"alpha_range": [0, 1], "beta_range": [0, 1], "CL": {"zero": [[1, 2], [1, 2, 3]]}},
            "^x.CL.zero .* rows of equal length",
        ),
        (
            {"CL": {"delta": [1, 2]}, "Cm": {"delta": [1]}},
            "^x.Cm.delta .* one value for each control surface, 2",
        ),
        ({"CL": {"alhpa": 1}}, "^x.CL.alhpa: unknown field; did you mean alpha"),
    ],
)
def test_wrong_parameters(options, message):
    """A table without its angles, or a misspelt derivative, would fly in silence."""
    with pytest.raises(ConfigError, match=message):
        build(Wing, WINGS, {**BODY, **options}, field="x")
