"""Logs as HTML for notebooks."""

import html
from typing import TYPE_CHECKING

import numpy as np

from pegasus.core.svg_view import COLORS, Line, curves_svg, space_svg, text_and_svg

if TYPE_CHECKING:
    from pegasus.recording.log import Log

_PATH_LIMIT = 16
"""Most paths; more would hide each other."""
_ROW_LIMIT = 40
"""Most topics in the table."""


def log_html(log: "Log") -> str:
    """Return the topics of a log as a table, the flown paths, and the first vehicle's position over time.

    Args:
        log: The log.
    """
    states = [log[f"{name}/state"] for name in list(log.vehicles)[:_PATH_LIMIT] if f"{name}/state" in log]
    paths = [state.position[:, copy] for state in states for copy in range(state.count) if len(state)]
    drawings = []
    if paths:
        lines = [Line(path, COLORS[k % len(COLORS)]) for k, path in enumerate(paths[:_PATH_LIMIT])]
        ends = [Line(path[-1:], line.color) for path, line in zip(paths, lines, strict=False)]
        drawings.append(space_svg([*lines, *ends]))
        first = next(state for state in states if len(state))
        curves = dict(zip("xyz", first.position[:, 0].T, strict=True))
        drawings.append(curves_svg(first.time, curves, f"{first.topic}.position [m]"))
    return text_and_svg(repr(log), *drawings) + _table(log)


def _table(log: "Log") -> str:
    rows = []
    for topic, column in list(log.series.columns.items())[:_ROW_LIMIT]:
        stamps = np.array(column.stamps)
        span = (stamps[-1] - stamps[0]) / 1e9 if len(stamps) > 1 else 0.0
        rate = f"{(len(stamps) - 1) / span:.4g} Hz" if span else ""
        cells = html.escape(topic), len(stamps), rate, f"{span:g} s"
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    more = len(log.series) - len(rows)
    note = f"<p>and {more} more topics</p>" if more else ""
    head = "<tr><th>topic</th><th>messages</th><th>rate</th><th>duration</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>{note}"
