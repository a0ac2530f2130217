"""The cameras of browsers: put somewhere by hand, or minding a vehicle."""

import time
from collections.abc import Iterable

import numpy as np
import viser

from pegasus.arrays import Array
from pegasus.panel.snapshot import Snapshot, Viewpoint
from pegasus.panel.view_part import CameraMode, ViewPart
from pegasus.panel.web_clients import Pacing

_NEAR = 6.0
"""Largest distance from which a vehicle is looked at when following begins [m]."""
_UP = np.array([0.0, 0.0, 1.0])


class WebCameras:
    """The cameras of all browsers of a server; while free or following, each user turns his own.

    Args:
        server: The server.
        look: What is looked at.
        pacing: Says which browsers are due while their cameras go along with a vehicle.
    """

    def __init__(self, server: viser.ViserServer, look: ViewPart, pacing: Pacing) -> None:
        self._server, self._look, self._pacing = server, look, pacing
        self._viewpoint, self._mode = look.viewpoint, look.mode
        self._vantage: Viewpoint | None = None

    def show(self, snapshot: Snapshot) -> None:
        """Move the cameras to where they are wanted.

        Args:
            snapshot: What is shown.
        """
        look = self._look
        if snapshot.vantage is not None and snapshot.vantage is not self._vantage:
            self._vantage = snapshot.vantage
            look.stand_at(snapshot.vantage)
        mode, viewpoint = look.mode, look.viewpoint
        begins, self._mode = mode is not self._mode, mode
        followed = look.followed_vehicle(snapshot)
        if viewpoint is not self._viewpoint or (begins and mode is CameraMode.FREE):
            asked, self._viewpoint = viewpoint is not self._viewpoint, viewpoint
            self._stand_upright()
            if asked:
                # Also for browsers that come later.
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
            _go_along(vehicle.position[copy], moved, begins=begins)
        else:
            _put(look.camera(snapshot), moved)

    def _stand_upright(self) -> None:
        for client in self._server.get_clients().values():
            client.camera.up_direction = _UP


def _put(viewpoint: Viewpoint, clients: Iterable[viser.ClientHandle]) -> None:
    """Move the cameras of browsers to one place."""
    for client in clients:
        with client.atomic():
            client.camera.up_direction = viewpoint.up
            client.camera.position = viewpoint.position
            client.camera.look_at = viewpoint.target


def _go_along(place: Array, clients: Iterable[viser.ClientHandle], *, begins: bool) -> None:
    """Let each camera keep its own distance and direction to a place."""
    for client in clients:
        offset = client.camera.position - client.camera.look_at
        if begins:
            offset *= min(1.0, _NEAR / max(float(np.linalg.norm(offset)), 1e-6))
        with client.atomic():
            client.camera.up_direction = _UP
            client.camera.position = place + offset
            client.camera.look_at = place
