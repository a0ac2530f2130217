"""Times of pyrender in a Python of its own, started by rendering_peers.py.

    PYOPENGL_PLATFORM=egl PYTHON benchmarks/pyrender_peer.py SCENE.npz OUT.npz

pyrender 0.1.45 needs NumPy 1 and PyOpenGL 3.1.0, which differ from those of the project.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("PYOPENGL_PLATFORM", "egl")

import numpy as np
import pyrender
from OpenGL.GL import GL_RENDERER, glGetString


def peer_scene(given: Any) -> pyrender.Scene:
    """Return the triangles of each colour, a camera and a sun."""
    scene = pyrender.Scene(ambient_light=[0.3, 0.3, 0.3], bg_color=[0.5, 0.6, 0.8, 1.0])
    for number, color in enumerate(given["colors"]):
        material = pyrender.MetallicRoughnessMaterial(
            baseColorFactor=[*color, 1.0], metallicFactor=0.0, doubleSided=True
        )
        corners = given[f"corners{number}"].reshape(-1, 3)
        scene.add(pyrender.Mesh([pyrender.Primitive(positions=corners, material=material, mode=4)]))
    near, far = given["range"]
    width, height = given["resolution"]
    camera = pyrender.PerspectiveCamera(float(given["fov"]), znear=near, zfar=far, aspectRatio=width / height)
    scene.add(camera, pose=given["camera"])
    scene.add(pyrender.DirectionalLight(intensity=3.0), pose=given["sun"])
    return scene


def medians(action: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the median wall and processor times [s]."""
    action()
    times = []
    for _ in range(repeats):
        started, used = time.perf_counter(), time.process_time()
        action()
        times.append((time.perf_counter() - started, time.process_time() - used))
    walls, busy = zip(*times, strict=True)
    return statistics.median(walls), statistics.median(busy)


def main(scene_file: Path, out: Path) -> None:
    """Time images of a scene, and write its depth."""
    given = np.load(scene_file)
    scene, repeats, flags = peer_scene(given), int(given["repeats"]), pyrender.RenderFlags
    renderer = pyrender.OffscreenRenderer(*(int(size) for size in given["resolution"]))
    bare = flags.SKIP_CULL_FACES
    kinds = {
        "pyrender, rgb": bare | flags.SHADOWS_DIRECTIONAL,
        "pyrender, rgb, no shadows": bare,
        "pyrender, depth": bare | flags.DEPTH_ONLY,
    }
    times = {
        name: medians(lambda kind=kind: renderer.render(scene, flags=kind), repeats)
        for name, kind in kinds.items()
    }
    np.savez(out, depth=renderer.render(scene, flags=kinds["pyrender, depth"]))
    print(json.dumps({"device": glGetString(GL_RENDERER).decode(), "times": times}))
    renderer.delete()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
