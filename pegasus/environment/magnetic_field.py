"""The Earth's magnetic field."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from pygeomag import GeoMag
from pygeomag.wmm.wmm_2025 import WMM_2025

from pegasus.arrays import Array, namespace, row_product
from pegasus.components import require
from pegasus.environment.geodesy import EARTH_RADIUS, Geodetic, geodetic_from_local, map_axes
from pegasus.vectors import require_vector


def dipole_flux_density(
    position: Array,
    *,
    origin: Geodetic,
    pole_latitude: float,
    pole_longitude: float,
    equatorial_field: float,
    earth_radius: float,
) -> Array:
    """Return the field of a dipole at the Earth's centre [T], world ENU, shape (..., 3).

    Source: AirSim 2017, sec. 3.2.2. Its magnitude B0 (R / (R + h))^3 sqrt(1 + 3 cos^2) and its inclination
    tan I = 2 cot are those of B0 (R / (R + h))^3 (m - 3 (m . p) p), with the axis m towards the northern
    pole and the direction p of the place: a form without angles that is regular everywhere.

    Args:
        position: Positions in the world, ENU [m], shape (..., 3).
        origin: Place of the world's origin.
        pole_latitude: Latitude of the northern pole of the dipole [deg].
        pole_longitude: Longitude of that pole [deg].
        equatorial_field: Magnitude B0 at the dipole's equator at sea level [T].
        earth_radius: Radius R of the Earth [m].
    """
    xp = namespace(position)
    pole, place = math.radians(pole_latitude), math.radians(origin.latitude)
    turn = math.radians(pole_longitude - origin.longitude)
    axis_east = math.cos(pole) * math.sin(turn)
    axis_north = math.sin(pole) * math.cos(place) - math.cos(pole) * math.sin(place) * math.cos(turn)
    axis_up = math.sin(pole) * math.sin(place) + math.cos(pole) * math.cos(place) * math.cos(turn)
    east, north, up = map_axes(axis_east, axis_north, axis_up, position=position)
    ratio = earth_radius / (position[..., 2] + (earth_radius + origin.altitude))
    strength = equatorial_field * (ratio * ratio * ratio)
    flux_density: Array = xp.stack([strength * east, strength * north, -2 * strength * up], axis=-1)
    return flux_density


class MagneticField(ABC):
    """Base of magnetic field models: a dataclass with a flux density over position."""

    @abstractmethod
    def flux_density(self, position: Array, *, origin: Geodetic) -> Array:
        """Return the magnetic flux density in the world, ENU [T], shape (N, 3).

        The world's axes are those of its map (`geodesy.map_axes`): away from the origin, true north is
        where the latitude grows on the map, which is not quite along y.

        Args:
            position: Positions in the world, ENU [m], shape (N, 3).
            origin: Place of the world's origin.
        """


@dataclass(frozen=True)
class UniformField(MagneticField):
    """A field that is the same everywhere."""

    vector: tuple[float, float, float]
    """Magnetic flux density in the world, ENU [T]."""

    def __post_init__(self) -> None:
        require_vector("vector", self.vector, unit="T")
        require(
            max(abs(component) for component in self.vector) < 0.01,
            "vector",
            self.vector,
            "must be below 0.01 T",
            "give it in tesla; the Earth's field is some 5e-5 T",
        )

    def flux_density(self, position: Array, *, origin: Geodetic) -> Array:
        """Return the flux density; see `MagneticField.flux_density`."""
        flux_density = np.empty(position.shape)
        flux_density[:] = self.vector
        return flux_density


@dataclass(frozen=True)
class TiltedDipole(MagneticField):
    """The Earth as a dipole that is tilted against its axis.

    Over half of the Earth it is within 8 degrees and 12 % of the World Magnetic Model; over the South
    Atlantic it is up to 40 degrees and a factor of two off.
    """

    pole_latitude: float = 80.31
    """Latitude of the northern pole of the dipole [deg]."""
    pole_longitude: float = -72.62
    """Longitude of that pole [deg]."""
    equatorial_field: float = 3.12e-5
    """Magnitude at the dipole's equator at sea level [T]."""
    earth_radius: float = EARTH_RADIUS
    """Radius of the Earth [m]."""

    def __post_init__(self) -> None:
        require(
            -90 <= self.pole_latitude <= 90, "pole_latitude", self.pole_latitude, "must be from -90 to 90 deg"
        )
        longitude = self.pole_longitude
        require(-360 <= longitude <= 360, "pole_longitude", longitude, "must be from -360 to 360 deg")
        require(
            0 <= self.equatorial_field < 0.01,
            "equatorial_field",
            self.equatorial_field,
            "must be from 0 to below 0.01 T",
            "give it in tesla; the Earth's is 3.12e-5 T",
        )
        require(self.earth_radius > 0, "earth_radius", self.earth_radius, "must be above 0 m")

    def flux_density(self, position: Array, *, origin: Geodetic) -> Array:
        """Return the flux density; see `MagneticField.flux_density`."""
        return dipole_flux_density(
            position,
            origin=origin,
            pole_latitude=self.pole_latitude,
            pole_longitude=self.pole_longitude,
            equatorial_field=self.equatorial_field,
            earth_radius=self.earth_radius,
        )


