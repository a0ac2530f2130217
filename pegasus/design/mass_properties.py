"""Mass properties of simple solids and their combinations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array


@dataclass(frozen=True, eq=False)
class Part:
    """Solid in the body frame."""

    name: str
    mass: float
    """Mass [kg]."""
    position: Array
    """Centre of mass [m], shape (3,)."""
    inertia: Array
    """Inertia about its own centre of mass [kg m^2], shape (3, 3)."""


def point(name: str, mass: float, position: Sequence[float]) -> Part:
    """Return a point mass.

    Args:
        name: Name of the part.
        mass: Mass [kg].
        position: Position [m].
    """
    return Part(name, mass, np.asarray(position, dtype=np.float64), np.zeros((3, 3)))


def box(name: str, mass: float, position: Sequence[float], size: Sequence[float]) -> Part:
    """Return a box along the axes, J_xx = m (b^2 + c^2) / 12.

    Args:
        name: Name of the part.
        mass: Mass [kg].
        position: Its centre [m].
        size: Lengths along x, y, z [m].
    """
    squares = np.square(np.asarray(size, dtype=np.float64))
    inertia = np.diag(squares.sum() - squares) * mass / 12
    return Part(name, mass, np.asarray(position, dtype=np.float64), inertia)


def rod(name: str, mass: float, start: Sequence[float], end: Sequence[float]) -> Part:
    """Return a thin rod, J = m L^2 / 12 across it.

    Args:
        name: Name of the part.
        mass: Mass [kg].
        start: One end [m].
        end: The other end [m].
    """
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    along = b - a
    inertia = ((along @ along) * np.eye(3) - np.outer(along, along)) * mass / 12
    return Part(name, mass, (a + b) / 2, inertia)


def disc(name: str, mass: float, position: Sequence[float], axial_inertia: float) -> Part:
    """Return a thin disc about z; its transverse inertia is half the axial one.

    Args:
        name: Name of the part.
        mass: Mass [kg].
        position: Its centre [m].
        axial_inertia: Moment of inertia about its axis [kg m^2].
    """
    inertia = np.diag([axial_inertia / 2, axial_inertia / 2, axial_inertia])
    return Part(name, mass, np.asarray(position, dtype=np.float64), inertia)


def combined(parts: Iterable[Part]) -> Part:
    """Combine parts about their common centre of mass (parallel axis theorem).

    Args:
        parts: Parts in one frame.
    """
    parts = list(parts)
    mass = sum(part.mass for part in parts)
    center = np.sum([part.mass * part.position for part in parts], axis=0) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.position - center
        inertia += part.inertia + part.mass * ((d @ d) * np.eye(3) - np.outer(d, d))
    return Part("all", mass, center, inertia)
