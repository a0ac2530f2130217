"""Tests of samples of wind, density and gravity: equal bits in Python, compiled and by row."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus.base import row_map
from pegasus.base.errors import ConfigError
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Real, Vec3
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
    SumWind,
    TiltedDipole,
    UniformGravity,
    UsStandardAtmosphere1976,
    Wind,
    WorldMagneticModel,
    samples,
)
from pegasus.environment.atmosphere import pressure_altitude_at, standard_air
from pegasus.environment.geodesy import geodetic_at, local_at
from pegasus.environment.gravity import GravityParameters, gravity_at
from pegasus.environment.magnetic_field import cell_flux_density, dipole_flux_density, dipole_parameters
from pegasus.environment.samples import Sampler, Samples
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


def sample(environment: Environment, position: np.ndarray, t: float, out: Samples) -> None:
    """Fill columns with the environment at positions."""
    Sampler(environment, position, out)(t)


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


def moon_at(p: UniformGravity, altitude: Real) -> Real:  # noqa: ARG001
    """Gravity of the Moon."""
    return p.acceleration


def weight_at(p: "WeightWind", position: Vec3, t: Real) -> Vec3:
    """Wind by the shipped gravity, whatever that of the world is."""
    return Vec3(gravity_at(p.earth, position[2]), t, 0.0)


def heavier_at(p: "HeavierGravity", altitude: Real) -> Real:
    """Shipped gravity and one percent."""
    return 1.01 * gravity_at(p.earth, altitude)


def thicker_law() -> Callable[..., tuple[Real, Real, Real]]:
    """Return a law of the air whose helper has the name of a shipped function."""

    def standard_air(density: Real) -> Real:
        return density * 2.0

    def thicker_at(p: "ThickerAir", altitude: Real) -> tuple[Real, Real, Real]:
        """Air of twice the density."""
        return 1e5 - altitude, 288.0, standard_air(p.sea_level_density)

    return thicker_at


EARTH = Environment().gravity.parameters


@dataclass(frozen=True)
class MoonGravity(UniformGravity):
    law: ClassVar = staticmethod(moon_at)
    parameters: ClassVar = UniformGravity(1.62)


@dataclass(frozen=True)
class WeightWind(Wind):
    law: ClassVar = staticmethod(weight_at)
    earth: GravityParameters = EARTH


@dataclass(frozen=True)
class HeavierGravity(Gravity):
    law: ClassVar = staticmethod(heavier_at)
    earth: GravityParameters = EARTH


@dataclass(frozen=True)
class ThickerAir(Atmosphere):
    law: ClassVar = staticmethod(thicker_law())
    sea_level_density: float = 1.2


ENVIRONMENTS = {
    "default": lambda: Environment(),
    "constant wind": lambda: Environment(
        origin=ORIGIN, wind=ConstantWind((1.0, 2.0, 3.0)), gravity=UniformGravity()
    ),
    "gusts": lambda: Environment(origin=ORIGIN, wind=gusts(), atmosphere=AIR),
    "custom step function": lambda: Environment(wind=ShearWind(0.3)),
    "custom NumPy wind": lambda: Environment(wind=NumPyWind()),
    "all custom": lambda: Environment(gravity=Doubled(), atmosphere=Thin(), wind=NumPyWind()),
    "sum of winds": lambda: Environment(
        wind=SumWind([ShearWind(), {"mean_velocity": [1.0, 2.0, 0.0]}, WeightWind(), gusts()])
    ),
    "laws that call shipped ones": lambda: Environment(
        gravity=MoonGravity(), wind=WeightWind(), atmosphere=ThickerAir()
    ),
    "custom density": lambda: Environment(atmosphere=ThinByDensity(), wind=ShearWind()),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("count", [1, 60])
def test_samples_are_those_of_the_array_methods(name: str, count: int) -> None:
    """Dynamics and sensors would use different environments."""
    environment, position, out = ENVIRONMENTS[name](), places(count), Samples.of(count)
    for t in (0.0, 2.5, 3.0):
        position += 1.0
        sample(environment, position, t, out)
        np.testing.assert_array_equal(out.wind_velocity, environment.wind_velocity(position, t))
        np.testing.assert_array_equal(out.air_density, environment.air_density(position))
        np.testing.assert_array_equal(out.gravity, environment.gravity_vector(position))


def test_each_law_calls_what_python_calls() -> None:
    """A custom gravity would take the place of the shipped one within the law of a wind, in silence."""
    out = Samples.of(60)
    moon = Environment(gravity=MoonGravity(), wind=WeightWind(), atmosphere=ThickerAir())
    sample(moon, places(60), 2.5, out)
    by_hand = [[gravity_at(EARTH, z), 2.5, 0.0] for z in places(60)[:, 2].tolist()]
    np.testing.assert_array_equal(out.wind_velocity, by_hand)
    np.testing.assert_array_equal(out.gravity[:, 2], -1.62)
    np.testing.assert_array_equal(out.air_density, 2.4)
    heavier = Environment(gravity=HeavierGravity())
    sample(heavier, places(60), 2.5, out)
    altitudes = heavier.altitude(places(60)).tolist()
    np.testing.assert_array_equal(out.gravity[:, 2], [-1.01 * gravity_at(EARTH, a) for a in altitudes])


def cubed_at(p: "CubedGravity", altitude: Real) -> Real:
    """Use the power operator, which processors do not round alike."""
    return p.acceleration + altitude**3


@dataclass(frozen=True)
class CubedGravity(Gravity):
    law: ClassVar = staticmethod(cubed_at)
    acceleration: float = 9.0


def test_a_law_that_cannot_be_compiled_is_named_with_its_line() -> None:
    """A user would look for the fault of a law in Pegasus."""
    line = next(
        k for k, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "altitude**3" in text
    )
    with pytest.raises(
        ConfigError, match=rf"test_samples.py:{line}: `return .*; use numbers, vectors"
    ) as error:
        sample(Environment(gravity=CubedGravity()), places(3), 0.0, Samples.of(3))
    assert "power(x, y)" in str(error.value)


def test_samples_tell_of_a_change_of_model() -> None:
    """A wind that is set during a flight, or drawn again at a reset, would have no effect."""
    environment, position, out = Environment(wind=gusts()), places(5), Samples.of(5)
    changes = {
        "wind": ConstantWind((1.0, 2.0, 3.0)),
        "gravity": UniformGravity(1.62),
        "atmosphere": ThickerAir(),
        "origin": ORIGIN,
    }
    sampler = Sampler(environment, position, out)
    assert sampler.fits(environment, position, out)
    assert not sampler.fits(environment, position[:2], out)
    assert not sampler.fits(environment, position, Samples.of(5))
    environment.bind(np.random.default_rng(9))
    assert not sampler.fits(environment, position, out)
    for name, value in changes.items():
        sampler = Sampler(environment, position, out)
        setattr(environment, name, value)
        assert not sampler.fits(environment, position, out)
    out.wind_velocity[...] = 3.0
    sample(Environment(wind=NoWind()), position, 0.0, out)
    np.testing.assert_array_equal(out.wind_velocity, 0.0)


def test_unused_density_is_left_alone() -> None:
    """Density would be calculated although nothing uses it."""
    for atmosphere in (UsStandardAtmosphere1976(), Thin()):
        out = Samples.of(3, density_used=False)
        sample(Environment(atmosphere=atmosphere), places(3), 0.0, out)
        np.testing.assert_array_equal(out.air_density, 0.0)
        assert (out.gravity[:, 2] < 0).all()


def test_without_warp_the_models_are_evaluated_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment could be sampled only where the compiler is installed."""
    environment, position, out = ENVIRONMENTS["gusts"](), places(3), Samples.of(3)
    sample(environment, position, 2.5, out)
    for module in (row_map, samples):
        monkeypatch.setattr(module, "compiler", lambda: None)
    again = Samples.of(3)
    sample(environment, position, 2.5, again)
    for name in ("wind_velocity", "air_density", "gravity"):
        np.testing.assert_array_equal(getattr(again, name), getattr(out, name))


def test_no_vehicle_is_no_row() -> None:
    """A world without vehicles could not be stepped."""
    sample(Environment(wind=gusts()), np.zeros((0, 3)), 0.0, Samples.of(0))
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
