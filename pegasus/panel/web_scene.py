"""What a browser shows in 3D: the world, its light and sky, and the vehicles that move in it."""

import hashlib
import math

import numpy as np
import numpy.typing as npt
import viser

from pegasus.arrays import Array
from pegasus.frames import quaternion_from_matrix
from pegasus.panel.gltf import Part, glb, packed_sky
from pegasus.panel.snapshot import Snapshot
from pegasus.panel.web_world import WebWorld, web_world
from pegasus.render.drawn_vehicle import DrawnVehicle
from pegasus.scene.scene import Light, Scene

_SHADOW_TRIANGLES = 1_000_000
"""Triangles up to which a world casts shadows."""
_LONGEST_VIEW = 6000.0
_SKY_RADIUS = 3000.0
_ZENITH, _HORIZON = (0.10, 0.26, 0.62), (0.56, 0.70, 0.86)
_SUN_INTENSITY, _SKY_INTENSITY, _REFLECTIONS = 2.6, 0.6, 0.35


class WebScene:
    """The 3D view of a server: all of its browsers see the same.

    Args:
        server: The server.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._scene: Scene | None = None
        self._world_nodes: list[viser.SceneNodeHandle] = []
        self._moving: list[_Moving] = []
        self._fleet: tuple[DrawnVehicle, ...] = ()
        self._files: dict[int, tuple[Scene, bytes]] = {}
        self.world: WebWorld | None = None
        """The world that is shown; None while none is."""
        server.scene.set_up_direction("+z")
        server.scene.configure_default_lights(enabled=False)
        server.scene.configure_environment_map("park", environment_intensity=_REFLECTIONS)
        server.initial_camera.far = _LONGEST_VIEW
        server.initial_camera.near = 0.1
        server.initial_camera.fov = math.radians(58.0)

    def show(self, snapshot: Snapshot) -> None:
        """Bring the view to a snapshot.

        Args:
            snapshot: What is shown.
        """
        if snapshot.scene is not self._scene:
            self._exchange_world(snapshot.scene)
        drawn = snapshot.drawn
        fleet = () if drawn is None else drawn.vehicles
        if fleet != self._fleet:
            self._exchange_fleet(fleet)
        if drawn is None or not self._moving:
            return
        poses = drawn.poses
        position = poses[:, :3, 3].astype(np.float32)
        orientation = wxyz(quaternion_from_matrix(poses[:, :3, :3]))
        for moving in self._moving:
            moving.place(position, orientation)

    def _exchange_world(self, scene: Scene | None) -> None:
        for node in self._world_nodes:
            node.remove()
        self._world_nodes, self._scene, self.world = [], scene, None
        if scene is None:
            return
        self.world = web_world(scene)
        add, nodes = self._server.scene, self._world_nodes
        shadows = self.world.triangle_count <= _SHADOW_TRIANGLES
        if self.world.fixed is not None:
            nodes.append(add.add_glb("/world/fixed", self.world.fixed, cast_shadow=shadows))
        for index, batch in enumerate(self.world.batches):
            nodes.append(
                add.add_batched_glb(
                    f"/world/copies{index}",
                    batch.data,
                    batched_wxyzs=wxyz(batch.orientation),
                    batched_positions=batch.position.astype(np.float32),
                    batched_scales=batch.scale.astype(np.float32),
                    lod="off",
                    cast_shadow=shadows,
                )
            )
        nodes += self._light(scene)

    def _light(self, scene: Scene) -> list[viser.SceneNodeHandle]:
        """Add light and, in the open, a sky."""
        add = self._server.scene
        sun = next((light for light in scene.lights if light.kind == "DistantLight"), None)
        nodes: list[viser.SceneNodeHandle] = []
        if sun is not None:
            nodes.append(
                add.add_light_directional(
                    "/world/sun",
                    color=(255, 244, 226),
                    intensity=_SUN_INTENSITY,
                    cast_shadow=True,
                    position=_towards(sun),
                )
            )
            nodes.append(
                add.add_light_hemisphere(
                    "/world/skylight",
                    sky_color=(190, 214, 255),
                    ground_color=(120, 112, 100),
                    intensity=_SKY_INTENSITY,
                )
            )
            sky = packed_sky(zenith=_ZENITH, horizon=_HORIZON, radius=_SKY_RADIUS)
            nodes.append(add.add_glb("/world/sky", sky, cast_shadow=False, receive_shadow=False))
            return nodes
        nodes.append(
            add.add_light_hemisphere(
                "/world/skylight",
                sky_color=(255, 250, 240),
                ground_color=(150, 145, 138),
                intensity=2.2,
            )
        )
        nodes.append(
            add.add_light_directional(
                "/world/sun",
                color=(255, 250, 240),
                intensity=1.0,
                cast_shadow=False,
                position=(2.0, -3.0, 8.0),
            )
        )
        return nodes

    def _exchange_fleet(self, fleet: tuple[DrawnVehicle, ...]) -> None:
        for moving in self._moving:
            moving.remove()
        self._fleet, self._moving = fleet, []
        shapes: dict[str, tuple[bytes, list[int]]] = {}
        row = 0
        for vehicle in fleet:
            for item in vehicle.objects:
                data = self._file(item.scene)
                # Equal shapes are one batch, whichever vehicles they belong to.
                key = hashlib.sha256(data).hexdigest()
                shapes.setdefault(key, (data, []))[1].append(row)
                row += 1
        alive = {id(item.scene) for vehicle in fleet for item in vehicle.objects}
        self._files = {key: value for key, value in self._files.items() if key in alive}
        self._moving = [
            _Moving(self._server, f"/vehicles/{key[:16]}", data, np.array(rows))
            for key, (data, rows) in shapes.items()
        ]

    def _file(self, scene: Scene) -> bytes:
        """Return a shape as a file, made once while it is shown."""
        if id(scene) not in self._files:
            parts = [
                Part(scene.geometries[item.geometry], scene.materials[item.material], [item.transform])
                for item in scene.instances
            ]
            self._files[id(scene)] = scene, glb(parts, texture_size=512)
        return self._files[id(scene)][1]


class _Moving:
    """One shape at the places of those objects that have it."""

    def __init__(
        self, server: viser.ViserServer, name: str, data: bytes, rows: npt.NDArray[np.int64]
    ) -> None:
        self._rows = rows
        identity = np.tile(np.array([1.0, 0.0, 0.0, 0.0], np.float32), (len(rows), 1))
        self._handle = server.scene.add_batched_glb(
            name,
            data,
            batched_wxyzs=identity,
            batched_positions=np.zeros((len(rows), 3), np.float32),
            lod="off",
        )

    def place(self, position: npt.NDArray[np.float32], orientation: npt.NDArray[np.float32]) -> None:
        """Move all copies.

        Args:
            position: Positions of all objects [m], shape (K, 3).
            orientation: Quaternions wxyz of all objects, shape (K, 4).
        """
        self._handle.batched_positions = position[self._rows]
        self._handle.batched_wxyzs = orientation[self._rows]

    def remove(self) -> None:
        """Take it out of the view."""
        self._handle.remove()


def wxyz(quaternion: Array) -> npt.NDArray[np.float32]:
    """Return quaternions with the real part first, as browsers want them, shape (..., 4).

    Args:
        quaternion: Unit quaternions xyzw, shape (..., 4).
    """
    return np.roll(quaternion, 1, axis=-1).astype(np.float32)


def _towards(light: Light) -> tuple[float, float, float]:
    """Return a point in the direction that a distant light comes from."""
    x, y, z = light.transform[:3, 2] / math.sqrt(float(light.transform[:3, 2] @ light.transform[:3, 2]))
    return 100.0 * float(x), 100.0 * float(y), 100.0 * float(z)
