"""Speed and depth of the Embree renderer beside the EGL renderers of MuJoCo and pyrender.

    python benchmarks/rendering_peers.py [--peers-only] [--pyrender PYTHON] [WORLDS]

All draw the same triangles from the same camera, both sides of each. The peers have one flat colour for
each material, grey in place of textures, one light and no cut-outs. Processor times include threads. pyrender
runs in a Python of its own: `python -m venv DIR && DIR/bin/pip install pyrender`, then
`--pyrender DIR/bin/python`.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("MUJOCO_GL", "egl")

import mujoco
import numpy as np
from OpenGL import GL

from pegasus.cli.thumbnails import load_world_view
from pegasus.render import View
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.scene.scene import Scene, Texture
from pegasus.worlds import GENERATORS

RESOLUTION = (640, 480)
REPEATS = 9
NEAR, FAR = 0.05, 2000.0
PEER_LIMIT = 600.0
"""Time limit of a peer in one world [s]."""


def triangles(scene: Scene) -> dict[str, np.ndarray]:
    """Return the triangles of each material in the world frame [m], shape (F, 3, 3)."""
    parts: dict[str, list[np.ndarray]] = {}
    for instance in scene.instances:
        geometry = scene.geometries[instance.geometry]
        points = geometry.vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
        parts.setdefault(instance.material, []).append(points[geometry.faces])
    return {material: np.concatenate(group) for material, group in parts.items()}


def flat_color(scene: Scene, material: str) -> list[float]:
    """Return the linear colour that a peer gives a material."""
    color = scene.materials[material].diffuse_color
    return [0.5, 0.5, 0.5] if isinstance(color, Texture) else list(color)


def vertical_fov(view: View) -> float:
    """Return the angle between the upper and the lower edge [rad]."""
    edges = np.array([[RESOLUTION[0] / 2, 0.0], [RESOLUTION[0] / 2, RESOLUTION[1]]])
    upper, lower = view.lens.directions(edges, RESOLUTION)
    return float(np.arccos(upper @ lower))


def graphics_axes(view: View) -> np.ndarray:
    """Return the camera's axes to the world: x right, y up, z backwards, shape (3, 3)."""
    return np.asarray(view.rotation) @ np.diag([1.0, -1.0, -1.0])


def peer_model(scene: Scene, view: View) -> mujoco.MjModel:
    """Return a MuJoCo model with the triangles of a scene and one camera."""
    spec = mujoco.MjSpec()
    spec.stat.extent = 1.0
    spec.visual.map.znear, spec.visual.map.zfar = NEAR, FAR
    spec.visual.quality.offsamples = 0
    spec.visual.global_.offwidth, spec.visual.global_.offheight = RESOLUTION
    for number, (material, corners) in enumerate(triangles(scene).items()):
        mesh = spec.add_mesh(name=f"mesh{number}", inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
        mesh.uservert = corners.ravel()
        mesh.userface = np.arange(3 * len(corners))
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh.name,
            contype=0,
            conaffinity=0,
            rgba=[*flat_color(scene, material), 1.0],
        )
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, graphics_axes(view).ravel())
    angle = np.degrees(vertical_fov(view))
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


def show(title: str, wall: float, busy: float) -> None:
    """Print the times of one kind of image [s]."""
    print(f"  {title:28s}{1 / wall:7.1f} frames/s   processor {1e3 * busy:7.1f} ms", flush=True)


def draw_ours(ours: EmbreeRenderer, scene: Scene, view: View) -> np.ndarray:
    """Print the times of the Embree renderer, and return its depth [m]."""
    ours.load(scene)
    show("Embree, rgb", *medians(lambda: ours.render(view, ["radiance"])))
    show("Embree, depth, segmentation", *medians(lambda: ours.render(view, ["distance", "entity"])))
    distance = ours.render(view, ["distance"]).distance
    assert distance is not None
    return np.asarray(distance * optical_share(view))


def draw_mujoco(scene: Scene, view: View) -> np.ndarray:
    """Print the times of MuJoCo, and return its depth [m]."""
    model = peer_model(scene, view)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, RESOLUTION[1], RESOLUTION[0]) as peer:
        peer.scene.flags[mujoco.mjtRndFlag.mjRND_CULL_FACE] = 0
        print(f"  MuJoCo on {GL.glGetString(GL.GL_RENDERER).decode()}")

        def draw() -> np.ndarray:
            peer.update_scene(data, "view")
            return np.asarray(peer.render())

        show("MuJoCo, rgb", *medians(draw))
        peer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
        show("MuJoCo, rgb, no shadows", *medians(draw))
        peer.enable_depth_rendering()
        show("MuJoCo, depth", *medians(draw))
        return draw()


