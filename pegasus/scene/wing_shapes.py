"""Shapes of wings: lofts of NACA sections, with flaps as pieces of their own about their hinge lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.scene.faces import Faces, loft_faces

_POINTS = 20
"""Points of each side of a section."""
_THICKNESS = (0.2969, -0.1260, -0.3516, 0.2843, -0.1015)
"""Half the thickness of a NACA section by 5 t, over the square root and the powers of x/c."""


@dataclass(frozen=True, kw_only=True)
class WingShape:
    """Half of a wing, from its root to its tip.

    The root's quarter-chord point is the origin; x is forward, y from the root to the tip, z upward.
    """

    span: float
    """Distance of the tip from the root along y [m]."""
    root_chord: float
    """Chord of the root [m]."""
    tip_chord: float
    """Chord of the tip [m]."""
    sweep: float = 0.0
    """Sweep of the quarter-chord line, tip backward [rad]."""
    dihedral: float = 0.0
    """Dihedral, tip upward [rad]."""
    thickness: float = 0.12
    """Thickness of the section by its chord."""
    camber: float = 0.0
    """Largest camber by the chord."""
    camber_position: float = 0.4
    """Place of the largest camber by the chord."""

    def __post_init__(self) -> None:
        for field in ("span", "root_chord", "tip_chord", "thickness"):
            require(getattr(self, field) > 0, field, getattr(self, field), "must be above 0")
        for field in ("sweep", "dihedral"):
            require(abs(getattr(self, field)) < 1.5, field, getattr(self, field), "must be within 1.5 rad")
        position = self.camber_position
        require(0 < position < 1, "camber_position", position, "must be between 0 and 1")

    def section(self, x: Array) -> tuple[Array, Array]:
        """Return the camber line and half the thickness of the section by its chord, shape (N,) each.

        The NACA series of four digits (Abbott and von Doenhoff 1959, sec. 6.4), with the thickness across the
        chord.

        Args:
            x: Places by the chord, from 0 at the leading edge to 1, shape (N,).
        """
        powers = np.stack([np.sqrt(x), x, x * x, x**3, x**4])
        half = 5.0 * self.thickness * np.einsum("i,in->n", np.array(_THICKNESS), powers)
        p = self.camber_position
        ahead = self.camber / (p * p) * (2.0 * p * x - x * x)
        behind = self.camber / (1.0 - p) ** 2 * (1.0 - 2.0 * p + 2.0 * p * x - x * x)
        return np.where(x < p, ahead, behind), half

    def point(self, share: float, x: Array, z: Array) -> Array:
        """Return points of the section at a share of the span, shape (N, 3).

        Args:
            share: Share of the span from the root.
            x: Places along the chord by the chord, from the leading edge, shape (N,).
            z: Heights above the chord by the chord, shape (N,).
        """
        chord = self.root_chord + share * (self.tip_chord - self.root_chord)
        y = share * self.span
        ahead = -y * np.tan(self.sweep) + chord * (0.25 - x)
        return np.column_stack([ahead, np.full(len(x), y), y * np.tan(self.dihedral) + chord * z])


@dataclass(frozen=True, kw_only=True)
class FlapShape:
    """Flap, aileron, elevator or rudder of a wing."""

    chord: float
    """Chord by that of the wing, from the trailing edge to the hinge line."""
    start: float = 0.0
    """Inner end by the span of the half."""
    end: float = 1.0
    """Outer end by the span of the half."""

    def __post_init__(self) -> None:
        require(0 < self.chord < 0.9, "chord", self.chord, "must be above 0 and below 0.9")
        require(0 <= self.start < self.end <= 1, "start", self.start, f"must be from 0 to below {self.end}")


class Piece(NamedTuple):
    """Closed mesh."""

    points: Array
    """Points [m], shape (P, 3)."""
    faces: Faces
    """Points of each face, counter-clockwise from outside."""


class HingedPiece(NamedTuple):
    """Closed mesh that turns about a hinge line."""

    piece: Piece
    hinge: Array
    """Inner and outer end of the hinge line [m], shape (2, 3)."""


def wing_pieces(
    shape: WingShape, flaps: Sequence[FlapShape] = (), *, mirrored: bool = False
) -> tuple[list[Piece], list[HingedPiece]]:
    """Return the fixed pieces of a half of a wing, and its flaps at angle 0.

    A flap has a round nose about its hinge line, which lies within the fixed wing, so that no gap opens as it
    turns. The hinge line is at half the thickness.

    Args:
        shape: The wing.
        flaps: Its flaps, which must not overlap along the span.
        mirrored: Whether the half is that on the right side, with its tip at negative y.

    Raises:
        ConfigError: If flaps overlap.
    """
    order = sorted(flaps, key=lambda flap: flap.start)
    for inner, outer in pairwise(order):
        require(inner.end <= outer.start, "start", outer.start, f"flaps overlap, one ends at {inner.end}")
    fixed, place = [], 0.0
    for flap in order:
        if flap.start > place:
            fixed.append(_loft(shape, place, flap.start, *_fixed_section(shape, 1.0)))
        fixed.append(_loft(shape, flap.start, flap.end, *_fixed_section(shape, 1.0 - flap.chord)))
        place = flap.end
    if place < 1.0:
        fixed.append(_loft(shape, place, 1.0, *_fixed_section(shape, 1.0)))
    turning = [HingedPiece(_flap(shape, flap), _hinge(shape, flap)) for flap in flaps]
    if mirrored:
        sides = np.array([1.0, -1.0, 1.0])
        fixed = [_mirrored(piece) for piece in fixed]
        turning = [HingedPiece(_mirrored(piece), hinge * sides) for piece, hinge in turning]
    return fixed, turning


def _mirrored(piece: Piece) -> Piece:
    return Piece(piece.points * [1.0, -1.0, 1.0], [face[::-1] for face in piece.faces])


def _hinge(shape: WingShape, flap: FlapShape) -> Array:
    x = np.array([1.0 - flap.chord])
    middle, _ = shape.section(x)
    return np.concatenate([shape.point(share, x, middle) for share in (flap.start, flap.end)])


def _flap(shape: WingShape, flap: FlapShape) -> Piece:
    hinge = np.array([1.0 - flap.chord])
    middle, radius = shape.section(hinge)
    aft = np.linspace(1.0, hinge[0], _POINTS // 2)
    line, half = shape.section(aft)
    turn = np.linspace(0.0, 0.5 * np.pi, _POINTS // 2)[1:]
    x = np.concatenate([aft, hinge - radius * np.sin(turn)])
    bulge = radius * np.cos(turn)
    bulge[-1] = 0.0
    line = np.concatenate([line, np.full(turn.size, middle[0])])
    return _loft(shape, flap.start, flap.end, x, line, np.concatenate([half, bulge]))


def _fixed_section(shape: WingShape, end: float) -> tuple[Array, Array, Array]:
    """Return places from the end of the chord to the leading edge, the camber line and half the thickness."""
    x = end * 0.5 * (1.0 + np.cos(np.linspace(0.0, np.pi, _POINTS)))
    x[-1] = 0.0
    line, half = shape.section(x)
    return x, line, half


def _loft(shape: WingShape, start: float, end: float, x: Array, line: Array, half: Array) -> Piece:
    """Return the loft of a section between two shares of the span.

    Args:
        shape: The wing.
        start: Share of the span at the inner end.
        end: Share of the span at the outer end.
        x: Places by the chord from the rear to the front, shape (N,).
        line: Middle of the section at these places by the chord.
        half: Half of its height; 0 at the front.
    """
    # From the rear over the top to the front, and back below.
    places = np.concatenate([x, x[-2::-1]])
    heights = np.concatenate([line + half, (line - half)[-2::-1]])
    rings = [shape.point(share, places, heights) for share in (start, end)]
    count, front = len(places), len(x) - 1
    # The ends are strips between top and bottom: a polygon of a cambered section would not be convex.
    strips = [[k, k + 1, count - 2 - k, count - 1 - k] for k in range(front - 1)]
    strips.append([front - 1, front, front + 1])
    inner, outer = [strip[::-1] for strip in strips], [[k + count for k in strip] for strip in strips]
    faces = [*loft_faces(2, count, closed=False), *inner, *outer]
    return Piece(np.concatenate(rings), faces)
