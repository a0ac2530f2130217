"""What a browser draws into the world: trails, references, axes and contacts."""

import numpy as np
import viser

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
from pegasus.panel.snapshot import Snapshot, VehicleSnapshot
from pegasus.panel.view_part import Drawing
from pegasus.panel.web_scene import wxyz


class WebMarks:
    """The marks in the 3D view of a server.

    Args:
        server: The server.
    """

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
        """Bring the marks to a snapshot.

        Args:
            snapshot: What is shown.
            drawing: Which marks are wanted.
            followed: The vehicle that is followed and the copy of it, whose way ahead is drawn.
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
