"""Placement of a race start next to the track, clear of gates, flags, barriers and the race line."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.landscape import distance_to_line

# Half sizes of the objects [m].
_PODIUM, _TENT = (1.8, 4.75), (1.6, 1.6)
_BEHIND = 4.4
_BESIDE = 7.6
_FROM_LINE, _FROM_GATES, _FROM_BARRIERS = 1.4, 1.2, 1.2


@dataclass(frozen=True, eq=False)
class Start:
    """Positions of podium and tent."""

    podium: Array
    """Middle of the podium [m], shape (2,)."""
    heading: float
    """Start direction, counter-clockwise from east [rad]."""
    tent: Array
    """Middle of the tent [m], shape (2,)."""

    def clearance(self, line: Array, gates: Array, barriers: float) -> float:
        """Return the least clearance of its parts, minus the required one [m].

        Args:
            line: Path through the gates [m], shape (P, 2).
            gates: Positions of gates and flags [m], shape (K, 2).
            barriers: Radius of the ring of barriers [m].
        """
        ahead = np.array([np.cos(self.heading), np.sin(self.heading)])
        aside = np.array([-ahead[1], ahead[0]])
        # Podium, tent, and the two spawn points on the ground before the podium.
        parts = [self.podium + u * ahead + v * aside for u, v in _outline(*_PODIUM)]
        parts += [self.podium + 3.0 * ahead + v * aside for v in (-3.5, -2.5, 2.5, 3.5)]
        parts += [self.tent + u * ahead + v * aside for u, v in _outline(*_TENT)]
        points = np.array(parts)
        away = points[:, None] - gates
        return float(
            min(
                distance_to_line(points, line).min() - _FROM_LINE,
                np.sqrt((away * away).sum(axis=2)).min() - _FROM_GATES,
                np.abs(np.hypot(points[:, 0], points[:, 1]) - barriers).min() - _FROM_BARRIERS,
            )
        )


def placed_start(
    first: Array, heading: float, radius: float, line: Array, gates: Array, ring: float
) -> Start:
    """Return the clear start nearest to the default one, which is inside the track before the first gate.

    Args:
        first: Middle of the first gate [m], shape (2,).
        heading: Direction of crossing [rad].
        radius: Mean distance of the gates from the middle of the track [m].
        line: Path through the gates [m], shape (P, 2).
        gates: Positions of gates and flags [m], shape (K, 2).
        ring: Radius of the ring of barriers [m].
    """
    best, room = None, -np.inf
    for start in _candidates(first, heading, radius, ring):
        here = start.clearance(line, gates, ring)
        if here >= 0.0:
            return start
        if here > room:
            best, room = start, here
    assert best is not None
    return best


def _candidates(first: Array, heading: float, radius: float, ring: float) -> Iterator[Start]:
    inward = -first / np.hypot(*first)
    usual = first + 0.36 * radius * inward - 5.0 * np.array([np.cos(heading), np.sin(heading)])
    angle = 2 * np.pi * np.arange(24) / 24
    reach = np.arange(0.0, ring + 6.0, 1.5)
    around = np.stack([np.outer(reach, np.cos(angle)), np.outer(reach, np.sin(angle))], axis=-1).reshape(
        -1, 2
    )
    order = np.argsort(((around - usual) ** 2).sum(axis=1), kind="stable")
    for place in (usual, *around[order]):
        toward = first + 1.0 * inward - place
        turn = float(np.arctan2(toward[1], toward[0]))
        ahead, aside = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
        for offset in (-_BEHIND * ahead, _BESIDE * aside, -_BESIDE * aside):
            yield Start(place, turn, place + offset)


def _outline(half_x: float, half_y: float) -> list[tuple[float, float]]:
    """Return points on a grid over a rectangle, shape (K, 2)."""
    return list(itertools.product(np.linspace(-half_x, half_x, 4), np.linspace(-half_y, half_y, 9)))
