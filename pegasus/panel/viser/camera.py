"""Browser cameras and screenshots."""

import io
import threading
import time
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import viser
from PIL import Image

from pegasus.base.arrays import Array
from pegasus.panel.view_part import CameraMode, ViewPart
from pegasus.panel.viser.clients import ClientPacing
from pegasus.session.snapshot import Snapshot, Viewpoint

_NEAR = 6.0
"""Maximum distance from the vehicle when following begins [m]."""
_UP = np.array([0.0, 0.0, 1.0])

_ANSWER_LIMIT = 10.0
"""Time limit of a browser's answer, wall time [s]."""
_MAX_REQUESTS = 8
_MAX_SIZE = 8192
"""Maximum width and height of a screenshot [pixels]."""


class WebCameras:
    """Cameras of all browsers; in the modes free and follow each user rotates their own.

    Args:
        server: The server.
        settings: Settings of the view.
        pacing: Update schedule of the browsers whose cameras move with a vehicle.
    """

    def __init__(self, server: viser.ViserServer, settings: ViewPart, pacing: ClientPacing) -> None:
        self._server, self._settings, self._pacing = server, settings, pacing
        self._viewpoint, self._mode = settings.viewpoint, settings.mode
        self._suggested_viewpoint: Viewpoint | None = None

    def show(self, snapshot: Snapshot) -> None:
        """Move the cameras for a snapshot."""
        settings = self._settings
        if (
            snapshot.suggested_viewpoint is not None
            and snapshot.suggested_viewpoint is not self._suggested_viewpoint
        ):
            self._suggested_viewpoint = snapshot.suggested_viewpoint
            settings.apply_viewpoint(snapshot.suggested_viewpoint)
        mode, viewpoint = settings.mode, settings.viewpoint
        begins, self._mode = mode is not self._mode, mode
        followed = settings.followed_vehicle(snapshot)
        if viewpoint is not self._viewpoint or (begins and mode is CameraMode.FREE):
            moved_by_user, self._viewpoint = viewpoint is not self._viewpoint, viewpoint
            self._reset_up_direction()
            if moved_by_user:
                # Also applies to browsers that connect later.
                first = self._server.initial_camera
                first.position, first.look_at = np.array(viewpoint.position), np.array(viewpoint.target)
                _put(viewpoint, self._server.get_clients().values())
        if followed is None or mode is CameraMode.FREE:
            return
        vehicle, copy = followed
        clients = self._server.get_clients()
        due = clients if begins else self._pacing.due(clients, time.perf_counter())
        moved = [clients[key] for key in due]
        if mode is CameraMode.FOLLOW:
            _follow(vehicle.position[copy], moved, begins=begins)
        else:
            _put(settings.camera(snapshot), moved)

    def _reset_up_direction(self) -> None:
        for client in self._server.get_clients().values():
            client.camera.up_direction = _UP


def _put(viewpoint: Viewpoint, clients: Iterable[viser.ClientHandle]) -> None:
    """Move the cameras of browsers to a viewpoint."""
    for client in clients:
        with client.atomic():
            client.camera.up_direction = viewpoint.up
            client.camera.position = viewpoint.position
            client.camera.look_at = viewpoint.target


def _follow(place: Array, clients: Iterable[viser.ClientHandle], *, begins: bool) -> None:
    """Move each camera along with a position, keeping its distance and direction."""
    for client in clients:
        offset = client.camera.position - client.camera.look_at
        if begins:
            offset *= min(1.0, _NEAR / max(float(np.linalg.norm(offset)), 1e-6))
        with client.atomic():
            client.camera.up_direction = _UP
            client.camera.position = place + offset
            client.camera.look_at = place


class ScreenshotRequests:
    """Screenshots requested from browsers, at most one at a time from each.

    Args:
        settings: View part, which stores screenshots and reports errors.
        limit: Time limit of an answer, wall time [s].
    """

    def __init__(self, settings: ViewPart, *, limit: float = _ANSWER_LIMIT) -> None:
        self._settings, self._limit = settings, limit
        self._lock = threading.Lock()
        self._pending: set[int] = set()

    def take(self, client: viser.ClientHandle | None) -> None:
        """Request a screenshot from a browser unless one is pending; returns immediately.

        Args:
            client: The browser; None if it has disconnected.
        """
        if client is None:
            return
        with self._lock:
            if client.client_id in self._pending:
                return
            if len(self._pending) >= _MAX_REQUESTS:
                self._settings.board.report(f"{_MAX_REQUESTS} screenshots are pending already", error=True)
                return
            self._pending.add(client.client_id)
        name = f"pegasus-screenshot-{client.client_id}"
        threading.Thread(target=self._keep, args=(client,), name=name, daemon=True).start()

    def _keep(self, client: viser.ClientHandle) -> None:
        try:
            camera = client.camera
            height, width = (
                min(max(int(size), 1), _MAX_SIZE) for size in (camera.image_height, camera.image_width)
            )
            shown = client.get_render(height, width, transport_format="jpeg", timeout=self._limit)
            image = encoded(shown)
        except TimeoutError:
            problem = f"the browser has not sent its screenshot within {self._limit:g} s"
            self._settings.board.report(problem, error=True)
        except Exception as error:
            # Invalid data from a browser must affect its screenshot only.
            self._settings.board.report(
                f"the browser has sent no valid screenshot: {type(error).__name__}", error=True
            )
        else:
            self._settings.save_screenshot(image, ".jpg")
        finally:
            with self._lock:
                self._pending.discard(client.client_id)


def encoded(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return an image as the content of a JPEG file.

    Args:
        pixels: Image, shape (H, W, 3 or 4).
    """
    buffer = io.BytesIO()
    Image.fromarray(pixels[..., :3]).save(buffer, "JPEG", quality=92)
    return buffer.getvalue()
