"""Isaac Sim's viewport: its camera, put somewhere or minding a vehicle, and pictures of it."""

from pathlib import Path

import numpy as np
from omni.kit.viewport.utility import capture_viewport_to_file, get_active_viewport
from pxr import Usd, UsdGeom

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.folders import user_cache
from pegasus.isaac import kit
from pegasus.isaac.compat import isaac_sim
from pegasus.panel.snapshot import Snapshot
from pegasus.panel.view_part import CameraMode, ViewPart

PERSPECTIVE = "/OmniverseKit_Persp"
"""Kit's own camera of the viewport; those of vehicles are left alone."""
_PNG_END = b"IEND\xaeB`\x82"
_PATIENCE = 300
"""Frames within which a screenshot is there."""


class ViewportCamera:
    """The perspective camera of the viewport; while free or following, the user turns it by the mouse.

    Kit keeps its horizon level, also in the first person.

    Args:
        look: What is looked at.
    """

    def __init__(self, look: ViewPart) -> None:
        self._look = look
        self._viewpoint, self._mode = look.viewpoint, CameraMode.FREE
        self._number = -1
        self._place: Array | None = None

    def show(self, snapshot: Snapshot) -> None:
        """Move the camera to where it is wanted; nothing where there is no viewport.

        Args:
            snapshot: What is shown.
        """
        look = self._look
        asked = look.viewpoint is not self._viewpoint
        begins = look.mode is not self._mode
        if not (asked or begins) and (look.mode is CameraMode.FREE or snapshot.number == self._number):
            return
        camera = _perspective()
        if camera is None:
            return
        self._number, self._viewpoint, self._mode = snapshot.number, look.viewpoint, look.mode
        if asked or begins:
            self._place = None
            _use_perspective()
        followed = look.followed_vehicle(snapshot)
        if look.mode is CameraMode.FREE or followed is None:
            if asked:
                isaac_sim().look(PERSPECTIVE, look.viewpoint.position, look.viewpoint.target)
            return
        wanted = look.camera(snapshot)
        eye = wanted.position
        if look.mode is CameraMode.FOLLOW:
            place = followed[0].position[followed[1]]
            if self._place is not None:
                x, y, z = (_position(camera) + place - self._place).tolist()
                eye = (x, y, z)
            self._place = place
        isaac_sim().look(PERSPECTIVE, eye, wanted.target)


class Screenshots:
    """Take the pictures of the viewport that the panel asks for; Kit writes each some frames later.

    Args:
        look: Asks for them, and keeps them.
    """

    def __init__(self, look: ViewPart) -> None:
        self._look = look
        self._count = look.screenshot_count
        self._file: Path | None = None
        self._left = 0
        self._capture: object = None

    def frame(self) -> None:
        """Do what comes with a frame."""
        if self._look.screenshot_count != self._count and self._file is None:
            self._count = self._look.screenshot_count
            try:
                self._begin()
            except ConfigError as error:
                self._look.board.fail(error)
        if self._file is None:
            return
        picture = self._file.read_bytes() if self._file.is_file() else b""
        self._left -= 1
        if picture.endswith(_PNG_END):
            self._look.keep_screenshot(picture)
        elif self._left > 0:
            return
        else:
            self._look.board.report("Isaac Sim has written no screenshot; its log says why", error=True)
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
    """Let the viewport show its own camera, in the place of one of the stage."""
    viewport = get_active_viewport()
    if viewport is not None:
        viewport.camera_path = PERSPECTIVE


def _position(camera: UsdGeom.Camera) -> Array:
    pose = camera.ComputeLocalToWorldTransform(Usd.TimeCode.Default())
    return np.array(pose.ExtractTranslation(), dtype=np.float64)
