"""The pictures of a simulation: what moves in them, where it is at an instant, and who draws it."""

import importlib.util
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.frames import matrix_from_quaternion, multiply, quaternion_from_rotation_vector
from pegasus.render.renderer import Images, Renderer, RenderObject, Returns, View
from pegasus.scene.scene import Entity, Scene
from pegasus.scene.vehicle_asset import rotor_of

if TYPE_CHECKING:
    from pegasus.rotor_specs import RotorSpec
    from pegasus.vehicle import Vehicle
    from pegasus.vehicle_manager import VehicleManager

RENDERERS = {"embree": ("embreex", "warp"), "mitsuba": ("mitsuba",)}
"""Shipped renderers, and the packages that each one needs."""
_EXTRAS = {"embree": "render", "mitsuba": "photo"}


class DrawnVehicle:
    """The N copies of a vehicle as objects of a renderer: one for each body, and one for each of R rotors.

    Objects are in the order body, rotor 0, rotor 1, ... of the first copy, then those of the next.

    Args:
        vehicle: The vehicle.
    """

    def __init__(self, vehicle: "Vehicle") -> None:
        rotors = vehicle.spec.rotor_list()
        body, turning = _split(vehicle.scene, rotors)
        frames = np.array([_rotor_frame(rotor) for rotor in rotors])
        shown = [index for index, scene in enumerate(turning) if scene.instances]
        scenes = [body, *(_seen_from(turning[index], frames[index]) for index in shown)]
        parts = ["body", *(f"rotor{index}" for index in shown)]
        labelled = (item.labels for item in vehicle.scene.instances if "class" in item.labels)
        labels = next(labelled, {"class": "multirotor"})
        single = vehicle.count == 1
        self.name, self.body = vehicle.name, body
        self.prefixes = [f"/World/{vehicle.name}" + ("" if single else f"/{i}") for i in range(vehicle.count)]
        """Path of the entity that each copy is, shape (N,)."""
        self.objects = [
            RenderObject(path=f"{prefix}/{part}", scene=scene, entity=entity)
            for prefix in self.prefixes
            for entity in [Entity(path=prefix, labels=labels, transform=np.eye(4))]
            for part, scene in zip(parts, scenes, strict=True)
        ]
        """The objects, shape (N * (1 + R),)."""
        self._frames, self._shown = frames[shown], shown
        self._spin = np.array([1.0 if rotors[i].direction == "ccw" else -1.0 for i in shown])

    def poses(self, position: Array, orientation: Array, rotor_speed: Array, time: float) -> Array:
        """Return the poses of the objects, object to world, shape (N * (1 + R), 4, 4).

        A propeller stands at the angle that it would have reached at its present speed since time 0: a
        function of state and time alone, so that looking at a simulation changes nothing in it.

        Args:
            position: Origins of the body frames [m], shape (N, 3).
            orientation: Unit quaternions xyzw, body to world, shape (N, 4).
            rotor_speed: Rotor speeds [rad/s], shape (N, R).
            time: Simulation time [s].
        """
        body = np.zeros((len(position), 1, 4, 4))
        body[:, 0, :3, :3] = matrix_from_quaternion(orientation)
        body[:, 0, :3, 3] = position
        body[:, 0, 3, 3] = 1.0
        if not self._shown:
            return body[:, 0]
        angle = np.remainder(rotor_speed[:, self._shown] * time, 2 * np.pi) * self._spin
        turn = np.zeros((*angle.shape, 4, 4))
        turn[..., 0, 0] = turn[..., 1, 1] = np.cos(angle)
        turn[..., 1, 0] = np.sin(angle)
        turn[..., 0, 1] = -turn[..., 1, 0]
        turn[..., 2, 2] = turn[..., 3, 3] = 1.0
        rotors = body @ self._frames @ turn
        return np.concatenate([body, rotors], axis=1).reshape(-1, 4, 4)


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
        self.warned: set[str] = set()
        """Cameras that have said already that they see nothing but the inside of something."""
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
            made.load(self.scene)
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


def _split(scene: Scene, rotors: "Sequence[RotorSpec]") -> tuple[Scene, list[Scene]]:
    """Return what is fixed to the body and what turns with each rotor."""
    turns_with = [rotor_of(item.path, rotors) for item in scene.instances]
    parts: list[list[int]] = [[] for _ in range(len(rotors) + 1)]
    for index, rotor in enumerate(turns_with):
        parts[0 if rotor is None or rotor >= len(rotors) else rotor + 1].append(index)
    scenes = [replace(scene, instances=[scene.instances[i] for i in part]) for part in parts]
    return scenes[0], scenes[1:]


def _seen_from(scene: Scene, frame: Array) -> Scene:
    """Return a scene in a frame of its own."""
    inverse = np.linalg.inv(frame)
    instances = [replace(item, transform=inverse @ item.transform) for item in scene.instances]
    return replace(scene, instances=instances)


def _rotor_frame(rotor: "RotorSpec") -> Array:
    """Return the frame that a rotor turns in about z, rotor to body, shape (4, 4)."""
    z = np.array(rotor.axis) / np.linalg.norm(rotor.axis)
    aside = np.array([0.0, 1.0, 0.0]) if abs(z[1]) < 0.9 else np.array([0.0, 0.0, 1.0])
    x = np.cross(aside, z)
    x /= np.linalg.norm(x)
    frame = np.eye(4)
    frame[:3, :3] = np.stack([x, np.cross(z, x), z], axis=1)
    frame[:3, 3] = rotor.position
    return frame
