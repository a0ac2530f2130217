"""Echoes of a lidar scan as laws of a ray: the lidar equation, range noise, and lost echoes."""

import math
from dataclasses import dataclass

from pegasus.base.step_math import Real, Vec3, magnitude


@dataclass(frozen=True)
class Ray:
    """A ray of a scan, its hit and its random numbers."""

    direction: Vec3
    """Unit direction in the world."""
    surface_normal: Vec3
    """Unit normal of the surface hit, in the world."""
    distance: Real
    """Distance of the hit [m], infinite without one."""
    reflectance: Real
    """Reflectance of the material hit."""
    entity: int
    """Index of the entity hit."""
    deviate: Real
    """Standard normal number of the range noise."""
    chance: Real
    """Uniform number from 0 to 1 that decides whether the echo is lost."""


@dataclass(frozen=True)
class Detector:
    """Numbers of a lidar; see `pegasus.cameras.lidar_model.LidarModel`."""

    min_range: float
    max_range: float
    min_intensity: float
    reference_range: float
    noise_sigma: float
    proportional_noise: float
    noisy: int
    """1 if there is range noise, else 0."""
    dropout: float
    range_dropout: float
    grazing_dropout: float
    lossy: int
    """1 if echoes are lost by chance, else 0."""


@dataclass(frozen=True)
class Echo:
    """Echo of a ray."""

    range: Real
    """Measured distance [m], infinite without an echo."""
    intensity: Real
    """Intensity, 0 without an echo."""
    entity: int
    """Index of the entity, -1 without an echo."""


def echo_of(p: Detector, ray: Ray) -> Echo:
    """Return the echo of a ray.

    Args:
        p: The lidar.
        ray: The ray.
    """
    distance = ray.distance
    cosine = incidence_cosine(ray.direction, ray.surface_normal)
    intensity = lambertian_intensity(distance, cosine, ray.reflectance, p.reference_range)
    measured = distance
    if p.noisy == 1:
        measured = distance + range_sigma(distance, p.noise_sigma, p.proportional_noise) * ray.deviate
    heard = distance < math.inf and intensity >= p.min_intensity
    heard = heard and measured >= p.min_range and measured <= p.max_range
    if p.lossy == 1:
        probability = survival_probability(
            distance, cosine, p.max_range, p.dropout, p.range_dropout, p.grazing_dropout
        )
        heard = heard and ray.chance < probability
    if heard:
        return Echo(measured, intensity, ray.entity)
    return Echo(math.inf, 0.0, -1)


def incidence_cosine(direction: Vec3, normal: Vec3) -> Real:
    """Return the cosine of the angle between a ray and a surface normal, at least 0."""
    return magnitude(direction[0] * normal[0] + direction[2] * normal[2] + direction[1] * normal[1])


def lambertian_intensity(distance: Real, cosine: Real, reflectance: Real, reference_range: Real) -> Real:
    """Return the intensity of an echo from a diffuse surface that fills the beam.

    The lidar equation for an extended Lambertian target: reflectance, cosine of the incidence, and the
    inverse square of the distance (Wagner 2010, "Radiometric calibration of small-footprint full-waveform
    airborne laser scanner measurements: basic physical concepts").

    Args:
        distance: Distance [m].
        cosine: Cosine of the angle between ray and normal.
        reflectance: Diffuse reflectance.
        reference_range: Distance at which a white surface at normal incidence has an intensity of 1 [m].
    """
    ratio = reference_range / distance
    return reflectance * cosine * (ratio * ratio)


def survival_probability(
    distance: Real,
    cosine: Real,
    max_range: Real,
    dropout: Real,
    range_dropout: Real,
    grazing_dropout: Real,
) -> Real:
    """Return the probability that an echo survives three independent causes of loss.

    Args:
        distance: Distance [m].
        cosine: Cosine of the angle between ray and normal.
        max_range: Maximum range [m].
        dropout: Probability of loss at any distance.
        range_dropout: Probability of loss at `max_range`, growing with the square of distance.
        grazing_dropout: Probability of loss at grazing incidence, growing as 1 - cosine.
    """
    share = distance / max_range
    far = 1.0 - range_dropout * (share * share)
    grazing = 1.0 - grazing_dropout * (1.0 - cosine)
    return (1.0 - dropout) * far * grazing


def range_sigma(distance: Real, noise_sigma: Real, proportional_noise: Real) -> Real:
    """Return the standard deviation of range noise [m].

    Args:
        distance: Distance [m].
        noise_sigma: Standard deviation at a distance of zero [m].
        proportional_noise: Growth of the standard deviation with distance [m/m].
    """
    return noise_sigma + proportional_noise * distance
