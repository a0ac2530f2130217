"""Precomputed indirect light of a world: a grid of probes, gathered by rays and kept on disk."""

import contextlib
import hashlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.system import replacing, user_cache
from pegasus.render.embree.lamp_choice import Volume
from pegasus.render.embree.lighting import Lighting
from pegasus.render.embree.tracer import Rays, Tracer
from pegasus.scene.scene import Scene, Texture

_LOG = logging.getLogger(__name__)

_VERSION = 6
"""To be raised with each change of the lighting: files that are kept hold the light of before."""
_KEPT = 64
"""Number of files that are kept: each scene of a dataset with other lights or materials makes one."""
_PROBES = 16_000
_LEAST_SPACING = 0.5
_RAYS = 96
_BATCH = 256
_MARGIN = 1.0
_OUTLIERS = 0.02
_FAR = 3.0
_BESIDE_LAMPS, _EXTENT = 15.0, 120.0
_AXES = np.repeat(np.eye(3), 2, axis=0) * np.array([1.0, -1.0] * 3)[:, None]
_NAMES = ("light", "openness", "reach", "lamps")

Tables = dict[str, npt.NDArray[Any]]
Map = Callable[[Callable[[int], None], Iterable[int]], Iterable[None]]


def irradiance_volume(scene: Scene, tracer: Tracer, lighting: Lighting, bounces: int, run: Map) -> Any:
    """Return the volume of probes of a static scene, read from the cache if it is there.

    Args:
        scene: The scene.
        tracer: Tracer of the scene without moving objects.
        lighting: Its lights; it lights with the result.
        bounces: Number of surfaces that light is reflected by.
        run: Calls a function for each of several numbers, on several threads.
    """
    origin, spacing, size = _grid(scene)
    settings = f"{_VERSION} {_RAYS} {bounces} {origin} {spacing} {size}"
    file = user_cache() / "light" / f"{_key(scene, settings)}.npz"
    tables = _read(file)
    if tables is None:
        _LOG.info("indirect light of %s is computed once, which takes up to a minute", scene.source)
        tables = _gathered(tracer, lighting, bounces, run, (origin, spacing, size))
        _write(file, tables)
    return _volume(lighting, tables, origin, spacing, size)


def _grid(scene: Scene) -> tuple[Array, float, tuple[int, int, int]]:
    """Return origin, spacing and size of the grid around nearly all triangles of the scene's middle.

    The middle is what lies close to lamps, or to the median triangle in a scene without lamps: distant woods
    and hills need no probes.
    """
    centers = []
    for item in scene.instances:
        geometry = scene.geometries[item.geometry]
        if len(geometry.faces):
            matrix = np.asarray(item.transform, dtype=np.float64)
            middle = geometry.vertices.astype(np.float64)[geometry.faces].mean(axis=1)
            centers.append((middle @ matrix[:3, :3].T + matrix[:3, 3]).astype(np.float32))
    points = np.concatenate(centers)
    lamps = [item.transform[:3, 3] for item in scene.lights if item.kind not in ("DistantLight", "DomeLight")]
    core = np.array(lamps) if lamps else np.median(points, axis=0, keepdims=True)
    reach = _BESIDE_LAMPS if lamps else _EXTENT
    near = (points[:, :2] >= core[:, :2].min(axis=0) - reach) & (
        points[:, :2] <= core[:, :2].max(axis=0) + reach
    )
    points = points[near.all(axis=1)] if near.all(axis=1).any() else points
    low, high = np.quantile(points, [_OUTLIERS, 1.0 - _OUTLIERS], axis=0).astype(np.float64)
    low, high = low - _MARGIN, high + _MARGIN
    spacing = max(float(np.prod(high - low) / _PROBES) ** (1 / 3), _LEAST_SPACING)
    while True:
        size = np.ceil((high - low) / spacing).astype(int) + 1
        if np.prod(size) <= _PROBES:
            break
        spacing *= 1.05
    size = np.maximum(size, 2)
    origin = (low + high) / 2 - spacing * (size - 1) / 2
    return origin, spacing, (int(size[0]), int(size[1]), int(size[2]))


def _volume(
    lighting: Lighting, tables: Tables, origin: Array, spacing: float, size: tuple[int, int, int]
) -> Any:
    volume: Any = Volume()
    volume.origin, volume.spacing, volume.size = tuple(origin - lighting.middle), spacing, size
    lighting.fill(volume, **{name: tables[name] for name in _NAMES})
    return volume


