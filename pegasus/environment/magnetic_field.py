"""Models of the Earth's magnetic field."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from pygeomag import GeoMag
from pygeomag.wmm.wmm_2025 import WMM_2025

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_vector
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Reals, Vec3, cos, floor, sin
from pegasus.environment.geodesy import EARTH_RADIUS, Geodetic, convergence, geodetic_at, level_turn, map_axes


@dataclass(frozen=True)
class DipoleParameters:
    """Parameters of `dipole_flux_density`."""

    axis: Vec3
    """Unit vector towards the northern pole of the dipole, ENU at the world's origin."""
    equatorial_field: float
    """Magnitude B0 at the dipole's equator at sea level [T]."""
    earth_radius: float
    """Radius R of the Earth [m]."""
    origin_radius: float
    """Distance of the world's origin from the Earth's centre [m]."""


def dipole_flux_density(p: DipoleParameters, position: Vec3) -> Vec3:
    """Return the field of a dipole at the Earth's centre [T], world ENU.

    Source: AirSim 2017, sec. 3.2.2. Its magnitude B0 (R / (R + h))^3 sqrt(1 + 3 cos^2) and its inclination
    tan I = 2 cot are those of B0 (R / (R + h))^3 (m - 3 (m . p) p), with the axis m towards the northern
    pole and the unit position p: a form without angles that is regular everywhere.

    Args:
        p: Parameters.
        position: Position in the world, ENU [m].
    """
    axis = map_axes(p.axis, position)
    ratio = p.earth_radius / (position[2] + p.origin_radius)
    strength = p.equatorial_field * (ratio * ratio * ratio)
    return Vec3(strength * axis[0], strength * axis[1], -2.0 * strength * axis[2])


@dataclass(frozen=True)
class CellParameters:
    """Parameters of `cell_flux_density`."""

    corner: Vec3
    """Lowest corner of the cell in the world, ENU [m]."""
    corners: tuple[float, ...]
    """Flux densities at its eight corners, along x first, then y, then z [T], 24 numbers."""


def cell_at(position: Vec3) -> Vec3:
    """Return the numbers of the cell of the World Magnetic Model that holds a position, whole numbers."""
    place = position * (1.0 / _CELL_SIZE) + Vec3(0.5, 0.5, 0.5)
    return Vec3(floor(place[0]), floor(place[1]), floor(place[2]))


def cell_flux_density(p: CellParameters, position: Vec3) -> Vec3:
    """Return the flux density interpolated between the corners of a cell [T], world ENU.

    Args:
        p: Parameters.
        position: Position in the world, ENU [m].
    """
    return interpolated_field(p.corner, p.corners, position)


def interpolated_field(corner: Vec3, corners: Reals, position: Vec3) -> Vec3:
    """Return the flux density interpolated between the corners of a cell [T], world ENU.

    Args:
        corner: Lowest corner of the cell [m].
        corners: Flux densities of `CellParameters`.
        position: Position in the world, ENU [m].
    """
    x = (position[0] - corner[0]) / _CELL_SIZE
    y = (position[1] - corner[1]) / _CELL_SIZE
    z = (position[2] - corner[2]) / _CELL_SIZE
    return Vec3(
        _trilinear(corners, 0, x, y, z), _trilinear(corners, 1, x, y, z), _trilinear(corners, 2, x, y, z)
    )


def _trilinear(corners: Reals, k: int, x: float, y: float, z: float) -> float:
    low = _bilinear(corners, k, x, y)
    return low + z * (_bilinear(corners, k + 12, x, y) - low)


def _bilinear(corners: Reals, k: int, x: float, y: float) -> float:
    near = corners[k] + x * (corners[k + 3] - corners[k])
    far = corners[k + 6] + x * (corners[k + 9] - corners[k + 6])
    return near + y * (far - near)


class MagneticField(ABC):
    """Base of magnetic field models: a dataclass that implements `flux_density`."""

    @abstractmethod
    def flux_density(self, position: Array, *, origin: Geodetic) -> Array:
        """Return the magnetic flux density in the world, ENU [T], shape (N, 3).

        The world's axes are those of its map: away from the origin true north deviates from y by
        `geodesy.convergence`.

        Args:
            position: Positions in the world, ENU [m], shape (N, 3).
            origin: Geographic position of the world's origin.
        """


