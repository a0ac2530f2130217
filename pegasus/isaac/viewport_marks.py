"""What the viewport draws beside world and vehicles: trails, references, axes and contacts."""

import numpy as np
from isaacsim.util.debug_draw import _debug_draw

from pegasus.arrays import Array
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
from pegasus.panel.snapshot import Snapshot
from pegasus.panel.view_part import ViewPart

_AXES_COLORS: tuple[Color, ...] = ((230, 40, 40), (40, 170, 60), (40, 90, 230))
_WIDTH, _POINT = 2.0, 8.0
"""Width of a line and size of a point [pixels]."""


class ViewportMarks:
    """The marks in the viewport, which others see too who draw into it by the same tool.

    Args:
        look: Knows which marks are wanted.
    """

    def __init__(self, look: ViewPart) -> None:
        self._look = look
        self._paths = FlownPaths()
        self._number = -1
        self._frames = 0
        self._drawn = False

    def show(self, snapshot: Snapshot) -> None:
        """Bring the marks to a snapshot, with every sixth one.

        Args:
            snapshot: What is shown.
        """
        if snapshot.number == self._number:
            return
        self._number = snapshot.number
        self._paths.extend(snapshot)
        self._frames += 1
        if self._frames % TRAIL_PERIOD:
            return
        wanted = self._look.drawing
        shown: list[tuple[Lines, Color]] = []
        if wanted.trails:
            shown.append((self._paths.trails.segments(), TRAIL_COLOR))
        if wanted.reference_path:
            shown.append((self._paths.references.segments(), REFERENCE_COLOR))
            shown.append((plan_lines(self._look.followed_vehicle(snapshot)), PLAN_COLOR))
        if wanted.axes:
            shown += zip(axes_lines(snapshot), _AXES_COLORS, strict=True)
        touched = snapshot.contacts if wanted.contact_flashes else None
        self.clear()
        self._draw(shown, np.zeros((0, 3)) if touched is None else touched)

    def clear(self) -> None:
        """Draw nothing any more."""
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
