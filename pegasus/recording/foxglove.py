"""Foxglove messages that show a run without set-up: world, vehicles, paths, positions on a map, events."""

import colorsys
import logging
import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.mover import Mover
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.recording.images import time_of
from pegasus.recording.messages import FrameMessages, ItemMessages, Messages
from pegasus.recording.schemas import LOCATION_FIX, LOG, SCENE_UPDATE, MessageType
from pegasus.scene.scene import Collider, ColliderShape, Material, Scene

_GREY, _BLUE, _ORANGE, _DARK = (0.6, 0.6, 0.62), (0.0, 0.45, 0.7), (0.84, 0.37, 0.0), (0.15, 0.15, 0.17)
_FACE_LIMIT = 20_000
"""Most triangles of a world's meshes; more are merged."""
_GROUND_SIZE = 200.0
"""Length and width of the part of an infinite plane that is shown [m]."""
_PATH_LIMIT = 4000
"""Most points of a path."""
_PATH_INTERVAL = 100_000_000
"""Shortest time from one point of a path to the next [ns]."""
_LEVELS = ((logging.ERROR, 4), (logging.WARNING, 3), (logging.INFO, 2))
_LISTS = ("metadata", "arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models")


def entity(stamp: int, frame: str, name: str, *, locked: bool = False, **primitives: Any) -> dict[str, Any]:
    """Return an entity of a scene.

    Args:
        stamp: Time [ns].
        frame: Frame of the entity.
        name: Id of the entity; a later one of this name replaces it.
        locked: Whether the entity moves with its frame.
        primitives: Lists of primitives by field name of `foxglove_msgs/msg/SceneEntity`.
    """
    return {
        "timestamp": time_of(stamp),
        "frame_id": frame,
        "id": name,
        "lifetime": {"sec": 0, "nanosec": 0},
        "frame_locked": locked,
        **{field: primitives.get(field, []) for field in _LISTS},
    }


def _update(*entities: dict[str, Any]) -> bytes:
    return SCENE_UPDATE.encoded({"deletions": [], "entities": entities})


def world_message(scene: Scene, stamp: int) -> bytes:
    """Return the world's colliders as primitives, in the colours of what is drawn at their paths.

    A collider without a drawn colour, for example below a texture, has the colour of its semantic class.

    Args:
        scene: The world's scene.
        stamp: Time [ns].
    """
    materials = {item.path: scene.materials.get(item.material) for item in scene.instances}
    faces = sum(len(item.faces) for item in scene.colliders if item.faces is not None)
    found: dict[str, Any] = {"cubes": [], "spheres": [], "cylinders": [], "triangles": []}
    for item in scene.colliders:
        shade = _shade(materials.get(item.path)) or _class_shade(scene, item.path)
        field, shape = _primitive(item, min(1.0, _FACE_LIMIT / max(faces, 1)))
        found[field].append({"pose": _pose(item.position, item.orientation), "color": _color(shade), **shape})
    return _update(entity(stamp, "world", "world", **found))


def _shade(material: Material | None) -> tuple[float, ...] | None:
    """Return the colour of a material, sRGB; None for a texture."""
    linear = material.diffuse_color if material is not None else None
    return tuple(float(x) ** (1 / 2.2) for x in linear) if isinstance(linear, tuple) else None


def _class_shade(scene: Scene, path: str) -> tuple[float, ...]:
    """Return the colour of the semantic class of a prim, sRGB; grey without class."""
    while path and path not in scene.entities:
        path = path.rpartition("/")[0]
    name = scene.entities[path].labels.get("class") if path else None
    return _GREY if name is None else colorsys.hls_to_rgb(zlib.crc32(name.encode()) / 2**32, 0.6, 0.25)


def _primitive(item: Collider, share: float) -> tuple[str, dict[str, Any]]:
    """Return field and sizes of a collider's primitive; `share` is the part of triangles to keep."""
    size = item.size
    if item.shape is ColliderShape.MESH:
        points, indices = _merged(item, share)
        return "triangles", {"points": points, "colors": [], "indices": indices}
    if item.shape is ColliderShape.PLANE:
        return "cubes", {"size": _vector((_GROUND_SIZE, _GROUND_SIZE, 0.002))}
    if item.shape is ColliderShape.BOX:
        return "cubes", {"size": _vector([2 * x for x in size])}
    if item.shape in (ColliderShape.SPHERE, ColliderShape.ELLIPSOID):
        return "spheres", {"size": _vector([2 * x for x in (size * 3)[:3]])}
    length = 2 * size[1] + (2 * size[0] if item.shape is ColliderShape.CAPSULE else 0.0)
    width = 2 * size[0]
    return "cylinders", {"size": _vector((width, width, length)), "bottom_scale": 1.0, "top_scale": 1.0}


