"""Gravity, atmosphere, wind, magnetic field and geographic position of a world."""

from pegasus.environment.atmosphere import Air, Atmosphere, UsStandardAtmosphere1976, speed_of_sound
from pegasus.environment.composed_wind import GustWind, SumWind
from pegasus.environment.environment import ATMOSPHERES, GRAVITIES, MAGNETIC_FIELDS, Environment
from pegasus.environment.geodesy import Geodetic, geodetic_from_local, local_from_geodetic
from pegasus.environment.gravity import Gravity, InverseSquareGravity, NormalGravity, UniformGravity
from pegasus.environment.jamming import Jammer
from pegasus.environment.magnetic_field import MagneticField, TiltedDipole, UniformField, WorldMagneticModel
from pegasus.environment.steel import SteelObject
from pegasus.environment.thermals import Thermals
from pegasus.environment.turbulent_wind import DrydenWind, VonKarmanWind
from pegasus.environment.wind import WINDS, ConstantWind, DiscreteGust, Gusts, NoWind, Wind
from pegasus.environment.wind_field import WindField
from pegasus.environment.wind_profiles import LogWind, PowerWind

__all__ = [
    "ATMOSPHERES",
    "GRAVITIES",
    "MAGNETIC_FIELDS",
    "WINDS",
    "Air",
    "Atmosphere",
    "ConstantWind",
    "DiscreteGust",
    "DrydenWind",
    "Environment",
    "Geodetic",
    "Gravity",
    "GustWind",
    "Gusts",
    "InverseSquareGravity",
    "Jammer",
    "LogWind",
    "MagneticField",
    "NoWind",
    "NormalGravity",
    "PowerWind",
    "SteelObject",
    "SumWind",
    "Thermals",
    "TiltedDipole",
    "UniformField",
    "UniformGravity",
    "UsStandardAtmosphere1976",
    "VonKarmanWind",
    "Wind",
    "WindField",
    "WorldMagneticModel",
    "geodetic_from_local",
    "local_from_geodetic",
    "speed_of_sound",
]
