"""Rendering of a simulation: snapshots of moving objects, images and ray returns."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, multiply, quaternion_from_rotation_vector, rotate
from pegasus.base.system import yield_to_others
from pegasus.contracts.engine import BodyState
from pegasus.contracts.mover import Mover
from pegasus.contracts.renderer import (
    RENDERERS,
    Images,
    Renderer,
    RenderObject,
    RendersAhead,
    Returns,
    View,
)
from pegasus.core.drawn_vehicle import DrawableVehicle, DrawnVehicle
from pegasus.scene.enclosures import Enclosures
from pegasus.scene.scene import Entity, Scene

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Poses and velocities of all vehicles and movers at one instant, copied from the simulation."""

    time: float
    """Simulation time [s]."""
    vehicles: tuple[DrawnVehicle, ...]
    """The vehicles."""
    rows: tuple[int, ...]
    """First row of each vehicle in the arrays over all bodies; the last one is their number M."""
    position: Array
    """Origins of the body frames [m], shape (M, 3)."""
    orientation: Array
    """Unit quaternions xyzw, body to world, shape (M, 4)."""
    velocity: Array
    """Velocities of the body frames' origins in the world [m/s], shape (M, 3)."""
    angular_velocity: Array
    """Angular velocities in the body frames [rad/s], shape (M, 3)."""
    rotor_speed: tuple[Array, ...]
    """Rotor speeds of each vehicle [rad/s], shape (N, R) each."""
    joint_angle: tuple[Array, ...]
    """Angles of the joints of each vehicle [rad], shape (N, J) each."""
    wheel_angle: tuple[Array, ...]
    """Angles by which the wheels of each vehicle have rolled [rad], shape (N, W) each."""
    movers: tuple[Mover, ...] = ()
    """The movers, whose poses are functions of `time`."""

    def at(self, offset: float) -> "Snapshot":
        """Return the snapshot extrapolated in time at constant velocities.

        Args:
            offset: Time relative to this snapshot [s].
        """
        if offset == 0.0:
            return self
        turn = quaternion_from_rotation_vector(self.angular_velocity * offset)
        return replace(
            self,
            time=self.time + offset,
            position=self.position + self.velocity * offset,
            orientation=multiply(self.orientation, turn),
        )

    def first_row(self, vehicle: str) -> int:
        """Return the row of a vehicle's first copy in the arrays over all bodies.

        Args:
            vehicle: Name of the vehicle.
        """
        return self.rows[[item.name for item in self.vehicles].index(vehicle)]

    def vehicle(self, name: str) -> DrawnVehicle:
        """Return a vehicle's objects.

        Args:
            name: Name of the vehicle.
        """
        return next(item for item in self.vehicles if item.name == name)

    @property
    def objects(self) -> list[RenderObject]:
        """Moving objects, shape (K,)."""
        parts = [item for vehicle in self.vehicles for item in vehicle.objects]
        return parts + [item for mover in self.movers for item in mover.objects]

    @cached_property
    def poses(self) -> Array:
        """Poses of the objects, object to world, shape (K, 4, 4)."""
        poses = [
            vehicle.poses(self.position[a:b], self.orientation[a:b], *angles, self.time)
            for vehicle, a, b, *angles in zip(
                self.vehicles,
                self.rows,
                self.rows[1:],
                self.rotor_speed,
                self.joint_angle,
                self.wheel_angle,
                strict=False,
            )
        ]
        poses += [mover.transforms(self.time) for mover in self.movers]
        return np.concatenate(poses) if poses else np.zeros((0, 4, 4))

    @property
    def entity_poses(self) -> dict[str, Array]:
        """Pose of each entity by its path, that of its first object, to the world, shape (4, 4) each."""
        poses: dict[str, Array] = {}
        for item, pose in zip(self.objects, self.poses, strict=True):
            poses.setdefault(item.entity.path, pose)
        return poses

    @cached_property
    def entity_velocities(self) -> dict[str, tuple[Array, Array]]:
        """Velocity of each entity's origin [m/s] and its angular velocity [rad/s], world axes, (3,) each.

        By the path of the entity; entities of the world, which stand still, are not among them.
        """
        spin = rotate(matrix_from_quaternion(self.orientation), self.angular_velocity)
        bodies = [path for vehicle in self.vehicles for path in vehicle.prefixes]
        found = dict(zip(bodies, zip(self.velocity, spin, strict=True), strict=True))
        for mover in self.movers:
            motion = mover.motion(self.time)
            turning = rotate(matrix_from_quaternion(motion.orientation), motion.angular_velocity)
            for item, *velocities in zip(mover.objects, motion.velocity, turning, strict=True):
                found.setdefault(item.entity.path, (velocities[0], velocities[1]))
        return found

    @property
    def object_poses(self) -> dict[str, Array]:
        """Pose of each object by its path, object to world, shape (4, 4) each."""
        return dict(zip([item.path for item in self.objects], self.poses, strict=True))