def _merged(item: Collider, share: float) -> tuple[Array, Any]:
    """Return points (P, 3) and indices of a mesh, with vertices merged in cells until few faces remain."""
    assert item.vertices is not None
    assert item.faces is not None
    faces: Any = item.faces
    points = vertices = np.asarray(item.vertices, dtype=np.float64)
    low, extent = vertices.min(axis=0), float(np.ptp(vertices, axis=0).max())
    most = max(12, int(share * len(faces)))
    cell = extent / (2.0 * math.sqrt(most))
    while len(faces) > most:
        # The three numbers of a cell as one, which sorts faster than rows.
        x, y, z = np.floor((vertices - low) / cell).astype(np.int64).T
        _, first, cluster = np.unique((x << 42) + (y << 21) + z, return_index=True, return_inverse=True)
        points, faces = vertices[first], cluster.reshape(-1)[item.faces]
        faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
        cell *= 1.5
    return points, faces.ravel()


def vehicle_message(vehicle: Rotorcraft, frames: Sequence[str], stamp: int) -> bytes:
    """Return copies of a vehicle as primitives in their frames: body, arms, rotor discs, an arrow forward.

    Args:
        vehicle: The vehicle.
        frames: Frames of the copies.
        stamp: Time [ns].
    """
    hubs, diameter = vehicle.layout.position, vehicle.spec.propeller.diameter
    body = 0.6 * diameter
    disc = {"size": _vector((diameter, diameter, 0.05 * diameter)), "bottom_scale": 1.0, "top_scale": 1.0}
    arms = np.stack([np.zeros_like(hubs), hubs], axis=1).reshape(-1, 3)
    arms[::2, 2] = arms[1::2, 2]
    middle = np.array([0.0, 0.0, float(hubs[:, 2].mean())])
    shape = {"shaft_length": body, "shaft_diameter": 0.1 * body, "head_length": 0.3 * body}
    primitives = {
        "cubes": [{"pose": _pose(middle), "size": _vector((body, body, 0.3 * body)), "color": _color(_DARK)}],
        "cylinders": [{"pose": _pose(hub), "color": _color(_BLUE, 0.5), **disc} for hub in hubs],
        "lines": [_line(2, arms, _DARK, 4.0)],
        "arrows": [{"pose": _pose(middle), "color": _color(_ORANGE), "head_diameter": 0.3 * body, **shape}],
    }
    return _update(*(entity(stamp, frame, frame, locked=True, **primitives) for frame in frames))


def mover_message(mover: Mover, frames: Sequence[str], stamp: int) -> bytes:
    """Return the parts of a mover as primitives in their frames, made of their collision shapes.

    Args:
        mover: The mover.
        frames: Frames of the parts.
        stamp: Time [ns].
    """
    entities = []
    for frame, shape, item in zip(frames, mover.shapes, mover.objects, strict=True):
        found: dict[str, Any] = {}
        shade = _shade(next(iter(item.scene.materials.values()), None)) or _GREY
        for collider in shape:
            field, primitive = _primitive(collider, 1.0)
            pose = _pose(collider.position, collider.orientation)
            found.setdefault(field, []).append({"pose": pose, "color": _color(shade), **primitive})
        entities.append(entity(stamp, frame, frame, locked=True, **found))
    return _update(*entities)