Cell = tuple[int, int, int]

_CELL_SIZE = 2_000.0
"""Edge of a cell [m]: the field's curvature of 0.03 nT/km^2 makes an error below 0.05 nT."""
# Weights of a cell's eight corners in the coefficients of 1, x, y, xy, z, xz, yz, xyz over the unit cube.
_LINE = np.array([[1.0, 0.0], [-1.0, 1.0]])
_TRILINEAR = np.kron(_LINE, np.kron(_LINE, _LINE))


@dataclass
class WorldMagneticModel(MagneticField):
    """The World Magnetic Model 2025 of NOAA and the British Geological Survey.

    The model is evaluated, when first needed, at the corners of the cells of a fixed grid about the world's
    origin, and interpolated between them (less than 0.05 nT off the model, whose own error is 100 nT and
    more). The answer depends on the position alone, not on what was asked before. Altitudes above mean sea
    level stand for those above the ellipsoid, which changes the field by about 1 nT.
    """

    date: float = 2026.0
    """Date as a decimal year, 2025 to 2030."""

    _origin: Geodetic | None = field(init=False, default=None, repr=False, compare=False)
    _corners: dict[Cell, Array] = field(init=False, default_factory=dict, repr=False, compare=False)
    _cells: dict[Cell, Array] = field(init=False, default_factory=dict, repr=False, compare=False)
    _model: GeoMag = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(2025 <= self.date <= 2030, "date", self.date, "must be from 2025 to 2030")
        self._model = GeoMag(coefficients_data=WMM_2025)

    def flux_density(self, position: Array, *, origin: Geodetic) -> Array:
        """Return the flux density; see `MagneticField.flux_density`."""
        if origin is not self._origin:
            self._origin, self._corners, self._cells = origin, {}, {}
        # The origin lies in the middle of a cell, so that flights about it stay within one.
        place = position * (1 / _CELL_SIZE) + 0.5
        cells = np.floor(place)
        place -= cells
        if len(cells) == 1 or (cells == cells[0]).all():
            polynomial = self._cell(cells[0])
        else:
            polynomial = self._gather(cells)
        along_z = polynomial[..., :12] + place[:, 2:] * polynomial[..., 12:]
        along_y = along_z[..., :6] + place[:, 1:2] * along_z[..., 6:]
        along_x: Array = along_y[..., :3] + place[:, :1] * along_y[..., 3:]
        return along_x

    def _gather(self, cells: Array) -> Array:
        """Return the polynomials of many cells, shape (N, 24)."""
        code = (cells[:, 0] * 2.0**17 + cells[:, 1]) * 2.0**17 + cells[:, 2]
        _, first, index = np.unique(code, return_index=True, return_inverse=True)
        return np.stack([self._cell(cells[k]) for k in first])[index]

    def _cell(self, cell: Array) -> Array:
        """Return the coefficients of a cell's trilinear polynomial, shape (24,)."""
        key = tuple(cell.tolist())
        polynomial = self._cells.get(key)
        if polynomial is None:
            corners = [
                self._corner((int(key[0]) + i, int(key[1]) + j, int(key[2]) + k))
                for k in (0, 1)
                for j in (0, 1)
                for i in (0, 1)
            ]
            polynomial = self._cells[key] = row_product(_TRILINEAR, np.stack(corners)).reshape(24)
        return polynomial

    def _corner(self, corner: Cell) -> Array:
        """Return the model's flux density at a corner of the grid, world ENU [T], shape (3,)."""
        origin = self._origin
        assert origin is not None
        position = (np.array([corner]) - 0.5) * _CELL_SIZE
        latitude, longitude, altitude = (float(a[0]) for a in geodetic_from_local(position, origin=origin))
        result = self._model.calculate(latitude, longitude, altitude / 1000, self.date)
        # East at the corner, seen from the origin and then on the map.
        turn, place = math.radians(longitude - origin.longitude), math.radians(origin.latitude)
        east_x, east_y, _ = (
            float(a[0])
            for a in map_axes(
                math.cos(turn),
                math.sin(place) * math.sin(turn),
                -math.cos(place) * math.sin(turn),
                position=position,
            )
        )
        north, east = result.x, result.y
        return 1e-9 * np.array([east * east_x - north * east_y, east * east_y + north * east_x, -result.z])
