"""Wings, tails and control surfaces as they are drawn: lofts of NACA sections."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.config.airframe_specs import JointSpec, SurfaceMount, SurfaceShape
from pegasus.config.scenario import VehicleSpec
from pegasus.scene.faces import Faces, loft_faces

_POINTS = 14
"""Points of the upper and of the lower side of a section."""
_USUAL_ASPECT_RATIO = 5.0
_USUAL_HINGE = 0.75
"""Place of a hinge line along the chord where the joint's own line is not inside the wing."""
_HINGES = (0.3, 0.95)
"""Places along the chord at which a hinge line can be drawn."""
_GAP = 0.012
"""Gap between wing and control surface, by the chord."""
_LEAST_SPAN = 1e-6
"""Distance from the plane of symmetry above which a surface is a panel on one side [m]."""


Vector = tuple[float, float, float]
Hinge = tuple[Vector, Vector]


@dataclass(frozen=True, eq=False)
class LoftedPart:
    """Part of a wing: points [m] in the body frame, and faces."""

    name: str
    """Name of its prim."""
    joint: str | None
    """Joint that turns it; None if it is fixed to the body."""
    points: Array
    faces: Faces
    hinge: Hinge | None = None
    """Point [m] and direction of the line about which it turns as a control surface; None if it is none."""
    carrier: str | None = None
    """Joint that turns the wing of a control surface as a whole; None if it is fixed to the body."""


@dataclass(frozen=True, eq=False)
class _Panel:
    """One side of a wing: frame, root and planform."""

    root: Array
    """Quarter-chord point of the root [m]."""
    forward: Array
    outward: Array
    upward: Array
    span: float
    """Length from root to tip [m]."""
    chord: float
    """Chord of the root [m]."""
    shape: SurfaceShape

    def chord_at(self, part: float) -> float:
        return self.chord * (1.0 + (self.shape.taper - 1.0) * part)

    def quarter(self, part: float) -> Array:
        """Return the quarter-chord point at a part of the span."""
        y = part * self.span
        back, up = np.tan(self.shape.sweep) * y, np.tan(self.shape.dihedral) * y
        point: Array = self.root + self.outward * y - self.forward * back + self.upward * up
        return point

    def ring(self, part: float, low: float, high: float) -> Array:
        """Return a section between two places along the chord, shape (K, 3)."""
        chord = self.chord_at(part)
        x, z = naca_section(self.shape.section, low, high).T * chord
        along = 0.25 * chord - x
        section: Array = self.quarter(part) + along[:, None] * self.forward + z[:, None] * self.upward
        return section

    def hinge(self, part: float, joint: JointSpec) -> float:
        """Return the place of a hinge line along the chord at a part of the span."""
        axis, point = np.array(joint.axis), np.array(joint.position)
        slope = float(axis @ self.outward)
        if abs(slope) < 0.3:
            return _USUAL_HINGE
        quarter = self.quarter(part)
        crossing = point + axis * float((quarter - point) @ self.outward) / slope
        place = 0.25 - float((crossing - quarter) @ self.forward) / self.chord_at(part)
        return place if _HINGES[0] < place < _HINGES[1] else _USUAL_HINGE

    def line(self, ends: Sequence[tuple[float, float]], joint: JointSpec) -> Hinge:
        """Return the hinge line through places along the chord at two parts of the span.

        Args:
            ends: Part of the span, and place along the chord, of two points.
            joint: The joint, whose positive angles turn as those about the line do.
        """
        a, b = (self.ring(part, place, place).mean(axis=0) for part, place in ends)
        along = (b - a) / np.sqrt((b - a) @ (b - a))
        if along @ joint.axis < 0.0:
            along = -along
        (x, y, z), (u, v, w) = a.tolist(), along.tolist()
        return (x, y, z), (u, v, w)


def naca_section(digits: str, low: float = 0.0, high: float = 1.0) -> Array:
    """Return a section of NACA's four-digit series between two places along the chord, shape (K, 2).

    A ring from above the trailing edge over the leading edge to below the trailing edge, in parts of the
    chord, x from the leading edge. The trailing edge is closed. Source: Jacobs, Ward and Pinkerton, NACA
    Report 460, 1933; the last coefficient is 0.1036 for a closed edge.

    Args:
        digits: The four digits: camber and its place, and two of the thickness.
        low: First place.
        high: Last place.
    """
    camber, place, thickness = int(digits[0]) / 100, int(digits[1]) / 10, int(digits[2:]) / 100
    x = low + (high - low) * 0.5 * (1.0 - np.cos(np.pi * np.arange(_POINTS) / (_POINTS - 1)))
    half = 5 * thickness * (0.2969 * np.sqrt(x) - 0.126 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1036 * x**4)
    line = np.zeros_like(x)
    if camber and place:
        front = camber / place**2 * (2 * place * x - x**2)
        rear = camber / (1 - place) ** 2 * (1 - 2 * place + 2 * place * x - x**2)
        line = np.where(x < place, front, rear)
    # Ends without thickness have two points still: every ring has the same number.
    half = np.maximum(half, 5e-4)
    upper, lower = np.column_stack([x, line + half]), np.column_stack([x, line - half])
    return np.concatenate([upper[::-1], lower])


