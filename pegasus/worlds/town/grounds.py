"""The ground of a block within its sidewalk."""

import numpy as np

from pegasus.worlds.town.layout import KERB_HEIGHT, SIDEWALK
from pegasus.worlds.town.parts import Frame, Parts
from pegasus.worlds.town.streets import level

_LAYER = 0.004


def ground(kind: str, side: float) -> Parts:
    """Return the ground of a block, centred on the origin.

    Args:
        kind: Kind of the block.
        side: Its side from kerb to kerb [m].
    """
    parts = Parts()
    half, z = side / 2 - SIDEWALK, KERB_HEIGHT
    base = {"rows": "concrete", "villas": "grass", "park": "grass", "square": "slabs"}[kind]
    parts.quads(base, level((-half, -half), (half, half), z))
    if kind == "rows":
        court = half - 10.0
        if court > 2.5:
            parts.quads("grass", level((-court + 1.2, -court + 1.2), (court - 1.2, court - 1.2), z + _LAYER))
    elif kind == "park":
        for turn in (45.0, 135.0):
            c, s = float(np.cos(np.radians(turn))), float(np.sin(np.radians(turn)))
            reach = (half - 1.1) * 2**0.5
            along = Frame((0.0, 0.0, z), (c, s, 0.0), (-s, c, 0.0))
            layer = _LAYER if turn < 90.0 else 1.5 * _LAYER
            parts.quads("gravel", level((-reach, -1.1), (reach, 1.1), layer), frame=along)
        radius = min(5.5, half - 3.0)
        parts.lathe("gravel", [(radius, 2 * _LAYER), (0.0, 2 * _LAYER)], sides=48, frame=Frame((0.0, 0.0, z)))
        parts.lathe(
            "kerb",
            [(radius + 0.12, 0.0), (radius + 0.12, 0.05), (radius, 0.05), (radius, 0.0)],
            sides=48,
            frame=Frame((0.0, 0.0, z)),
        )
    elif kind == "square":
        for reach in (half - 1.5, half - 4.5):
            for a, b in (
                ((-reach, -reach), (reach, -reach + 0.4)),
                ((-reach, reach - 0.4), (reach, reach)),
                ((-reach, -reach + 0.4), (-reach + 0.4, reach - 0.4)),
                ((reach - 0.4, -reach + 0.4), (reach, reach - 0.4)),
            ):
                parts.quads("kerb", level(a, b, z + _LAYER))
    return parts
