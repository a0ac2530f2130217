"""Lidar scans: rays cast on demand, the lidar equation, range noise and lost echoes."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.step_math import Quat, Vec3, rotate
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.cameras.echo_step import Detector, Ray, echo_of
from pegasus.cameras.lidar_model import Indices, LidarModel, ScanReturns
from pegasus.cameras.ray_step import pose_between
from pegasus.contracts.renderer import Returns
from pegasus.core.visuals import Snapshot, Visuals
from pegasus.scene.scene import Entity, Scene


@dataclass(frozen=True, eq=False)
class LidarScan:
    """One scan of one lidar as a grid of R rings and C columns, in firing order."""

    range: Array
    """Distance along the ray, infinite without an echo [m], shape (R, C)."""
    intensity: Array
    """Power of the echo, see `Lidar.reference_range`; 0 without an echo, shape (R, C)."""
    entity: Indices
    """Index into `LidarReading.entities`, -1 without an echo, shape (R, C)."""
    directions: Array
    """Unit directions of the rays in the sensor frame at their firing, shape (R, C, 3)."""
    time_offset: Array
    """Firing time of each column relative to the stamp [s], at most 0, shape (C,)."""
    position: Array
    """Position of the sensor in the world at each firing [m], shape (C, 3)."""
    rotation: Array
    """Sensor to world at each firing, shape (C, 3, 3)."""


@dataclass(frozen=True, eq=False)
class PointCloud:
    """Echoes of one scan of one lidar: K points in the order of measurement."""

    points: Array
    """Points in the sensor frame at the firing of each one [m], shape (K, 3)."""
    world_points: Array
    """Points in the world, by the true poses of the sensor at these times [m], shape (K, 3)."""
    range: Array
    """Distances from the sensor [m], shape (K,)."""
    intensity: Array
    """Power of the echoes, see `Lidar.reference_range`, shape (K,)."""
    ring: Indices
    """Index of the laser within its column, shape (K,)."""
    column: Indices
    """Index of the column, shape (K,)."""
    time_offset: Array
    """Firing times relative to the stamp [s], at most 0, shape (K,)."""
    entity: Indices
    """Indices into `LidarReading.entities`, shape (K,)."""


@dataclass(frozen=True, eq=False)
class PoseHistory:
    """Poses of N bodies at S instants, the last of which is the stamp."""

    stamps: Array
    """The instants [s], shape (S,)."""
    position: Sequence[Array]
    """Origins of the body frames [m], S of shape (N, 3)."""
    orientation: Sequence[Array]
    """Unit quaternions xyzw, body to world, S of shape (N, 4)."""


class ScanCapture:
    """One scan of the lidars on N copies of a vehicle.

    Args:
        lidar: Parameters of the lidars.
        visuals: Casts the rays.
        vehicle: Name of the vehicle.
        snapshot: Poses at the stamp.
        history: Poses of the vehicle during the scan.
        seeds: Seeds of the noise of each copy, shape (N,).
    """

    def __init__(
        self,
        lidar: LidarModel,
        visuals: Visuals,
        vehicle: str,
        snapshot: Snapshot,
        history: PoseHistory,
        seeds: Sequence[int],
    ) -> None:
        self._lidar, self.visuals, self._vehicle = lidar, visuals, vehicle
        self._snapshot, self._history, self._seeds = snapshot, history, seeds
        self._scans: dict[int, LidarScan] = {}
        self._world_directions: dict[int, Array] = {}
        # The thread that casts ahead and those that access scans.
        self._lock = threading.RLock()

    @property
    def count(self) -> int:
        """Number of copies N."""
        return len(self._seeds)

    @property
    def entities(self) -> Sequence[Entity]:
        """Entities that echoes can come from, by index."""
        return self.visuals.entities

    def prepare(self) -> int:
        """Prepare for rays cast by another thread, and return how many captures may wait for that.

        Raises:
            ConfigError: If there is no renderer.
        """
        # A measured scan is the latest one when it is asked for.
        lag = self._lidar.lag if self.visuals.renders_past and self._lidar.source is None else 0
        if lag > 0:
            self.visuals.load()
        return lag

    def scan(self, copy: int) -> LidarScan:
        """Return a scan, cast at the first call."""
        with self._lock:
            if copy not in self._scans:
                self._scans[copy] = self._cast(copy)
            return self._scans[copy]

    def cloud(self, copy: int) -> PointCloud:
        """Return the echoes of a scan as points."""
        scan = self.scan(copy)
        # Columns come first in memory, in the order in which they fire.
        return points_of(scan, self._world_directions[copy])

    def _cast(self, copy: int) -> LidarScan:
        lidar, stamp = self._lidar, self._snapshot.time
        columns = lidar.shape[1]
        period = 1.0 / lidar.rate_hz
        offset = (np.arange(columns) + 1.0 - columns) / columns * period
        directions = lidar.directions(stamp - period, period)
        position, rotation, world = aim_columns(self._history, copy, lidar.mount, stamp + offset, directions)
        self._world_directions[copy] = world
        self.visuals.warn_if_enclosed(
            f"{lidar.name}: it",
            self._snapshot,
            position[-1],
            carrier=None if lidar.hide_vehicle else self._vehicle,
            mount=np.array(lidar.position),
        )
        echoes = None if lidar.source is None else lidar.source.echoes(copy, stamp)
        if echoes is None:
            echoes = self._returns(copy, position, world)
        return LidarScan(
            *echoes,
            directions=directions.swapaxes(0, 1),
            time_offset=offset,
            position=position,
            rotation=rotation,
        )

    def _returns(self, copy: int, origins: Array, directions: Array) -> ScanReturns:
        """Return the echoes of rays, with origins of shape (C, 3) and directions of shape (C, R, 3)."""
        lidar = self._lidar
        hidden = (self._snapshot.vehicle(self._vehicle).prefixes[copy],) if lidar.hide_vehicle else ()
        rays = directions.reshape(-1, 3)
        hits = self.visuals.cast(
            self._snapshot, origins, rays, lidar.max_range, hidden=hidden, width=lidar.shape[0]
        )
        return self._echoes(copy, rays, hits)

    def _reflectance(self, material: Indices) -> Array:
        """Return the reflectances of materials, zero for those not hit; the last one is that of none."""
        paths = self.visuals.materials
        used = np.flatnonzero(np.bincount(material + 1, minlength=len(paths) + 1)[1:]).tolist()
        return self._lidar.reflectances.table(paths, used, self._scenes())

    def _scenes(self) -> list[Scene]:
        return [self.visuals.scene, *{id(o.scene): o.scene for o in self._snapshot.objects}.values()]

    def _echoes(self, copy: int, rays: Array, hits: Returns) -> ScanReturns:
        """Return the echoes of rays with directions of shape (C R, 3)."""
        # Not at the top: it imports Warp, which vehicles without lidars do not need.
        from pegasus.base.tracing.launches import program_of

        lidar, count = self._lidar, len(rays)
        # The seed was drawn when the scan was due, so that noise does not depend on when rays are cast.
        # Each ray has its own random numbers, whatever the others hit.
        generator = np.random.Generator(np.random.SFC64(int(self._seeds[copy])))
        noisy = lidar.noise_sigma > 0 or lidar.proportional_noise > 0
        lossy = lidar.dropout > 0 or lidar.range_dropout > 0 or lidar.grazing_dropout > 0
        known = lidar.reflectances.known(self.visuals.materials)
        # The last reflectance is that of none, whose number is -1.
        reflectance = known[hits.material]
        if np.isnan(reflectance[np.isfinite(hits.distance)]).any():
            reflectance = self._reflectance(hits.material)[hits.material]
        p = uniform(
            "p",
            Detector(
                min_range=lidar.min_range,
                max_range=lidar.max_range,
                min_intensity=lidar.min_intensity,
                reference_range=lidar.reference_range,
                noise_sigma=lidar.noise_sigma,
                proportional_noise=lidar.proportional_noise,
                noisy=int(noisy),
                dropout=lidar.dropout,
                range_dropout=lidar.range_dropout,
                grazing_dropout=lidar.grazing_dropout,
                lossy=int(lossy),
            ),
        )
        reach, power, entity = np.empty(count), np.empty(count), hits.entity.astype(np.int32)
        arrays = {
            **uniform_values(p),
            "direction": rays,
            "surface_normal": hits.normal,
            "distance": hits.distance,
            "reflectance": reflectance,
            "entity": entity,
            "range": reach,
            "intensity": power,
        }
        if noisy:
            arrays["deviate"] = generator.standard_normal(count)
        if lossy:
            arrays["chance"] = generator.random(count)
        program_of(echo_of, p, column("", Ray), outputs=("",), count=count).launch(arrays, count)()
        grid = lidar.shape[::-1]
        return ScanReturns(reach.reshape(grid).T, power.reshape(grid).T, entity.reshape(grid).T)


def points_of(scan: LidarScan, world_directions: Array) -> PointCloud:
    """Return the echoes of a scan as points, in the order of measurement.

    Args:
        scan: The scan.
        world_directions: Unit directions of its rays in the world, shape (C, R, 3).
    """
    # Columns come first, in the order in which they fire.
    reach = scan.range.T
    column, ring = np.isfinite(reach).nonzero()
    found = column * len(scan.range) + ring

    def chosen(grid: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values of the echoes, of a grid with shape (C, R, ...)."""
        return grid.reshape(-1, *grid.shape[2:]).take(found, axis=0)

    distance = chosen(reach)
    points, world_points = chosen(scan.directions.swapaxes(0, 1)), chosen(world_directions)
    points *= distance[:, None]
    world_points *= distance[:, None]
    world_points += scan.position.take(column, axis=0)
    return PointCloud(
        points=points,
        world_points=world_points,
        range=distance,
        intensity=chosen(scan.intensity.T),
        ring=ring.astype(np.int32),
        column=column.astype(np.int32),
        time_offset=scan.time_offset.take(column),
        entity=chosen(scan.entity.T),
    )


