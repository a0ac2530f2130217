"""Isaac Sim's viewport: its camera, screenshots, clicks and drawn marks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from isaacsim.util.debug_draw import _debug_draw
from omni.kit.viewport.utility import (
    capture_viewport_to_file,
    disable_selection,
    get_active_viewport,
    get_active_viewport_window,
)
from omni.ui import scene as sc
from pxr import Usd, UsdGeom

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.system import user_cache
from pegasus.isaac import kit
from pegasus.isaac.compat import isaac_sim
from pegasus.panel.board import Board
from pegasus.panel.marks import (
    CONTACT_COLOR,
    NO_LINES,
    PLAN_COLOR,
    REFERENCE_COLOR,
    TRAIL_COLOR,
    TRAIL_PERIOD,
    Color,
    FlownPaths,
    Lines,
    axes_lines,
    plan_lines,
)
from pegasus.panel.view_part import CameraMode, ViewPart
from pegasus.session.snapshot import Snapshot

PERSPECTIVE = "/OmniverseKit_Persp"
"""Kit's own camera of the viewport; cameras of vehicles are not moved."""
_PNG_END = b"IEND\xaeB`\x82"
_PATIENCE = 300
"""Frames after which a screenshot counts as failed."""


class ViewportCamera:
    """Perspective camera of the viewport; in the modes free and follow the user can turn it by the mouse.

    Kit keeps its horizon level, also in first person.

    Args:
        view: Part of the panel with the requested viewpoint and camera mode.
    """

    def __init__(self, view: ViewPart) -> None:
        self._view = view
        self._viewpoint, self._mode = view.viewpoint, CameraMode.FREE
        self._number = -1
        self._place: Array | None = None

    def show(self, snapshot: Snapshot) -> None:
        """Move the camera for a snapshot, if there is a viewport."""
        view = self._view
        asked = view.viewpoint is not self._viewpoint
        begins = view.mode is not self._mode
        if not (asked or begins) and (view.mode is CameraMode.FREE or snapshot.number == self._number):
            return
        camera = _perspective()
        if camera is None:
            return
        self._number, self._viewpoint, self._mode = snapshot.number, view.viewpoint, view.mode
        if asked or begins:
            self._place = None
            _use_perspective()
        followed = view.followed_vehicle(snapshot)
        if view.mode is CameraMode.FREE or followed is None:
            if asked:
                isaac_sim().set_camera_view(PERSPECTIVE, view.viewpoint.position, view.viewpoint.target)
            return
        wanted = view.camera(snapshot)
        eye = wanted.position
        if view.mode is CameraMode.FOLLOW:
            place = followed[0].position[followed[1]]
            if self._place is not None:
                x, y, z = (_position(camera) + place - self._place).tolist()
                eye = (x, y, z)
            self._place = place
        isaac_sim().set_camera_view(PERSPECTIVE, eye, wanted.target)


class Screenshots:
    """Screenshots of the viewport for the panel; Kit writes each file some frames later.

    Args:
        view: Part of the panel that requests screenshots and saves them.
    """

    def __init__(self, view: ViewPart) -> None:
        self._view = view
        self._count = view.screenshot_count
        self._file: Path | None = None
        self._left = 0
        self._capture: object = None

    def frame(self) -> None:
        """Process a frame of the application."""
        if self._view.screenshot_count != self._count and self._file is None:
            self._count = self._view.screenshot_count
            try:
                self._begin()
            except ConfigError as error:
                self._view.board.fail(error)
        if self._file is None:
            return
        image = self._file.read_bytes() if self._file.is_file() else b""
        self._left -= 1
        if image.endswith(_PNG_END):
            self._view.save_screenshot(image)
        elif self._left > 0:
            return
        else:
            self._view.board.report("Isaac Sim has written no screenshot; see its log", error=True)
        self._file.unlink(missing_ok=True)
        self._file = self._capture = None

    def _begin(self) -> None:
        viewport = get_active_viewport()
        if viewport is None:
            raise ConfigError("Isaac Sim shows no viewport", field="screenshot", remedy="open one")
        file = user_cache() / "isaac_sim" / "screenshot.png"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", file=file) from None
        self._capture = capture_viewport_to_file(viewport, file_path=str(file))
        self._file, self._left = file, _PATIENCE


def _perspective() -> UsdGeom.Camera | None:
    stage = kit.stage()
    if stage is None or get_active_viewport() is None:
        return None
    camera = UsdGeom.Camera(stage.GetPrimAtPath(PERSPECTIVE))
    return camera if camera else None


def _use_perspective() -> None:
    """Select the viewport's own camera."""
    viewport = get_active_viewport()
    if viewport is not None:
        viewport.camera_path = PERSPECTIVE


def _position(camera: UsdGeom.Camera) -> Array:
    pose = camera.ComputeLocalToWorldTransform(Usd.TimeCode.Default())
    return np.array(pose.ExtractTranslation(), dtype=np.float64)


_NAME = "pegasus.isaac.click"
Use = Callable[[float, float, float], object]


