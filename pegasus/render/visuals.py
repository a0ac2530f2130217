"""The pictures of a simulation: what moves in them, where it is at an instant, and who draws it."""

import importlib.util
import logging
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.frames import multiply, quaternion_from_rotation_vector
from pegasus.render.drawn_vehicle import DrawnVehicle
from pegasus.render.enclosures import Enclosures
from pegasus.render.renderer import Images, Renderer, RenderObject, Returns, View
from pegasus.scene.scene import Entity, Scene

if TYPE_CHECKING:
    from pegasus.vehicle import Vehicle
    from pegasus.vehicle_manager import VehicleManager

_log = logging.getLogger(__name__)

RENDERERS = {"embree": ("embreex", "warp"), "mitsuba": ("mitsuba",)}
"""Shipped renderers, and the packages that each one needs."""
_EXTRAS = {"embree": "render", "mitsuba": "photo"}


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Where everything that moves is at one instant; it keeps that, whatever the simulation does next."""

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

    def at(self, offset: float) -> "Snapshot":
        """Return where everything is a moment later or earlier, each body keeping its velocities.

        Args:
            offset: Time from this snapshot on [s].
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
        """Return how a vehicle is drawn.

        Args:
            name: Name of the vehicle.
        """
        return next(item for item in self.vehicles if item.name == name)

    @property
    def objects(self) -> list[RenderObject]:
        """Everything that moves, K objects."""
        return [item for vehicle in self.vehicles for item in vehicle.objects]

    @cached_property
    def poses(self) -> Array:
        """Poses of the objects, object to world, shape (K, 4, 4)."""
        poses = [
            vehicle.poses(self.position[a:b], self.orientation[a:b], speed, self.time)
            for vehicle, speed, a, b in zip(
                self.vehicles, self.rotor_speed, self.rows, self.rows[1:], strict=False
            )
        ]
        return np.concatenate(poses) if poses else np.zeros((0, 4, 4))

    @property
    def entity_poses(self) -> dict[str, Array]:
        """Pose of each vehicle's body by the path of its entity, body to world, shape (4, 4) each."""
        pairs = zip(self.objects, self.poses, strict=True)
        return {item.entity.path: pose for item, pose in pairs if item.path.endswith("/body")}

    @property
    def object_poses(self) -> dict[str, Array]:
        """Pose of each object by its path, object to world, shape (4, 4) each."""
        return dict(zip([item.path for item in self.objects], self.poses, strict=True))


