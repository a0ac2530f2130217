"""Tests of the environment of a world file, over batches of positions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec
from pegasus.environment import (
    ConstantWind,
    DiscreteGust,
    Environment,
    Geodetic,
    Gusts,
    InverseSquareGravity,
    NoWind,
    TiltedDipole,
    UniformField,
    UniformGravity,
    UsStandardAtmosphere1976,
    WorldMagneticModel,
    geodetic_from_local,
)

ALOFT = Geodetic(47.4, 8.5, 1_500.0)


def world(**fields: Any) -> WorldSpec:
    """Return a world with changed fields."""
    return WorldSpec.model_validate({"name": "test", "usd": "test.usda", **fields})


def test_defaults_are_those_of_a_world_file() -> None:
    """An environment made in Python would differ from that of an empty world file."""
    ours, theirs = Environment(), Environment.from_spec(world())
    for name in ("origin", "gravity", "atmosphere", "magnetic_field", "wind"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.origin == Geodetic(38.736832, -9.137977, 90.0)
    assert (ours.gravity, ours.wind) == (InverseSquareGravity(), NoWind())
    assert (ours.atmosphere, ours.magnetic_field) == (UsStandardAtmosphere1976(), WorldMagneticModel(2026.0))


def test_every_model_can_be_named() -> None:
    """A model or one of its parameters could not be chosen in a world file."""
    environment = Environment.from_spec(
        world(
            origin={"latitude": 47.4, "longitude": 8.5, "altitude": 1500},
            gravity={"model": "uniform", "acceleration": 9.81},
            atmosphere={"model": "us_standard_1976", "temperature_offset": 10, "sea_level_pressure": 100_000},
            magnetic_field={"model": "uniform", "vector": [0, 2.2e-5, -4.2e-5]},
            wind={
                "model": "gusts",
                "mean_velocity": [3, 0, 0],
                "spectrum": "dryden",
                "gust": {"amplitude": [5, 0, 0], "start": 10, "rise_time": 2},
            },
        )
    )
    assert environment.origin == ALOFT
    assert environment.gravity == UniformGravity(9.81)
    assert environment.atmosphere == UsStandardAtmosphere1976(10.0, 100_000.0)
    assert environment.magnetic_field == UniformField((0.0, 2.2e-5, -4.2e-5))
    assert environment.wind == Gusts(
        (3.0, 0.0, 0.0), spectrum="dryden", gust=DiscreteGust((5.0, 0.0, 0.0), start=10.0, rise_time=2.0)
    )
    others = Environment.from_spec(
        world(
            magnetic_field={"model": "tilted_dipole"}, wind={"model": "constant", "mean_velocity": [1, 2, 3]}
        )
    )
    assert (others.magnetic_field, others.wind) == (TiltedDipole(), ConstantWind((1.0, 2.0, 3.0)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"wind": {"model": "storm"}}, r"wind\.model = 'storm'.*constant.*gusts.*none"),
        ({"wind": {"model": "constant"}}, r"wind\.mean_velocity: required"),
        ({"wind": {"model": "none", "speed": 3}}, r"wind\.speed: unknown"),
        (
            {
                "wind": {
                    "model": "gusts",
                    "mean_velocity": [1, 2, 3],
                    "gust": {"amplitude": [1, 0, 0], "start": 0, "rise_time": 0},
                }
            },
            r"wind\.gust\.rise_time = 0.0",
        ),
        (
            {
                "wind": {
                    "model": "gusts",
                    "mean_velocity": [1, 2, 3],
                    "gust": {"amplitude": [1, 0, 0], "start": 0, "rise_time": 1, "lenght": 3},
                }
            },
            r"wind\.gust\.lenght",
        ),
        ({"gravity": {"model": "uniform", "acceleration": -1}}, r"gravity\.acceleration = -1"),
        ({"atmosphere": {"model": "us_standard_1976", "sea_level_pressure": 1013}}, r"hPa"),
        ({"magnetic_field": {"model": "wmm2025", "date": 2031}}, r"magnetic_field\.date = 2031"),
    ],
)
def test_bad_worlds_name_the_field(fields: dict[str, Any], message: str) -> None:
    """A mistake in a world file would be accepted, or the error would not name the field."""
    with pytest.raises(ConfigError, match=message):
        Environment.from_spec(world(**fields))


def test_a_wind_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A world file could not name a custom wind."""
    (tmp_path / "shear_wind.py").write_text(
        "from dataclasses import dataclass\n"
        "import numpy as np\n"
        "from pegasus.environment import Wind\n"
        "@dataclass(frozen=True)\n"
        "class Shear(Wind):\n"
        "    rate: float\n"
        "    def velocity(self, position, t):\n"
        "        velocity = np.zeros(position.shape)\n"
        "        velocity[:, 0] = self.rate * position[:, 2]\n"
        "        return velocity\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    environment = Environment.from_spec(world(wind={"model": "shear_wind:Shear", "rate": 0.5}))
    environment.bind(np.random.default_rng(0))
    velocity = environment.wind_velocity(np.array([[0.0, 0.0, 10.0]]), 0.0)
    np.testing.assert_array_equal(velocity, [[5.0, 0.0, 0.0]])


def test_altitude_counts_from_the_origin() -> None:
    """A world on a mountain would have gravity, air and GPS altitude of sea level."""
    environment = Environment(origin=ALOFT)
    position = np.array([[10.0, 20.0, 300.0]])
    np.testing.assert_array_equal(environment.altitude(position), [1_800.0])
    expected = 9.80665 * (6_371_000 / 6_372_800) ** 2
    np.testing.assert_allclose(environment.gravity_vector(position), [[0, 0, -expected]], rtol=1e-14)
    assert -environment.gravity_vector(np.zeros((1, 3)))[0, 2] == pytest.approx(
        9.80665 * (6_371_000 / 6_372_500) ** 2, rel=1e-14
    )
    air = UsStandardAtmosphere1976().air(np.array([1_800.0]))
    assert environment.air(position) == air
    np.testing.assert_allclose(environment.air_density(position), air.density, rtol=1e-13)
    assert environment.geodetic(position) == geodetic_from_local(position, origin=ALOFT)
    assert environment.geodetic(position)[2] == 1_800.0


def test_bind_hands_the_wind_its_stream() -> None:
    """Gusts would not follow the simulation's seed."""
    position = np.zeros((1, 3))
    environment, wind = Environment(wind=Gusts((5.0, 0.0, 0.0))), Gusts((5.0, 0.0, 0.0))
    environment.bind(np.random.default_rng(3))
    wind.bind(np.random.default_rng(3))
    np.testing.assert_array_equal(environment.wind_velocity(position, 1.0), wind.velocity(position, 1.0))


def test_a_batch_is_its_members() -> None:
    """A vehicle's environment would change by a bit with the number of other vehicles."""
    environment = Environment(wind=Gusts((5.0, 0.0, 0.0)))
    environment.bind(np.random.default_rng(1))
    position = np.random.default_rng(2).uniform([-3e3, -3e3, -10], [3e3, 3e3, 4e3], (257, 3))

    def everything(some: Any) -> list[Any]:
        return [
            environment.gravity_vector(some),
            *environment.air(some),
            environment.air_density(some),
            environment.magnetic_field_at(some),
            environment.wind_velocity(some, 7.0),
            *environment.geodetic(some),
        ]

    alone = [everything(row[None]) for row in position]
    for column, together in enumerate(everything(position)):
        np.testing.assert_array_equal(np.concatenate([row[column] for row in alone]), together)
