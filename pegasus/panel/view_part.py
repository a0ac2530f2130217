"""Panel part for the view: camera, followed vehicle, overlays and screenshots."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.panel.board import Board, Part, Topic, action, number, require_choice
from pegasus.session.snapshot import Snapshot, VehicleSnapshot, Viewpoint

Numbers = tuple[float | str, float | str, float | str]

_CHASE_DISTANCE, _CHASE_HEIGHT = 3.0, 1.2
_NOSE = 0.05
"""Height of the first-person camera above the body's origin [m]."""


class CameraMode(StrEnum):
    """Camera modes of the view."""

    FREE = "free"
    """Moved by the user only."""
    FOLLOW = "follow"
    """Fixed offset from a vehicle."""
    CHASE = "chase"
    """Behind a vehicle, turning with its heading."""
    FIRST_PERSON = "first person"
    """On board a vehicle, turning with its attitude."""


@dataclass(frozen=True)
class Drawing:
    """Visibility of overlays in the view."""

    trails: bool = True
    """Flown paths of the vehicles."""
    axes: bool = False
    """Axes of the body frames."""
    reference_path: bool = False
    """Reference and planned paths."""
    contact_flashes: bool = True
    """Contact points."""


class SnapshotSource(Protocol):
    """Source of snapshots, such as a session."""

    @property
    def snapshot(self) -> Snapshot:
        """The last snapshot."""


class ViewPart(Part):
    """Settings of the view.

    Args:
        board: Listeners and messages of the panel.
        session: Source of snapshots.
        out: Folder for screenshots; the current one when None.
    """

    def __init__(self, board: Board, session: SnapshotSource, *, out: Path | None = None) -> None:
        super().__init__(board)
        self._session = session
        self.out = Path() if out is None else out
        self.mode = CameraMode.FREE
        self.viewpoint = Viewpoint((-6.0, -6.0, 4.0), (0.0, 0.0, 1.0))
        """Viewpoint of the free camera, whose offset from the target also applies while following."""
        self.drawing = Drawing()
        self.followed: tuple[str, int] | None = None
        """Name and copy index of the vehicle to which camera, telemetry and commands refer."""
        self.screenshot_count = 0
        """Number of screenshots requested so far."""

    def apply_viewpoint(self, viewpoint: Viewpoint) -> None:
        """Move the free camera without a user action."""
        self.viewpoint = viewpoint
        self.board.notify(Topic.VIEW)

    def followed_vehicle(self, snapshot: Snapshot) -> tuple[VehicleSnapshot, int] | None:
        """Return the followed vehicle and copy index, by default the first vehicle; None without one."""
        if self.followed is not None:
            name, copy = self.followed
            vehicle = snapshot.vehicle(name)
            if vehicle is not None and copy < vehicle.count:
                return vehicle, copy
        return (snapshot.vehicles[0], 0) if snapshot.vehicles else None

    def camera(self, snapshot: Snapshot) -> Viewpoint:
        """Return the viewpoint of the camera in the current mode."""
        followed = self.followed_vehicle(snapshot)
        if followed is None:
            return self.viewpoint
        vehicle, copy = followed
        return viewpoint(self.mode, vehicle.position[copy], vehicle.orientation[copy], free=self.viewpoint)

    @action(Topic.VIEW)
    def follow(self, name: str, copy: int = 0) -> None:
        """Choose the vehicle to which camera, telemetry and commands refer.

        Args:
            name: Its name.
            copy: Index of the copy, from 0.
        """
        snapshot = self._session.snapshot
        vehicle = snapshot.vehicle(name)
        if vehicle is None:
            known = ", ".join(vehicle.name for vehicle in snapshot.vehicles) or "none"
            raise ConfigError(f"no such vehicle; there are {known}", field="vehicle", value=name)
        if not 0 <= copy < vehicle.count:
            raise ConfigError(f"must be from 0 to {vehicle.count - 1}", field="copy", value=copy)
        self.followed = name, copy

    @action(Topic.VIEW)
    def set_mode(self, mode: str) -> None:
        """Choose the camera mode.

        Args:
            mode: `free`, `follow`, `chase` or `first person`.
        """
        require_choice("camera", mode, tuple(CameraMode))
        self.mode = CameraMode(mode)

    @action(Topic.VIEW)
    def set_viewpoint(self, position: Numbers, target: Numbers) -> None:
        """Set position and target of the free camera.

        Args:
            position: Position [m].
            target: Point in the centre of the image [m].
        """
        eye = _point("position", position)
        middle = _point("target", target)
        if np.linalg.norm(np.subtract(eye, middle)) < 1e-3:
            raise ConfigError(
                "must not be the same as the position", field="target", value=middle, remedy="move one"
            )
        self.viewpoint = Viewpoint(eye, middle)

    @action(Topic.VIEW)
    def draw(
        self,
        *,
        trails: bool | None = None,
        axes: bool | None = None,
        reference_path: bool | None = None,
        contact_flashes: bool | None = None,
    ) -> None:
        """Show or hide overlays; None keeps a value."""
        wanted = {
            "trails": trails,
            "axes": axes,
            "reference_path": reference_path,
            "contact_flashes": contact_flashes,
        }
        changes = {name: value for name, value in wanted.items() if value is not None}
        self.drawing = replace(self.drawing, **changes)

    @action(Topic.SCREENSHOT)
    def screenshot(self) -> None:
        """Request a screenshot from the window that shows the panel, which calls `save_screenshot`."""
        self.screenshot_count += 1

    @action(Topic.MESSAGES)
    def save_screenshot(self, image: bytes, suffix: str = ".png") -> None:
        """Write a screenshot to the folder for screenshots."""
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        count = 1
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            while (path := self.out / f"screenshot-{stamp}-{count}{suffix}").exists():
                count += 1
            path.write_bytes(image)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", file=self.out) from None
        self.board.report(f"the screenshot is {path}")


def _point(field: str, values: Numbers) -> tuple[float, float, float]:
    x, y, z = (number(field, value) for value in values)
    return x, y, z


def viewpoint(mode: CameraMode, position: Array, orientation: Array, *, free: Viewpoint) -> Viewpoint:
    """Return the viewpoint of a camera mode.

    Args:
        mode: The mode.
        position: Position of the vehicle [m], shape (3,).
        orientation: Attitude of the vehicle, quaternion xyzw, shape (4,).
        free: Viewpoint of the free camera, whose offset from the target applies to `follow`.
    """
    if mode is CameraMode.FREE:
        return free
    rotation = matrix_from_quaternion(orientation)
    forward, up = rotation[:, 0], np.array([0.0, 0.0, 1.0])
    target = position
    if mode is CameraMode.FIRST_PERSON:
        up = rotation[:, 2]
        eye = position + _NOSE * up
        target = eye + forward
    elif mode is CameraMode.CHASE:
        # The heading is arbitrary if the nose points straight up or down.
        heading = np.arctan2(forward[1], forward[0])
        back = np.array([-np.cos(heading), -np.sin(heading), 0.0])
        eye = position + _CHASE_DISTANCE * back + _CHASE_HEIGHT * up
    else:
        eye = position + np.subtract(free.position, free.target)
    return Viewpoint(_vec3(eye), _vec3(target), _vec3(up))


def _vec3(vector: Array) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z
