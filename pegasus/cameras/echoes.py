"""What becomes of a lidar's pulse: formulas of its echo, and of where the sensor is when it fires."""

import numpy as np

from pegasus.arrays import Array
from pegasus.frames import (
    conjugate,
    multiply,
    quaternion_from_rotation_vector,
    rotation_vector_from_quaternion,
)


def interpolated_poses(
    position: Array, orientation: Array, stamps: Array, times: Array
) -> tuple[Array, Array]:
    """Return poses between known ones: straight ways and steady turns; beyond the ends they stay.

    Args:
        position: Positions at S instants [m], shape (S, 3).
        orientation: Unit quaternions xyzw there, shape (S, 4).
        stamps: The instants, in order [s], shape (S,).
        times: Instants that are asked for [s], shape (T,).

    Returns:
        Positions, shape (T, 3), and orientations, shape (T, 4).
    """
    if len(stamps) == 1:
        return np.repeat(position, len(times), axis=0), np.repeat(orientation, len(times), axis=0)
    before = np.clip(np.searchsorted(stamps, times, side="right") - 1, 0, len(stamps) - 2)
    share = np.clip((times - stamps[before]) / np.diff(stamps)[before], 0.0, 1.0)[:, None]
    turns = rotation_vector_from_quaternion(multiply(conjugate(orientation[:-1]), orientation[1:]))
    way = position[before] + share * np.diff(position, axis=0)[before]
    return way, multiply(orientation[before], quaternion_from_rotation_vector(share * turns[before]))


def lambertian_intensity(
    distance: Array, cosine: Array, reflectance: Array, *, reference_range: float
) -> Array:
    """Return the power of echoes from matt surfaces that fill the beam, shape (...).

    The lidar equation for an extended Lambertian target: reflectance, cosine of the incidence, and the
    inverse square of the distance (Wagner 2010, "Radiometric calibration of small-footprint full-waveform
    airborne laser scanner measurements: basic physical concepts").

    Args:
        distance: Distances [m], shape (...).
        cosine: Cosines of the angles between ray and normal, shape (...).
        reflectance: Diffuse reflectances, shape (...).
        reference_range: Distance at which a white surface, met squarely, gives an intensity of 1 [m].
    """
    return reflectance * cosine * (reference_range / distance) ** 2


def survival_probability(
    distance: Array,
    cosine: Array,
    *,
    max_range: float,
    dropout: float,
    range_dropout: float,
    grazing_dropout: float,
) -> Array:
    """Return the probability that an echo is not lost for any of three independent reasons, shape (...).

    Args:
        distance: Distances [m], shape (...).
        cosine: Cosines of the angles between ray and normal, shape (...).
        max_range: Longest distance [m].
        dropout: Probability of loss anywhere.
        range_dropout: Probability of loss at the longest distance; it grows with the square of distance.
        grazing_dropout: Probability of loss along a surface; it grows as 1 - cosine.
    """
    far = 1.0 - range_dropout * (distance / max_range) ** 2
    grazing = 1.0 - grazing_dropout * (1.0 - cosine)
    probability: Array = (1.0 - dropout) * far * grazing
    return probability


def range_sigma(distance: Array, *, noise_sigma: float, proportional_noise: float) -> Array:
    """Return the standard deviation of the noise of distances [m], shape (...).

    Args:
        distance: Distances [m], shape (...).
        noise_sigma: That at a distance of zero [m].
        proportional_noise: What it grows by with each metre.
    """
    return noise_sigma + proportional_noise * distance