@dataclass(frozen=True)
class UniformField(MagneticField):
    """Constant magnetic field."""

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
    """Dipole tilted against the Earth's axis.

    Over half of the Earth it is within 8 degrees and 12 % of the World Magnetic Model; over the South
    Atlantic the error is up to 40 degrees and a factor of two.
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
        flux_density: Array = _DIPOLE(dipole_parameters(self, origin), position)
        return flux_density


@lru_cache(maxsize=16)
def dipole_parameters(model: TiltedDipole, origin: Geodetic) -> DipoleParameters:
    """Return the parameters of `dipole_flux_density` about a world's origin."""
    pole, place = math.radians(model.pole_latitude), math.radians(origin.latitude)
    turn = math.radians(model.pole_longitude - origin.longitude)
    axis = Vec3(
        cos(pole) * sin(turn),
        sin(pole) * cos(place) - cos(pole) * sin(place) * cos(turn),
        sin(pole) * sin(place) + cos(pole) * cos(place) * cos(turn),
    )
    radius = model.earth_radius
    return DipoleParameters(axis, model.equatorial_field, radius, radius + origin.altitude)


_DIPOLE, _INTERPOLATION = RowMap(dipole_flux_density), RowMap(cell_flux_density)

Cell = tuple[int, int, int]

_CELL_SIZE = 2_000.0
"""Edge length of a cell [m]; with the field's curvature of 0.03 nT/km^2 the error is below 0.05 nT."""


@dataclass
class WorldMagneticModel(MagneticField):
    """World Magnetic Model 2025 of NOAA and the British Geological Survey.

    The model is evaluated on first use at the corners of the cells of a fixed grid about the world's origin,
    and interpolated between them. The interpolation error is below 0.05 nT; the model's error is at least 100
    nT. The result depends on the position only. Altitude above mean sea level is used as height above the
    ellipsoid, which changes the field by about 1 nT.
    """

    date: float = 2026.0
    """Date as a decimal year, 2025 to 2030."""

    _origin: Geodetic | None = field(init=False, default=None, repr=False, compare=False)
    _corners: dict[Cell, tuple[float, float, float]] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )
    _cells: dict[Cell, CellParameters] = field(init=False, default_factory=dict, repr=False, compare=False)
    _model: GeoMag = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(2025 <= self.date <= 2030, "date", self.date, "must be from 2025 to 2030")
        self._model = GeoMag(coefficients_data=WMM_2025)

    def flux_density(self, position: Array, *, origin: Geodetic) -> Array:
        """Return the flux density; see `MagneticField.flux_density`."""
        # The origin is the centre of a cell, so that flights near it use one cell.
        cells = np.floor(position * (1 / _CELL_SIZE) + 0.5)
        if len(cells) == 1 or (len(cells) and (cells == cells[0]).all()):
            return self._interpolate(cells[0], position, origin)
        flux_density = np.empty(position.shape)
        distinct, index = np.unique(cells, axis=0, return_inverse=True)
        for k, cell in enumerate(distinct):
            inside = index.reshape(-1) == k
            flux_density[inside] = self._interpolate(cell, position[inside], origin)
        return flux_density

    def cell(self, i: int, j: int, k: int, *, origin: Geodetic) -> CellParameters:
        """Return the corners of a cell; evaluated at the first use.

        Args:
            i: Number of the cell along x; see `cell_at`.
            j: Number along y.
            k: Number along z.
            origin: Geographic position of the world's origin.
        """
        if origin is not self._origin:
            self._origin, self._corners, self._cells = origin, {}, {}
        found = self._cells.get((i, j, k))
        if found is None:
            corners = [self._corner((i + a, j + b, k + c)) for c in (0, 1) for b in (0, 1) for a in (0, 1)]
            low = Vec3((i - 0.5) * _CELL_SIZE, (j - 0.5) * _CELL_SIZE, (k - 0.5) * _CELL_SIZE)
            parameters = CellParameters(low, tuple(number for corner in corners for number in corner))
            found = self._cells[i, j, k] = parameters
        return found

    def _interpolate(self, cell: Array, position: Array, origin: Geodetic) -> Array:
        """Return the flux density at positions in one cell [T], shape (N, 3)."""
        i, j, k = (int(number) for number in cell.tolist())
        flux_density: Array = _INTERPOLATION(self.cell(i, j, k, origin=origin), position)
        return flux_density

    def _corner(self, corner: Cell) -> tuple[float, float, float]:
        """Return the model's flux density at a corner of the grid, world ENU [T]."""
        if corner not in self._corners:
            origin = self._origin
            assert origin is not None
            i, j, k = corner
            position = Vec3((i - 0.5) * _CELL_SIZE, (j - 0.5) * _CELL_SIZE, (k - 0.5) * _CELL_SIZE)
            latitude, longitude, altitude = geodetic_at(origin, position)
            result = self._model.calculate(latitude, longitude, altitude / 1000, self.date)
            cosine, sine = convergence(origin, position)
            flux = level_turn(Vec3(result.y, result.x, -result.z), cosine, -sine) * 1e-9
            self._corners[corner] = flux.x, flux.y, flux.z
        return self._corners[corner]
