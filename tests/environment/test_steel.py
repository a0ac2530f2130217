"""Tests of steel objects against the textbook solution of a ball in a uniform field."""

import math
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus import Environment, Simulation
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec, parse
from pegasus.environment import SteelObject, UniformField

EARTH = (0.0, 0.0, 5e-5)
WORLD = {"name": "yard", "generator": {"model": "flat"}}


def around(steel: SteelObject) -> Environment:
    return Environment(magnetic_field=UniformField(vector=EARTH), steel=(steel,))


def test_a_ball_draws_the_field_in() -> None:
    """The boundary conditions of high permeability would fail: 3 B at the poles, and none at the equator."""
    environment = around(SteelObject(position=(1.0, 2.0, 3.0), radius=0.4))
    poles = np.array([[1.0, 2.0, 3.4], [1.0, 2.0, 2.6]])
    assert_allclose(environment.disturbed_field_at(poles), [[0, 0, 1.5e-4]] * 2, rtol=1e-9, atol=1e-18)
    equator = np.array([[1.4, 2.0, 3.0], [1.0, 1.6, 3.0], [1.0 + 0.4 * 0.6, 2.0 - 0.4 * 0.8, 3.0]])
    assert_allclose(environment.disturbed_field_at(equator), np.zeros((3, 3)), atol=1e-13)


def test_a_magnet_has_the_field_of_a_dipole() -> None:
    """A permanent moment would have the wrong size, sign or decay with distance."""
    magnet = SteelObject(position=(0.0, 0.0, 0.0), radius=0.1, moment=(2.0, 0.0, 0.0))
    environment = Environment(magnetic_field=UniformField(vector=(0.0, 0.0, 0.0)), steel=(magnet,))
    places = np.array([[0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.3, 0.0, 0.4]])
    field = environment.disturbed_field_at(places)
    # mu_0 / 4 pi m / r^3 is 1.6e-6 T at 0.5 m; at the last place n is (0.6, 0, 0.8).
    expected = [(3.2e-6, 0, 0), (0.4e-6, 0, 0), (-1.6e-6, 0, 0), (1.6e-6 * 0.08, 0, 1.6e-6 * 1.44)]
    assert_allclose(field, expected, rtol=1e-12, atol=1e-20)


def test_the_field_is_finite_within_and_that_of_the_surface() -> None:
    """A vehicle inside an object would read an infinite field."""
    environment = around(SteelObject(position=(0.0, 0.0, 0.0), radius=0.5, moment=(0.0, 30.0, 0.0)))
    inside, surface = environment.disturbed_field_at(np.array([[0.0, 0.1, 0.0], [0.0, 0.5, 0.0]]))
    assert_allclose(inside, surface, rtol=1e-12)
    assert_allclose(environment.disturbed_field_at(np.zeros((1, 3))), [EARTH])


def test_the_earths_field_is_left_alone() -> None:
    """Estimators that know the Earth's field would be told that of the steel."""
    environment = around(SteelObject(position=(0.0, 0.0, 0.0), radius=0.5))
    assert np.array_equal(environment.magnetic_field_at(np.array([[0.6, 0.0, 0.0]])), [EARTH])


def test_a_world_file_has_steel() -> None:
    """Objects of a world file would be ignored, their fields add up wrongly, or few rows differ from many."""
    items = [
        {"position": [2.0, 0.0, 0.5], "radius": 0.3},
        {"position": [-1.0, 1.0, 0.0], "radius": 0.1, "moment": [0.0, 0.0, 40.0]},
    ]
    place = np.array([[0.3, -0.2, 0.7]])
    world = parse(WORLD | {"steel": items}, WorldSpec)
    both = Environment.from_spec(world)
    earth = both.magnetic_field_at(place)
    parts = [
        Environment.from_spec(parse(WORLD | {"steel": [item]}, WorldSpec)).disturbed_field_at(place) - earth
        for item in items
    ]
    assert_allclose(both.disturbed_field_at(place) - earth, sum(parts), rtol=1e-9)
    assert math.hypot(*parts[0][0]) > 1e-7
    assert np.array_equal(
        both.disturbed_field_at(np.tile(place, (50, 1))), np.tile(both.disturbed_field_at(place), (50, 1))
    )
    with Simulation(world) as sim:
        assert np.array_equal(sim.environment.disturbed_field_at(place), both.disturbed_field_at(place))


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ({"position": [0, 0, 0], "radius": 0.0}, "steel.0.radius"),
        ({"position": [0, 0], "radius": 0.1}, "steel.0.position"),
        ({"position": [0, 0, 0]}, "steel.0.radius"),
        ({"position": [0, 0, 0], "radius": 0.1, "moment": [0, math.inf, 0]}, "steel.0.moment"),
    ],
)
def test_bad_steel_is_named(item: dict[str, object], field: str) -> None:
    """An invalid object would be accepted, or the error would not name its field."""
    with pytest.raises(ConfigError, match=re.escape(field)):
        parse(WORLD | {"steel": [item]}, WorldSpec)
