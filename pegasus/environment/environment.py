"""The world around the vehicles: where it is, and its gravity, air, wind and magnetic field."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from pegasus.arrays import Array
from pegasus.components import build
from pegasus.environment.atmosphere import Air, Atmosphere, UsStandardAtmosphere1976
from pegasus.environment.geodesy import Geodetic, geodetic_from_local
from pegasus.environment.gravity import Gravity, InverseSquareGravity, UniformGravity
from pegasus.environment.magnetic_field import MagneticField, TiltedDipole, UniformField, WorldMagneticModel
from pegasus.environment.wind import ConstantWind, Gusts, NoWind, Wind
from pegasus.scenario import OriginSpec, WorldSpec

GRAVITIES: Mapping[str, type[Gravity]] = MappingProxyType(
    {"inverse_square": InverseSquareGravity, "uniform": UniformGravity}
)
ATMOSPHERES: Mapping[str, type[Atmosphere]] = MappingProxyType({"us_standard_1976": UsStandardAtmosphere1976})
MAGNETIC_FIELDS: Mapping[str, type[MagneticField]] = MappingProxyType(
    {"wmm2025": WorldMagneticModel, "tilted_dipole": TiltedDipole, "uniform": UniformField}
)
WINDS: Mapping[str, type[Wind]] = MappingProxyType({"none": NoWind, "constant": ConstantWind, "gusts": Gusts})


def _geodetic(origin: OriginSpec) -> Geodetic:
    return Geodetic(origin.latitude, origin.longitude, origin.altitude)


@dataclass(eq=False)
class Environment:
    """Gravity, air, wind and magnetic field over the positions of a world; the altitude is the origin's + z.

    Without arguments it is that of a world file that says nothing.
    """

    origin: Geodetic = field(default_factory=lambda: _geodetic(OriginSpec()))
    """Place of the world's origin."""
    gravity: Gravity = field(default_factory=InverseSquareGravity)
    atmosphere: Atmosphere = field(default_factory=UsStandardAtmosphere1976)
    magnetic_field: MagneticField = field(default_factory=WorldMagneticModel)
    wind: Wind = field(default_factory=NoWind)
    """May be replaced between two steps by one whose random stream is bound."""

    @classmethod
    def from_spec(cls, world: WorldSpec) -> "Environment":
        """Return the environment that a world file describes.

        Args:
            world: The world.

        Raises:
            ConfigError: If a model is unknown, or one of its parameters is unknown, missing or not allowed.
        """
        return cls(
            origin=_geodetic(world.origin),
            gravity=build(Gravity, GRAVITIES, world.gravity, field="gravity"),
            atmosphere=build(Atmosphere, ATMOSPHERES, world.atmosphere, field="atmosphere"),
            magnetic_field=build(
                MagneticField,
                MAGNETIC_FIELDS,
                world.magnetic_field,
                field="magnetic_field",
            ),
            wind=build(Wind, WINDS, world.wind, field="wind"),
        )

    def bind(self, rng: np.random.Generator) -> None:
        """Hand the wind its random stream; called before the first step and again at each reset.

        Args:
            rng: Random stream of the wind alone.
        """
        self.wind.bind(rng)

    @property
    def surface_gravity(self) -> float:
        """Acceleration of free fall at the world's origin [m/s^2]."""
        return float(self.gravity.magnitude(np.array([self.origin.altitude]))[0])

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
        """Return the magnetic flux density in the world [T], shape (N, 3).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        return self.magnetic_field.flux_density(position, origin=self.origin)

    def geodetic(self, position: Array) -> tuple[Array, Array, Array]:
        """Return latitude [deg], longitude [deg] in [-180, 180) and altitude [m], each of shape (N,).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        return geodetic_from_local(position, origin=self.origin)