class ViewportClick:
    """Selection of a point of the scene by a click into the viewport.

    Kit finds the point in the rendered image, whether the timeline plays or not, and with or without a
    collider. The click selects no prim.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._use: Use | None = None
        self._frame: Any = None
        self._scene: Any = None
        self._screen: Any = None
        self._viewport: Any = None
        self._selection: Any = None

    @property
    def waits(self) -> bool:
        """A click is awaited."""
        return self._use is not None

    def request(self, purpose: str, use: Use) -> None:
        """Await a click.

        Args:
            purpose: Purpose of the click, for the message.
            use: Called with the clicked point [m].
        """
        self.cancel()
        window = get_active_viewport_window()
        if window is None:
            self._board.fail(ConfigError("Isaac Sim shows no viewport", field="click", remedy="open one"))
            return
        self._use, self._viewport = use, window.viewport_api
        self._selection = disable_selection(self._viewport)
        self._frame = window.get_frame(_NAME)
        with self._frame:
            # The viewport projects to its whole window, whatever the shape of the image.
            self._scene = sc.SceneView(aspect_ratio_policy=sc.AspectRatioPolicy.STRETCH)
            with self._scene.scene:
                self._screen = sc.Screen(gesture=sc.ClickGesture(self._clicked))
        self._viewport.add_scene_view(self._scene)
        self._board.report(f"click into the viewport to choose {purpose}")

    def frame(self) -> None:
        """Remove the overlay after a click: a gesture cannot remove itself during its call."""
        if self._scene is not None and self._use is None:
            self.cancel()

    def cancel(self) -> None:
        """Stop waiting for a click; a second call has no effect."""
        if self._scene is not None:
            self._scene.scene.clear()
            self._viewport.remove_scene_view(self._scene)
            self._frame.clear()
        self._use = self._frame = self._scene = self._screen = None
        self._viewport = self._selection = None

    def _clicked(self, shape: Any) -> None:
        pixel, viewport = self._viewport.map_ndc_to_texture_pixel(shape.gesture_payload.mouse)
        use = self._use
        if use is None or viewport is None:  # Beside the image.
            return
        self._use = None
        viewport.request_query(
            pixel, lambda path, point, *_: self._select(use, path, point), query_name=_NAME
        )

    def _select(self, use: Use, path: str, point: Sequence[float] | None) -> None:
        if not path or point is None:
            self._board.fail(ConfigError("hits nothing", field="click", remedy="click on the ground"))
            return
        use(float(point[0]), float(point[1]), float(point[2]))


_AXES_COLORS: tuple[Color, ...] = ((230, 40, 40), (40, 170, 60), (40, 90, 230))
_WIDTH, _POINT = 2.0, 8.0
"""Width of a line and size of a point [pixels]."""


class ViewportMarks:
    """Trails, reference path, axes and contacts drawn into the viewport.

    The debug drawing is shared: clearing it also clears what other extensions have drawn.

    Args:
        view: Part of the panel that selects what is drawn.
    """

    def __init__(self, view: ViewPart) -> None:
        self._view = view
        self._paths = FlownPaths()
        self._number = -1
        self._count = 0
        self._drawn = False

    def show(self, snapshot: Snapshot) -> None:
        """Draw the marks of a snapshot; every sixth snapshot is drawn."""
        if snapshot.number == self._number:
            return
        self._number = snapshot.number
        self._paths.extend(snapshot)
        self._count += 1
        if self._count % TRAIL_PERIOD:
            return
        wanted = self._view.drawing
        shown: list[tuple[Lines, Color]] = []
        if wanted.trails:
            shown.append((self._paths.trails.segments(), TRAIL_COLOR))
        if wanted.reference_path:
            shown.append((self._paths.references.segments(), REFERENCE_COLOR))
            shown.append((plan_lines(self._view.followed_vehicle(snapshot)), PLAN_COLOR))
        if wanted.axes:
            shown += zip(axes_lines(snapshot), _AXES_COLORS, strict=True)
        touched = snapshot.contacts if wanted.contact_flashes else None
        self.clear()
        self._draw(shown, np.zeros((0, 3)) if touched is None else touched)

    def clear(self) -> None:
        """Clear the drawing."""
        if self._drawn:
            tool = _debug_draw.acquire_debug_draw_interface()
            tool.clear_lines()
            tool.clear_points()
            self._drawn = False

    def _draw(self, shown: list[tuple[Lines, Color]], points: Array) -> None:
        lines = np.concatenate([NO_LINES, *(lines for lines, _ in shown)])
        tool = _debug_draw.acquire_debug_draw_interface()
        if len(lines):
            colors = [rgba for part, color in shown for rgba in [_rgba(color)] * len(part)]
            tool.draw_lines(lines[:, 0].tolist(), lines[:, 1].tolist(), colors, [_WIDTH] * len(lines))
        if len(points):
            tool.draw_points(points.tolist(), [_rgba(CONTACT_COLOR)] * len(points), [_POINT] * len(points))
        self._drawn = bool(len(lines) or len(points))


def _rgba(color: Color) -> tuple[float, float, float, float]:
    red, green, blue = color
    return red / 255, green / 255, blue / 255, 1.0
