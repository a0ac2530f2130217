"""Echoes of a lidar scan as step functions: the lidar equation, range noise, lost echoes, and points."""

from dataclasses import dataclass

from pegasus.base.step_math import Column, Real, Vec3, magnitude

BLOCK = 256
"""Rays per row of a launch: all arguments are copied for each row."""
_LARGEST = 1.7976931348623157e308


@dataclass
class EchoRows:
    """K rays of a scan, their hits and random numbers, and their echoes."""

    direction: Column[Vec3]
    """Unit directions in the world."""
    surface_normal: Column[Vec3]
    """Unit normals of the surfaces hit, in the world."""
    true_distance: Column[Real]
    """Distances of the hits [m], infinite without a hit."""
    material: Column[int]
    """Indices of the materials hit; -1 without a hit."""
    hit_entity: Column[int]
    """Indices of the entities hit."""
    reflectance: Column[Real]
    """Reflectance of each material, NaN where unknown; the last element is that of none."""
    unknown: Column[int]
    """1 if a material of unknown reflectance is hit; one row."""
    deviate: Column[Real]
    """Standard normal numbers of the range noise."""
    chance: Column[Real]
    """Uniform numbers from 0 to 1 that decide whether echoes are lost."""
    reach: Column[Real]
    """Measured distances [m], infinite without an echo."""
    power: Column[Real]
    """Intensities, 0 without an echo."""
    entity: Column[int]
    """Indices of the entities, -1 without an echo."""


@dataclass
class PointRows:
    """Scan of C columns of R rings, column by column, and its K echoes as points."""

    reach: Column[Real]
    """Distances of the echoes [m], infinite without one, C R rows."""
    power: Column[Real]
    """Intensities, C R rows."""
    entity: Column[int]
    """Indices of the entities, C R rows."""
    direction: Column[Vec3]
    """Unit directions in the sensor frame, C R rows."""
    world_direction: Column[Vec3]
    """The same in the world."""
    place: Column[Vec3]
    """Positions of the sensor in the world at each column [m], C rows."""
    delay: Column[Real]
    """Firing time of each column relative to the stamp [s], C rows."""
    point: Column[Vec3]
    """Points in the sensor frame [m], K rows."""
    world_point: Column[Vec3]
    """Points in the world [m], K rows."""
    point_reach: Column[Real]
    """Distances of the points [m], K rows."""
    point_power: Column[Real]
    """Intensities of the points, K rows."""
    point_ring: Column[int]
    """Rings of the points, K rows."""
    point_column: Column[int]
    """Columns of the points, K rows."""
    point_delay: Column[Real]
    """Firing times of the points relative to the stamp [s], K rows."""
    point_entity: Column[int]
    """Entities of the points, K rows."""


def find_echoes(
    i: int,
    rows: EchoRows,
    ray_count: int,
    material_count: int,
    min_range: Real,
    max_range: Real,
    min_intensity: Real,
    reference_range: Real,
    noise_sigma: Real,
    proportional_noise: Real,
    noisy: int,
    dropout: Real,
    range_dropout: Real,
    grazing_dropout: Real,
    lossy: int,
    nothing: Real,
) -> None:
    """Compute the echoes of one block of rays.

    Args:
        i: Number of the block.
        rows: The rays.
        ray_count: Number of all rays.
        material_count: Number of materials.
        min_range: Minimum range [m].
        max_range: Maximum range [m].
        min_intensity: Detection threshold.
        reference_range: See `lambertian_intensity`.
        noise_sigma: See `range_sigma`.
        proportional_noise: See `range_sigma`.
        noisy: 1 if there is range noise, else 0.
        dropout: See `survival_probability`.
        range_dropout: See `survival_probability`.
        grazing_dropout: See `survival_probability`.
        lossy: 1 if echoes are lost by chance, else 0.
        nothing: Infinity.
    """
    last = (i + 1) * BLOCK
    if last > ray_count:
        last = ray_count
    for k in range(i * BLOCK, last):
        reach = nothing
        power = 0.0
        entity = -1
        distance = rows.true_distance[k]
        if distance <= _LARGEST:
            cosine = incidence_cosine(rows.direction[k], rows.surface_normal[k])
            material = rows.material[k]
            if material < 0:
                material = material_count
            reflectance = rows.reflectance[material]
            if reflectance != reflectance:
                rows.unknown[0] = 1
            intensity = lambertian_intensity(distance, cosine, reflectance, reference_range)
            measured = distance
            if noisy == 1:
                measured = distance + range_sigma(distance, noise_sigma, proportional_noise) * rows.deviate[k]
            survives = 1
            if lossy == 1:
                probability = survival_probability(
                    distance, cosine, max_range, dropout, range_dropout, grazing_dropout
                )
                if rows.chance[k] >= probability:
                    survives = 0
            if (
                survives == 1
                and intensity >= min_intensity
                and measured >= min_range
                and measured <= max_range
            ):
                reach = measured
                power = intensity
                entity = rows.hit_entity[k]
        rows.reach[k] = reach
        rows.power[k] = power
        rows.entity[k] = entity


def write_points(i: int, rows: PointRows, column_count: int, ring_count: int) -> None:
    """Write the echoes of a scan as points, in the order of measurement.

    Args:
        i: Column of the first points.
        rows: The scan and the points.
        column_count: Number of columns C.
        ring_count: Number of rings R.
    """
    k = 0
    for column in range(i, column_count):
        place = rows.place[column]
        for ring in range(ring_count):
            ray = column * ring_count + ring
            reach = rows.reach[ray]
            if reach <= _LARGEST:
                rows.point[k] = rows.direction[ray] * reach
                rows.world_point[k] = rows.world_direction[ray] * reach + place
                rows.point_reach[k] = reach
                rows.point_power[k] = rows.power[ray]
                rows.point_ring[k] = ring
                rows.point_column[k] = column
                rows.point_delay[k] = rows.delay[column]
                rows.point_entity[k] = rows.entity[ray]
                k += 1


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