class Visuals:
    """Pictures of a simulation, and rays through what they show; nothing is drawn before somebody asks.

    Args:
        scene: The world.
        vehicles: The vehicles; they may come and go.
        renderer: `auto`, `embree` or `mitsuba`, or a renderer. It is made at the first picture.

    Raises:
        ConfigError: If there is no renderer of that name.
    """

    def __init__(
        self, scene: Scene, vehicles: "VehicleManager", *, renderer: str | Renderer = "auto"
    ) -> None:
        if isinstance(renderer, str) and renderer not in ("auto", *RENDERERS):
            raise ConfigError(
                f"must be auto, {' or '.join(RENDERERS)}, or a renderer", field="renderer", value=renderer
            )
        self.scene = scene
        """The world, without its vehicles."""
        self._warned: set[str] = set()
        self._vehicles, self._choice = vehicles, renderer
        self._renderer: Renderer | None = None
        self._closed = False
        self._seen: tuple[Vehicle, ...] = ()
        self._drawn: dict[Vehicle, DrawnVehicle] = {}
        self._fleet: tuple[DrawnVehicle, ...] = ()
        self._rows: tuple[int, ...] = (0,)
        self._present: dict[str, RenderObject] = {}
        self._shown: tuple[Snapshot, frozenset[str]] | None = None
        # A panel looks from its own thread.
        self._lock = threading.RLock()

    def snapshot(self, time: float) -> Snapshot:
        """Return where everything is now.

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
        )

    def render(
        self,
        snapshot: Snapshot,
        view: View,
        channels: Collection[str],
        *,
        samples: int = 1,
        hidden: Collection[str] = (),
    ) -> Images:
        """Return channels of a view of what a snapshot holds.

        Args:
            snapshot: The instant that is shown.
            view: The camera.
            channels: Names from `pegasus.render.CHANNELS`.
            samples: Rays per pixel of the radiance.
            hidden: Paths of entities that are left out.

        Raises:
            ConfigError: If there is no renderer, or nothing to draw.
        """
        with self._lock:
            renderer = self._show(snapshot, hidden)
            return renderer.render(view, channels, samples=samples)

    def cast(
        self,
        snapshot: Snapshot,
        origins: Array,
        directions: Array,
        max_range: float,
        *,
        hidden: Collection[str] = (),
    ) -> Returns:
        """Return what rays meet first in what a snapshot holds.

        Args:
            snapshot: The instant at which they are cast.
            origins: Where they start in the world [m], shape (K, 3).
            directions: Unit directions in the world, shape (K, 3).
            max_range: Longest distance [m].
            hidden: Paths of entities that do not stop them.

        Raises:
            ConfigError: If there is no renderer, or nothing to draw.
        """
        with self._lock:
            return self._show(snapshot, hidden).cast(origins, directions, max_range)

    def warn_if_enclosed(
        self, eye: str, snapshot: Snapshot, point: Array, *, carrier: str | None = None, mount: Array
    ) -> None:
        """Warn, once for each camera or lidar, when it is inside of something and sees nothing else.

        Args:
            eye: What it is, as the message names it.
            snapshot: The instant.
            point: Where it is in the world [m], shape (3,).
            carrier: Vehicle that it may be inside of; None where that one is not drawn.
            mount: Where it is in that vehicle's body frame [m], shape (3,).
        """
        if eye in self._warned:
            return
        # A world that nobody has read yet is not read for a warning.
        around = self._enclosures.around(point) if self.scene.is_whole else None
        if around is None and carrier is not None:
            around = snapshot.vehicle(carrier).enclosures.around(mount)
        if around is not None:
            self._warned.add(eye)
            _log.warning(
                "%s is inside %s at t = %g s; correct its position, or set hide_vehicle",
                *(eye, around, snapshot.time),
            )

    @cached_property
    def _enclosures(self) -> Enclosures:
        return Enclosures(self.scene)

    @property
    def entities(self) -> Sequence[Entity]:
        """Everything that pixels and returns can belong to, by index."""
        with self._lock:
            return self._made().entities

    @property
    def materials(self) -> Sequence[str]:
        """Paths of the materials that pixels and returns can show, by index."""
        with self._lock:
            return self._made().materials

    def prepare(self) -> None:
        """Begin to read the world in the background, where it is read later and the renderer needs it."""
        if isinstance(self._choice, str) and not self.scene.is_whole:
            self.scene.begin(whole=True)

    def close(self) -> None:
        """Free the renderer; calling it twice is allowed."""
        with self._lock:
            self._closed = True
            renderer, self._renderer = self._renderer, None
            if renderer is not None:
                renderer.close()

    def _show(self, snapshot: Snapshot, hidden: Collection[str]) -> Renderer:
        """Bring the renderer to what a snapshot holds."""
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
        """Make the renderer's objects those that are wanted."""
        gone = [path for path, item in self._present.items() if wanted.get(path) is not item]
        new = [item for path, item in wanted.items() if self._present.get(path) is not item]
        if gone:
            renderer.remove(gone)
        if new:
            renderer.add(new)
        self._present = wanted

    def _made(self) -> Renderer:
        if self._closed:
            raise RuntimeError("this simulation is closed; look at its pictures before closing it")
        if self._renderer is None:
            made = _renderer(self._choice)
            # One that is given may have its world from elsewhere, as RTX has.
            made.load(self.scene.whole() if isinstance(self._choice, str) else self.scene)
            self._renderer = made
        return self._renderer


def _renderer(choice: str | Renderer) -> Renderer:
    if not isinstance(choice, str):
        return choice
    name = "embree" if choice == "auto" else choice
    for package in RENDERERS[name]:
        if importlib.util.find_spec(package) is None:
            raise ConfigError(
                f"needs the package {package}, which is not installed",
                field="renderer",
                value=choice,
                remedy=f"pip install pegasus-multirotor[{_EXTRAS[name]}]",
            )
    if name == "embree":
        from pegasus.render.embree_renderer import EmbreeRenderer

        return EmbreeRenderer()
    from pegasus.render.mitsuba_renderer import MitsubaRenderer

    return MitsubaRenderer()
