"""Lettering: letters and digits as flat shapes for signs and floors."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.scene.authoring import Vector
from pegasus.worlds.solids import Solid, joined, polygons

# Strokes of each character on a grid four wide and six high, as points "xy" in order.
_STROKES = {
    "0": "01 05 16 36 45 41 30 10 01",
    "1": "05 26 20,00 40",
    "2": "05 16 36 45 44 00 40",
    "3": "06 46 24 34 43 41 30 10 01",
    "4": "30 36 02 42",
    "5": "46 06 03 33 42 41 30 00",
    "6": "46 26 04 01 10 30 41 42 33 03",
    "7": "06 46 45 10",
    "8": "13 04 05 16 36 45 44 33 13 02 01 10 30 41 42 33",
    "9": "00 20 42 45 36 16 05 04 13 43",
    "A": "00 26 40,12 32",
    "B": "00 06 36 45 44 33 03,33 42 41 30 00",
    "C": "45 36 16 05 01 10 30 41",
    "D": "00 06 26 44 42 20 00",
    "E": "46 06 00 40,03 33",
    "F": "46 06 00,03 33",
    "G": "45 36 16 05 01 10 30 41 43 23",
    "H": "00 06,40 46,03 43",
    "I": "20 26",
    "J": "46 41 30 10 01",
    "K": "00 06,46 02 40",
    "L": "06 00 40",
    "M": "00 06 23 46 40",
    "N": "00 06 40 46",
    "O": "01 05 16 36 45 41 30 10 01",
    "P": "00 06 36 45 44 33 03",
    "Q": "01 05 16 36 45 41 30 10 01,22 40",
    "R": "00 06 36 45 44 33 03,33 40",
    "S": "45 36 16 05 04 42 41 30 10 01",
    "T": "20 26,06 46",
    "U": "06 01 10 30 41 46",
    "V": "06 20 46",
    "W": "06 10 23 30 46",
    "X": "00 46,06 40",
    "Y": "06 23 46,23 20",
    "Z": "06 46 00 40",
    "-": "03 43",
    "/": "00 46",
    " ": "",
}
_ADVANCE = 5.6


def lettering(text: str, height: float, *, weight: float = 0.16) -> Solid:
    """Return a text in the plane y = 0, readable from -y, centred on the origin.

    Args:
        text: Capital letters, digits, spaces, "-" and "/".
        height: Height of the characters [m].
        weight: Width of the strokes relative to the height.
    """
    unit = height * (1.0 - weight) / 6.0
    width = (_ADVANCE * (len(text) - 1) + 4.0) * unit
    pieces = []
    for index, character in enumerate(text):
        for stroke in filter(None, _STROKES[character].split(",")):
            line = np.array(
                [[int(point[0]), int(point[1]) - 3] for point in stroke.split()], dtype=np.float64
            )
            line[:, 0] += _ADVANCE * index
            pieces.append(_ribbon(line * unit - [width / 2, 0.0], height * weight))
    return joined(pieces)


def on_floor(solid: Solid, x: float, y: float, *, yaw: float = 0.0, lift: float = 0.004) -> Solid:
    """Return a flat text on the floor, readable in the direction 90 degrees left of yaw.

    Args:
        solid: A text in the plane y = 0.
        x: Position of its centre [m].
        y: Position of its centre [m].
        yaw: Writing direction [deg].
        lift: Height above the floor [m].
    """
    down = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    return solid.moved((0.0, 0.0, 0.0), rotation=down).moved((x, y, lift), yaw=yaw)


def on_wall(solid: Solid, position: Vector, *, yaw: float = 0.0) -> Solid:
    """Return an upright flat text; at yaw 0 it is readable when facing north.

    Args:
        solid: A text in the plane y = 0.
        position: Position of its centre [m], shape (3,).
        yaw: Rotation about z [deg].
    """
    return solid.moved(position, yaw=yaw)


def _ribbon(line: Array, width: float) -> Solid:
    """Return a stroke with mitred joints and square ends in the plane y = 0."""
    closed = len(line) > 2 and bool((line[0] == line[-1]).all())
    ahead = np.diff(line, axis=0)
    ahead = ahead / np.sqrt((ahead * ahead).sum(axis=1, keepdims=True))
    before = np.concatenate([ahead[-1:] if closed else ahead[:1], ahead])
    after = np.concatenate([ahead, ahead[:1] if closed else ahead[-1:]])
    left_before, left_after = (np.stack([-d[:, 1], d[:, 0]], axis=1) for d in (before, after))
    miter = left_before + left_after
    # Sharp corners are limited.
    miter = miter * np.minimum(2.0 / np.maximum((miter * miter).sum(axis=1, keepdims=True), 0.5), 1.3)
    core = line.copy()
    if not closed:
        core[0] -= ahead[0] * width / 2
        core[-1] += ahead[-1] * width / 2
    left, right = core + miter * width / 2, core - miter * width / 2
    rings = [np.array([right[k], right[k + 1], left[k + 1], left[k]]) for k in range(len(line) - 1)]
    return polygons([np.stack([ring[:, 0], np.zeros(4), ring[:, 1]], axis=1) for ring in rings])
