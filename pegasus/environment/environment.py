"""Environment of a world: origin on Earth, gravity, atmosphere, wind and magnetic field."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import build
from pegasus.base.random_numbers import draw_key
from pegasus.base.registry import Registry
from pegasus.config.scenario import OriginSpec, WorldSpec
from pegasus.environment.atmosphere import Air, Atmosphere, UsStandardAtmosphere1976
from pegasus.environment.common_errors import CommonErrors
from pegasus.environment.ellipsoid import WGS84_FLATTENING
from pegasus.environment.geodesy import Geodetic, geodetic_from_local, local_from_map
from pegasus.environment.gravity import Gravity, InverseSquareGravity, NormalGravity, UniformGravity
from pegasus.environment.jamming import JAMMING, Cast, Jammer, JammerParameters, shielded_jamming
from pegasus.environment.magnetic_field import MagneticField, TiltedDipole, UniformField, WorldMagneticModel
from pegasus.environment.steel import STEEL_FIELD, SteelObject, SteelParameters
from pegasus.environment.wind import WINDS, NoWind, Wind

GRAVITIES: Registry[Gravity] = Registry(
    "gravity model",
    group="pegasus.gravities",
    shipped={"inverse_square": InverseSquareGravity, "normal": NormalGravity, "uniform": UniformGravity},
)
ATMOSPHERES: Registry[Atmosphere] = Registry(
    "atmosphere", group="pegasus.atmospheres", shipped={"us_standard_1976": UsStandardAtmosphere1976}
)
MAGNETIC_FIELDS: Registry[MagneticField] = Registry(
    "magnetic field",
    group="pegasus.magnetic_fields",
    shipped={"wmm2025": WorldMagneticModel, "tilted_dipole": TiltedDipole, "uniform": UniformField},
)


def _geodetic(origin: OriginSpec) -> Geodetic:
    flattening = WGS84_FLATTENING if origin.ellipsoid == "wgs84" else 0.0
    return Geodetic(origin.latitude, origin.longitude, origin.altitude, flattening)


def _gravity(origin: OriginSpec) -> dict[str, Any]:
    if origin.ellipsoid == "wgs84":
        return {"model": "normal", "latitude": origin.latitude}
    return {"model": "inverse_square"}


@dataclass(eq=False)
class Environment:
    """Gravity, air, wind and magnetic field at positions in a world; altitude is that of the origin plus z.

    The defaults are those of a world file.
    """

    origin: Geodetic = field(default_factory=lambda: _geodetic(OriginSpec()))
    """Geographic position of the world's origin."""
    gravity: Gravity = field(default_factory=InverseSquareGravity)
    atmosphere: Atmosphere = field(default_factory=UsStandardAtmosphere1976)
    magnetic_field: MagneticField = field(default_factory=WorldMagneticModel)
    wind: Wind = field(default_factory=NoWind)
    """Wind model; may be replaced between steps by one with a bound random stream."""
    steel: tuple[SteelObject, ...] = ()
    """Steel objects, which disturb the magnetic field."""
    jammers: tuple[Jammer, ...] = ()
    """Jammers of satellite navigation."""
    _steel: SteelParameters | None = field(init=False, default=None, repr=False)
    common_errors: CommonErrors = field(init=False, default_factory=lambda: CommonErrors(0), repr=False)
    """Errors that the sensors of the world have in common; new ones after `bind`."""

    @classmethod
    def from_spec(cls, world: WorldSpec) -> "Environment":
        """Return the environment of a world file.

        Args:
            world: The world.

        Raises:
            ConfigError: If a model is unknown, or one of its parameters is unknown, missing or not allowed.
        """
        return cls(
            origin=_geodetic(world.origin),
            gravity=build(Gravity, GRAVITIES, world.gravity or _gravity(world.origin), field="gravity"),
            atmosphere=build(Atmosphere, ATMOSPHERES, world.atmosphere, field="atmosphere"),
            magnetic_field=build(
                MagneticField,
                MAGNETIC_FIELDS,
                world.magnetic_field,
                field="magnetic_field",
            ),
            wind=build(Wind, WINDS, world.wind, field="wind"),
            jammers=tuple(Jammer(**item.model_dump()) for item in world.jammers),
            steel=tuple(SteelObject(**item.model_dump()) for item in world.steel),
        )

    def bind(self, rng: np.random.Generator) -> None:
        """Bind the random stream of wind and common errors; called before the first step and at each reset.

        Args:
            rng: Random stream of the environment.
        """
        self.wind.bind(rng)
        self.common_errors = CommonErrors(draw_key(rng))
        self._steel = None

    def altitude(self, position: Array) -> Array:
        """Return the altitude above mean sea level [m], shape (N,).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        altitude: Array = position[:, 2] + self.origin.altitude
        return altitude

    def gravity_vector(self, position: Array) -> Array:
        """Return the acceleration of free fall in the world [m/s^2], shape (N, 3).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        vector = np.zeros(position.shape)
        vector[:, 2] -= self.gravity.magnitude(self.altitude(position))
        return vector

    def air(self, position: Array) -> Air:
        """Return pressure [Pa], temperature [K] and density [kg/m^3] of the air, each of shape (N,).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        return self.atmosphere.air(self.altitude(position))

    def air_density(self, position: Array) -> Array:
        """Return the density of the air [kg/m^3], shape (N,).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        return self.atmosphere.density(self.altitude(position))

    def wind_velocity(self, position: Array, t: float) -> Array:
        """Return the velocity of the air in the world [m/s], shape (N, 3).

        Args:
            position: Positions in the world [m], shape (N, 3).
            t: Simulation time [s].
        """
        return self.wind.velocity(position, t)

    def magnetic_field_at(self, position: Array) -> Array:
        """Return the Earth's magnetic flux density in the world [T], shape (N, 3).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        return self.magnetic_field.flux_density(position, origin=self.origin)

    def disturbed_field_at(self, position: Array) -> Array:
        """Return the magnetic flux density of the Earth and of steel objects [T], shape (N, 3).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        field = self.magnetic_field_at(position)
        if not self.steel:
            return field
        if self._steel is None:
            numbers: list[float] = []
            for item in self.steel:
                earth = self.magnetic_field_at(np.array([item.position]))[0].tolist()
                numbers += [*item.position, item.radius, *item.total_moment(earth)]
            self._steel = SteelParameters(tuple(numbers))
        disturbed: Array = field + STEEL_FIELD(self._steel, position)
        return disturbed

    def jamming_at(self, position: Array, cast: Cast | None = None) -> Array:
        """Return the ratio of the density of all jammers to that of the noise, shape (N,).

        Args:
            position: Positions in the world [m], shape (N, 3).
            cast: Rays that find what shields from jammers; in line of sight of all of them if None.
        """
        if cast is not None and any(item.shielded_by_world for item in self.jammers):
            return shielded_jamming(self.jammers, position, cast)
        numbers = tuple(number for item in self.jammers for number in (*item.position, item.radius))
        ratio: Array = JAMMING(JammerParameters(numbers), position)
        return ratio

    def geodetic(self, position: Array) -> tuple[Array, Array, Array]:
        """Return latitude [deg], longitude [deg] in [-180, 180) and altitude [m], each of shape (N,).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        return geodetic_from_local(position, origin=self.origin)

    def local(self, vector: Array, position: Array) -> Array:
        """Return vectors of the world's axes in local east, north and up, shape (N, 3).

        The world is a map about its origin: far from there its y is not north (`geodesy.convergence`).

        Args:
            vector: Vectors in the world, shape (N, 3).
            position: Their positions in the world [m], shape (N, 3).
        """
        return local_from_map(vector, position, origin=self.origin)