class Fleet(Iterable[DrawableVehicle], Protocol):
    """Vehicles of a simulation, as they are drawn."""

    @property
    def bodies(self) -> BodyState:
        """State of all copies in the order of the vehicles."""


class Visuals:
    """Images and ray returns of a simulation, rendered on request.

    Args:
        scene: The world.
        vehicles: The vehicles; they may come and go.
        movers: The movers; they may come and go.
        renderer: `auto`, `embree` or `mitsuba`, or a renderer. It is made at the first image.
        renders_past: Whether the renderer renders snapshots of the past, and not the present alone.

    Raises:
        ConfigError: If there is no renderer of that name.
    """

    def __init__(
        self,
        scene: Scene,
        vehicles: Fleet,
        movers: Iterable[Mover] = (),
        *,
        renderer: str | Renderer = "auto",
        renders_past: bool = True,
    ) -> None:
        if isinstance(renderer, str) and renderer not in ("auto", *RENDERERS):
            raise ConfigError(
                f"must be auto, {' or '.join(RENDERERS)}, or a renderer", field="renderer", value=renderer
            )
        self.scene = scene
        """The world, without its vehicles."""
        self.renders_past = renders_past
        """True if an image can be rendered when the simulation has gone on."""
        self._warned: set[str] = set()
        self._vehicles, self._movers, self._choice = vehicles, movers, renderer
        self._renderer: Renderer | None = None
        self._closed = False
        self._seen: tuple[DrawableVehicle, ...] = ()
        self._drawn: dict[DrawableVehicle, DrawnVehicle] = {}
        self._fleet: tuple[DrawnVehicle, ...] = ()
        self._rows: tuple[int, ...] = (0,)
        self._present: dict[str, RenderObject] = {}
        self._shown: tuple[Snapshot, frozenset[str]] | None = None
        # A panel and the worker render from threads of their own.
        self._lock = threading.RLock()
        self._worker: ThreadPoolExecutor | None = None

    def snapshot(self, time: float) -> Snapshot:
        """Return the present snapshot.

        Args:
            time: Simulation time [s].
        """
        vehicles, bodies = tuple(self._vehicles), self._vehicles.bodies
        if vehicles != self._seen:
            self._seen = vehicles
            self._drawn = {v: self._drawn[v] if v in self._drawn else DrawnVehicle(v) for v in vehicles}
            self._fleet = tuple(self._drawn[vehicle] for vehicle in vehicles)
            self._rows = (0, *np.cumsum([v.count for v in vehicles]).tolist())
        return Snapshot(
            time,
            self._fleet,
            self._rows,
            bodies.position.copy(),
            bodies.orientation.copy(),
            bodies.velocity.copy(),
            bodies.angular_velocity.copy(),
            tuple([vehicle.state.rotor_speed.copy() for vehicle in vehicles]),
            tuple([vehicle.columns["joint_angle"].copy() for vehicle in vehicles]),
            tuple([vehicle.columns["wheel_angle"].copy() for vehicle in vehicles]),
            tuple(self._movers),
        )

    def render(
        self,
        snapshot: Snapshot,
        view: View,
        channels: Collection[str],
        *,
        samples: int | None = None,
        hidden: Collection[str] = (),
    ) -> Images:
        """Return channels of a view of a snapshot.

        Args:
            snapshot: The instant.
            view: The camera.
            channels: Names from `pegasus.render.CHANNELS`.
            samples: Rays per pixel of the radiance; the renderer's usual number if None.
            hidden: Paths of entities to leave out.

        Raises:
            ConfigError: If there is no renderer, or nothing to draw.
        """
        with self._lock:
            renderer = self._show(snapshot, hidden)
            count = samples or renderer.usual_samples
            if not isinstance(renderer, RendersAhead):
                return renderer.render(view, channels, samples=count)
            finish = renderer.begin(view, channels, samples=count)
        # Its last parts leave processors idle, which begin the next image.
        return finish()

    def cast(
        self,
        snapshot: Snapshot,
        origins: Array,
        directions: Array,
        max_range: float,
        *,
        hidden: Collection[str] = (),
        width: int = 0,
    ) -> Returns:
        """Return the nearest hits of rays in a snapshot.

        Args:
            snapshot: The instant.
            origins: Starts of the rays in the world [m], shape (K, 3), or (K / width, 3): one for each row.
            directions: Unit directions in the world, shape (K, 3).
            max_range: Longest distance [m].
            hidden: Paths of entities to leave out.
            width: Length of the rows if the rays are rows of a grid of nearly parallel neighbours, else 0.

        Raises:
            ConfigError: If there is no renderer, or nothing to draw.
        """
        with self._lock:
            return self._show(snapshot, hidden).cast(origins, directions, max_range, width=width)

    def warn_if_enclosed(
        self, sensor: str, snapshot: Snapshot, point: Array, *, carrier: str | None = None, mount: Array
    ) -> None:
        """Warn once per camera or lidar that is enclosed by geometry.

        Args:
            sensor: Name of the camera or lidar in the message.
            snapshot: The instant.
            point: Position in the world [m], shape (3,).
            carrier: Vehicle that carries it; None if that one is hidden.
            mount: Position in that vehicle's body frame [m], shape (3,).
        """
        if sensor in self._warned:
            return
        # A deferred world is not read for a warning.
        around = self._enclosures.around(point) if self.scene.is_whole else None
        if around is None and carrier is not None:
            around = snapshot.vehicle(carrier).enclosures.around(mount)
        if around is not None:
            self._warned.add(sensor)
            _log.warning(
                "%s is inside %s at t = %g s; correct its position, or set hide_vehicle",
                *(sensor, around, snapshot.time),
            )

    @cached_property
    def _enclosures(self) -> Enclosures:
        return Enclosures(self.scene)

    @property
    def entities(self) -> Sequence[Entity]:
        """Entities of pixels and returns, by index."""
        return self._ready().entities

    @property
    def usual_samples(self) -> int:
        """Rays per pixel of the renderer's radiance for cameras that name none."""
        return self._ready().usual_samples

    @property
    def materials(self) -> Sequence[str]:
        """Paths of the materials of pixels and returns, by index."""
        return self._ready().materials

    def load(self) -> None:
        """Make the renderer, if there is none yet.

        Raises:
            ConfigError: If it cannot be made, or there is nothing to draw.
        """
        self._ready()

    def submit(self, make: Callable[[], T]) -> Future[T]:
        """Call a function in a thread that renders beside the simulation, after those submitted before.

        Two threads take turns in rendering, so that one encodes an image while the other renders the next,
        which begins as soon as processors have nothing left to do for the one before.

        Args:
            make: The function.
        """
        if self._worker is None:
            self._worker = ThreadPoolExecutor(2, "images", yield_to_others)
        return self._worker.submit(make)

    def prepare(self) -> None:
        """Start reading a deferred world in the background, if the renderer needs it."""
        if isinstance(self._choice, str) and not self.scene.is_whole:
            self.scene.begin(whole=True)

    def close(self) -> None:
        """Free the renderer; calling it twice is allowed."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown(cancel_futures=True)
        with self._lock:
            self._closed = True
            renderer, self._renderer = self._renderer, None
            if renderer is not None:
                renderer.close()

    def _show(self, snapshot: Snapshot, hidden: Collection[str]) -> Renderer:
        """Return the renderer with its objects at the poses of a snapshot."""
        renderer = self._made()
        wanted = snapshot, frozenset(hidden)
        if self._shown is not None and self._shown[0] is snapshot and self._shown[1] == wanted[1]:
            return renderer
        objects, poses = snapshot.objects, snapshot.poses
        if hidden:
            kept = [index for index, item in enumerate(objects) if item.entity.path not in wanted[1]]
            objects, poses = [objects[index] for index in kept], poses[kept]
        self._shown = None
        self._exchange(renderer, {item.path: item for item in objects})
        if objects:
            renderer.move([item.path for item in objects], poses)
        self._shown = wanted
        return renderer

    def _exchange(self, renderer: Renderer, wanted: dict[str, RenderObject]) -> None:
        """Add and remove objects of the renderer."""
        gone = [path for path, item in self._present.items() if wanted.get(path) is not item]
        new = [item for path, item in wanted.items() if self._present.get(path) is not item]
        if gone:
            renderer.remove(gone)
        if new:
            renderer.add(new)
        self._present = wanted

    def _ready(self) -> Renderer:
        """Return the renderer, without waiting for images of other threads if it is made already."""
        renderer = self._renderer
        if renderer is None:
            with self._lock:
                renderer = self._made()
        return renderer

    def _made(self) -> Renderer:
        if self._closed:
            raise RuntimeError("this simulation is closed; render its images before closing it")
        if self._renderer is None:
            choice = "embree" if self._choice == "auto" else self._choice
            made = RENDERERS[choice]() if isinstance(choice, str) else choice
            # A renderer of the user may have the world from elsewhere, as RTX has.
            made.load(self.scene.whole() if isinstance(self._choice, str) else self.scene)
            self._renderer = made
        return self._renderer
