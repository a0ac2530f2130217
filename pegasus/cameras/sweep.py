"""A sweep: all that a lidar keeps of one scan so that its rays can be cast later, or never."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array, BoolArray
from pegasus.cameras.echoes import (
    interpolated_poses,
    lambertian_intensity,
    range_sigma,
    survival_probability,
)
from pegasus.frames import matrix_from_quaternion
from pegasus.render.renderer import NOTHING

if TYPE_CHECKING:
    from pegasus.cameras.lidar import Lidar
    from pegasus.render.visuals import Snapshot, Visuals
    from pegasus.scene.scene import Entity, Scene

Indices = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class LidarScan:
    """One scan of one lidar as a grid: R rings and C columns, the first of which fires first."""

    range: Array
    """Distance along the ray, infinite where nothing came back [m], shape (R, C)."""
    intensity: Array
    """Power of the echo, see `Lidar.reference_range`; 0 where nothing came back, shape (R, C)."""
    entity: Indices
    """Index into `LidarReading.entities`, -1 where nothing came back, shape (R, C)."""
    directions: Array
    """Unit directions of the rays in the sensor's frame when they fire, shape (R, C, 3)."""
    time_offset: Array
    """When each column fires, from the stamp on [s], at most 0, shape (C,)."""
    position: Array
    """Where the sensor is in the world when each column fires [m], shape (C, 3)."""
    rotation: Array
    """Sensor to world when each column fires, shape (C, 3, 3)."""


@dataclass(frozen=True, eq=False)
class PointCloud:
    """What came back of one scan of one lidar: K points in the order in which they were measured."""

    points: Array
    """Points in the sensor's frame at the time of each one [m], shape (K, 3)."""
    world_points: Array
    """The same in the world, by the true poses of the sensor at these times [m], shape (K, 3)."""
    range: Array
    """Distances from the sensor [m], shape (K,)."""
    intensity: Array
    """Power of the echoes, see `Lidar.reference_range`, shape (K,)."""
    ring: Indices
    """Which laser of the column it was, shape (K,)."""
    column: Indices
    """Which column of the scan, shape (K,)."""
    time_offset: Array
    """Times from the stamp on [s], at most 0, shape (K,)."""
    entity: Indices
    """Indices into `LidarReading.entities`, shape (K,)."""


@dataclass(frozen=True, eq=False)
class Track:
    """Poses of N bodies at S instants, the last of which is the stamp."""

    stamps: Array
    """The instants [s], shape (S,)."""
    position: Sequence[Array]
    """Origins of the body frames [m], S of shape (N, 3)."""
    orientation: Sequence[Array]
    """Unit quaternions xyzw, body to world, S of shape (N, 4)."""


class Echoes(NamedTuple):
    """What came back of one scan of one lidar: R rings and C columns."""

    range: Array
    """Distance along the ray, infinite where nothing came back [m], shape (R, C)."""
    intensity: Array
    """Power of the echo, 0 where nothing came back, shape (R, C)."""
    entity: Indices
    """Index into `LidarReading.entities`, -1 where nothing came back, shape (R, C)."""


class ScanSource(Protocol):
    """Measures the scans of a lidar in place of rays that are cast."""

    def echoes(self, copy: int, stamp: float) -> Echoes | None:
        """Return the scan that ended last at an instant; None where there is none, and rays are cast.

        Args:
            copy: The copy of the vehicle.
            stamp: The instant [s].
        """


