"""Logs as HTML for notebooks."""

import html
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.core.svg_view import COLORS, Line, curves_svg, space_svg, text_and_svg

PATH_LIMIT = 16
"""Most paths; more would hide each other."""
_ROW_LIMIT = 40
"""Most topics in the table."""


class Stamped(Protocol):
    """Messages of a topic that were not read yet."""

    @property
    def stamps(self) -> list[int]:
        """Their times [ns]."""


class States(Protocol):
    """States of the copies of a vehicle."""

    @property
    def topic(self) -> str:
        """Name of the topic."""

    @property
    def time(self) -> Array:
        """Times of the messages [s]."""

    @property
    def count(self) -> int:
        """Number of copies N."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Values by field, `position` among them."""


def log_html(text: str, states: Sequence[States], topics: Mapping[str, Stamped]) -> str:
    """Return the topics of a log as a table, the flown paths, and the first vehicle's position over time.

    Args:
        text: The log as one line.
        states: States of the vehicles.
        topics: Messages by topic.
    """
    flown = [state for state in states if len(state.time)]
    paths = [state.fields["position"][:, copy] for state in flown for copy in range(state.count)]
    drawings = []
    if paths:
        lines = [Line(path, COLORS[k % len(COLORS)]) for k, path in enumerate(paths[:PATH_LIMIT])]
        ends = [Line(path[-1:], line.color) for path, line in zip(paths, lines, strict=False)]
        drawings.append(space_svg([*lines, *ends]))
        first = flown[0]
        curves = dict(zip("xyz", first.fields["position"][:, 0].T, strict=True))
        drawings.append(curves_svg(first.time, curves, f"{first.topic}.position [m]"))
    return text_and_svg(text, *drawings) + _table(topics)


def _table(topics: Mapping[str, Stamped]) -> str:
    rows = []
    for topic, column in list(topics.items())[:_ROW_LIMIT]:
        stamps = np.array(column.stamps)
        span = (stamps[-1] - stamps[0]) / 1e9 if len(stamps) > 1 else 0.0
        rate = f"{(len(stamps) - 1) / span:.4g} Hz" if span else ""
        cells = html.escape(topic), len(stamps), rate, f"{span:g} s"
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    more = len(topics) - len(rows)
    note = f"<p>and {more} more topics</p>" if more else ""
    head = "<tr><th>topic</th><th>messages</th><th>rate</th><th>duration</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>{note}"
