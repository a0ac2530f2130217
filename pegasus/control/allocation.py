"""From the force and torque that a controller wants to the thrust of each rotor."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array, namespace, row_product
from pegasus.errors import ConfigError

if TYPE_CHECKING:
    from pegasus.multirotor import RotorLayout

_AXES = (
    "force along x",
    "force along y",
    "force along z",
    "torque about x",
    "torque about y",
    "torque about z",
)

_TINY = 1e-12

# Rows count as orthogonal when their cosine is rounding; a few sweeps over all pairs lead there.
_ROUNDING = 1e-15
_MOST_SWEEPS = 30

_LEAST_UPRIGHT = 0.3
"""Rotors whose axis has a smaller part along z take no part: thrust has one sign, so they cannot balance."""

_LATERAL_COST = 10.0
"""Lateral force is asked for where it takes at most this many times the thrust that lift takes."""


class Allocation:
    """Share a wrench among any set of rotors.

    Rotor i at r_i pushes with f_i along a_i and its reaction turns the airframe with -s_i k f_i a_i, so the
    wrench about the centre of mass is linear in the thrusts, w = A f. Where the thrusts of least squared sum
    are within the rotors' limits they are taken, and the wrench is exact. Where not, its parts give way in
    this order:

    1. lateral force (met at all only where the rotors can push in all three directions),
    2. angular acceleration about z, scaled down,
    3. thrust along z, moved as little as lets roll and pitch acceleration be met,
    4. angular acceleration about x and y, scaled down together with the thrust moved to where the most of it
       is met.

    Angular accelerations give way with all the torque that they take: where the inertia has products, one
    about z takes torque about x and y too, which would tilt the vehicle if only the part about z gave way.

    Args:
        layout: Positions, axes and senses of rotation of R rotors.
        center_of_mass: Centre of mass in the body frame [m], shape (3,).
        moment_ratio: Torque by thrust of a rotor k [m].
        inertia: Inertia about the centre of mass [kg m^2], shape (3, 3); without products when left out.

    Raises:
        ConfigError: If thrust and the three torques cannot be produced one without the other, or no
            hover without torque is possible.
    """

    def __init__(
        self,
        layout: "RotorLayout",
        center_of_mass: Array,
        moment_ratio: float,
        inertia: Array | None = None,
    ) -> None:
        axis = layout.axis.T
        reaction = -layout.spin * moment_ratio * axis
        lever = np.cross(layout.position - center_of_mass, layout.axis).T
        self.matrix: Array = np.concatenate([axis, lever + reaction])
        """Wrench (force, torque about the centre of mass) per thrust A, shape (6, R)."""
        self._carrying = layout.axis[:, 2] > _LEAST_UPRIGHT
        self._all_carrying = bool(self._carrying.all())
        part = self.matrix * self._carrying
        self._inverse, self.fully_actuated = _inverse(part), True
        """Whether the rotors are tilted enough to push in all directions without turning the airframe."""
        cost = np.sqrt((self._inverse**2).sum(axis=1))
        if self._missing(range(6)) or max(cost[:2]) > _LATERAL_COST * cost[2]:
            self.fully_actuated = False
            self._inverse = np.concatenate([np.zeros((2, len(layout.spin))), _inverse(part[2:])])
        self._require_control()
        # Column k is the torque of an angular acceleration about axis k that takes 1 N m about this axis.
        self._torques = np.eye(6)
        if inertia is not None:
            self._torques[3:, 3:] = inertia / np.diagonal(inertia)
        self._by_torques = pseudo_inverse(self._torques, cutoff=0.0).T

    def allocate(self, wrench: Array, lower: Array, upper: Array) -> Array:
        """Return the thrust of each rotor [N], shape (N, R).

        Args:
            wrench: Force [N] and torque about the centre of mass [N m], body frame, shape (N, 6).
            lower: Smallest thrust of a rotor [N], not negative, shape (N, 1); rotors that take no part
                stop.
            upper: Largest thrust of a rotor [N], shape (N, 1).
        """
        if not self._all_carrying:
            lower = lower * self._carrying
        thrust = row_product(wrench, self._inverse)
        beyond = (thrust < lower) | (thrust > upper)
        if not beyond.any():
            return thrust
        rows = beyond.any(axis=1)
        thrust[rows] = limited_thrust(
            row_product(wrench[rows], self._by_torques),
            inverse=row_product(self._torques.T, self._inverse),
            lower=lower[rows],
            upper=upper[rows],
        )
        return thrust

    def _missing(self, axes: Iterable[int]) -> list[str]:
        reached = row_product(self.matrix, self._inverse.T)
        return [_AXES[k] for k in axes if not abs(reached[k, k] - 1.0) < 1e-6]

    def _require_control(self) -> None:
        if missing := self._missing(range(2, 6)):
            raise ConfigError(
                f"these {self.matrix.shape[1]} rotors cannot produce {' and '.join(missing)} independently",
                field="rotors",
                remedy="spread them around the centre of mass and let their directions alternate",
            )
        hover = self._inverse[2, self._carrying]
        if hover.min() < 1e-3 * hover.max():
            raise ConfigError(
                "hovering without turning would take a rotor that pulls",
                field="rotors",
                remedy="move the centre of mass between the rotors",
            )


def _inverse(matrix: Array) -> Array:
    """Return the transposed pseudo-inverse; axes that cannot be reached come out short, not huge."""
    length = np.sqrt((matrix * matrix).sum(axis=1, keepdims=True))
    length = np.where(length > 1e-9, length, np.inf)
    inverse: Array = pseudo_inverse(matrix / length, cutoff=1e-6).T / length
    return inverse


def pseudo_inverse(matrix: Array, *, cutoff: float) -> Array:
    """Return the pseudo-inverse of a small matrix, by the same operations on every processor, shape (R, K).

    Pairs of rows are rotated into each other until all rows are orthogonal; their lengths are the singular
    values. Source: Hestenes 1958, "Inversion of Matrices by Biorthogonalization"; the angles are those of
    Rutishauser 1966, "The Jacobi Method for Real Symmetric Matrices".

    Args:
        matrix: Matrix, shape (K, R).
        cutoff: Singular values up to this share of the largest one count as zero.
    """
    # Each row of the matrix is followed by that of the rotation that has been made.
    rows = np.concatenate([matrix, np.eye(len(matrix))], axis=1)
    width = matrix.shape[1]
    turned = True
    for _ in range(_MOST_SWEEPS):
        if not turned:
            break
        turned = False
        for i in range(len(rows)):
            for j in range(i + 1, len(rows)):
                first, second = rows[i], rows[j]
                own, others, shared = (
                    math.fsum((a[:width] * b[:width]).tolist())
                    for a, b in ((first, first), (second, second), (first, second))
                )
                if abs(shared) <= _ROUNDING * math.sqrt(own * others):
                    continue
                turned = True
                ratio = (others - own) / (2.0 * shared)
                tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                sine = tangent * cosine
                rows[i], rows[j] = cosine * first - sine * second, sine * first + cosine * second
    squares = [math.fsum((row[:width] * row[:width]).tolist()) for row in rows]
    inverse = np.zeros((width, len(rows)))
    for row, square in zip(rows, squares, strict=True):
        if square > cutoff * cutoff * max(squares):
            inverse += row[:width, None] * row[width:] / square
    return inverse


def limited_thrust(wrench: Array, *, inverse: Array, lower: Array, upper: Array) -> Array:
    """Return the thrusts of wrenches that are beyond the limits, by the order of `Allocation`, shape (N, R).

    Args:
        wrench: Force [N], body frame, and what gives way one after the other of the torque, shape (N, 6).
        inverse: Thrust by each of these six, shape (6, R).
        lower: Smallest thrust of a rotor [N], shape (N, 1) or (N, R).
        upper: Largest thrust of a rotor [N], shape (N, 1) or (N, R).
    """
    xp = namespace(wrench)
    parts = wrench[:, :, None] * inverse
    thrust = _tilting_and_lift(parts[:, 3, :] + parts[:, 4, :], wrench[:, 2:3], inverse, lower, upper)
    for part in (parts[:, 5, :], parts[:, 0, :] + parts[:, 1, :]):
        thrust = thrust + _largest_share(thrust, part, lower, upper) * part
    # Rounding, and a smallest thrust at which nothing balances, are left to be cut.
    limited: Array = xp.minimum(xp.maximum(thrust, lower), upper)
    return limited


def _tilting_and_lift(tilting: Array, lift: Array, inverse: Array, lower: Array, upper: Array) -> Array:
    """Return as much as is possible of the tilting thrusts, with the lift nearest to the wanted one."""
    xp = namespace(tilting)
    carrying = inverse[2, :] > 0
    column = xp.where(carrying, inverse[2, :], 1.0)
    low = xp.where(carrying, lower / column, -math.inf)
    high = xp.where(carrying, upper / column, math.inf)
    effort = xp.where(carrying, tilting / column, 0.0)
    # A share k leaves lifts from max(low_i - k e_i) to min(high_j - k e_j): none when two rotors clash.
    spread = effort[:, None, :] - effort[:, :, None]
    clash = spread > _TINY
    room = high[:, None, :] - low[:, :, None]
    share = xp.min(xp.where(clash, room / xp.where(clash, spread, 1.0), 1.0), axis=(1, 2))[:, None]
    share = xp.minimum(xp.maximum(share, 0.0), 1.0)
    lift = xp.maximum(lift, xp.max(low - share * effort, axis=1, keepdims=True))
    lift = xp.minimum(lift, xp.min(high - share * effort, axis=1, keepdims=True))
    thrust: Array = share * tilting + lift * inverse[2, :]
    return thrust


def _largest_share(base: Array, part: Array, lower: Array, upper: Array) -> Array:
    """Return the largest share of a part, from 0 to 1, that keeps base + share * part in the limits."""
    xp = namespace(base)
    moves = xp.abs(part) > _TINY
    room = xp.where(part > 0, upper - base, lower - base)
    share = xp.min(xp.where(moves, room / xp.where(moves, part, 1.0), 1.0), axis=1, keepdims=True)
    limited: Array = xp.minimum(xp.maximum(share, 0.0), 1.0)
    return limited