def run_peer(python: str, script: str, given: dict[str, np.ndarray], made: Path) -> dict[str, Any] | None:
    """Run a script beside this one in another Python, and return what it found; None if it cannot run.

    Args:
        python: The Python.
        script: File name of the script.
        given: Arrays that it reads.
        made: File that it writes; the arrays are written beside it.
    """
    arrays = made.with_name("scene.npz")
    np.savez(arrays, **given)
    command = [python, str(Path(__file__).with_name(script)), str(arrays), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PEER_LIMIT)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        print(f"  {script} left out: {reason}")
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def draw_pyrender(python: str, scene: Scene, view: View) -> np.ndarray | None:
    """Print the times of pyrender in another Python, and return its depth [m]; None if it cannot be had."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "depth.npz")
        found = run_peer(python, "pyrender_peer.py", exported(scene, view), made)
        if found is None:
            return None
        print(f"  pyrender on {found['device']}")
        for title, times in found["times"].items():
            show(title, *times)
        return np.asarray(np.load(made)["depth"])


def exported(scene: Scene, view: View) -> dict[str, np.ndarray]:
    """Return triangles, camera and sun as arrays for a program of its own."""
    parts = triangles(scene)
    camera, sun = np.eye(4), np.eye(4)
    camera[:3, :3], camera[:3, 3] = graphics_axes(view), view.position
    down = np.array([0.3, 0.2, -1.0]) / np.sqrt(1.13)
    side = np.cross([0.0, 1.0, 0.0], -down)
    side /= np.sqrt(side @ side)
    sun[:3, :3] = np.stack([side, np.cross(-down, side), -down], axis=1)
    return {
        "colors": np.array([flat_color(scene, material) for material in parts], np.float32),
        **{f"corners{k}": part.astype(np.float32) for k, part in enumerate(parts.values())},
        "camera": camera,
        "sun": sun,
        "fov": np.array(vertical_fov(view)),
        "range": np.array([NEAR, FAR]),
        "resolution": np.array(RESOLUTION),
        "repeats": np.array(REPEATS),
    }


def optical_share(view: View) -> np.ndarray:
    """Return depth divided by distance for each pixel, shape (H, W)."""
    pixels = np.stack(np.meshgrid(*[np.arange(size) + 0.5 for size in RESOLUTION]), axis=-1)
    return np.asarray(view.lens.directions(pixels, RESOLUTION)[..., 2])


def compare(name: str, ours: EmbreeRenderer | None, pyrender: str | None) -> None:
    """Print times and differences of depth in one world, seen as in its thumbnail."""
    scene, view = load_world_view(name, RESOLUTION)
    print(f"{name}: {sum(map(len, triangles(scene).values()))} triangles", flush=True)
    depth = None if ours is None else draw_ours(ours, scene, view)
    theirs = {"MuJoCo": draw_mujoco(scene, view)}
    if pyrender is not None:
        drawn = draw_pyrender(pyrender, scene, view)
        theirs |= {} if drawn is None else {"pyrender": drawn}
    for peer, values in theirs.items() if depth is not None else ():
        seen = (depth < 100.0) & (values > 0.0)
        middle, most = 1e3 * np.percentile(np.abs(depth - values)[seen], [50, 99])
        part = seen.mean()
        print(f"  depth, {peer}: {middle:.2f} mm (median), {most:.1f} mm (99 %); within 100 m: {part:.0%}")


def main() -> None:
    """Print the machine's processor and a table for each world."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("worlds", nargs="*", default=list(GENERATORS), metavar="WORLDS")
    parser.add_argument("--peers-only", action="store_true", help="leave out the Embree renderer")
    parser.add_argument("--pyrender", metavar="PYTHON", help="a Python that has pyrender")
    given = parser.parse_args()
    python = None if given.pyrender is None else shutil.which(given.pyrender)
    if python is None:
        print("pyrender left out: name a Python that has it by --pyrender")
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.exists() else []
    model = next((line for line in lines if line.startswith("model name")), platform.processor())
    print(f"{model}; {os.cpu_count()} cores; MuJoCo {mujoco.__version__}")
    ours = None if given.peers_only else EmbreeRenderer(threads=2)
    for name in given.worlds:
        compare(name, ours, python)
    if ours is not None:
        ours.close()


if __name__ == "__main__":
    main()
