"""The panel's part for what is looked at: the viewport, whom it follows, what is drawn, screenshots."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.frames import matrix_from_quaternion
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.snapshot import Snapshot, VehicleSnapshot, Viewpoint

Numbers = tuple[float | str, float | str, float | str]

_CHASE_DISTANCE, _CHASE_HEIGHT = 3.0, 1.2
_NOSE = 0.05
"""How far above the body's origin the eye of the first person is [m]."""


class CameraMode(StrEnum):
    """How the viewport moves."""

    FREE = "free"
    """By hand only."""
    FOLLOW = "follow"
    """Along with a vehicle, at a fixed offset."""
    CHASE = "chase"
    """Behind a vehicle, turning with its heading."""
    FIRST_PERSON = "first person"
    """From the vehicle's own place, turning with its attitude."""


@dataclass(frozen=True)
class Drawing:
    """What is drawn beside world and vehicles."""

    trails: bool = True
    """Where vehicles have been."""
    axes: bool = False
    """Axes of the body frames."""
    reference_path: bool = False
    """What their pilots follow."""
    contact_flashes: bool = True
    """Where something is touched."""


class Looking(Protocol):
    """Whoever sees a simulation, such as a session."""

    @property
    def snapshot(self) -> Snapshot:
        """The simulation as it was last looked at."""


class ViewPart(Part):
    """Choose what is looked at and what is drawn.

    Args:
        board: What all parts share.
        session: Sees the simulation.
        out: Folder for screenshots; the current one when None.
    """

    def __init__(self, board: Board, session: Looking, *, out: Path | None = None) -> None:
        super().__init__(board)
        self._session = session
        self.out = Path() if out is None else out
        self.mode = CameraMode.FREE
        self.viewpoint = Viewpoint((-6.0, -6.0, 4.0), (0.0, 0.0, 1.0))
        """Where a free viewport is; its offset from its target is kept while following."""
        self.drawing = Drawing()
        self.followed: tuple[str, int] | None = None
        """Name and copy of the vehicle that is followed, and that telemetry and commands are about."""
        self.screenshot_count = 0
        """Counts up with each screenshot that is asked for."""

    def stand_at(self, viewpoint: Viewpoint) -> None:
        """Put the free viewport somewhere; not an action, since nobody has asked for it.

        Args:
            viewpoint: Where it will be.
        """
        self.viewpoint = viewpoint
        self.board.notify(Topic.VIEW)

    def followed_vehicle(self, snapshot: Snapshot) -> tuple[VehicleSnapshot, int] | None:
        """Return the vehicle that is followed and the copy of it; the first of all where none is chosen.

        Args:
            snapshot: Where it is looked for.
        """
        if self.followed is not None:
            name, copy = self.followed
            vehicle = snapshot.vehicle(name)
            if vehicle is not None and copy < vehicle.count:
                return vehicle, copy
        return (snapshot.vehicles[0], 0) if snapshot.vehicles else None

    def camera(self, snapshot: Snapshot) -> Viewpoint:
        """Return where the viewport is to be, along with a vehicle that is followed or by hand.

        Args:
            snapshot: The simulation as it is shown.
        """
        followed = self.followed_vehicle(snapshot)
        if followed is None:
            return self.viewpoint
        vehicle, copy = followed
        return viewpoint(self.mode, vehicle.position[copy], vehicle.orientation[copy], free=self.viewpoint)

    @action(Topic.VIEW)
    def follow(self, name: str, copy: int = 0) -> None:
        """Choose the vehicle that camera, telemetry and commands are about.

        Args:
            name: Its name.
            copy: Which of its copies, counted from 0.
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
        """Choose how the viewport moves.

        Args:
            mode: `free`, `follow`, `chase` or `first person`.
        """
        modes = [str(member) for member in CameraMode]
        if mode not in modes:
            raise ConfigError(f"must be one of {', '.join(modes)}", field="camera", value=mode)
        self.mode = CameraMode(mode)

    @action(Topic.VIEW)
    def look(self, position: Numbers, target: Numbers) -> None:
        """Set where the free viewport is and what it looks at.

        Args:
            position: Its place [m].
            target: What is in its middle [m].
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
        """Choose what is drawn; None leaves it as it is.

        Args:
            trails: Where the vehicles have been.
            axes: Axes of the body frames.
            reference_path: What the vehicles follow.
            contact_flashes: Where something is touched.
        """
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
        """Ask whoever shows the panel for a picture of the viewport; `keep_screenshot` takes it."""
        self.screenshot_count += 1

    @action(Topic.MESSAGES)
    def keep_screenshot(self, picture: bytes, suffix: str = ".png") -> None:
        """Write a picture of the viewport into the folder for screenshots.

        Args:
            picture: The file's content.
            suffix: How its name ends.
        """
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        count = 1
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            while (path := self.out / f"screenshot-{stamp}-{count}{suffix}").exists():
                count += 1
            path.write_bytes(picture)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", file=self.out) from None
        self.board.report(f"the screenshot is {path}")


def _point(field: str, values: Numbers) -> tuple[float, float, float]:
    x, y, z = (number(field, value) for value in values)
    return x, y, z


def viewpoint(mode: CameraMode, position: Array, orientation: Array, *, free: Viewpoint) -> Viewpoint:
    """Return where a viewport is that goes along with a vehicle.

    Args:
        mode: How it goes along.
        position: Where the vehicle is [m], shape (3,).
        orientation: Its attitude, quaternion xyzw, shape (4,).
        free: The viewport by hand, whose offset from its target counts for `follow`.
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
        # A nose that points straight up or down has no heading of its own.
        heading = np.arctan2(forward[1], forward[0])
        back = np.array([-np.cos(heading), -np.sin(heading), 0.0])
        eye = position + _CHASE_DISTANCE * back + _CHASE_HEIGHT * up
    else:
        eye = position + np.subtract(free.position, free.target)
    return Viewpoint(_vec3(eye), _vec3(target), _vec3(up))


def _vec3(vector: Array) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z
