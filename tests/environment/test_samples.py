"""Tests of samples of wind, density and gravity: equal bits in Python, compiled and by row."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus.base import row_map
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Vec3
from pegasus.environment import (
    Air,
    Atmosphere,
    ConstantWind,
    DiscreteGust,
    Environment,
    Geodetic,
    Gravity,
    Gusts,
    NoWind,
    Samples,
    TiltedDipole,
    UniformGravity,
    UsStandardAtmosphere1976,
    Wind,
    WorldMagneticModel,
    samples,
)
from pegasus.environment.atmosphere import pressure_altitude_at, standard_air
from pegasus.environment.geodesy import geodetic_at, local_at
from pegasus.environment.gravity import gravity_at
from pegasus.environment.magnetic_field import cell_flux_density, dipole_flux_density, dipole_parameters
from pegasus.environment.wind import wind_at

ORIGIN = Geodetic(47.4, 8.5, 1_500.0)
COUNT = 150


def gusts() -> Gusts:
    wind = Gusts(
        (5.0, 1.0, 0.2),
        mode_count=40,
        gust=DiscreteGust((3.0, 0.0, -1.0), start=2.0, rise_time=1.5, hold_time=1.0),
    )
    wind.bind(np.random.default_rng(3))
    return wind


def places(count: int = COUNT) -> np.ndarray:
    return np.random.default_rng(1).uniform([-9e3, -9e3, -2e3], [9e3, 9e3, 90e3], (count, 3))


POSITION = places()
FIELD = WorldMagneticModel()
FIELD.flux_density(np.zeros((1, 3)), origin=ORIGIN)
DIPOLE = TiltedDipole()
AIR = UsStandardAtmosphere1976(temperature_offset=7.0)
FUNCTIONS = {
    "gravity": (gravity_at, UniformGravity(3.7).parameters, [POSITION[:, 2].copy()], ()),
    "inverse-square gravity": (gravity_at, Environment().gravity.parameters, [POSITION[:, 2].copy()], ()),
    "atmosphere": (standard_air, AIR.parameters, [POSITION[:, 2].copy()], ()),
    "pressure altitude": (pressure_altitude_at, AIR.parameters, [np.geomspace(0.1, 2e5, COUNT)], ()),
    "constant wind": (wind_at, ConstantWind((1.0, 2.0, 3.0)).parameters, [POSITION], (1.0,)),
    "gusts": (wind_at, gusts().parameters, [POSITION], (3.7,)),
    "gusts' end": (wind_at, gusts().parameters, [POSITION], (1e4,)),
    "geodetic": (geodetic_at, ORIGIN, [POSITION], ()),
    "geodetic at the pole": (geodetic_at, Geodetic(90.0, 10.0), [POSITION], ()),
    "local": (local_at, ORIGIN, [*(np.linspace(-80, 89, COUNT) + d for d in (0.0, 170.0, 0.5))], ()),
    "dipole": (dipole_flux_density, dipole_parameters(DIPOLE, ORIGIN), [POSITION], ()),
    "magnetic cell": (cell_flux_density, FIELD._cells[0, 0, 0], [POSITION / 100], ()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_python_and_compiled_code_give_the_same_bits(name: str) -> None:
    """Debugging in Python, or a batch of another size, would give another environment."""
    function, parameters, columns, values = FUNCTIONS[name]
    compiled = RowMap(function, values=len(values), few=0)(parameters, *columns, *values)
    plain = RowMap(function, values=len(values), few=10**9)(parameters, *columns, *values)
    for ours, theirs in zip(np.atleast_1d(compiled), np.atleast_1d(plain), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert np.isfinite(ours).all()


def shear_at(p: "ShearWind", position: Vec3, t: float) -> Vec3:
    """Wind that rises with height, up to a limit, and with time."""
    height = position[2]
    if height > p.heights[1]:
        height = p.heights[1]
    return Vec3(p.rate * height, 0.0, 0.01 * t)


@dataclass(frozen=True)
class ShearWind(Wind):
    law: ClassVar = staticmethod(shear_at)
    rate: float = 0.5
    heights: tuple[float, ...] = (0.0, 50.0)


@dataclass(frozen=True)
class NumPyWind(Wind):
    def velocity(self, position: np.ndarray, t: float) -> np.ndarray:
        return np.stack([np.sin(position[:, 0] + t), position[:, 1], 0 * position[:, 2]], axis=1)


@dataclass(frozen=True)
class Doubled(UniformGravity):
    def magnitude(self, altitude: np.ndarray) -> np.ndarray:
        return 2 * super().magnitude(altitude)


@dataclass(frozen=True)
class Thin(Atmosphere):
    def air(self, altitude: np.ndarray) -> Air:
        return Air(altitude, altitude, np.full_like(altitude, 0.02))


@dataclass(frozen=True)
class ThinByDensity(UsStandardAtmosphere1976):
    def density(self, altitude: np.ndarray) -> np.ndarray:
        return super().density(altitude) / 2


ENVIRONMENTS = {
    "default": lambda: Environment(),
    "constant wind": lambda: Environment(
        origin=ORIGIN, wind=ConstantWind((1.0, 2.0, 3.0)), gravity=UniformGravity()
    ),
    "gusts": lambda: Environment(origin=ORIGIN, wind=gusts(), atmosphere=AIR),
    "custom step function": lambda: Environment(wind=ShearWind(0.3)),
    "custom NumPy wind": lambda: Environment(wind=NumPyWind()),
    "all custom": lambda: Environment(gravity=Doubled(), atmosphere=Thin(), wind=NumPyWind()),
    "custom density": lambda: Environment(atmosphere=ThinByDensity(), wind=ShearWind()),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("count", [1, 60])
def test_samples_are_those_of_the_array_methods(name: str, count: int) -> None:
    """Dynamics and sensors would use different environments."""
    environment, position, out = ENVIRONMENTS[name](), places(count), Samples.of(count)
    for t in (0.0, 2.5, 3.0):
        position += 1.0
        environment.sample(position, t, out)
        np.testing.assert_array_equal(out.wind_velocity, environment.wind_velocity(position, t))
        np.testing.assert_array_equal(out.air_density, environment.air_density(position))
        np.testing.assert_array_equal(out.gravity, environment.gravity_vector(position))


def test_samples_follow_a_change_of_model() -> None:
    """A wind that is set during a flight, or drawn again at a reset, would have no effect."""
    environment, position, out = Environment(), places(5), Samples.of(5)
    environment.sample(position, 0.0, out)
    environment.wind = ConstantWind((1.0, 2.0, 3.0))
    environment.sample(position, 0.0, out)
    np.testing.assert_array_equal(out.wind_velocity, [[1.0, 2.0, 3.0]] * 5)
    environment.wind = gusts()
    environment.sample(position, 0.0, out)
    first = out.wind_velocity.copy()
    environment.bind(np.random.default_rng(9))
    environment.sample(position, 0.0, out)
    assert (out.wind_velocity != first).all()
    environment.wind = NoWind()
    environment.gravity = UniformGravity(1.62)
    environment.origin = ORIGIN
    environment.sample(position, 0.0, out)
    np.testing.assert_array_equal(out.wind_velocity, 0.0)
    np.testing.assert_array_equal(out.gravity, [[0.0, 0.0, -1.62]] * 5)
    np.testing.assert_array_equal(out.air_density, environment.air_density(position))
    fewer = Samples.of(2)
    environment.sample(position[:2], 0.0, fewer)
    np.testing.assert_array_equal(fewer.air_density, out.air_density[:2])


def test_unused_density_is_left_alone() -> None:
    """Density would be calculated although nothing uses it."""
    for atmosphere in (UsStandardAtmosphere1976(), Thin()):
        out = Samples.of(3, density_used=False)
        Environment(atmosphere=atmosphere).sample(places(3), 0.0, out)
        np.testing.assert_array_equal(out.air_density, 0.0)
        assert (out.gravity[:, 2] < 0).all()


def test_without_warp_the_models_are_evaluated_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment could be sampled only where the compiler is installed."""
    environment, position, out = ENVIRONMENTS["gusts"](), places(3), Samples.of(3)
    environment.sample(position, 2.5, out)
    for module in (row_map, samples):
        monkeypatch.setattr(module, "compiler", lambda: None)
    again = Samples.of(3)
    environment.sample(position, 2.5, again)
    for name in ("wind_velocity", "air_density", "gravity"):
        np.testing.assert_array_equal(getattr(again, name), getattr(out, name))


def test_no_vehicle_is_no_row() -> None:
    """A world without vehicles could not be stepped."""
    Environment(wind=gusts()).sample(np.zeros((0, 3)), 0.0, Samples.of(0))
    assert Environment().gravity_vector(np.zeros((0, 3))).shape == (0, 3)
    assert Environment().air(np.zeros((0, 3))).density.shape == (0,)
    assert Environment().magnetic_field_at(np.zeros((0, 3))).shape == (0, 3)
    assert all(a.shape == (0,) for a in Environment().geodetic(np.zeros((0, 3))))


def test_a_model_without_a_formula_says_so() -> None:
    """A custom gravity without a formula would fail with an unrelated error."""

    @dataclass(frozen=True)
    class Nothing(Gravity):
        pass

    with pytest.raises(TypeError, match="Nothing has no formula; set its law"):
        Nothing().magnitude(np.zeros(1))
