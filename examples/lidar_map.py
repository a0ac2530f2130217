"""Lidar map: an Iris with a lidar flies through the warehouse and maps it as a labelled point cloud.

Run it with `python examples/lidar_map.py`. It writes `lidar_map.png` and `lidar_map.ply` to the folder
`runs`; CloudCompare, MeshLab and Blender open the latter. The map is built from the true poses, without SLAM.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from rich.console import Console
from rich.progress import track

from pegasus import Multirotor, Simulation, start_host
from pegasus.cameras import Lidar, LidarReading
from pegasus.control import GeometricController, trajectories

CELL = 0.06  # [m]; one point is kept of each
BACKGROUND = (0.05, 0.06, 0.08)
DTYPE = [(axis, "<f4") for axis in "xyz"] + [(color, "u1") for color in ("red", "green", "blue")]


class Map:
    """Points of many scans, one per cell, with the classes of their surfaces."""

    def __init__(self) -> None:
        self.points, self.classes = np.zeros((0, 3)), np.zeros(0, dtype=object)
        self._new: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, reading: LidarReading) -> None:
        """Add a scan, transformed by the true pose of the lidar at the time of each return."""
        cloud = reading.cloud()
        names = np.array([item.labels.get("class", "other") for item in reading.entities], dtype=object)
        self._new.append((cloud.world_points, names[cloud.entity]))
        if len(self._new) == 40:
            self.thin()

    def thin(self) -> None:
        """Keep one point of each cell."""
        points, classes = map(np.concatenate, zip((self.points, self.classes), *self._new, strict=True))
        cells = np.floor(points / CELL).astype(np.int64) + 2**20
        first = np.unique(cells @ [2**42, 2**21, 1], return_index=True)[1]
        self.points, self.classes, self._new = points[first], classes[first], []


def fly(world: str, *, speed: float, duration: float | None, lidar: Lidar) -> tuple[Map, np.ndarray]:
    """Fly along the world's tour; return the map and the flown path [m], shape (K, 3)."""
    with Simulation(world, seed=1) as sim:
        tour = sim.world.paths["tour"]
        path = trajectories.waypoints(
            points=tuple(tour), speed=speed, acceleration=3.0, stop=True, yaw="forward"
        )
        iris = sim.add(
            Multirotor(
                "iris",
                position=(*tour[0][:2], 0.1),
                backends=[GeometricController(path, relative=False)],
                extra_sensors={"lidar": lidar},
            )
        )
        found, way = Map(), []
        length = duration or path.duration + 5.0
        steps = sim.stepping(length)
        for _ in track(steps, "flying", total=round(length * sim.rate), console=Console(stderr=True)):
            if isinstance(reading := iris.new_readings.get("lidar"), LidarReading):
                found.add(reading)
                way.append(iris.state.position[0].copy())
        found.thin()
    return found, np.array(way)


def drawn(
    points: np.ndarray, colors: np.ndarray, view: np.ndarray, pixel: float
) -> tuple[np.ndarray, list[float]]:
    """Return an orthographic image of points along the third row of a rotation, and its extent [m].

    Depth edges are darkened (eye-dome lighting, Boucheny 2009), so that shapes become visible.
    """
    x, y, height = view @ points.T
    low = np.array([x.min(), y.min()]) - 4 * pixel
    column, row = ((np.stack([x, y], axis=1) - low) / pixel).astype(int).T
    shape = row.max() + 5, column.max() + 5
    order = np.argsort(height)
    depth, image = np.full(shape, -np.inf), np.full((*shape, 3), BACKGROUND)
    for a, b in np.ndindex(2, 2):
        at = row[order] + a, column[order] + b
        np.maximum.at(depth, at, height[order])
        image[at] = np.where((height[order] >= depth[at])[:, None], colors[order], image[at])
    ground = np.where(np.isfinite(depth), depth, depth[np.isfinite(depth)].min())
    around = [np.roll(ground, shift, axis) for axis in (0, 1) for shift in (-2, -1, 1, 2)]
    above = np.mean([np.clip(other - ground, 0.0, 1.5) for other in around], axis=0)
    extent = [low[0], low[0] + shape[1] * pixel, low[1], low[1] + shape[0] * pixel]
    return image * np.exp(-2.0 * above)[..., None], extent


