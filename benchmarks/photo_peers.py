"""Speed of photo mode beside Cycles, Blender's path tracer.

    python benchmarks/photo_peers.py PYTHON [WORLDS]

PYTHON is one that has the package bpy, see cycles_peer.py. Both draw the same triangles with one flat
Lambertian colour for each material, grey in place of textures, under the same sun, lamps and sky, with 16
samples and Open Image Denoise. Processor times include threads.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from rendering_peers import (
    FAR,
    NEAR,
    RESOLUTION,
    flat_color,
    graphics_axes,
    run_peer,
    triangles,
    vertical_fov,
)

from pegasus.cli.thumbnails import load_world_view
from pegasus.render import View
from pegasus.render.photo.integrator import DEPTH
from pegasus.render.photo.renderer import MitsubaRenderer, load_mitsuba
from pegasus.render.sky import sky_image
from pegasus.scene.scene import Material, Scene

SAMPLES = 16
THREADS = 2
REPEATS = 3
WORLDS = ("courtyard", "warehouse")
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def flat_scene(scene: Scene) -> Scene:
    """Return a scene with one opaque Lambertian colour for each material."""
    flat = {
        name: Material(
            path=material.path, diffuse_color=tuple(flat_color(scene, name)), roughness=1.0, ior=1.0
        )
        for name, material in scene.materials.items()
    }
    return replace(scene, materials=flat)


def exported(scene: Scene, view: View) -> dict[str, np.ndarray]:
    """Return triangles, camera and lights as arrays for a program of its own.

    Raises:
        ValueError: If the scene has lamps that are not rectangular.
    """
    parts = triangles(scene)
    camera = np.eye(4)
    camera[:3, :3], camera[:3, 3] = graphics_axes(view), view.position
    suns = [light for light in scene.lights if light.kind == "DistantLight"]
    lamps = [light for light in scene.lights if light.kind == "RectLight"]
    if len(suns) + len(lamps) + sum(light.kind == "DomeLight" for light in scene.lights) < len(scene.lights):
        raise ValueError("only distant, dome and rectangular lights are compared")
    return {
        "colors": np.array([flat_color(scene, material) for material in parts], np.float32),
        **{f"corners{k}": part.astype(np.float32) for k, part in enumerate(parts.values())},
        "camera": camera,
        "fov": np.array(vertical_fov(view)),
        "range": np.array([NEAR, FAR]),
        "resolution": np.array(RESOLUTION),
        "suns": np.array([light.transform for light in suns]).reshape(-1, 4, 4),
        "irradiances": np.array([light.color for light in suns]).reshape(-1, 3),
        "lamps": np.array([light.transform for light in lamps]).reshape(-1, 4, 4),
        "sizes": np.array(
            [[light.parameters.get(side, 1.0) for side in ("width", "height")] for light in lamps]
        ).reshape(-1, 2),
        "radiances": np.array([light.color for light in lamps]).reshape(-1, 3),
        "sky": np.asarray(sky_image(scene.lights), np.float32),
        "samples": np.array(SAMPLES),
        "bounces": np.array(DEPTH - 2),
        "threads": np.array(THREADS),
        "repeats": np.array(REPEATS),
    }


def show(title: str, times: list[tuple[float, float]], image: np.ndarray) -> None:
    """Print times of the first and the next images [s], and the mean luminance."""
    (first, first_busy), later = times[0], np.median(times[1:], axis=0)
    print(
        f"  {title:20s} first {first:6.2f} s, processor {first_busy:6.2f} s;"
        f" next {later[0]:6.2f} s, processor {later[1]:6.2f} s; mean luminance"
        f" {(image[..., :3] @ LUMINANCE).mean():.0f}",
        flush=True,
    )


def draw_ours(scene: Scene, view: View) -> None:
    """Time images of photo mode."""
    renderer = MitsubaRenderer()
    renderer.load(scene)
    times, image = [], None
    for _ in range(REPEATS + 1):
        started, used = time.perf_counter(), time.process_time()
        image = renderer.render(view, ["radiance"], samples=SAMPLES).radiance
        times.append((time.perf_counter() - started, time.process_time() - used))
    assert image is not None
    show("photo mode", times, image)
    renderer.close()


def draw_cycles(python: str, scene: Scene, view: View) -> None:
    """Time images of Cycles in another Python."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "image.exr")
        found = run_peer(python, "cycles_peer.py", exported(scene, view), made)
        if found is None:
            return
        image = np.array(load_mitsuba()[0].Bitmap(str(made)), np.float32)
        show(f"Cycles {found['version']}", found["times"], image)


def main(python: str, worlds: list[str]) -> None:
    """Print times for each world, seen as in its thumbnail."""
    for name in worlds:
        scene, view = load_world_view(name, RESOLUTION)
        scene = flat_scene(scene)
        print(f"{name}: {sum(map(len, triangles(scene).values()))} triangles", flush=True)
        draw_ours(scene, view)
        draw_cycles(python, scene, view)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or list(WORLDS))
