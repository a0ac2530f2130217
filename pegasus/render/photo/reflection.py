"""Reflection models for compiled paths.

Reflection is Lambertian plus a microfacet model with the distribution of Trowbridge and Reitz and Smith's
shadowing (Walter et al. 2007), as in the fast renderer; thin leaves also transmit light diffusely.
"""

import math
from typing import Any, NamedTuple

_LUMINANCE = (0.2126, 0.7152, 0.0722)  # ITU-R BT.709
_INVERSE_PI = 1.0 / math.pi
_LEAST_COSINE = 1e-3
# Reflectance of a clear coat at normal incidence.
_COAT = 0.04


class Look(NamedTuple):
    """Reflection parameters of surface points."""

    normal: Any
    """Shading normals on the side of the incoming rays."""
    facing: Any
    """Geometric normals on that side."""
    albedo: Any
    """Albedo."""
    base: Any
    """Diffuse reflectance."""
    mirror: Any
    """Reflectance at normal incidence."""
    alpha: Any
    """Roughness of the reflection, squared."""
    coat: Any
    """Strength of a clear coat, 0 to 1."""
    coat_alpha: Any
    """Roughness of the clear coat, squared."""
    through: Any
    """Diffuse transmittance."""


class Reflection:
    """Evaluation and sampling of reflection models.

    Args:
        mitsuba: The module mitsuba, its variant set.
        drjit: The module drjit.
    """

    def __init__(self, mitsuba: Any, drjit: Any) -> None:
        self._mi, self._dr = mitsuba, drjit

    def toward(self, look: Look, viewer: Any, light: Any) -> tuple[Any, Any]:
        """Return the reflected fraction of unit irradiance towards the viewer, and the sampling density."""
        mi, dr = self._mi, self._dr
        nl = dr.dot(look.normal, light)
        same = dr.dot(look.facing, light) > 0.0
        front = same & (nl > 0.0)
        nl = dr.abs(nl)
        nv = dr.maximum(dr.dot(look.normal, viewer), _LEAST_COSINE)
        half = dr.normalize(viewer + light)
        nh = dr.clip(dr.dot(look.normal, half), 0.0, 1.0)
        vh = dr.clip(dr.dot(viewer, half), 0.0, 1.0)
        grazing = _fifth(1.0 - vh)
        top = dr.minimum(50.0 * _luminance(look.mirror), 1.0)
        fresnel = look.mirror * (1.0 - grazing) + top * grazing
        lobe, density = self._lobe(look.alpha, nh, nl, nv)
        value = look.base * _INVERSE_PI + fresnel * lobe
        coat = look.coat * (_COAT + (1.0 - _COAT) * grazing)
        coat_lobe, coat_density = self._lobe(look.coat_alpha, nh, nl, nv)
        value = value * (1.0 - coat) + coat * coat_lobe
        value = dr.select(front, value * nl, dr.select(same, 0.0, look.through * (nl * _INVERSE_PI)))
        flat, glossy, coated, passed = self._shares(look, nv)
        reflected = flat * nl * _INVERSE_PI + glossy * density + coated * coat_density
        pdf = dr.select(front, reflected, dr.select(same, 0.0, passed * nl * _INVERSE_PI))
        return mi.Color3f(value), pdf

    def sample(self, look: Look, viewer: Any, choice: Any, place: Any) -> tuple[Any, Any, Any]:
        """Return sampled directions of incident light, their weights, and their density.

        Args:
            look: The surfaces.
            viewer: Unit directions to the viewer.
            choice: Random numbers that choose how light is scattered.
            place: Pairs of random numbers.
        """
        mi, dr = self._mi, self._dr
        nv = dr.maximum(dr.dot(look.normal, viewer), _LEAST_COSINE)
        flat, glossy, coated, _ = self._shares(look, nv)
        frame = mi.Frame3f(look.normal)
        mirrored = (choice >= flat) & (choice < flat + glossy + coated)
        alpha = dr.select(choice < flat + glossy, look.alpha, look.coat_alpha)
        local = frame.to_local(viewer)
        local.z = dr.maximum(local.z, _LEAST_COSINE)
        half = frame.to_world(self._half(dr.normalize(local), alpha, place))
        reflected = half * (2.0 * dr.dot(viewer, half)) - viewer
        diffuse = mi.warp.square_to_cosine_hemisphere(place)
        diffuse.z = dr.select(choice < flat, diffuse.z, -diffuse.z)
        light = dr.normalize(dr.select(mirrored, reflected, frame.to_world(diffuse)))
        value, pdf = self.toward(look, viewer, light)
        return light, dr.select(pdf > 1e-9, value / pdf, 0.0), pdf

    def _lobe(self, alpha: Any, nh: Any, nl: Any, nv: Any) -> tuple[Any, Any]:
        """Return distribution times shadowing over 4 nl nv, and the density of visible normals' mirrors."""
        dr = self._dr
        square = alpha * alpha
        q = nh * nh * (square - 1.0) + 1.0
        distribution = square * _INVERSE_PI / (q * q)
        seen = dr.sqrt(square + (1.0 - square) * nv * nv)
        lit = dr.sqrt(square + (1.0 - square) * nl * nl)
        # Smith's shadowing with heights correlated (Heitz 2014, eq. 99), and of the viewer alone (eq. 43).
        return (
            distribution * 0.5 / dr.maximum(nl * seen + nv * lit, 1e-9),
            distribution * 0.5 / (nv + seen),
        )

    def _half(self, viewer: Any, alpha: Any, place: Any) -> Any:
        """Return visible normals of microfacets (Dupuy and Benyoub 2023)."""
        mi, dr = self._mi, self._dr
        stretched = dr.normalize(mi.Vector3f(alpha * viewer.x, alpha * viewer.y, viewer.z))
        sine, cosine = dr.sincos(2.0 * math.pi * place.x)
        z = (1.0 - place.y) * (1.0 + stretched.z) - stretched.z
        radius = dr.sqrt(dr.clip(1.0 - z * z, 0.0, 1.0))
        cap = mi.Vector3f(radius * cosine, radius * sine, z) + stretched
        return dr.normalize(mi.Vector3f(alpha * cap.x, alpha * cap.y, dr.maximum(cap.z, 1e-6)))

    def _shares(self, look: Look, nv: Any) -> tuple[Any, Any, Any, Any]:
        """Return the probabilities of diffuse, glossy, coated and transmitted sampling."""
        dr = self._dr
        grazing = _fifth(1.0 - nv)
        mirror = _luminance(look.mirror)
        top = dr.minimum(50.0 * mirror, 1.0)
        flat, passed = _luminance(look.base), _luminance(look.through)
        glossy = mirror * (1.0 - grazing) + top * grazing
        coated = look.coat * (_COAT + (1.0 - _COAT) * grazing)
        whole = 1.0 / dr.maximum(flat + glossy + coated + passed, 1e-9)
        return flat * whole, glossy * whole, coated * whole, passed * whole


def _fifth(value: Any) -> Any:
    square = value * value
    return square * square * value


def _luminance(color: Any) -> Any:
    return _LUMINANCE[0] * color[0] + _LUMINANCE[1] * color[1] + _LUMINANCE[2] * color[2]
