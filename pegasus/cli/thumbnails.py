"""Path-traced thumbnails of worlds and vehicles, and the extension's preview and icon."""

import io
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.system import resource
from pegasus.cameras.imaging import Imaging, automatic_exposure
from pegasus.config import settings
from pegasus.config.files import load_vehicle, load_world
from pegasus.config.scenario import WorldSpec
from pegasus.contracts.renderer import Renderer, RenderObject, View
from pegasus.optics.lens import Pinhole
from pegasus.scene.scene import (
    Entity,
    Geometry,
    Instance,
    Light,
    Material,
    Scene,
    SceneCamera,
    view_from_behind,
)
from pegasus.scene.translation import translate
from pegasus.scene.vehicle_asset import vehicle_scene
from pegasus.scene.world_scene import lit_scene
from pegasus.worlds import made_world

SIZE = (512, 288)
"""Width and height of a thumbnail [pixels]."""
PREVIEW_SIZE = (1280, 720)
"""Width and height of the extension's preview [pixels]."""
ICON_SIZE = (256, 256)
"""Width and height of the extension's icon [pixels]."""
MOST_BYTES = 60_000
"""Maximum size of a thumbnail file [bytes]."""
PREVIEW, ICON = "preview", "icon"
"""Names of the extension's images."""

_LOG = logging.getLogger(__name__)

_ICON_VEHICLE = "pegasus"
_PREVIEW_WORLD = "town"
_SAMPLES = 10
# Images are rendered larger by this factor and scaled down, against noise and aliasing.
_OVERSIZE = 2
_QUALITIES = range(92, 40, -4)
_PALETTES = (256, 192, 128, 96, 64)
# Percentiles of the brightness and their maximum values; the darkest of these exposures is used.
_METERING = ((60.0, 0.4), (95.0, 0.9))
# Relative brightness above which highlights are compressed.
_KNEE = 0.55
_WORLD_FOV = math.radians(65.0)
_VEHICLE_FOV = math.radians(24.0)
_FILLED = 0.86

Colors = npt.NDArray[np.uint8]


def make_thumbnails(names: Sequence[str], folder: Path, *, done: Callable[[Path], None]) -> None:
    """Write `thumbnails/worlds/NAME.jpg`, `thumbnails/vehicles/NAME.jpg`, `preview.png` and `icon.png`.

    The same versions write the same bytes on one machine.

    Args:
        names: Worlds and vehicles, `preview` and `icon`; all shipped ones when empty.
        folder: Folder of the files, created if missing.
        done: Called with each written file.

    Raises:
        ConfigError: If a world or vehicle does not exist or cannot be rendered, or a file cannot be written.
    """
    from pegasus.render.photo.renderer import MitsubaRenderer

    images = _images(names, folder)
    renderer = MitsubaRenderer()
    try:
        for path, draw in images:
            content = draw(renderer)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            done(path)
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror}", field="--out", value=str(folder), remedy="give a folder"
        ) from None
    finally:
        renderer.close()


def draw_world(renderer: Renderer, name: str, size: tuple[int, int] = SIZE) -> Colors:
    """Render a world with its first camera, else from behind its first spawn point.

    Args:
        renderer: The renderer.
        name: Name of the world, or its YAML file.
        size: Width and height [pixels].
    """
    scene, view = load_world_view(name, size)
    renderer.load(scene)
    return _developed(renderer, view)


def load_world_view(name: str, size: tuple[int, int]) -> tuple[Scene, View]:
    """Return a world and the view of its first camera, else a view from behind its first spawn point.

    Args:
        name: Name of the world, or its YAML file.
        size: Width and height [pixels].
    """
    scene, spec = _world(name)
    return scene, _camera_view(scene.cameras[0], size) if scene.cameras else _spawn_view(spec, size)


