"""Stereo flight: an Iris with a stereo camera flies through the courtyard and measures depth.

The resulting image shows the left view, its true depth from the renderer, and the depth estimated by block
matching between the two views.

Run it with `python examples/stereo_flight.py`. It needs the extra `render` and writes
`runs/stereo_flight.png`.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.arrays import Array
from pegasus.cameras import Imaging, StereoCamera, StereoReading, depth_from_disparity
from pegasus.control import GeometricController, trajectories
from pegasus.render import Renderer

FARTHEST = 30.0


def box_mean(image: Array, size: int) -> Array:
    """Return the mean over a square around each pixel, shape (H, W)."""
    edge = size // 2
    padded = np.pad(image, ((edge + 1, edge), (edge + 1, edge)), mode="edge").cumsum(axis=0).cumsum(axis=1)
    total = padded[size:, size:] - padded[:-size, size:] - padded[size:, :-size] + padded[:-size, :-size]
    mean: Array = total / size**2
    return mean


def matched_disparity(left: Array, right: Array, *, largest: int, size: int = 9) -> Array:
    """Return the disparity with the best match of a square around each pixel [pixels], shape (H, W).

    It is NaN without texture along the rows, where all disparities match equally well.
    """
    costs = np.full((largest + 1, *left.shape), np.inf)
    for shift in range(largest + 1):
        apart = np.abs(left[:, shift:] - right[:, : left.shape[1] - shift])
        costs[shift, :, shift:] = box_mean(apart, size)
    best = np.clip(costs.argmin(axis=0), 1, largest - 1)
    below, at, above = (np.take_along_axis(costs, best[None] + k, axis=0)[0] for k in (-1, 0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = best + 0.5 * (below - above) / (below - 2 * at + above)
    slope = np.gradient(left, axis=1)
    return np.where(box_mean(slope**2, size) > 9.0, shift, np.nan)


def draw(reading: StereoReading, estimate: Array, picture: Path) -> None:
    """Write the image."""
    panels: list[tuple[str, npt.NDArray[np.generic]]] = [
        ("left camera", reading.left.rgb[0]),
        ("depth, true [m]", np.minimum(reading.depth[0], FARTHEST)),
        ("depth from the two views [m]", np.minimum(estimate, FARTHEST)),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
    shown = [
        axis.imshow(image, cmap="turbo_r", vmin=0, vmax=None if image.ndim == 3 else FARTHEST)
        for axis, (_, image) in zip(axes, panels, strict=True)
    ]
    for axis, (title, _) in zip(axes, panels, strict=True):
        axis.set_title(title)
        axis.set_axis_off()
    figure.colorbar(shown[-1], ax=axes)
    figure.savefig(picture, dpi=100)
    plt.close(figure)


def main(
    duration: float = 12.0, picture: Path = Path("runs/stereo_flight.png"), renderer: str | Renderer = "auto"
) -> tuple[StereoReading, Array]:
    """Fly; return the last reading, and the depth estimated from its images, shape (H, W)."""
    picture.parent.mkdir(parents=True, exist_ok=True)
    eyes = StereoCamera(
        rate_hz=20.0,
        resolution=(480, 360),
        horizontal_fov=1.2,
        baseline=0.3,
        outputs=("rgb", "depth"),
        samples=4,
        imaging=Imaging(full_well=20_000.0, read_noise=0.001),
    )
    controller = GeometricController(trajectories.lemniscate(radius=5.0, height=2.5, yaw="forward"))
    with Simulation(world="courtyard", seed=1, renderer=renderer) as sim:
        iris = sim.add(Multirotor("iris", backends=[controller], extra_sensors={"eyes": eyes}))
        sim.run(duration=duration)
        reading = iris.reading(StereoReading)
        # Images are rendered on access: only this reading is rendered.
        left, right = (camera.rgb[0].astype(np.float64).mean(axis=-1) for camera in reading.cameras.values())
        focal_length = float(reading.intrinsic_matrix[0, 0])
        shift = matched_disparity(left, right, largest=48)
        estimate = depth_from_disparity(shift, focal_length=focal_length, baseline=reading.baseline)
        draw(reading, estimate, picture)
        depth = reading.depth[0]
        compared = np.isfinite(estimate) & (depth < FARTHEST)
        error = float(np.median(np.abs(estimate[compared] / depth[compared] - 1)))
        print(f"at {reading.stamp:g} s: median error of the depth {error:.1%}; see {picture}")
    return reading, estimate


if __name__ == "__main__":
    start_host()
    main()