def picture(found: Map, way: np.ndarray, file: Path) -> None:
    """Draw the map from above, coloured by height, and from the side, coloured by class."""
    # Omit the roof, and points outside that were measured through open doors.
    low, high = way.min(axis=0) - (10.0, 10.0, np.inf), np.add(way.max(axis=0), (10.0, 10.0, 1.5))
    near = ((found.points > low) & (found.points < high)).all(axis=1)
    points, classes = found.points[near], found.classes[near]
    names, counts = np.unique(classes.astype(str), return_counts=True)
    names = names[np.argsort(-counts)]
    palette = {name: plt.colormaps["tab20"](k % 20)[:3] for k, name in enumerate(names)}
    by_height = plt.colormaps["turbo"](points[:, 2] / points[:, 2].max())[:, :3]
    by_class = np.array([palette[name] for name in classes])
    yaw, pitch = np.radians((-35.0, 50.0))
    aside = np.array([[1, 0, 0], [0, np.sin(pitch), np.cos(pitch)], [0, -np.cos(pitch), np.sin(pitch)]])
    aside = aside @ [[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]]

    figure = Figure(figsize=(12, 15), dpi=90, facecolor=BACKGROUND, layout="constrained")
    for axes, view, colors in zip(figure.subplots(2), (np.eye(3), aside), (by_height, by_class), strict=True):
        image, extent = drawn(points, colors, view, pixel=0.05)
        axes.imshow(image, origin="lower", extent=extent, interpolation="antialiased")
        axes.plot(*(view @ way.T)[:2], color="white", linewidth=0.8, alpha=0.7)
        axes.set_axis_off()
    handles = [Patch(color=palette[name], label=name) for name in names[:14]]
    figure.legend(handles=handles, ncols=7, loc="outside lower center", frameon=False, labelcolor="white")
    figure.savefig(file)


def write_ply(found: Map, file: Path) -> None:
    """Write the map as a binary PLY file, coloured by height."""
    z = found.points[:, 2]
    colors = plt.colormaps["turbo"]((z - z.min()) / max(np.ptp(z), 1e-9), bytes=True)
    rows = np.zeros(len(z), dtype=DTYPE)
    for k, (axis, color) in enumerate(zip("xyz", ("red", "green", "blue"), strict=True)):
        rows[axis], rows[color] = found.points[:, k], colors[:, k]
    kinds = {"<f4": "float", "u1": "uchar"}
    header = [f"property {kinds[kind]} {name}" for name, kind in DTYPE]
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"element vertex {len(rows)}",
        *header,
        "end_header",
        "",
    ]
    file.write_bytes("\n".join(header).encode() + rows.tobytes())


def main(
    folder: Path = Path("runs"),
    *,
    world: str = "warehouse",
    speed: float = 4.0,
    duration: float | None = None,
    pattern: str = "os1_64",
) -> Map:
    """Fly, write the image and the points to a folder, and return the map."""
    folder.mkdir(parents=True, exist_ok=True)
    lidar = Lidar(pattern=pattern, rate_hz=5.0, position=(0.0, 0.0, 0.12), noise_sigma=0.015)
    found, way = fly(world, speed=speed, duration=duration, lidar=lidar)
    picture(found, way, folder / "lidar_map.png")
    write_ply(found, folder / "lidar_map.ply")
    print(f"{len(found.points)} points on {len(set(found.classes))} kinds of things, in {len(way)} scans")
    return found


if __name__ == "__main__":
    start_host()
    main()