class Sweep:
    """One scan of the lidars on N copies of a vehicle.

    Args:
        lidar: Their parameters.
        visuals: The simulation's pictures.
        vehicle: Name of the vehicle.
        snapshot: Where everything is at the stamp.
        track: Where the vehicle has been during the scan.
        seeds: Seeds of the noise of each copy, shape (N,).
    """

    def __init__(
        self,
        lidar: "Lidar",
        visuals: "Visuals",
        vehicle: str,
        snapshot: "Snapshot",
        track: Track,
        seeds: Sequence[int],
    ) -> None:
        self._lidar, self._visuals, self._vehicle = lidar, visuals, vehicle
        self._snapshot, self._track, self._seeds = snapshot, track, seeds
        self._scans: dict[int, LidarScan] = {}

    @property
    def count(self) -> int:
        """Number of copies N."""
        return len(self._seeds)

    @property
    def entities(self) -> "Sequence[Entity]":
        """Everything that echoes can come from, by index."""
        return self._visuals.entities

    def scan(self, copy: int) -> LidarScan:
        """Return a scan, cast at the first call.

        Args:
            copy: The copy of the vehicle.
        """
        if copy not in self._scans:
            self._scans[copy] = self._cast(copy)
        return self._scans[copy]

    def cloud(self, copy: int) -> PointCloud:
        """Return what came back of a scan.

        Args:
            copy: The copy of the vehicle.
        """
        scan = self.scan(copy)
        # Columns come first in memory, in the order in which they fire.
        reach, ways = scan.range.T.ravel(), scan.directions.swapaxes(0, 1)
        back = np.flatnonzero(np.isfinite(reach))
        column, ring = np.divmod(back, scan.range.shape[0])
        distance = reach[back]
        points = ways.reshape(-1, 3).take(back, axis=0)
        points *= distance[:, None]
        world = (ways @ scan.rotation.swapaxes(1, 2)).reshape(-1, 3).take(back, axis=0)
        world *= distance[:, None]
        world += scan.position.take(column, axis=0)
        return PointCloud(
            points=points,
            world_points=world,
            range=distance,
            intensity=scan.intensity.T.ravel()[back],
            ring=ring.astype(np.int32),
            column=column.astype(np.int32),
            time_offset=scan.time_offset[column],
            entity=scan.entity.T.ravel()[back],
        )

    def _cast(self, copy: int) -> LidarScan:
        lidar, stamp = self._lidar, self._snapshot.time
        rings, columns = lidar.shape
        period = 1.0 / lidar.rate_hz
        offset = (np.arange(columns) + 1.0 - columns) / columns * period
        position, rotation = self._poses(copy, stamp + offset)
        directions = lidar.directions(stamp - period, period)
        world = directions @ rotation.swapaxes(1, 2)
        self._visuals.warn_if_enclosed(
            f"{lidar.name}: it",
            self._snapshot,
            position[-1],
            carrier=None if lidar.hide_vehicle else self._vehicle,
            mount=np.array(lidar.position),
        )
        echoes = None if lidar.source is None else lidar.source.echoes(copy, stamp)
        if echoes is None:
            echoes = self._met(copy, np.repeat(position, rings, axis=0), world)
        return LidarScan(
            *echoes,
            directions=directions.swapaxes(0, 1),
            time_offset=offset,
            position=position,
            rotation=rotation,
        )

    def _met(self, copy: int, origins: Array, directions: Array) -> Echoes:
        """Return what comes back of rays, whose directions are of shape (C, R, 3)."""
        lidar = self._lidar
        hidden = (self._snapshot.vehicle(self._vehicle).prefixes[copy],) if lidar.hide_vehicle else ()
        rays = directions.reshape(-1, 3)
        hits = self._visuals.cast(self._snapshot, origins, rays, lidar.max_range, hidden=hidden)
        cosine = np.abs(np.einsum("ij,ij->i", rays, hits.normal))
        distance, intensity = self._echoes(copy, hits.distance, cosine, self._reflectance(hits.material))
        heard, grid = np.isfinite(distance), directions.shape[:2]
        return Echoes(
            range=distance.reshape(grid).T,
            intensity=np.where(heard, intensity, 0.0).reshape(grid).T,
            entity=np.where(heard, hits.entity, NOTHING).astype(np.int32).reshape(grid).T,
        )

    def _poses(self, copy: int, times: Array) -> tuple[Array, Array]:
        """Return where the sensor is at some instants: positions (T, 3) and rotations to world (T, 3, 3)."""
        lidar, track = self._lidar, self._track
        place = np.array([position[copy] for position in track.position])
        turn = np.array([orientation[copy] for orientation in track.orientation])
        body, attitude = interpolated_poses(place, turn, track.stamps, times)
        rotation = matrix_from_quaternion(attitude)
        return body + rotation @ np.array(lidar.position), rotation @ lidar.mounting

    def _reflectance(self, material: Indices) -> Array:
        paths = self._visuals.materials
        used = np.flatnonzero(np.bincount(material + 1, minlength=len(paths) + 1)[1:]).tolist()
        return self._lidar.reflectances.table(paths, used, self._scenes())[material]

    def _scenes(self) -> "list[Scene]":
        return [self._visuals.scene, *{id(o.scene): o.scene for o in self._snapshot.objects}.values()]

    def _echoes(self, copy: int, true_range: Array, cosine: Array, reflectance: Array) -> tuple[Array, Array]:
        """Return measured ranges, infinite where no echo is heard, and intensities, shape (K,)."""
        lidar = self._lidar
        # The seed was drawn when the scan was due, so that it does not matter who looks, and when; and every
        # ray has its own numbers, whatever the others meet.
        generator = np.random.Generator(np.random.SFC64(int(self._seeds[copy])))
        met = np.isfinite(true_range)
        distance = np.where(met, true_range, 1.0)
        intensity = lambertian_intensity(distance, cosine, reflectance, reference_range=lidar.reference_range)
        heard: BoolArray = met & (intensity >= lidar.min_intensity)
        measured = distance
        if lidar.noise_sigma > 0 or lidar.proportional_noise > 0:
            sigma = range_sigma(
                distance, noise_sigma=lidar.noise_sigma, proportional_noise=lidar.proportional_noise
            )
            measured = distance + sigma * generator.standard_normal(len(distance))
        if lidar.dropout > 0 or lidar.range_dropout > 0 or lidar.grazing_dropout > 0:
            heard &= generator.random(len(distance)) < survival_probability(
                distance,
                cosine,
                max_range=lidar.max_range,
                dropout=lidar.dropout,
                range_dropout=lidar.range_dropout,
                grazing_dropout=lidar.grazing_dropout,
            )
        heard &= (measured >= lidar.min_range) & (measured <= lidar.max_range)
        return np.where(heard, measured, np.inf), intensity