def aim_columns(
    history: PoseHistory, copy: int, mount: tuple[Array, Array], times: Array, directions: Array
) -> tuple[Array, Array, Array]:
    """Return the poses of a sensor at instants, and directions at these in the world.

    Args:
        history: Poses of the body.
        copy: The copy of the vehicle.
        mount: Position of the sensor in the body frame [m], shape (3,), and quaternion to it, shape (4,).
        times: The instants, in order [s], shape (C,).
        directions: Unit directions in the sensor frame, shape (C, R, 3).

    Returns:
        Positions, shape (C, 3), rotations sensor to world, shape (C, 3, 3), and directions, shape (C, R, 3).
    """
    # Not at the top: it imports Warp, which vehicles without lidars do not need.
    from pegasus.base.tracing.launches import program_of

    stamps = history.stamps
    position = np.array([each[copy] for each in history.position], dtype=np.float64)
    orientation = np.array([each[copy] for each in history.orientation], dtype=np.float64)
    if len(stamps) == 1:
        # A second pose alike.
        stamps = np.array([stamps[0], stamps[0] + 1.0])
        position, orientation = position.repeat(2, axis=0), orientation.repeat(2, axis=0)
    first = np.searchsorted(times, stamps)
    first[0], first[-1] = 0, len(times)
    # Number of the interval between instants in which each column fires.
    k = np.arange(len(stamps) - 1).repeat(np.diff(first))
    columns, rings = directions.shape[:2]
    place, rotation, world = np.empty((columns, 3)), np.empty((columns, 3, 3)), np.empty((columns, rings, 3))
    sensor = np.empty((columns, 4))
    names = {"start": Vec3, "end": Vec3, "heading": Quat, "last_heading": Quat, "share": float}
    inputs = (column(name, kind) for name, kind in names.items())
    turn = uniform("mount", Vec3(*mount[0].tolist())), uniform("turn", Quat(*mount[1].tolist()))
    poses = program_of(pose_between, *inputs, *turn, outputs=("",), count=columns)
    arrays = {
        "start": position[k],
        "end": position[k + 1],
        "heading": orientation[k],
        "last_heading": orientation[k + 1],
        "share": (times - stamps[k]) / (stamps[k + 1] - stamps[k]),
        "place": place,
        "attitude": rotation,
        "sensor": sensor,
        **uniform_values(turn[0]),
        **uniform_values(turn[1]),
    }
    poses.launch(arrays, columns)()
    rays = program_of(
        rotate, column("sensor", Quat), column("local", Vec3), outputs=("world",), count=columns * rings
    )
    arrays = {
        "sensor": sensor.repeat(rings, axis=0),
        "local": np.ascontiguousarray(directions, dtype=np.float64),
    }
    rays.launch({**arrays, "world": world}, columns * rings)()
    return place, rotation, world