def draw_vehicle(renderer: Renderer, name: str, size: tuple[int, int] = SIZE) -> Colors:
    """Render a vehicle in a studio, from the front right above.

    Args:
        renderer: The renderer.
        name: Name of the vehicle, or its YAML file.
        size: Width and height [pixels].
    """
    drawn, vertices = _vehicle(name)
    extent = float(np.ptp(vertices, axis=0).max())
    renderer.load(studio(extent))
    renderer.add([drawn])
    direction = _direction(azimuth=-36.0, elevation=24.0)
    return _developed(renderer, fitted_view(vertices, direction, _VEHICLE_FOV, size, filled=_FILLED))


def draw_preview(renderer: Renderer, size: tuple[int, int] = PREVIEW_SIZE) -> Colors:
    """Render the Pegasus drone over the town.

    Args:
        renderer: The renderer.
        size: Width and height [pixels].
    """
    scene, _ = _world(_PREVIEW_WORLD)
    renderer.load(scene)
    drawn, _ = _vehicle(_ICON_VEHICLE)
    pose = _pose(position=(-2.71, -27.76, 7.94), yaw=-85.0, pitch=8.0, roll=-12.0)
    renderer.add([drawn])
    renderer.move([drawn.path], pose[None])
    view = _looking((-2.9, -28.7, 8.2), (1.5, -18.0, 6.4), math.radians(58.0), size)
    return _developed(renderer, view)


def draw_icon(renderer: Renderer, size: tuple[int, int] = ICON_SIZE) -> Colors:
    """Render the Pegasus drone as a square icon.

    Args:
        renderer: The renderer.
        size: Width and height [pixels].
    """
    drawn, vertices = _vehicle(_ICON_VEHICLE)
    renderer.load(studio(float(np.ptp(vertices, axis=0).max()), color=(0.10, 0.27, 0.52)))
    renderer.add([drawn])
    direction = _direction(azimuth=-44.0, elevation=38.0)
    return _developed(renderer, fitted_view(vertices, direction, _VEHICLE_FOV, size, filled=0.97))


def fitted_view(points: Array, direction: Array, fov: float, size: tuple[int, int], *, filled: float) -> View:
    """Return a view in which points fill the image.

    Args:
        points: Points that must be visible [m], shape (P, 3).
        direction: Unit vector from the points towards the camera, shape (3,).
        fov: Horizontal field of view [rad].
        size: Width and height [pixels].
        filled: Fraction of the image that they fill, 0 to 1.
    """
    target = (points.min(axis=0) + points.max(axis=0)) / 2
    half = np.array([math.tan(fov / 2), math.tan(fov / 2) * size[1] / size[0]]) * filled
    for _ in range(4):
        view = _looking(target + direction, target, fov, size)
        local = (points - target) @ view.rotation
        distance = float((np.abs(local[:, :2]) / half - local[:, 2:]).max())
        # Perspective enlarges near points, so the centre of the box is not that of its image.
        projected = local[:, :2] / (local[:, 2:] + distance)
        middle = (projected.min(axis=0) + projected.max(axis=0)) / 2
        target = target + view.rotation[:, :2] @ (middle * distance)
    view = _looking(target + direction, target, fov, size)
    local = (points - target) @ view.rotation
    distance = float((np.abs(local[:, :2]) / half - local[:, 2:]).max())
    return replace(view, position=target + distance * direction)


