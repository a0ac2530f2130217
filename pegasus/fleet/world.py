"""Solid surroundings of the rows of a fleet: ground, terrain, shapes; the same for all or not."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import NOTHING, Quat, Vec3
from pegasus.base.tracing import Argument, column, uniform
from pegasus.step.contact import ContactLaw, Touch
from pegasus.step.shapes import KINDS
from pegasus.step.surroundings import Heights, Shapes, Solids

MOST_SHAPES = 128
"""Largest number of shapes of a row: each of them is operations of the step."""
Numbers = npt.ArrayLike


@dataclass(frozen=True, kw_only=True, eq=False)
class Terrain:
    """Ground of triangles over a regular grid; each cell is cut from its corner of lowest x and y.

    Beyond the grid the heights of its edge go on.
    """

    heights: Numbers
    """Heights [m], shape (rows along y, columns along x)."""
    spacing: tuple[float, float]
    """Distance of columns and of rows [m]."""
    origin: tuple[float, float] = (0.0, 0.0)
    """Place of the first height, x and y in the world [m]."""

    def __post_init__(self) -> None:
        heights = np.asarray(self.heights, dtype=np.float64)
        good = heights.ndim == 2 and min(heights.shape) >= 2 and bool(np.isfinite(heights).all())
        require(good, "heights", heights.shape, "must be finite numbers of two rows and columns at least")
        require(min(self.spacing) > 0, "spacing", self.spacing, "must be above 0 m")

    def law(self) -> Heights:
        """Return its numbers for the step."""
        heights = np.asarray(self.heights, dtype=np.float64)
        along = np.abs(np.diff(heights, axis=1)).max() / self.spacing[0]
        across = np.abs(np.diff(heights, axis=0)).max() / self.spacing[1]
        return Heights(
            heights=heights.ravel(),
            columns=heights.shape[1],
            rows=heights.shape[0],
            x=float(self.origin[0]),
            y=float(self.origin[1]),
            dx=float(self.spacing[0]),
            dy=float(self.spacing[1]),
            steepest=math.hypot(along, across),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ShapeSet:
    """K shapes of a kind: arrays of K shapes for all rows, or of (N, K, ...), other ones for each row."""

    kind: ClassVar[str]
    position: Numbers
    """Their middles in the world [m], shape (K, 3)."""

    def size(self) -> Array:
        """Return half lengths or radii as the step has them, shape (K, 3) or (N, K, 3)."""
        raise NotImplementedError

    def orientation(self) -> Array:
        """Return unit quaternions xyzw, shape (K, 4) or (N, K, 4): that of the world by default."""
        turn: Array = np.zeros((*self._places().shape[:-1], 4))
        turn[..., 3] = 1.0
        return turn[0] if turn.ndim == 3 else turn

    def arrays(self) -> dict[str, Array]:
        """Return position, orientation and size by name; (K, W), or (N, K, W) where rows differ."""
        return {"position": self._places(), "orientation": self.orientation(), "size": self.size()}

    @property
    def count(self) -> int:
        """Number K."""
        return int(self._places().shape[-2])

    def _places(self) -> Array:
        return np.asarray(self.position, dtype=np.float64)

    def _side_by_side(self, *lengths: Numbers) -> Array:
        """Return lengths of each shape as its size, shape (K, 3) or (N, K, 3)."""
        found = [np.asarray(x, dtype=np.float64) for x in lengths]
        shapes = [self._places().shape[-2:-1], *(x.shape for x in found)]
        try:
            whole = np.broadcast_shapes(*shapes)
        except ValueError:
            raise ConfigError(
                "must be one number, or one for each shape", field=self.kind, value=shapes
            ) from None
        size: Array = np.zeros((*whole, 3))
        for k, x in enumerate(found):
            size[..., k] = x
        return size

    def _upright(self, heading: Numbers) -> Array:
        """Return quaternions turned about the vertical [rad], shape (K, 4) or (N, K, 4)."""
        angle = self._side_by_side(heading)[..., 0]
        sine, cosine = sine_and_cosine(0.5 * angle)
        turn: Array = np.zeros((*angle.shape, 4))
        turn[..., 2], turn[..., 3] = sine, cosine
        return turn


@dataclass(frozen=True, kw_only=True, eq=False)
class Boxes(ShapeSet):
    """Boxes."""

    kind: ClassVar[str] = "boxes"
    lengths: Numbers
    """Lengths along their axes [m], shape (K, 3) or (3,)."""
    heading: Numbers = 0.0
    """Angle about the vertical, counter-clockwise [rad], shape (K,)."""
    turn: Numbers | None = None
    """Unit quaternions xyzw in place of it, shape (K, 4)."""

    def size(self) -> Array:
        """Return half lengths."""
        lengths = np.asarray(self.lengths, dtype=np.float64)
        return self._side_by_side(*(0.5 * lengths[..., k] for k in range(3)))

    def orientation(self) -> Array:
        """Return quaternions."""
        return self._upright(self.heading) if self.turn is None else np.asarray(self.turn, dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Spheres(ShapeSet):
    """Spheres."""

    kind: ClassVar[str] = "spheres"
    radius: Numbers
    """Radii [m], shape (K,)."""

    def size(self) -> Array:
        """Return radii."""
        return self._side_by_side(self.radius)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cylinders(ShapeSet):
    """Cylinders, upright unless turned."""

    kind: ClassVar[str] = "cylinders"
    radius: Numbers
    """Radii [m], shape (K,)."""
    height: Numbers
    """Heights [m], shape (K,)."""
    turn: Numbers | None = None
    """Unit quaternions xyzw, from frames along whose z axis they stand, shape (K, 4)."""

    def size(self) -> Array:
        """Return radii and half heights."""
        return self._side_by_side(self.radius, 0.5 * np.asarray(self.height, dtype=np.float64))

    def orientation(self) -> Array:
        """Return quaternions."""
        return super().orientation() if self.turn is None else np.asarray(self.turn, dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Frames(ShapeSet):
    """Rectangular frames of round bars, such as gates, upright across a heading."""

    kind: ClassVar[str] = "frames"
    width: Numbers
    """Widths between the middles of the bars [m], shape (K,)."""
    height: Numbers
    """Heights between the middles of the bars [m], shape (K,)."""
    bar: Numbers = 0.05
    """Radii of the bars [m], shape (K,)."""
    heading: Numbers = 0.0
    """Direction through them, an angle about the vertical [rad], shape (K,)."""

    def size(self) -> Array:
        """Return half widths and heights, and radii of bars."""
        width, height = (0.5 * np.asarray(x, dtype=np.float64) for x in (self.width, self.height))
        return self._side_by_side(width, height, self.bar)

    def orientation(self) -> Array:
        """Return quaternions."""
        return self._upright(self.heading)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rings(ShapeSet):
    """Rings, upright across a heading."""

    kind: ClassVar[str] = "rings"
    radius: Numbers
    """Radii of the circles in the middle of the tubes [m], shape (K,)."""
    bar: Numbers = 0.05
    """Radii of the tubes [m], shape (K,)."""
    heading: Numbers = 0.0
    """Direction through them, an angle about the vertical [rad], shape (K,)."""

    def size(self) -> Array:
        """Return radii."""
        return self._side_by_side(self.radius, self.bar)

    def orientation(self) -> Array:
        """Return quaternions."""
        return self._upright(self.heading)


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """Solid surroundings of a fleet, and how hard and rough they are.

    What is given with one value per row, such as `ground` of shape (N,) or positions of shape (N, K, 3), is a
    column of the fleet: `fleet.columns` and `fleet.reset` know it as `ground`, `friction`, or
    `spheres.position`, `boxes.size` and so on.

    Contact is that of a spring, a damper and Coulomb's friction at points of the vehicle
    (`pegasus.step.contact`); it is another law than that of a simulation's engine.
    """

    ground: Numbers | None = None
    """Height of level ground [m], or (N,); None for none."""
    terrain: Terrain | None = None
    """Ground that is not level, in place of it."""
    boxes: Boxes | None = None
    spheres: Spheres | None = None
    cylinders: Cylinders | None = None
    frames: Frames | None = None
    rings: Rings | None = None
    friction: Numbers = 0.5
    """Coefficient of friction, or (N,)."""
    frequency: float = 300.0
    """Hardness: angular frequency at which a vehicle would swing on its feet [rad/s]."""
    damping_ratio: float = 1.0
    """Damping of that by the critical one."""
    left_out: tuple[str, ...] = field(default=())
    """What a world file held beside these, as `world_of_file` was told to leave out."""

    def __post_init__(self) -> None:
        require(
            self.ground is None or self.terrain is None, "terrain", "and ground", "must stand in place of it"
        )
        for name in ("frequency", "damping_ratio"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, "must be above 0 and finite")
        rough = np.asarray(self.friction, dtype=np.float64)
        good = bool((np.isfinite(rough) & (rough >= 0)).all())
        require(good, "friction", self.friction, "must be at least 0 and finite")
        shapes = self.sets()
        for name, of_kind in shapes.items():
            wanted = type(of_kind).kind
            require(wanted == name, name, type(of_kind).__name__, f"must be {name.capitalize()}")
            for part, width in (("position", 3), ("orientation", 4), ("size", 3)):
                values = of_kind.arrays()[part]
                inside = values.ndim in (2, 3) and values.shape[-2:] == (of_kind.count, width)
                known = (
                    f"must be finite numbers of shape ({of_kind.count}, {width}), or one such for each row"
                )
                require(inside and bool(np.isfinite(values).all()), f"{name}.{part}", values.shape, known)
            used = {"spheres": 1, "cylinders": 2, "rings": 2}.get(name, 3)
            least = float(of_kind.arrays()["size"][..., :used].min(initial=1.0))
            require(least > 0, f"{name}.size", least, "must be above 0 m")
        total = sum(of_kind.count for of_kind in shapes.values())
        require(
            total <= MOST_SHAPES,
            "shapes",
            total,
            f"must be at most {MOST_SHAPES}: each is code of the step",
            "keep those that are near",
        )

    def sets(self) -> dict[str, ShapeSet]:
        """Return the shapes by kind, in the order of the step."""
        return {name: getattr(self, name) for name in KINDS if getattr(self, name) is not None}


@dataclass(frozen=True, eq=False)
class WorldArguments:
    """Surroundings as arguments of the step: what is the same for all rows stands as it is.

    Args:
        world: The surroundings.
        count: Number of rows N.
        touches: Points at which the vehicle touches.

    Raises:
        ConfigError: If something has one value for each of another number of rows.
    """

    world: World
    count: int
    touches: tuple[Touch, ...]

    def __post_init__(self) -> None:
        for name, values in self.values().items():
            require(len(values) == self.count, f"world.{name}", len(values), f"must have {self.count} rows")

    @property
    def law(self) -> ContactLaw:
        """Stiffness, damping and points."""
        reach = max(
            (math.sqrt(t.place.x**2 + t.place.y**2 + t.place.z**2) + t.radius for t in self.touches),
            default=0.0,
        )
        return ContactLaw(self.world.frequency, self.world.damping_ratio, self.touches, reach)

    def values(self) -> dict[str, Array]:
        """Return what differs between rows by column, shape (N, W)."""
        return {name: value for name, value in self._parts().items() if isinstance(value, np.ndarray)}

    def _parts(self) -> dict[str, Any]:
        """Return columns, shape (N, W), and literals of the step by name."""
        made: dict[str, Any] = {}
        for name in ("ground", "friction"):
            value = getattr(self.world, name)
            given = None if value is None else np.asarray(value, dtype=np.float64)
            made[name] = given if given is None or given.ndim else float(given)
            if isinstance(made[name], np.ndarray):
                made[name] = made[name].reshape(-1, 1)
        for kind, shapes in self.world.sets().items():
            for part, values in shapes.arrays().items():
                if values.ndim == 3:
                    made[f"{kind}.{part}"] = values.reshape(len(values), -1)
                else:
                    vector = Quat if part == "orientation" else Vec3
                    made[f"{kind}.{part}"] = tuple(vector(*map(_known, row)) for row in values.tolist())
        return made

    @property
    def arguments(self) -> list[Any]:
        """Arguments of the step, in the order of `solids_of`."""
        made: list[Any] = []
        for name, value in self._parts().items():
            kind, _, part = name.partition(".")
            if not isinstance(value, np.ndarray):
                made.append(value)
            elif part:
                vector = Quat if part == "orientation" else Vec3
                made.append(column(name, vector, getattr(self.world, kind).count))
            else:
                made.append(column(name, float))
        return made

    @property
    def terrain(self) -> Argument | None:
        """Terrain as an argument."""
        return None if self.world.terrain is None else uniform("terrain", self.world.terrain.law())


def solids_of(kinds: tuple[str, ...], terrain: Heights | None, given: tuple[Any, ...]) -> tuple[Solids, Any]:
    """Return surroundings and friction from the arguments of a step.

    Args:
        kinds: Kinds of the shapes.
        terrain: Terrain; None for none.
        given: Height of the ground, friction, and position, orientation and size of each kind.
    """
    level, friction, *parts = given
    shapes: Mapping[str, Shapes] = {kind: Shapes(*parts[3 * k : 3 * k + 3]) for k, kind in enumerate(kinds)}
    return Solids(level, terrain, dict(shapes)), friction


def _known(x: float) -> float:
    return NOTHING if x == 0.0 else x
