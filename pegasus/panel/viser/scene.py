"""3D scene of the page: world, light, sky, vehicles, movers and overlays."""

import hashlib
import math

import numpy as np
import numpy.typing as npt
import viser

from pegasus.base.arrays import Array
from pegasus.base.frames import quaternion_from_matrix
from pegasus.contracts.mover import Mover
from pegasus.core.drawn_vehicle import DrawnVehicle
from pegasus.panel.gltf import Part, glb, packed_sky
from pegasus.panel.marks import (
    AXES_LENGTH,
    CONTACT_COLOR,
    NO_LINES,
    PLAN_COLOR,
    REFERENCE_COLOR,
    TRAIL_COLOR,
    TRAIL_PERIOD,
    Color,
    FlownPaths,
    Lines,
    plan_lines,
)
from pegasus.panel.view_part import Drawing
from pegasus.panel.viser.world import WebWorld, web_world
from pegasus.scene.scene import Light, Scene
from pegasus.session.snapshot import Snapshot, VehicleSnapshot

_SHADOW_TRIANGLES = 1_000_000
"""Maximum number of triangles of a world that casts shadows."""
_LONGEST_VIEW = 6000.0
_SKY_RADIUS = 3000.0
_ZENITH, _HORIZON = (0.10, 0.26, 0.62), (0.56, 0.70, 0.86)
_SUN_INTENSITY, _SKY_INTENSITY, _REFLECTIONS = 2.6, 0.6, 0.35