def loft(rings: Sequence[Array]) -> tuple[Array, Faces]:
    """Return the closed surface through rings of points, with faces outward: points [m] and faces."""
    points = np.concatenate(rings)
    faces = loft_faces(len(rings), len(rings[0]))
    center = points.mean(axis=0)
    volume = 0.0
    for face in faces:
        a = points[face[0]] - center
        for b, c in pairwise(face[1:]):
            volume += float(a @ np.cross(points[b] - center, points[c] - center))
    return points, faces if volume > 0 else [face[::-1] for face in faces]


def lofted_parts(spec: VehicleSpec) -> Iterator[LoftedPart]:
    """Yield the wings and tails of a vehicle, and their control surfaces.

    Args:
        spec: The vehicle.

    Raises:
        ConfigError: If a surface has a wrong field.
    """
    for name, (mount, model) in spec.mounts().items():
        # A body of revolution is drawn as the fuselage.
        if model.get("radial_symmetry"):
            continue
        for k, shape in enumerate(_shapes(mount)):
            for part, panel in enumerate(_panels(mount, shape, model)):
                yield from _panel_parts(f"{name}_{k}_{part}", panel, mount, shape, spec.joints)


def wing_boxes(spec: VehicleSpec) -> Iterator[Array]:
    """Yield the corners of each panel's collision shape [m], shape (8, 3) each.

    Args:
        spec: The vehicle.
    """
    for mount, model in spec.mounts().values():
        if model.get("radial_symmetry"):
            continue
        for shape in _shapes(mount):
            for panel in _panels(mount, shape, model):
                thick = int(panel.shape.section[2:]) / 200
                corners = []
                for part in (0.0, 1.0):
                    chord, quarter = panel.chord_at(part), panel.quarter(part)
                    corners += [
                        quarter + panel.forward * along * chord + panel.upward * up * thick * chord
                        for along in (0.25, -0.75)
                        for up in (-1.0, 1.0)
                    ]
                yield np.array(corners)


def _shapes(mount: SurfaceMount) -> list[SurfaceShape]:
    if mount.shape is None:
        return [SurfaceShape()]
    return mount.shape if isinstance(mount.shape, list) else [mount.shape]


def _panels(mount: SurfaceMount, shape: SurfaceShape, model: Mapping[str, Any]) -> list[_Panel]:
    """Return the panels of a shape: both sides of one in the plane of symmetry, else the one outward."""
    placed = mount if shape.upward is None else mount.model_copy(update={"upward": shape.upward})
    forward, left, upward = placed.axes()
    position = np.array(mount.position if shape.position is None else shape.position)
    # A wrong area or ratio is told when the model of the surface is made.
    known = {name: v for name, v in model.items() if isinstance(v, int | float) and 0 < v < np.inf}
    area, ratio = known.get("area", 0.1), known.get("AR", known.get("aspect_ratio", _USUAL_ASPECT_RATIO))
    span = shape.span or float(np.sqrt(area * ratio))
    chord = shape.chord or 2.0 * span / ratio / (1.0 + shape.taper)
    side = float(position @ left)
    if abs(side) <= _LEAST_SPAN and abs(left[2]) < 0.7:
        return [
            _Panel(position, forward, sign * left, upward, span / 2, chord, shape) for sign in (1.0, -1.0)
        ]
    outward = left if side > 0 else -left
    back, up = np.tan(shape.sweep) * span / 2, np.tan(shape.dihedral) * span / 2
    root = position - outward * span / 2 + forward * back - upward * up
    return [_Panel(root, forward, outward, upward, span, chord, shape)]


def _panel_parts(
    name: str, panel: _Panel, mount: SurfaceMount, shape: SurfaceShape, joints: Mapping[str, JointSpec]
) -> Iterator[LoftedPart]:
    """Yield the fixed parts of a panel, and the control surfaces behind their hinge lines."""
    controls = mount.controls if shape.controls is None else shape.controls
    symmetric = abs(float(panel.root @ panel.outward)) <= _LEAST_SPAN

    def outboard(control: str) -> float:
        return float(np.array(joints[control].position) @ panel.outward)

    own = [name for name in controls if name in joints and (not symmetric or outboard(name) >= -_LEAST_SPAN)]
    own.sort(key=outboard)
    first, last = shape.controls_span
    edges = np.linspace(first, last, len(own) + 1).tolist() if own else []
    cuts = [0.0, *edges, 1.0] if own else [0.0, 1.0]
    for k, (a, b) in enumerate(pairwise(cuts)):
        if b - a < 1e-6:
            continue
        control = own[k - 1] if 0 < k <= len(own) else None
        if control is None:
            yield LoftedPart(
                f"{name}_{k}", mount.joint, *loft([panel.ring(part, 0.0, 1.0) for part in (a, b)])
            )
            continue
        joint, inner = joints[control], a + 0.004
        hinges = [panel.hinge(part, joint) for part in (a, b)]
        fixed = [panel.ring(part, 0.0, h - _GAP) for part, h in zip((a, b), hinges, strict=True)]
        yield LoftedPart(f"{name}_{k}", mount.joint, *loft(fixed))
        moving = [panel.ring(part, h, 1.0) for part, h in zip((inner, b - 0.004), hinges, strict=True)]
        line = panel.line(list(zip((a, b), hinges, strict=True)), joint)
        yield LoftedPart(f"{name}_{k}_control", control, *loft(moving), line, mount.joint)
