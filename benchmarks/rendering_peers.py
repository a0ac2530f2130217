"""Speed and depth of the Embree renderer beside MuJoCo's EGL renderer.

    MUJOCO_GL=egl python benchmarks/rendering_peers.py [WORLDS]

Both draw the same triangles from the same camera, both sides of each. MuJoCo has one flat colour for each
material, grey in place of textures, one lamp and no cut-outs. Processor times include threads.
"""

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("MUJOCO_GL", "egl")

import mujoco
import numpy as np
from OpenGL import GL

from pegasus.cli.thumbnails import load_world_view
from pegasus.render import View
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.scene.scene import Scene, Texture

RESOLUTION = (640, 480)
REPEATS = 9
WORLDS = ("flat", "courtyard", "warehouse")
NEAR, FAR = 0.05, 2000.0


def triangles(scene: Scene) -> dict[str, np.ndarray]:
    """Return the triangles of each material in the world frame [m], shape (F, 3, 3)."""
    parts: dict[str, list[np.ndarray]] = {}
    for instance in scene.instances:
        geometry = scene.geometries[instance.geometry]
        points = geometry.vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
        parts.setdefault(instance.material, []).append(points[geometry.faces])
    return {material: np.concatenate(group) for material, group in parts.items()}


def peer_model(scene: Scene, view: View) -> mujoco.MjModel:
    """Return a MuJoCo model with the triangles of a scene and one camera."""
    spec = mujoco.MjSpec()
    spec.stat.extent = 1.0
    spec.visual.map.znear, spec.visual.map.zfar = NEAR, FAR
    spec.visual.quality.offsamples = 0
    spec.visual.global_.offwidth, spec.visual.global_.offheight = RESOLUTION
    for number, (material, corners) in enumerate(triangles(scene).items()):
        color = scene.materials[material].diffuse_color
        mesh = spec.add_mesh(name=f"mesh{number}", inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
        mesh.uservert = corners.ravel()
        mesh.userface = np.arange(3 * len(corners))
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh.name,
            contype=0,
            conaffinity=0,
            rgba=[0.5, 0.5, 0.5, 1.0] if isinstance(color, Texture) else [*color, 1.0],
        )
    axes = np.asarray(view.rotation) @ np.diag([1.0, -1.0, -1.0])
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, axes.ravel())
    upper, lower = view.lens.directions(np.array([[320.0, 0.0], [320.0, 480.0]]), RESOLUTION)
    angle = np.degrees(np.arccos(upper @ lower))
    spec.worldbody.add_camera(name="view", pos=view.position, quat=quaternion, fovy=angle)
    spec.worldbody.add_light(pos=[0.0, 0.0, 50.0], dir=[0.3, 0.2, -1.0], castshadow=True)
    return spec.compile()


def medians(action: Callable[[], object]) -> tuple[float, float]:
    """Return the median wall and processor times [s]."""
    action()
    times = []
    for _ in range(REPEATS):
        started, used = time.perf_counter(), time.process_time()
        action()
        times.append((time.perf_counter() - started, time.process_time() - used))
    walls, busy = zip(*times, strict=True)
    return statistics.median(walls), statistics.median(busy)


def report(title: str, action: Callable[[], object]) -> None:
    """Print the times of one kind of image."""
    wall, busy = medians(action)
    print(f"  {title:28s}{1 / wall:7.1f} frames/s   processor {1e3 * busy:7.1f} ms", flush=True)


def compare(name: str, ours: EmbreeRenderer) -> None:
    """Print times and the difference of depth in one world, seen as in its thumbnail."""
    scene, view = load_world_view(name, RESOLUTION)
    ours.load(scene)
    model = peer_model(scene, view)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, RESOLUTION[1], RESOLUTION[0]) as peer:
        peer.scene.flags[mujoco.mjtRndFlag.mjRND_CULL_FACE] = 0
        print(f"{name}: {GL.glGetString(GL.GL_RENDERER).decode()}")

        def draw() -> np.ndarray:
            peer.update_scene(data, "view")
            return peer.render()

        report("Embree, rgb", lambda: ours.render(view, ["radiance"]))
        report("MuJoCo, rgb", draw)
        peer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
        report("MuJoCo, rgb, no shadows", draw)
        report("Embree, depth, segmentation", lambda: ours.render(view, ["distance", "entity"]))
        peer.enable_depth_rendering()
        report("MuJoCo, depth", draw)
        theirs = draw()
    pixels = np.stack(np.meshgrid(*[np.arange(size) + 0.5 for size in RESOLUTION]), axis=-1)
    depth = ours.render(view, ["distance"]).distance * view.lens.directions(pixels, RESOLUTION)[..., 2]
    seen = depth < 100.0
    middle, most = 1e3 * np.percentile(np.abs(depth - theirs)[seen], [50, 99])
    print(f"  depth: {middle:.2f} mm (median), {most:.1f} mm (99 %); within 100 m: {seen.mean():.0%}")


def main(names: Sequence[str]) -> None:
    """Print the machine's processor and a table for each world."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.exists() else []
    model = next((line for line in lines if line.startswith("model name")), platform.processor())
    print(f"{model}; {os.cpu_count()} cores; MuJoCo {mujoco.__version__}")
    ours = EmbreeRenderer(threads=2)
    for name in names:
        compare(name, ours)
    ours.close()


if __name__ == "__main__":
    main(sys.argv[1:] or WORLDS)