def _gathered(
    tracer: Tracer,
    lighting: Lighting,
    bounces: int,
    run: Map,
    grid: tuple[Array, float, tuple[int, int, int]],
) -> Tables:
    """Return the tables of all probes."""
    origin, spacing, size = grid
    z, y, x = np.meshgrid(*[np.arange(count) for count in size[::-1]], indexing="ij")
    places = origin + spacing * np.stack([x, y, z], axis=-1).reshape(-1, 3)
    count = len(places)
    tables: Tables = {
        "light": np.zeros((count, 6, 3), np.float32),
        "openness": np.zeros((count, 6), np.float32),
        "reach": np.full((count, 6), spacing, np.float32),
        "lamps": lighting.seen_from(tracer, places, run),
    }
    directions = _sphere(_RAYS)
    cosine = np.maximum(directions @ _AXES.T, 0.0)
    cosine /= cosine.sum(axis=0)
    narrow = cosine**2 / (cosine**2).sum(axis=0)
    cone = float(np.sqrt(4 * np.pi / _RAYS))
    for _ in range(bounces):
        lighting.volume = _volume(lighting, tables, origin, spacing, size)
        made = {name: values.copy() for name, values in tables.items()}

        def gather(first: int, made: Tables = made) -> None:
            part = places[first : first + _BATCH]
            rays = Rays(
                np.repeat(part, _RAYS, axis=0), np.ascontiguousarray(np.tile(directions, (len(part), 1)))
            )
            hits = tracer.trace(rays, cone=cone, shading=True)
            radiance = lighting.radiance(tracer, rays, hits, cone=cone, discs=False)
            rows = slice(first, first + len(part))
            light = np.asarray(radiance, np.float64).reshape(-1, _RAYS, 3)
            made["light"][rows] = np.pi * np.einsum("pnc,na->pac", light, cosine)
            missed = (hits.material < 0).astype(np.float64).reshape(-1, _RAYS)
            made["openness"][rows] = missed @ cosine
            distance = np.minimum(hits.distance, _FAR * spacing).reshape(-1, _RAYS)
            made["reach"][rows] = distance @ narrow

        list(run(gather, range(0, count, _BATCH)))
        tables = made
    return tables


def _sphere(count: int) -> Array:
    """Return directions spread evenly over the sphere (Fibonacci lattice), shape (N, 3)."""
    height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.arange(count) * np.pi * (3.0 - np.sqrt(5.0))
    radius = np.sqrt(1.0 - height * height)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=-1)


def _key(scene: Scene, settings: str) -> str:
    """Return a name for the content of a scene: geometry, materials with their images, and lights."""
    content = hashlib.blake2b(settings.encode(), digest_size=20)
    for name, geometry in scene.geometries.items():
        content.update(f"{name} {len(geometry.faces)}".encode())
        for values in (geometry.vertices, geometry.faces, geometry.normals, geometry.uvs, geometry.colors):
            content.update(b"" if values is None else np.ascontiguousarray(values).data)
    for item in scene.instances:
        content.update(f"{item.geometry} {item.material}".encode())
        content.update(np.ascontiguousarray(item.transform, dtype=np.float64).data)
    for path, material in scene.materials.items():
        content.update(f"{path} {material}".encode())
        for value in vars(material).values():
            if isinstance(value, Texture):
                content.update(_state(value.path))
    for light in scene.lights:
        content.update(f"{light.kind} {light.color} {light.parameters} {light.texture}".encode())
        content.update(np.ascontiguousarray(light.transform, dtype=np.float64).data)
        content.update(b"" if light.texture is None else _state(light.texture))
    return content.hexdigest()


def _state(path: Path) -> bytes:
    state = path.stat()
    return f"{state.st_size} {state.st_mtime_ns}".encode()


def _read(file: Path) -> Tables | None:
    try:
        with np.load(file) as kept:
            tables = {name: kept[name] for name in _NAMES}
    except FileNotFoundError:
        return None
    except Exception as error:
        _LOG.warning("%s is damaged and computed again: %s", file, error)
        return None
    with contextlib.suppress(OSError):
        # The files that were used last are kept.
        file.touch()
    return tables


def _write(file: Path, tables: Tables) -> None:
    try:
        with replacing(file) as part:
            np.savez(part, allow_pickle=False, **tables)
        others = sorted(file.parent.glob("*.npz"), key=lambda other: other.stat().st_mtime)
        for old in others[:-_KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        _LOG.warning("indirect light cannot be kept in %s: %s", file.parent, error.strerror)