class WebScene:
    """3D scene of a server, shared by all browsers."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._scene: Scene | None = None
        self._world_nodes: list[viser.SceneNodeHandle] = []
        self._moving: list[_Moving] = []
        self._fleet: tuple[DrawnVehicle | Mover, ...] = ()
        self._files: dict[int, tuple[Scene, bytes]] = {}
        self.world: WebWorld | None = None
        """The displayed world; None if there is none."""
        server.scene.set_up_direction("+z")
        server.scene.configure_default_lights(enabled=False)
        server.scene.configure_environment_map("park", environment_intensity=_REFLECTIONS)
        server.initial_camera.far = _LONGEST_VIEW
        server.initial_camera.near = 0.1
        server.initial_camera.fov = math.radians(58.0)

    def show(self, snapshot: Snapshot) -> None:
        """Update the scene to a snapshot."""
        if snapshot.scene is not self._scene:
            self._exchange_world(snapshot.scene)
        drawn = snapshot.drawn
        fleet: tuple[DrawnVehicle | Mover, ...] = ()
        if drawn is not None:
            fleet = drawn.vehicles + drawn.movers
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
        """Add lights and, outdoors, a sky."""
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

    def _exchange_fleet(self, fleet: tuple[DrawnVehicle | Mover, ...]) -> None:
        for moving in self._moving:
            moving.remove()
        self._fleet, self._moving = fleet, []
        shapes: dict[str, tuple[bytes, list[int]]] = {}
        row = 0
        for drawn in fleet:
            for item in drawn.objects:
                data = self._file(item.scene)
                # Equal shapes form one batch.
                key = hashlib.sha256(data).hexdigest()
                shapes.setdefault(key, (data, []))[1].append(row)
                row += 1
        alive = {id(item.scene) for drawn in fleet for item in drawn.objects}
        self._files = {key: value for key, value in self._files.items() if key in alive}
        self._moving = [
            _Moving(self._server, f"/vehicles/{key[:16]}", data, np.array(rows))
            for key, (data, rows) in shapes.items()
        ]

    def _file(self, scene: Scene) -> bytes:
        """Return a shape as binary glTF, cached while it is displayed."""
        if id(scene) not in self._files:
            parts = [
                Part(scene.geometries[item.geometry], scene.materials[item.material], [item.transform])
                for item in scene.instances
            ]
            self._files[id(scene)] = scene, glb(parts, texture_size=512)
        return self._files[id(scene)][1]


class _Moving:
    """Batch of all moving objects with the same shape."""

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
        """Remove the batch from the scene."""
        self._handle.remove()


def wxyz(quaternion: Array) -> npt.NDArray[np.float32]:
    """Return quaternions wxyz, shape (..., 4).

    Args:
        quaternion: Unit quaternions xyzw, shape (..., 4).
    """
    return np.roll(quaternion, 1, axis=-1).astype(np.float32)


def _towards(light: Light) -> tuple[float, float, float]:
    """Return a point in the direction from which a distant light shines."""
    x, y, z = light.transform[:3, 2] / math.sqrt(float(light.transform[:3, 2] @ light.transform[:3, 2]))
    return 100.0 * float(x), 100.0 * float(y), 100.0 * float(z)


class WebMarks:
    """Overlays of the 3D scene: trails, paths, axes and contacts."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._paths = FlownPaths()
        self._lines: dict[str, viser.LineSegmentsHandle] = {}
        self._axes: viser.BatchedAxesHandle | None = None
        self._contacts: viser.PointCloudHandle | None = None
        self._count = 0

    def show(
        self, snapshot: Snapshot, drawing: Drawing, followed: tuple[VehicleSnapshot, int] | None
    ) -> None:
        """Update the overlays to a snapshot.

        Args:
            snapshot: The snapshot.
            drawing: Visibility of the overlays.
            followed: The followed vehicle and copy index, whose planned path is drawn.
        """
        self._paths.extend(snapshot)
        self._count += 1
        if self._count % TRAIL_PERIOD == 0:
            trails, references = self._paths.trails, self._paths.references
            self._segments("trails", trails.segments() if drawing.trails else NO_LINES, TRAIL_COLOR)
            shown = drawing.reference_path
            self._segments("references", references.segments() if shown else NO_LINES, REFERENCE_COLOR)
            self._segments("plan", plan_lines(followed if shown else None), PLAN_COLOR)
        self._show_axes(snapshot, shown=drawing.axes and bool(snapshot.vehicles))
        self._show_contacts(snapshot, shown=drawing.contact_flashes)

    def _segments(self, name: str, points: Lines, color: Color) -> None:
        handle = self._lines.get(name)
        if not len(points):
            if handle is not None:
                self._lines.pop(name).remove()
            return
        if handle is None:
            self._lines[name] = self._server.scene.add_line_segments(
                f"/marks/{name}", points, color, thickness=2.0, thickness_units="screen"
            )
        else:
            # The single colour applies to any number of lines.
            handle.points = points

    def _show_axes(self, snapshot: Snapshot, *, shown: bool) -> None:
        if not shown:
            if self._axes is not None:
                self._axes.remove()
                self._axes = None
            return
        position = np.concatenate([v.position for v in snapshot.vehicles]).astype(np.float32)
        orientation = wxyz(np.concatenate([v.orientation for v in snapshot.vehicles]))
        if self._axes is not None and len(self._axes.batched_positions) != len(position):
            self._axes.remove()
            self._axes = None
        if self._axes is None:
            self._axes = self._server.scene.add_batched_axes(
                "/marks/axes", orientation, position, axes_length=AXES_LENGTH, axes_radius=0.01
            )
        self._axes.batched_positions, self._axes.batched_wxyzs = position, orientation

    def _show_contacts(self, snapshot: Snapshot, *, shown: bool) -> None:
        points = snapshot.contacts if shown else None
        if points is None or not len(points):
            if self._contacts is not None:
                self._contacts.remove()
                self._contacts = None
            return
        places = points.astype(np.float32)
        if self._contacts is None:
            self._contacts = self._server.scene.add_point_cloud(
                "/marks/contacts",
                places,
                CONTACT_COLOR,
                point_size=0.05,
                point_shape="circle",
                precision="float32",
            )
        else:
            self._contacts.points = places
