"""Lines in space and curves over time as SVG, for notebooks: no scripts, files or packages."""

import html
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion, rotate
from pegasus.contracts.state import Plan
from pegasus.core.step_vehicle import RotorVehicle
from pegasus.scene.scene import Collider, ColliderShape, Scene

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#4d4d4d")
"""Colours distinguishable by colour-blind readers (Okabe and Ito 2008)."""
_WIDTH, _HEIGHT, _MARGIN = 640, 380, 30
_AZIMUTH, _ELEVATION = math.radians(-60.0), math.radians(28.0)
_POINT_LIMIT, _OUTLINE_LIMIT, _VEHICLE_LIMIT = 600, 300, 64
_GREY = "#c4c4c4"


class Line(NamedTuple):
    """Line through points in the world."""

    points: Array
    """Points [m], shape (K, 3); a single one is a dot."""
    color: str
    width: float = 2.0


def space_svg(lines: Sequence[Line], background: Sequence[Line] = ()) -> str:
    """Return a parallel projection of lines, seen from the south-west and above.

    Args:
        lines: Lines that the view shows completely.
        background: Lines behind them, cut at the border.
    """
    right = np.array([-math.sin(_AZIMUTH), math.cos(_AZIMUTH), 0.0])
    level = np.array([math.cos(_AZIMUTH), math.sin(_AZIMUTH), 0.0]) * -math.sin(_ELEVATION)
    axes = np.stack([right, level + np.array([0.0, 0.0, math.cos(_ELEVATION)])], axis=1)
    flat = np.concatenate([line.points @ axes for line in lines or [Line(np.zeros((1, 3)), "")]])
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = float(((_WIDTH, _HEIGHT) - np.array(2.0 * _MARGIN)).min() / max((high - low).max(), 2.0))
    corner = np.array([_WIDTH, _HEIGHT]) / 2

    def shape(line: Line) -> str:
        places = corner + (line.points @ axes - (low + high) / 2) * (scale, -scale)
        if len(places) == 1:
            return f'<circle cx="{places[0, 0]:.1f}" cy="{places[0, 1]:.1f}" r="4" fill="{line.color}"/>'
        return _polyline(places, line.color, line.width)

    return _svg(map(shape, [*_ground(lines), *background, *lines]))


def curves_svg(time: Array, curves: Mapping[str, Array], title: str) -> str:
    """Return curves over time, with their names and limits.

    Args:
        time: Times [s], shape (T,).
        curves: Values by name, shape (T,) each.
        title: Quantity and unit.
    """
    values = np.stack(list(curves.values()))
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    x = _MARGIN + (time - time[0]) / max(float(np.ptp(time)), 1e-9) * (_WIDTH - 2 * _MARGIN)
    y = _HEIGHT - _MARGIN - (values - low) / max(high - low, 1e-9) * (_HEIGHT - 3 * _MARGIN)
    texts = [
        (f"{title}: {low:.3g} to {high:.3g}", _MARGIN, "#222"),
        (f"{time[0]:g} to {time[-1]:g} s", 480, "#222"),
    ]
    texts += [(name, 300 + 40 * k, COLORS[k % len(COLORS)]) for k, name in enumerate(curves)]
    words = [
        f'<text x="{at}" y="20" font-size="13" fill="{c}">{html.escape(text)}</text>' for text, at, c in texts
    ]
    drawn = [_polyline(np.stack([x, row], axis=1), COLORS[k % len(COLORS)], 1.5) for k, row in enumerate(y)]
    return _svg([*words, *drawn])


def outline(scene: Scene) -> list[Line]:
    """Return the edges of the largest boxes and cylinders of a world, if its scene is read already.

    Args:
        scene: The scene.
    """
    colliders = scene.colliders if scene.is_whole else []
    shaped = [item for item in colliders if item.shape in (ColliderShape.BOX, ColliderShape.CYLINDER)]
    largest = sorted(shaped, key=lambda item: -max(item.size))[:_OUTLINE_LIMIT]
    return [
        Line(rotate(matrix_from_quaternion(item.orientation), edge) + item.position, _GREY, 1.0)
        for item in largest
        for edge in _edges(item)
    ]


class FlyingVehicle(RotorVehicle, Protocol):
    """Vehicle whose driving backend may tell what it will fly."""

    def plan(self, t: float) -> Plan | None:
        """Return the remaining flight, if it is known."""


def vehicle_lines(vehicles: Iterable[FlyingVehicle], t: float) -> list[Line]:
    """Return the arms of vehicles and the paths ahead of them.

    Args:
        vehicles: The vehicles.
        t: Simulation time [s].
    """
    lines = []
    for k, vehicle in enumerate(vehicles):
        color, plan = COLORS[k % len(COLORS)], vehicle.plan(t)
        position = vehicle.state.position
        for copy, hubs in enumerate(vehicle.rotor_centers[:_VEHICLE_LIMIT]):
            if plan is not None:
                lines.append(Line(plan.path(copy), "#f0b95c", 1.5))
            lines += [Line(np.stack([position[copy], hub]), color) for hub in hubs]
            lines.append(Line(position[copy][None], color))
    return lines


def text_and_svg(text: str, *svgs: str) -> str:
    """Return HTML of a line of text above drawings."""
    return f"<div><code>{html.escape(text)}</code><br/>{''.join(svgs)}</div>"


def _ground(lines: Sequence[Line]) -> list[Line]:
    """Return a grid on the ground below lines, with cells of 1, 10, 100, ... m."""
    points = np.concatenate([line.points for line in lines] or [np.zeros((1, 3))])[:, :2]
    cell = 10.0 ** max(0, math.floor(math.log10(max(float(np.ptp(points, axis=0).max()), 1.0))))
    low, high = np.floor(points.min(axis=0) / cell) * cell, np.ceil(points.max(axis=0) / cell) * cell
    east, north = (np.arange(a, b + cell / 2, cell) for a, b in zip(low, high, strict=True))
    ends = [[[x, low[1], 0.0], [x, high[1], 0.0]] for x in east]
    ends += [[[low[0], y, 0.0], [high[0], y, 0.0]] for y in north]
    return [Line(np.array(end), "#e4e4e4", 1.0) for end in ends]


def _edges(item: Collider) -> list[Array]:
    """Return the edges of a box or cylinder in its own frame, shape (K, 3) each."""
    if item.shape is ColliderShape.BOX:
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * item.size
        pairs = itertools.combinations(range(8), 2)
        return [corners[[a, b]] for a, b in pairs if (a ^ b).bit_count() == 1]
    angle = np.linspace(0.0, 2 * math.pi, 17)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(17)], axis=1) * item.size[0]
    top = np.array([0.0, 0.0, item.size[1]])
    return [ring + top, ring - top]


def _polyline(places: Array, color: str, width: float) -> str:
    thin = places[:: max(1, -(-len(places) // _POINT_LIMIT))]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in thin[np.isfinite(thin).all(axis=1)].tolist())
    return f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="{width:g}"/>'


def _svg(shapes: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" style="background: white">{"".join(shapes)}</svg>'
    )
