"""Lenses: projection of points to pixels, and its inverse."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, namespace
from pegasus.base.components import build, require
from pegasus.base.registry import Registry
from pegasus.optics.distortion import (
    brown_conrady,
    brown_conrady_inverse,
    brown_conrady_reach,
    kannala_brandt,
    kannala_brandt_inverse,
    kannala_brandt_reach,
)


class Lens(ABC):
    """Base of a lens; optical frame x right, y down, z forward.

    Pixels count from the upper left corner of the image: the centre of the first one is at (0.5, 0.5).
    """

    @abstractmethod
    def matrix(self, resolution: tuple[int, int]) -> Array:
        """Return the intrinsic matrix [pixels], shape (3, 3).

        Args:
            resolution: Width and height [pixels].
        """

    @abstractmethod
    def project(self, points: Array, resolution: tuple[int, int]) -> Array:
        """Return the projections of points [pixels], NaN for points out of view, shape (..., 2).

        Args:
            points: Points in the optical frame [m], shape (..., 3).
            resolution: Width and height [pixels].
        """

    @abstractmethod
    def directions(self, pixels: Array, resolution: tuple[int, int]) -> Array:
        """Return the unit directions of pixels in the optical frame, shape (..., 3).

        Directions are NaN outside the image circle of a fisheye.

        Args:
            pixels: Image positions [pixels], shape (..., 2).
            resolution: Width and height [pixels].
        """


@dataclass(frozen=True, kw_only=True)
class FocusedLens(Lens):
    """Lens with a focal length and a principal point; either field of view or focal length is given."""

    horizontal_fov: float | None = None
    """Angle between the left and the right edge of the image [rad]."""
    focal_length: tuple[float, float] | None = None
    """Focal lengths along x and y [pixels]; from `horizontal_fov`, with square pixels, when None."""
    center: tuple[float, float] | None = None
    """Principal point [pixels]; the image centre when None."""

    def _validate(self, widest: float) -> None:
        fov, focal, center = self.horizontal_fov, self.focal_length, self.center
        one = (fov is None) != (focal is None)
        remedy = "give exactly one of horizontal_fov [rad] and focal_length [pixels]"
        require(one, "horizontal_fov", fov, "must be given, unless focal_length is", remedy)
        if fov is not None:
            limit = f"must be above 0 and below {math.degrees(widest):g} degrees ({widest:.5g} rad)"
            require(0 < fov < widest, "horizontal_fov", fov, limit, "give it in radians")
        if focal is not None:
            positive = all(0 < f < math.inf for f in focal)
            require(positive, "focal_length", focal, "must hold two numbers above 0 [pixels]")
        if center is not None:
            finite = all(map(math.isfinite, center))
            require(finite, "center", center, "must hold two finite numbers [pixels]")

    def _reach(self, angle: float) -> float:
        """Return the image radius of an angle off the axis, in focal lengths."""
        return math.tan(angle)

    def _intrinsics(self, resolution: tuple[int, int]) -> tuple[Array, Array]:
        """Return focal lengths and centre [pixels], shape (2,) each."""
        width, height = resolution
        if self.focal_length is not None:
            focal = np.array(self.focal_length)
        else:
            assert self.horizontal_fov is not None
            focal = np.full(2, width / 2 / self._reach(self.horizontal_fov / 2))
        return focal, np.array((width / 2, height / 2) if self.center is None else self.center)

    def matrix(self, resolution: tuple[int, int]) -> Array:
        """Return the intrinsic matrix [pixels], shape (3, 3)."""
        (fx, fy), (cx, cy) = self._intrinsics(resolution)
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])


@dataclass(frozen=True, kw_only=True)
class Pinhole(FocusedLens):
    """Pinhole lens without distortion."""

    def __post_init__(self) -> None:
        self._validate(math.pi)

    def project(self, points: Array, resolution: tuple[int, int]) -> Array:
        """Return the projections of points [pixels], shape (..., 2)."""
        focal, center = self._intrinsics(resolution)
        return center + focal * _perspective(points)

    def directions(self, pixels: Array, resolution: tuple[int, int]) -> Array:
        """Return the unit directions of pixels, shape (..., 3)."""
        focal, center = self._intrinsics(resolution)
        return _forward((pixels - center) / focal)


@dataclass(frozen=True, kw_only=True)
class BrownConrady(FocusedLens):
    """Lens with radial and tangential distortion (Brown 1971, in OpenCV's rational form).

    `horizontal_fov` is the angle that the image would span without distortion.
    """

    k1: float = 0.0
    """Radial distortion, r^2 above the line."""
    k2: float = 0.0
    """Radial distortion, r^4 above the line."""
    k3: float = 0.0
    """Radial distortion, r^6 above the line."""
    k4: float = 0.0
    """Radial distortion, r^2 below the line."""
    k5: float = 0.0
    """Radial distortion, r^4 below the line."""
    k6: float = 0.0
    """Radial distortion, r^6 below the line."""
    p1: float = 0.0
    """Tangential distortion."""
    p2: float = 0.0
    """Tangential distortion."""

    def __post_init__(self) -> None:
        self._validate(math.pi)
        for name in ("k1", "k2", "k3", "k4", "k5", "k6", "p1", "p2"):
            require(math.isfinite(getattr(self, name)), name, getattr(self, name), "must be finite")

    @cached_property
    def _radial(self) -> tuple[float, ...]:
        return self.k1, self.k2, self.k3, self.k4, self.k5, self.k6

    @cached_property
    def _farthest(self) -> float:
        return brown_conrady_reach(self._radial)

    def project(self, points: Array, resolution: tuple[int, int]) -> Array:
        """Return the projections of points [pixels], NaN where the distortion would fold them back."""
        focal, center = self._intrinsics(resolution)
        plane = _perspective(points)
        radius = np.sqrt(plane[..., 0] ** 2 + plane[..., 1] ** 2)
        plane = np.where((radius < self._farthest)[..., None], plane, np.nan)
        return center + focal * brown_conrady(plane, radial=self._radial, tangential=(self.p1, self.p2))

    def directions(self, pixels: Array, resolution: tuple[int, int]) -> Array:
        """Return the unit directions of pixels, shape (..., 3)."""
        focal, center = self._intrinsics(resolution)
        plane = brown_conrady_inverse(
            (pixels - center) / focal,
            radial=self._radial,
            tangential=(self.p1, self.p2),
            reach=self._farthest,
        )
        return _forward(plane)


@dataclass(frozen=True, kw_only=True)
class KannalaBrandt(FocusedLens):
    """Fisheye lens, up to the whole sphere (Kannala and Brandt 2006, in OpenCV's form).

    `horizontal_fov` is the true angle between the left and the right edge.
    """

    k1: float = 0.0
    """Distortion, third power of the angle."""
    k2: float = 0.0
    """Distortion, fifth power of the angle."""
    k3: float = 0.0
    """Distortion, seventh power of the angle."""
    k4: float = 0.0
    """Distortion, ninth power of the angle."""

    def __post_init__(self) -> None:
        for name in ("k1", "k2", "k3", "k4"):
            require(math.isfinite(getattr(self, name)), name, getattr(self, name), "must be finite")
        self._validate(math.nextafter(2 * self._widest, math.inf))

    @cached_property
    def _coefficients(self) -> tuple[float, ...]:
        return self.k1, self.k2, self.k3, self.k4

    @cached_property
    def _widest(self) -> float:
        return kannala_brandt_reach(self._coefficients)

    def _reach(self, angle: float) -> float:
        return float(kannala_brandt(np.array(angle), coefficients=self._coefficients))

    def project(self, points: Array, resolution: tuple[int, int]) -> Array:
        """Return the projections of points [pixels], also beside and behind the camera, shape (..., 2)."""
        xp = namespace(points)
        focal, center = self._intrinsics(resolution)
        aside = xp.sqrt(points[..., 0] ** 2 + points[..., 1] ** 2)
        angle = xp.atan2(aside, points[..., 2])
        seen = (angle <= self._widest) & ((aside > 0) | (points[..., 2] > 0))
        radius = kannala_brandt(angle, coefficients=self._coefficients)
        scale = xp.where(seen, radius / xp.where(aside > 0, aside, 1.0), xp.nan)
        pixels: Array = center + focal * (points[..., :2] * scale[..., None])
        return pixels

    def directions(self, pixels: Array, resolution: tuple[int, int]) -> Array:
        """Return the unit directions of pixels, shape (..., 3)."""
        xp = namespace(pixels)
        focal, center = self._intrinsics(resolution)
        plane = (pixels - center) / focal
        radius = xp.sqrt(plane[..., 0] ** 2 + plane[..., 1] ** 2)
        angle = kannala_brandt_inverse(radius, coefficients=self._coefficients, reach=self._widest)
        scale = xp.sin(angle) / xp.where(radius > 0, radius, 1.0)
        directions: Array = xp.concat([plane * scale[..., None], xp.cos(angle)[..., None]], axis=-1)
        return directions


@dataclass(frozen=True)
class RowBand(Lens):
    """Rows of a lens's image, as an image of their own."""

    lens: Lens
    """Lens of the whole image."""
    first_row: int
    """First row."""
    height: int
    """Height of the whole image [pixels]."""

    def matrix(self, resolution: tuple[int, int]) -> Array:
        """Return the intrinsic matrix [pixels], shape (3, 3)."""
        matrix = self.lens.matrix((resolution[0], self.height))
        matrix[1, 2] -= self.first_row
        return matrix

    def project(self, points: Array, resolution: tuple[int, int]) -> Array:
        """Return the projections of points [pixels], shape (..., 2)."""
        whole = self.lens.project(points, (resolution[0], self.height))
        whole[..., 1] -= self.first_row
        return whole

    def directions(self, pixels: Array, resolution: tuple[int, int]) -> Array:
        """Return the unit directions of pixels, shape (..., 3)."""
        whole = pixels + np.array([0.0, self.first_row])
        return self.lens.directions(whole, (resolution[0], self.height))


LENSES: Registry[Lens] = Registry(
    "lens",
    group="pegasus.lenses",
    shipped={
        "pinhole": Pinhole,
        "brown_conrady": BrownConrady,
        "kannala_brandt": KannalaBrandt,
    },
)
"""Lenses by their name in YAML."""


def lens_from_spec(spec: Any) -> Lens:
    """Return the lens that a mapping describes; a lens is returned as it is.

    Args:
        spec: Mapping with `model` and the parameters, or a lens.

    Raises:
        ConfigError: If the lens is not known, or a parameter is not allowed.
    """
    if isinstance(spec, Lens):
        return spec
    require(isinstance(spec, dict), "lens", spec, "must be a mapping, such as {model: pinhole, ...}")
    return build(Lens, LENSES, spec, field="lens")


def distortion_model(lens: Lens) -> tuple[str, list[float]]:
    """Return the distortion model and coefficients that camera calibrations state; empty for other lenses.

    Source: ROS REP 104 and OpenCV's order of coefficients, k1, k2, p1, p2, k3, k4, k5, k6.
    """
    if isinstance(lens, KannalaBrandt):
        return "kannala_brandt", [lens.k1, lens.k2, lens.k3, lens.k4]
    if isinstance(lens, BrownConrady):
        plumb_bob = [lens.k1, lens.k2, lens.p1, lens.p2, lens.k3]
        rational = [lens.k4, lens.k5, lens.k6]
        return ("rational_polynomial", plumb_bob + rational) if any(rational) else ("plumb_bob", plumb_bob)
    return ("plumb_bob", [0.0] * 5) if isinstance(lens, Pinhole) else ("", [])


def pixel_grid(resolution: Sequence[int]) -> Array:
    """Return the centres of all pixels, row by row [pixels], shape (H, W, 2).

    Args:
        resolution: Width and height [pixels].
    """
    width, height = resolution
    grid = np.empty((height, width, 2))
    grid[..., 0] = np.arange(width) + 0.5
    grid[..., 1] = (np.arange(height) + 0.5)[:, None]
    return grid


def _perspective(points: Array) -> Array:
    """Return points projected on the plane z = 1, NaN for those behind the camera, shape (..., 2)."""
    xp = namespace(points)
    z = points[..., 2:]
    plane: Array = points[..., :2] / xp.where(z > 0, z, xp.nan)
    return plane


def _forward(plane: Array) -> Array:
    """Return the unit directions to points of the plane z = 1, shape (..., 3)."""
    xp = namespace(plane)
    x, y = plane[..., :1], plane[..., 1:]
    z = 1.0 / xp.sqrt(1.0 + x * x + y * y)
    directions: Array = xp.concat([x * z, y * z, z], axis=-1)
    return directions
