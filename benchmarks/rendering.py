"""Speed of the renderers: images and rays.

    python benchmarks/rendering.py [THREADS]
    python benchmarks/rendering.py --photo [WORLDS]
    python benchmarks/rendering.py --light [WORLDS]

The first measures the Embree renderer, the second Mitsuba's images: 16 samples, denoised. The third compares
the light of both, and times the first image in colour, with the light of the world. Times are the shortest
of several; under other load, the processor time over the number of threads is the better figure.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from pegasus.cameras.imaging import Imaging
from pegasus.cli.thumbnails import load_world_view
from pegasus.contracts.renderer import Renderer
from pegasus.optics.lens import Pinhole
from pegasus.render import View
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.scene.scene import Entity, Geometry, Instance, Scene
from pegasus.worlds import GENERATORS

RESOLUTION = (640, 480)
LIGHT_RESOLUTION = (320, 240)
REPEATS = 10
PHOTO_SAMPLES = 16
PHOTO_WORLDS = ("courtyard", "town", "warehouse", "forest")
PICTURES = {
    "depth, segmentation": ("distance", "entity"),
    "rgb": ("radiance",),
    "all channels": ("radiance", "distance", "normal", "entity", "material"),
}


def million(scene: Scene) -> Scene:
    """Return a scene with a million triangles of cobbles on its ground."""
    count = 708
    x, y = np.meshgrid(*[np.linspace(-29.0, 29.0, count)] * 2)
    points = np.stack([x, y, 0.03 + 0.02 * np.sin(12 * x) * np.sin(12 * y)], axis=-1).reshape(-1, 3)
    number = np.arange(count * count).reshape(count, count)
    a, b, c, d = (
        part.ravel() for part in (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1])
    )
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    slope = 0.24 * np.stack([np.cos(12 * x) * np.sin(12 * y), np.sin(12 * x) * np.cos(12 * y)], axis=-1)
    normals = np.concatenate([-slope, np.ones((count, count, 1))], axis=-1).reshape(-1, 3)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    cobbles = Geometry(points.astype(np.float32), faces.astype(np.uint32), normals.astype(np.float32))
    material = next(item.material for item in scene.instances if item.labels.get("class") == "ground")
    return Scene(
        source="a million triangles",
        geometries=scene.geometries | {"cobbles": cobbles},
        materials=scene.materials,
        instances=[
            *scene.instances,
            Instance("/Cobbles", "cobbles", material, np.eye(4), {"class": "ground"}, "/Cobbles"),
        ],
        entities=scene.entities | {"/Cobbles": Entity("/Cobbles", {"class": "ground"}, np.eye(4))},
        lights=scene.lights,
    )


def view() -> View:
    """Return a camera above a corner of the courtyard, directed across it."""
    forward = np.array([20.0, 26.0, -4.0]) / np.linalg.norm([20.0, 26.0, -4.0])
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(forward, right), forward], axis=1)
    return View(Pinhole(horizontal_fov=math.radians(70)), RESOLUTION, np.array([-18.0, -22.0, 5.0]), rotation)


def spin(line_count: int = 64, column_count: int = 16_384) -> np.ndarray:
    """Return the directions of a spinning lidar, column by column."""
    elevation = np.radians(np.linspace(-25, 15, line_count))[None, :]
    azimuth = np.linspace(0, 2 * np.pi, column_count, endpoint=False)[:, None]
    parts = (np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation))
    return np.stack([part + 0 * azimuth for part in parts], axis=-1).reshape(-1, 3)


def best(action: Callable[[], object]) -> tuple[float, float]:
    """Return the shortest of several wall and processor times [s]."""
    action()
    wall, busy = [], []
    for _ in range(REPEATS):
        started, used = time.perf_counter(), time.process_time()
        action()
        wall.append(time.perf_counter() - started)
        busy.append(time.process_time() - used)
    return min(wall), min(busy)


def photo(names: Sequence[str]) -> None:
    """Print a table of path-traced images.

    Args:
        names: Worlds, each from the viewpoint of its thumbnail.
    """
    from pegasus.render.photo.renderer import MitsubaRenderer

    renderer = MitsubaRenderer()
    for name in names:
        scene, view = load_world_view(name, RESOLUTION)
        renderer.load(scene)
        print(name)
        for title in ("first frame", "next frame", "next frame"):
            started, used = time.perf_counter(), time.process_time()
            renderer.render(view, ["radiance"], samples=PHOTO_SAMPLES)
            wall, busy = time.perf_counter() - started, time.process_time() - used
            print(f"  {title:12s}{wall:7.2f} s   processor {busy:6.2f} s, over two threads {busy / 2:6.2f} s")
    renderer.close()


def light_difference(name: str, fast: Renderer, traced: Renderer) -> tuple[float, float, float]:
    """Return how the fast image of a world differs from the path-traced one.

    Both have the exposure that the path-traced one gets, and full brightness as their limit.

    Args:
        name: Name of the world, seen from the viewpoint of its thumbnail.
        fast: The fast renderer.
        traced: The path tracer.

    Returns:
        Relative difference of the mean luminance, difference of the hue of the mean colour [rad], and time
        to the first fast image [s].
    """
    scene, view = load_world_view(name, LIGHT_RESOLUTION)
    started = time.perf_counter()
    fast.load(scene)
    one = fast.render(view, ["radiance"], samples=4).radiance
    first = time.perf_counter() - started
    traced.load(scene)
    two = traced.render(view, ["radiance"], samples=PHOTO_SAMPLES).radiance
    exposure = Imaging().exposure_for(two)
    means = [np.minimum(image * exposure, 1.0).mean(axis=(0, 1), dtype=np.float64) for image in (one, two)]
    luminance = [mean @ np.array([0.2126, 0.7152, 0.0722]) for mean in means]
    hues = [math.atan2(math.sqrt(3) * (green - blue), 2 * red - green - blue) for red, green, blue in means]
    return luminance[0] / luminance[1] - 1.0, math.remainder(hues[0] - hues[1], 2 * math.pi), first


def light(names: Sequence[str]) -> None:
    """Print a table of differences between fast and path-traced images."""
    from pegasus.render.photo.renderer import MitsubaRenderer

    fast, traced = EmbreeRenderer(), MitsubaRenderer()
    for name in names:
        brighter, turned, first = light_difference(name, fast, traced)
        print(
            f"{name:20s} luminance {100 * brighter:+6.1f} %   hue {math.degrees(turned):+6.1f} degrees"
            f"   first image {first:5.1f} s"
        )
    fast.close()
    traced.close()


def main(thread_count: int) -> None:
    """Print a table for a small and a large scene."""
    started = time.perf_counter()
    renderer = EmbreeRenderer(threads=thread_count)
    print(
        f"made in {time.perf_counter() - started:.1f} s (kernels are compiled once); {thread_count} threads"
    )
    small = load_world_view("courtyard", RESOLUTION)[0]
    directions = spin()
    origins = np.tile([0.0, 0.0, 2.0], (len(directions), 1))
    generator = np.random.default_rng(1)
    scattered = generator.normal(size=directions.shape)
    scattered /= np.linalg.norm(scattered, axis=1, keepdims=True)
    for name, scene in (("courtyard", small), ("with a million triangles", million(small))):
        started = time.perf_counter()
        renderer.load(scene)
        renderer.render(view(), ["distance"])
        print(f"\n{name}: loaded in {time.perf_counter() - started:.2f} s")
        for title, channels in PICTURES.items():
            wall, busy = best(lambda channels=channels: renderer.render(view(), channels))
            print(
                f"  {title:22s}{1e3 * wall:7.1f} ms {1 / wall:6.1f} frames/s"
                f"   processor {1e3 * busy:6.1f} ms, {thread_count / busy:6.1f} frames/s"
            )
        for title, rays, width in (("spinning lidar", directions, 64), ("scattered rays", scattered, 0)):
            wall, busy = best(lambda rays=rays, width=width: renderer.cast(origins, rays, 100.0, width=width))
            count = len(rays) / 1e6
            print(
                f"  {title:22s}{1e3 * wall:7.1f} ms {count / wall:6.2f} M rays/s"
                f"   processor {1e3 * busy:6.1f} ms, {thread_count * count / busy:6.2f} M rays/s"
            )
    renderer.close()


if __name__ == "__main__":
    if "--light" in sys.argv:
        light(sys.argv[2:] or list(GENERATORS))
    elif "--photo" in sys.argv:
        photo(sys.argv[2:] or PHOTO_WORLDS)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