def studio(extent: float, *, color: tuple[float, float, float] = (0.55, 0.56, 0.58)) -> Scene:
    """Return a studio: a floor with a key light, a rim light and ambient light.

    Args:
        extent: Size of the object in it [m].
        color: Diffuse colour of the floor, linear.
    """
    half = np.float32(60.0 * extent)
    floor = Geometry(
        vertices=np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32) * half,
        faces=np.array([[0, 1, 2], [0, 2, 3]], np.uint32),
        normals=np.tile(np.array([0, 0, 1], np.float32), (4, 1)),
    )
    looks = Material("/Studio/Looks/Floor", diffuse_color=color, roughness=0.55)
    labels = {"class": "ground"}
    lamp = _pose(position=(0.7 * extent, -1.6 * extent, 2.6 * extent), yaw=-66.0, pitch=-32.0, roll=0.0)
    rim = _pose(position=(-2.2 * extent, 1.6 * extent, 1.6 * extent), yaw=144.0, pitch=-58.0, roll=0.0)
    length = {"width": 1.6 * extent, "height": 1.6 * extent}
    return Scene(
        source="studio",
        geometries={"floor": floor},
        materials={looks.path: looks},
        instances=[Instance("/Studio/Floor", "floor", looks.path, np.eye(4), labels, "/Studio/Floor")],
        entities={"/Studio/Floor": Entity("/Studio/Floor", labels, np.eye(4))},
        lights=[
            Light("/Studio/Sky", "DomeLight", np.eye(4), (230.0, 245.0, 270.0), {}),
            Light("/Studio/Key", "RectLight", lamp, (5600.0, 5350.0, 4950.0), length),
            Light("/Studio/Rim", "RectLight", rim, (2000.0, 2150.0, 2400.0), length),
        ],
    )


def _images(names: Sequence[str], folder: Path) -> list[tuple[Path, Callable[[Renderer], bytes]]]:
    """Return the file of each image, and the function that renders it."""
    worlds, vehicles = _shipped("worlds"), _shipped("vehicles")
    found: list[tuple[Path, Callable[[Renderer], bytes]]] = []
    for name in names or [*worlds, *vehicles, PREVIEW, ICON]:
        if name == PREVIEW:
            found.append((folder / "preview.png", lambda renderer: _png(draw_preview(renderer), 400_000)))
        elif name == ICON:
            found.append((folder / "icon.png", lambda renderer: _png(draw_icon(renderer), 100_000)))
        elif name in vehicles or (name not in worlds and _exists("vehicles", name)):
            found.append((_file(folder, "vehicles", name), partial(_thumbnail, draw_vehicle, name)))
        elif name in worlds or _exists("worlds", name):
            found.append((_file(folder, "worlds", name), partial(_thumbnail, draw_world, name)))
        else:
            known = ", ".join([*worlds, *vehicles, PREVIEW, ICON])
            raise ConfigError(f"no such world or vehicle; known are {known}", field="NAMES", value=name)
    return found


def _file(folder: Path, kind: str, name: str) -> Path:
    return folder / "thumbnails" / kind / f"{Path(name).stem}.jpg"


def _thumbnail(draw: Callable[[Renderer, str], Colors], name: str, renderer: Renderer) -> bytes:
    return _jpeg(draw(renderer, name), name)


def _shipped(kind: str) -> list[str]:
    return sorted(path.stem for path in resource("config", kind).glob("*.yaml"))


def _exists(kind: str, name: str) -> bool:
    try:
        settings.find(kind, name)
    except ConfigError:
        return False
    return True


def _world(name: str) -> tuple[Scene, WorldSpec]:
    spec, _ = load_world(name)
    if spec.generator is not None:
        spec = made_world(spec)
    assert spec.usd is not None
    return lit_scene(translate(spec.usd), spec.lights), spec


def _vehicle(name: str) -> tuple[RenderObject, Array]:
    """Return a vehicle on the ground, and its vertices [m], shape (P, 3)."""
    spec, file = load_vehicle(name)
    scene = vehicle_scene(spec, file)
    vertices = np.concatenate(
        [
            scene.geometries[item.geometry].vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
            for item in scene.instances
        ]
    )
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    shift = np.array([-(low[0] + high[0]) / 2, -(low[1] + high[1]) / 2, -low[2]])
    raised = np.eye(4)
    raised[:3, 3] = shift
    instances = [replace(item, transform=raised @ item.transform) for item in scene.instances]
    path = f"/World/{spec.name}"
    entity = Entity(path, {"class": "multirotor"}, np.eye(4))
    return RenderObject(path, replace(scene, instances=instances), entity), vertices + shift


