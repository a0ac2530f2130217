"""What a browser draws into the world: trails, references, axes and contacts."""

import numpy as np
import numpy.typing as npt
import viser

from pegasus.panel.snapshot import Snapshot, VehicleSnapshot
from pegasus.panel.trails import Trails
from pegasus.panel.view_part import Drawing
from pegasus.panel.web_scene import wxyz

_TRAIL_PERIOD = 6
"""Trails go out with every sixth picture."""
_TRAIL_COLOR, _REFERENCE_COLOR, _CONTACT_COLOR = (255, 140, 30), (40, 200, 255), (255, 30, 30)
_PLAN_COLOR = (255, 255, 120)
_NO_SEGMENTS = np.zeros((0, 2, 3), np.float32)


class WebMarks:
    """The marks in the 3D view of a server.

    Args:
        server: The server.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._trails, self._references = Trails(), Trails()
        self._lines: dict[str, viser.LineSegmentsHandle] = {}
        self._axes: viser.BatchedAxesHandle | None = None
        self._contacts: viser.PointCloudHandle | None = None
        self._generation = -1
        self._count = 0

    def show(
        self, snapshot: Snapshot, drawing: Drawing, followed: tuple[VehicleSnapshot, int] | None
    ) -> None:
        """Bring the marks to a snapshot.

        Args:
            snapshot: What is shown.
            drawing: Which marks are wanted.
            followed: The vehicle that is followed and the copy of it, whose way ahead is drawn.
        """
        if snapshot.generation != self._generation:
            self._generation = snapshot.generation
            self._trails.clear()
            self._references.clear()
        places = [vehicle.position for vehicle in snapshot.vehicles]
        position = np.concatenate(places) if places else np.zeros((0, 3))
        self._trails.extend(snapshot.time, position)
        wanted = [
            np.where(np.isfinite(reference), reference, vehicle.position)
            for vehicle in snapshot.vehicles
            if (reference := vehicle.reference_position) is not None
        ]
        self._references.extend(snapshot.time, np.concatenate(wanted) if wanted else np.zeros((0, 3)))
        self._count += 1
        if self._count % _TRAIL_PERIOD == 0:
            self._line("trails", self._trails, _TRAIL_COLOR, shown=drawing.trails)
            self._line("references", self._references, _REFERENCE_COLOR, shown=drawing.reference_path)
            self._show_plan(snapshot, followed if drawing.reference_path else None)
        self._show_axes(snapshot, shown=drawing.axes and bool(places))
        self._show_contacts(snapshot, shown=drawing.contact_flashes)

    def _show_plan(self, snapshot: Snapshot, followed: tuple[VehicleSnapshot, int] | None) -> None:
        plan = None if followed is None else followed[0].plan
        if plan is None or followed is None:
            self._segments("plan", _NO_SEGMENTS, _PLAN_COLOR)
            return
        path = plan.path(followed[1]).astype(np.float32)
        self._segments("plan", np.stack([path[:-1], path[1:]], axis=1), _PLAN_COLOR)

    def _line(self, name: str, trails: Trails, color: tuple[int, int, int], *, shown: bool) -> None:
        self._segments(name, trails.segments() if shown else _NO_SEGMENTS, color)

    def _segments(self, name: str, points: npt.NDArray[np.float32], color: tuple[int, int, int]) -> None:
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
            # One number of colours for each number of lines.
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
                "/marks/axes", orientation, position, axes_length=0.4, axes_radius=0.01
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
                _CONTACT_COLOR,
                point_size=0.05,
                point_shape="circle",
                precision="float32",
            )
        else:
            self._contacts.points = places
