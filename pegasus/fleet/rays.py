"""Rays and depth images of all rows of a fleet: distances to ground, terrain and shapes, in batches."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, empty_lines
from pegasus.base.components import require, require_vector
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.base.step_math import Quat, Real, Reals, Vec3, minimum, rotate, rotate_inverse
from pegasus.base.tracing import column, sequence, uniform, uniform_values
from pegasus.fleet.columns import padded
from pegasus.fleet.fleet import Fleet
from pegasus.fleet.world import MOST_SHAPES
from pegasus.optics.lens import Lens, Pinhole
from pegasus.step.rays import RAYS, to_level, to_terrain, turned_by
from pegasus.step.surroundings import Heights

_NUMBERS = 10
"""Numbers of a shape: position, orientation, size."""
_SLOTS = {"boxes": 4, "spheres": 8, "cylinders": 4, "frames": 1, "rings": 1}
"""Shapes of a kind that one launch tests."""
_NOWHERE = (1e6, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1e-3, 1e-3, 1e-3)
"""Shape that no ray meets."""
_FORWARD = (-0.5, 0.5, -0.5, 0.5)
"""Optical frame (x right, y down, z forward) to body, of a camera that looks forward."""


@dataclass(frozen=True)
class Cast:
    """Function of a ray: its length to the shapes of a kind."""

    kind: str
    """Kind, `level` or `terrain`."""

    def __call__(
        self,
        direction: Vec3,
        reach: Real,
        position: Vec3,
        orientation: Quat,
        origin: Vec3,
        around: Any,
    ) -> Real:
        """Return the length of a ray.

        Args:
            direction: Its direction in the body frame.
            reach: Its length so far [m].
            position: Position of the vehicle in the world [m].
            orientation: Its orientation.
            origin: Start of the ray in the body frame [m].
            around: Height of the ground, terrain, or numbers of shapes.
        """
        eye = position + rotate(orientation, origin)
        if self.kind == "level":
            return minimum(reach, to_level(around, eye, turned_by(orientation, direction)))
        if self.kind == "terrain":
            return minimum(reach, to_terrain(around, eye, turned_by(orientation, direction)))
        for k in range(0, _NUMBERS * _SLOTS[self.kind], _NUMBERS):
            reach = minimum(reach, self._way(around[k : k + _NUMBERS], eye, orientation, direction))
        return reach

    def _way(self, shape: Reals, eye: Vec3, orientation: Quat, direction: Vec3) -> Real:
        """Return the way to a shape [m]."""
        turn = Quat(*shape[3:7])
        # The axes of the body in the frame of the shape are the same for all of its rays.
        x, y, z = (
            rotate_inverse(turn, rotate(orientation, Vec3(*(float(k == n) for n in range(3)))))
            for k in range(3)
        )
        along = x * direction[0] + y * direction[1] + z * direction[2]
        start = rotate_inverse(turn, eye - Vec3(*shape[:3]))
        return RAYS[self.kind](start, along, Vec3(*shape[7:]))


class Rays:
    """Rays of all rows of a fleet, fixed to their bodies; they pass through the vehicle itself.

    Args:
        fleet: The fleet, in a world.
        directions: Directions in the body frame, of any length but zero, shape (R, 3).
        origin: Place in the body frame where they start [m].
        max_range: Largest distance [m].

    Raises:
        ConfigError: If an argument is not allowed, or the fleet flies in open air.
    """

    directions: Array
    """Unit directions in the body frame, shape (R, 3)."""

    def __init__(
        self,
        fleet: Fleet,
        directions: npt.ArrayLike,
        *,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        max_range: float = 20.0,
    ) -> None:
        # Not at the top: it imports Warp.
        from pegasus.base.tracing.launches import Part, Program, traced

        given = np.asarray(directions, dtype=np.float64)
        length = np.sqrt((given * given).sum(axis=-1, keepdims=True))
        good = given.ndim == 2 and given.shape[1:] == (3,) and len(given) > 0 and bool((length > 0).all())
        require(good, "directions", given.shape, "must be of shape (R, 3), and longer than 0")
        require(0 < max_range < math.inf, "max_range", max_range, "must be above 0 m and finite")
        require_vector("origin", tuple(origin), unit="m")
        if fleet.world is None:
            raise ConfigError("must be in a world", field="fleet", remedy="give world=World(ground=0.0)")
        require(
            fleet.device == "cpu",
            "fleet",
            fleet.device,
            "must be on the CPU to cast rays",
            "give device='cpu'",
        )
        self._fleet, self.max_range = fleet, float(max_range)
        self.directions = given / length
        count = len(given)
        real: Any = fleet.dtype
        rows = padded(count)
        along = empty_lines((3, rows), real)
        along[:, :count] = self.directions.T
        along[:, count:] = along[:, :1]
        self._reach = empty_lines((fleet.count, rows), real)
        self._position, self._orientation = np.empty((fleet.count, 3), real), np.empty((fleet.count, 4), real)
        self._shapes: dict[str, Array] = {}
        self._launches: list[tuple[Callable[..., None], int]] = []
        shared = {"direction": along, "origin": np.array(origin, dtype=real)}
        for kind, chunks, argument, arrays, own in self._surroundings():
            made = traced(
                Cast(kind),
                column("direction", Vec3),
                column("reach"),
                uniform("position", Vec3(0.0, 0.0, 0.0)),
                uniform("orientation", Quat(0.0, 0.0, 0.0, 1.0)),
                uniform("origin", Vec3(0.0, 0.0, 0.0)),
                argument,
                # By another name, so that compiled code has no loop over steps, out of which a compiler would
                # take what only some rays need.
                outputs=("reached",),
            )
            program = Program(made, real=real, planar=True)
            parts = [
                Part(
                    {
                        **shared,
                        **arrays,
                        **({} if own is None else {"around": own[k % len(own)]}),
                        "reach": self._reach[k],
                        "reached": self._reach[k],
                        "position": self._position[k],
                        "orientation": self._orientation[k],
                    },
                    0,
                    rows,
                )
                for k in range(fleet.count)
            ]
            self._launches.append((program.launch_parts(parts), chunks))
        self.measure()

    def _surroundings(self) -> list[tuple[str, int, Any, dict[str, Array], Array | None]]:
        """Return what rays meet: kind, number of launches, argument, arrays of all rows, and of each."""
        fleet = self._fleet
        real: Any = fleet.dtype
        world = fleet.world
        assert world is not None
        found: list[tuple[str, int, Any, dict[str, Array], Array | None]] = []
        if world.ground is not None:
            self._shapes["ground"] = np.zeros((fleet.count, 1), real)
            found.append(("level", 1, uniform("around", 0.0), {}, self._shapes["ground"]))
        if world.terrain is not None:
            law: Heights = world.terrain.law()
            argument = uniform("around", law)
            arrays = {name: x.astype(real) for name, x in uniform_values(argument).items()}
            found.append(("terrain", 1, argument, arrays, None))
        for kind, shapes in world.sets().items():
            slots = _SLOTS[kind]
            chunks, most = -(-shapes.count // slots), -(-MOST_SHAPES // slots)
            own = any(f"{kind}.{part}" in fleet.columns for part in ("position", "orientation", "size"))
            numbers = np.empty((fleet.count if own else 1, most, slots, _NUMBERS), real)
            numbers[:, :chunks] = _NOWHERE
            flat = numbers.reshape(len(numbers), most * slots, _NUMBERS)
            for first, part in ((0, "position"), (3, "orientation"), (7, "size")):
                values = shapes.arrays()[part]
                if values.ndim == 2:
                    flat[:, : shapes.count, first : first + values.shape[-1]] = values
            self._shapes[kind] = flat
            argument = sequence("around", slots * _NUMBERS, most)
            found.append((kind, chunks, argument, {}, numbers.reshape(len(numbers), most, -1)))
        return found

    def measure(self) -> Array:
        """Return the distances to the first surfaces [m], `max_range` where there is none, shape (N, R)."""
        fleet = self._fleet
        self._position[...] = fleet.state.position
        self._orientation[...] = fleet.state.orientation
        self._reach[...] = self.max_range
        for name, numbers in self._shapes.items():
            if name == "ground":
                level = fleet.columns.get("ground")
                assert fleet.world is not None
                numbers[:, 0] = fleet.world.ground if level is None else level[0, : fleet.count]
                continue
            for first, part in ((0, "position"), (3, "orientation"), (7, "size")):
                live = fleet.columns.get(f"{name}.{part}")
                if live is not None:
                    width = 4 if part == "orientation" else 3
                    values = live[:, : fleet.count].T.reshape(fleet.count, -1, width)
                    numbers[:, : values.shape[1], first : first + width] = values
        for launch, chunks in self._launches:
            for chunk in range(chunks):
                launch(step=chunk)
        reach: Array = self._reach[:, : len(self.directions)]
        return reach


class DepthCamera(Rays):
    """Depth images of all rows: distances from the image plane.

    Args:
        fleet: The fleet, in a world.
        resolution: Width and height [pixels].
        lens: Lens; a pinhole with a horizontal field of view of 90 degrees by default.
        position: Place of the camera in the body frame [m].
        orientation: Unit quaternion xyzw, optical frame (x right, y down, z forward) to body; forward by
            default.
        max_depth: Largest distance [m].

    Raises:
        ConfigError: See `Rays`.
    """

    def __init__(
        self,
        fleet: Fleet,
        *,
        resolution: tuple[int, int] = (64, 48),
        lens: Lens | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = _FORWARD,
        max_depth: float = 20.0,
    ) -> None:
        width, height = resolution
        require(min(width, height) > 0, "resolution", resolution, "must be above 0 pixels")
        lens = lens or Pinhole(horizontal_fov=0.5 * math.pi)
        x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
        optical = lens.directions(np.stack([x, y], axis=-1), resolution).reshape(-1, 3)
        require(bool(np.isfinite(optical).all()), "lens", lens, "must fill the image")
        turn = matrix_from_quaternion(np.asarray(orientation, dtype=np.float64))
        self.resolution, self.max_depth = (int(width), int(height)), float(max_depth)
        real: Any = fleet.dtype
        self._forward: Array = optical[:, 2].astype(real)
        # As long as the depth is at most that everywhere.
        reach = self.max_depth / float(optical[:, 2].min())
        super().__init__(fleet, optical @ turn.T, origin=position, max_range=reach)

    def image(self) -> Array:
        """Return the depths [m], `max_depth` where nothing is nearer, shape (N, H, W); row 0 is the top."""
        depth: Array = np.minimum(self.measure() * self._forward, self.max_depth)
        width, height = self.resolution
        return depth.reshape(-1, height, width)