def _developed(renderer: Renderer, view: View) -> Colors:
    """Render a view and return its colours."""
    width, height = view.resolution
    large = replace(view, resolution=(width * _OVERSIZE, height * _OVERSIZE))
    radiance = renderer.render(large, ["radiance"], samples=_SAMPLES).radiance
    assert radiance is not None
    exposure = min(
        automatic_exposure(radiance, percentile=percentile, level=level) for percentile, level in _METERING
    )
    # Compression before averaging keeps bright edges smooth.
    shown = _compressed(radiance * np.float32(exposure))
    small = shown.reshape(height, _OVERSIZE, width, _OVERSIZE, 3).mean(axis=(1, 3), dtype=np.float32)
    return Imaging().develop(small, exposure=1.0, cosine=None, samples=None)


def _compressed(light: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return light compressed to below one: linear up to a knee, exponential above."""
    room = np.float32(1.0 - _KNEE)
    return np.where(light < _KNEE, light, 1.0 - room * np.exp((_KNEE - np.maximum(light, _KNEE)) / room))


def _camera_view(camera: SceneCamera, size: tuple[int, int]) -> View:
    fov = 2.0 * math.atan(camera.horizontal_aperture / 2.0 / camera.focal_length)
    axes = camera.transform[:3, :3] / np.sqrt((camera.transform[:3, :3] ** 2).sum(axis=0))
    near, far = camera.clipping_range
    return View(
        Pinhole(horizontal_fov=fov),
        size,
        camera.transform[:3, 3],
        # OpenUSD cameras look along -z with +y up.
        axes @ np.diag([1.0, -1.0, -1.0]),
        near=near,
        far=far,
    )


def _spawn_view(spec: WorldSpec, size: tuple[int, int]) -> View:
    eye, target = view_from_behind(spec.spawn_points or ())
    return _looking(eye, target, _WORLD_FOV, size)


def _looking(eye: Any, target: Any, fov: float, size: tuple[int, int]) -> View:
    """Return a view from one point towards another, with level horizon."""
    position = np.asarray(eye, dtype=np.float64)
    forward = np.asarray(target, dtype=np.float64) - position
    forward /= math.sqrt(float(forward @ forward))
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= math.sqrt(float(right @ right))
    rotation = np.stack([right, np.cross(forward, right), forward], axis=1)
    return View(Pinhole(horizontal_fov=fov), size, position, rotation)


def _direction(*, azimuth: float, elevation: float) -> Array:
    a, e = math.radians(azimuth), math.radians(elevation)
    return np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])


def _pose(*, position: tuple[float, float, float], yaw: float, pitch: float, roll: float) -> Array:
    """Return a pose by intrinsic rotations about z, y and x [deg], shape (4, 4)."""
    pose = np.eye(4)
    for axis, angle in ((2, yaw), (1, pitch), (0, roll)):
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(4)
        turn[i, i], turn[i, j], turn[j, i], turn[j, j] = c, -s, s, c
        pose = pose @ turn
    pose[:3, 3] = position
    return pose


def _jpeg(colors: Colors, name: str) -> bytes:
    """Return an image as JPEG of limited size."""
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        Image.fromarray(colors).save(buffer, "jpeg", quality=quality, optimize=True, subsampling=0)
        if buffer.tell() <= MOST_BYTES:
            break
    else:
        _LOG.warning("the thumbnail of %s has %d bytes", name, buffer.tell())
    return buffer.getvalue()


def _png(colors: Colors, most_bytes: int) -> bytes:
    """Return an image as PNG of limited size, with a reduced palette if necessary."""
    image = Image.fromarray(colors)
    content = _saved(image)
    for count in _PALETTES:
        if len(content) <= most_bytes:
            break
        palette = image.quantize(count, kmeans=4)
        content = _saved(image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG))
    return content


def _saved(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "png", optimize=True)
    return buffer.getvalue()