class PathMessages(Messages):
    """Flown paths of the first copies of a vehicle: one message, written at the end with the first time.

    Args:
        channel: Number of the channel.
        frames: Names of the frames of these copies.
        states: Messages of the vehicle's state.
    """

    def __init__(self, channel: int, frames: Sequence[str], states: ItemMessages) -> None:
        super().__init__(channel)
        self._frames, self._states = frames, states
        self._stamps: list[int] = []
        self._points: list[Array] = []

    def collect(self) -> None:
        """Take points from the states that wait."""
        rows, stamps = [], self._stamps
        for row, stamp in enumerate(self._states.stamps):
            if not stamps or stamp - stamps[-1] >= _PATH_INTERVAL:
                rows.append(row)
                stamps.append(stamp)
        if rows:
            self._points.append(self._states.rows()["position"][rows, : len(self._frames)])

    def finish(self) -> None:
        """Make the message of all points."""
        if len(self._stamps) < 2:
            return
        points = np.concatenate(self._points)
        points = points[:: -(-len(points) // _PATH_LIMIT)]
        lines = [_line(0, points[:, k], _ORANGE, 2.0) for k in range(len(self._frames))]
        first = self._stamps[0]
        self.waiting.append((first, _update(entity(first, "world", "path", lines=lines))))


class LocationMessages(FrameMessages):
    """Messages of `foxglove_msgs/msg/LocationFix` of the first copy, from a GPS receiver's readings.

    Args:
        channel: Number of the channel.
        frame: Frame of the vehicle.
        readings: Messages of the receiver.
    """

    def __init__(self, channel: int, frame: str, readings: ItemMessages) -> None:
        Messages.__init__(self, channel)
        self._readings = readings
        content = {
            "timestamp": time_of(0),
            "frame_id": frame,
            **dict.fromkeys(("latitude", "longitude", "altitude"), 0.0),
            "position_covariance": [0.0] * 9,
            "position_covariance_type": 2,
            "heading": float("nan"),
            "velocity": _vector((0.0, 0.0, 0.0)),
            "color": _color(_BLUE),
            "metadata": [],
        }
        self._template = np.frombuffer(LOCATION_FIX.encoded(content), np.uint8)
        names = list(LOCATION_FIX.fields)
        parts = {name: names.index(name) + 1 for name in ("altitude", "position_covariance", "velocity")}
        self._ends = {
            name: len(MessageType("", {n: LOCATION_FIX.fields[n] for n in names[:k]}).encoded(content))
            for name, k in parts.items()
        }

    def encoded(self) -> list[tuple[int, bytes]]:
        """Return time [ns] and content of each message: of the readings with a fix."""
        rows = self._readings.rows()
        fixed = np.flatnonzero(rows["fix_type"][:, 0] > 0)
        rows, times = rows[fixed], np.array(self._readings.stamps, dtype=np.int64)[fixed]
        variance = np.zeros((len(rows), 9))
        variance[:, 0] = variance[:, 4] = rows["eph"][:, 0] ** 2
        variance[:, 8] = rows["epv"][:, 0] ** 2
        values = {
            "altitude": np.stack([rows[n][:, 0] for n in ("latitude", "longitude", "altitude")], axis=1),
            "position_covariance": variance,
            "velocity": np.ascontiguousarray(rows["velocity"][:, 0]),
        }
        content = np.tile(self._template, (len(rows), 1))
        seconds = np.stack(np.divmod(times, 1_000_000_000), axis=1).astype("<u4")
        content[:, 4:12] = seconds.view(np.uint8)
        for name, end in self._ends.items():
            data = values[name].astype("<f8").view(np.uint8)
            content[:, end - data.shape[1] : end] = data
        return list(zip(times.tolist(), map(bytes, content), strict=True))


class LogMessages(Messages):
    """Messages of `foxglove_msgs/msg/Log`: log records of Pegasus, and the beginnings of segments.

    Args:
        channel: Function that opens the channel, called at the first message.
    """

    def __init__(self, channel: Callable[[], int]) -> None:
        super().__init__(0)
        self._open, self.stamp = channel, 0
        self._handler = _Handler(self)
        logging.getLogger("pegasus").addHandler(self._handler)

    def add(self, level: int, text: str, name: str) -> None:
        """Add a message at the present time.

        Args:
            level: Level of Python's logging.
            text: The message.
            name: Name of the logger or vehicle.
        """
        self.channel = self.channel or self._open()
        number = next((number for least, number in _LEVELS if level >= least), 1)
        content = {"timestamp": time_of(self.stamp), "level": number, "message": text, "name": name}
        self.waiting.append((self.stamp, LOG.encoded({**content, "file": "", "line": 0})))

    def close(self) -> None:
        """Stop listening to log records."""
        logging.getLogger("pegasus").removeHandler(self._handler)


class _Handler(logging.Handler):
    def __init__(self, messages: LogMessages) -> None:
        super().__init__()
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.add(record.levelno, record.getMessage(), record.name)


def _vector(values: Sequence[float]) -> dict[str, float]:
    return dict(zip("xyz", map(float, values), strict=True))


def _pose(position: Any = (0.0, 0.0, 0.0), orientation: Any = (0.0, 0.0, 0.0, 1.0)) -> dict[str, Any]:
    return {
        "position": _vector(position),
        "orientation": dict(zip("xyzw", map(float, orientation), strict=True)),
    }


def _color(values: Sequence[float], opacity: float = 1.0) -> dict[str, float]:
    return dict(zip("rgba", (*values, opacity), strict=True))


def _line(kind: int, points: Array, color: Sequence[float], thickness: float) -> dict[str, Any]:
    """Return a line of a thickness in pixels; kind 0 is a strip, 2 a list of segments."""
    style = {"type": kind, "pose": _pose(), "thickness": thickness, "scale_invariant": True}
    return {**style, "points": points, "color": _color(color), "colors": [], "indices": []}
