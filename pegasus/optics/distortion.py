"""Lens distortion and its inverse, on the plane z = 1 or over the angle off the optical axis."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, namespace

_ITERATIONS = 60
_CONVERGED = 1e-12


def brown_conrady(plane: Array, *, radial: Sequence[float], tangential: Sequence[float]) -> Array:
    """Return the distorted projections of points of the plane z = 1, in focal lengths, shape (..., 2).

    Source: Brown 1971, "Close-range camera calibration", in the rational form of OpenCV's camera calibration:
    x (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4 r^2 + k5 r^4 + k6 r^6) + 2 p1 x y + p2 (r^2 + 2 x^2), and y
    with the roles of p1 and p2 exchanged.

    Args:
        plane: Points of the plane, shape (..., 2).
        radial: k1 to k6.
        tangential: p1, p2.
    """
    xp = namespace(plane)
    x, y = plane[..., 0], plane[..., 1]
    p1, p2 = tangential
    squared = x * x + y * y
    scale, _ = _radial_scale(squared, radial)
    across = 2 * x * y
    seen: Array = xp.stack(
        [
            x * scale + p1 * across + p2 * (squared + 2 * x * x),
            y * scale + p2 * across + p1 * (squared + 2 * y * y),
        ],
        axis=-1,
    )
    return seen


def brown_conrady_jacobian(
    plane: Array, *, radial: Sequence[float], tangential: Sequence[float]
) -> tuple[Array, Array, Array]:
    """Return the derivatives of `brown_conrady`: x by x, x by y (equal to y by x), and y by y.

    Args:
        plane: Points of the plane, shape (..., 2).
        radial: k1 to k6.
        tangential: p1, p2.
    """
    x, y = plane[..., 0], plane[..., 1]
    p1, p2 = tangential
    scale, slope = _radial_scale(x * x + y * y, radial)
    xx = scale + 2 * x * x * slope + 2 * p1 * y + 6 * p2 * x
    xy = 2 * x * y * slope + 2 * p1 * x + 2 * p2 * y
    yy = scale + 2 * y * y * slope + 2 * p2 * x + 6 * p1 * y
    return xx, xy, yy


def brown_conrady_inverse(
    seen: Array, *, radial: Sequence[float], tangential: Sequence[float], reach: float
) -> Array:
    """Return the undistorted points of the plane z = 1; the inverse of `brown_conrady`.

    The radial part is inverted along the radius, where it increases up to `reach`; Newton's method on both
    coordinates adds the tangential part. NaN where no point within reach is projected.

    Args:
        seen: Projections of points, in focal lengths, shape (..., 2).
        radial: k1 to k6.
        tangential: p1, p2.
        reach: Radius up to which the lens does not fold back; see `brown_conrady_reach`.
    """
    xp = namespace(seen)
    target = xp.sqrt(seen[..., 0] ** 2 + seen[..., 1] ** 2)

    def along_radius(radius: Array) -> tuple[Array, Array]:
        scale, slope = _radial_scale(radius * radius, radial)
        return radius * scale, scale + 2 * radius * radius * slope

    # Beyond the reach, which tangential distortion shifts a little, Newton starts from its edge.
    radius = _increasing_inverse(along_radius, target, reach)
    radius = xp.where(xp.isnan(radius), 0.999 * reach if math.isfinite(reach) else xp.nan, radius)
    plane: Array = seen * (radius / xp.where(target > 0, target, 1.0))[..., None]
    if any(tangential):
        plane = _newton_on_plane(plane, seen, radial, tangential)
    missed = brown_conrady(plane, radial=radial, tangential=tangential) - seen
    missed = xp.abs(missed[..., 0]) + xp.abs(missed[..., 1])
    xx, xy, yy = brown_conrady_jacobian(plane, radial=radial, tangential=tangential)
    inside = xp.sqrt(plane[..., 0] ** 2 + plane[..., 1] ** 2) < reach
    found = inside & (missed < 1e-11 * (1 + target)) & (xx * yy > xy * xy) & (xx + yy > 0)
    point: Array = xp.where(found[..., None], plane, xp.nan)
    return point


def brown_conrady_reach(radial: Sequence[float]) -> float:
    """Return the radius up to which the projection increases; infinite without a limit.

    Args:
        radial: k1 to k6.
    """
    above = np.polynomial.Polynomial([1.0, *radial[:3]])
    below = np.polynomial.Polynomial([1.0, *radial[3:]])
    # The derivative of r N(r^2) / D(r^2), times D^2, with s = r^2.
    s = np.polynomial.Polynomial([0.0, 1.0])
    slope = above * below + 2 * s * (above.deriv() * below - above * below.deriv())
    # At a pole itself there is no value; just before it, the projection is unbounded.
    return math.sqrt(min(_first_root(slope), _first_root(below) * (1 - 1e-12)))


def kannala_brandt(angle: Array, *, coefficients: Sequence[float]) -> Array:
    """Return the image radius of an angle off the optical axis, in focal lengths, shape (...).

    Source: Kannala and Brandt 2006, "A generic camera model and calibration method", eq. 6, in the form of
    OpenCV's fisheye module: a (1 + k1 a^2 + k2 a^4 + k3 a^6 + k4 a^8).

    Args:
        angle: Angle off the axis [rad], shape (...).
        coefficients: k1 to k4.
    """
    k1, k2, k3, k4 = coefficients
    squared = angle * angle
    radius: Array = angle * (1 + squared * (k1 + squared * (k2 + squared * (k3 + squared * k4))))
    return radius


def kannala_brandt_inverse(radius: Array, *, coefficients: Sequence[float], reach: float) -> Array:
    """Return the angle off the axis at an image radius [rad], NaN if there is none, shape (...).

    Args:
        radius: Distance from the centre, in focal lengths, shape (...).
        coefficients: k1 to k4.
        reach: Angle up to which the lens does not fold back; see `kannala_brandt_reach`.
    """
    k1, k2, k3, k4 = coefficients

    def along_radius(angle: Array) -> tuple[Array, Array]:
        s = angle * angle
        slope: Array = 1 + s * (3 * k1 + s * (5 * k2 + s * (7 * k3 + s * 9 * k4)))
        return kannala_brandt(angle, coefficients=coefficients), slope

    return _increasing_inverse(along_radius, radius, reach)


def kannala_brandt_reach(coefficients: Sequence[float]) -> float:
    """Return the angle up to which the projection increases, pi at most [rad].

    Args:
        coefficients: k1 to k4.
    """
    k1, k2, k3, k4 = coefficients
    slope = np.polynomial.Polynomial([1.0, 3 * k1, 5 * k2, 7 * k3, 9 * k4])
    return min(math.pi, math.sqrt(_first_root(slope)))


def _radial_scale(squared: Array, radial: Sequence[float]) -> tuple[Array, Array]:
    """Return the radial factor at a squared radius, and its derivative by that."""
    k1, k2, k3, k4, k5, k6 = radial
    above = 1 + squared * (k1 + squared * (k2 + squared * k3))
    slope = k1 + squared * (2 * k2 + squared * 3 * k3)
    if k4 == k5 == k6 == 0:
        return above, slope
    below = 1 + squared * (k4 + squared * (k5 + squared * k6))
    below_slope = k4 + squared * (2 * k5 + squared * 3 * k6)
    return above / below, (slope * below - above * below_slope) / (below * below)


def _increasing_inverse(function: Any, target: Array, reach: float) -> Array:
    """Return the argument at which an increasing function takes a value: Newton's method within a bracket.

    Args:
        function: Returns value and derivative.
        target: The values, at least 0.
        reach: Where the function stops growing; infinite if it does not.
    """
    xp = namespace(target)
    largest = float(xp.max(xp.where(xp.isnan(target), 0.0, target))) if target.size else 0.0
    top = reach
    if not math.isfinite(top):
        top = 1.0
        while float(function(xp.asarray(top))[0]) < largest and top < 1e9:
            top *= 2
    end = float(function(xp.asarray(top))[0])
    low, high = xp.zeros_like(target), xp.full_like(target, top)
    # Near a fold or a pole Newton's method would creep.
    guess = xp.minimum(target, 0.9 * high)
    for _ in range(_ITERATIONS):
        value, slope = function(guess)
        above = value > target
        low, high = xp.where(above, low, guess), xp.where(above, guess, high)
        safe = xp.abs(slope) > 1e-300
        step = (value - target) / xp.where(safe, slope, 1.0)
        better = guess - step
        kept = safe & (better >= low) & (better <= high)
        better = xp.where(kept, better, 0.5 * (low + high))
        moved = float(xp.max(xp.abs(better - guess))) if target.size else 0.0
        guess = better
        if moved <= _CONVERGED * (1 + largest):
            break
    inverse: Array = xp.where(target <= end, guess, xp.nan)
    return inverse


def _newton_on_plane(
    plane: Array, seen: Array, radial: Sequence[float], tangential: Sequence[float]
) -> Array:
    xp = namespace(plane)
    for _ in range(_ITERATIONS):
        missed = brown_conrady(plane, radial=radial, tangential=tangential) - seen
        xx, xy, yy = brown_conrady_jacobian(plane, radial=radial, tangential=tangential)
        determinant = xx * yy - xy * xy
        determinant = xp.where(xp.abs(determinant) > 1e-12, determinant, xp.nan)
        x, y = missed[..., 0], missed[..., 1]
        step = xp.stack([yy * x - xy * y, xx * y - xy * x], axis=-1) / determinant[..., None]
        plane = plane - step
        moved = xp.where(xp.isnan(step), 0.0, xp.abs(step))
        if not moved.size or float(xp.max(moved)) <= _CONVERGED:
            break
    return plane


def _first_root(polynomial: Any) -> float:
    """Return the smallest real root above 0, infinite if there is none."""
    roots = polynomial.trim().roots()
    real = [float(root.real) for root in roots if abs(root.imag) < 1e-9 * (1 + abs(root)) and root.real > 0]
    return min(real, default=math.inf)
