"""Control allocation: wrench to rotor thrusts within the rotors' limits."""

import math
from collections.abc import Iterable

import numpy as np

from pegasus.base.arrays import Array, row_product
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.control.mixing import Mixing, allocated
from pegasus.model.rotors import RotorLayout

_AXES = (
    "force along x",
    "force along y",
    "force along z",
    "torque about x",
    "torque about y",
    "torque about z",
)

# Rows are orthogonal if their cosine is below this rounding error, after a few sweeps over all pairs.
_ROUNDING = 1e-15
_MOST_SWEEPS = 30

_LEAST_UPRIGHT = 0.3
"""Least z component of a rotor axis; other rotors are unused, because thrust has one sign."""

_LATERAL_COST = 10.0
"""Largest thrust per lateral force, relative to thrust per lift, of a fully actuated vehicle."""


class Allocation:
    """Allocation of a wrench to any set of rotors.

    Rotor i at r_i produces the force f_i along a_i and the reaction torque -s_i k f_i a_i, so the wrench
    about the centre of mass is linear in the thrusts, w = A f. If the least-squares thrusts are within the
    rotors' limits, the wrench is exact. If not, its components are reduced in this order:

    1. lateral force (produced only by rotors that can push in all three directions),
    2. angular acceleration about z, scaled down,
    3. thrust along z, changed as little as roll and pitch acceleration require,
    4. angular acceleration about x and y, scaled down, with the thrust that allows most of it.

    An angular acceleration is reduced with all torque that it needs: with products of inertia, one about z
    needs torque about x and y too, and reducing its z component only would tilt the vehicle.

    Args:
        layout: Positions, axes and senses of rotation of R rotors.
        center_of_mass: Centre of mass in the body frame [m], shape (3,).
        moment_ratio: Torque by thrust of a rotor k [m].
        inertia: Inertia about the centre of mass [kg m^2], shape (3, 3); by default diagonal.

    Raises:
        ConfigError: If thrust and the three torques cannot be produced independently, or hover without
            torque is impossible.
    """

    def __init__(
        self,
        layout: RotorLayout,
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
        part = self.matrix * self._carrying
        self._inverse, self.fully_actuated = _inverse(part), True
        """Whether the rotors can produce force in all directions without torque."""
        cost = np.sqrt((self._inverse**2).sum(axis=1))
        if self._missing(range(6)) or max(cost[:2]) > _LATERAL_COST * cost[2]:
            self.fully_actuated = False
            self._inverse = np.concatenate([np.zeros((2, len(layout.spin))), _inverse(part[2:])])
        self._require_control()
        # Column k is the torque of the angular acceleration about axis k that needs 1 N m about this axis.
        torques = np.eye(6)
        if inertia is not None:
            torques[3:, 3:] = inertia / np.diagonal(inertia)
        parts = pseudo_inverse(torques, cutoff=0.0)[3:, 3:]
        self.mixing = Mixing(
            inverse=_flat(self._inverse.T),
            by_turning=_flat(row_product(torques.T, self._inverse).T),
            turning_x=_triple(parts[0]),
            turning_y=_triple(parts[1]),
            turning_z=_triple(parts[2]),
            carrying=_flat(self._carrying.astype(np.float64)),
        )
        """Numbers of the step function `pegasus.control.mixing.allocated`."""

    def allocate(self, wrench: Array, lower: Array, upper: Array) -> Array:
        """Return the thrust of each rotor [N], shape (N, R).

        Args:
            wrench: Force [N] and torque about the centre of mass [N m], body frame, shape (N, 6).
            lower: Smallest thrust of a rotor [N], not negative, shape (N, 1); unused rotors
                stop.
            upper: Largest thrust of a rotor [N], shape (N, 1).
        """
        # Not at the top: vehicles are designed without Warp.
        from pegasus.base.tracing.launches import program_of

        mixing, count = uniform("mixing", self.mixing), len(wrench)
        given = [mixing, column("force", Vec3), column("torque", Vec3), column("lower"), column("upper")]
        thrust = np.zeros((count, len(self.mixing.carrying)))
        numbers = {"force": wrench[:, :3], "torque": wrench[:, 3:], "lower": lower, "upper": upper}
        arrays = {name: np.array(values, dtype=np.float64, order="C") for name, values in numbers.items()}
        program = program_of(allocated, *given, outputs=("thrust",), count=1)
        program.launch({**uniform_values(mixing), **arrays, "thrust": thrust}, count)()
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
                "hover without torque requires a rotor with negative thrust",
                field="rotors",
                remedy="move the centre of mass between the rotors",
            )


def _flat(matrix: Array) -> tuple[float, ...]:
    return tuple(matrix.reshape(-1).tolist())


def _triple(row: Array) -> tuple[float, float, float]:
    x, y, z = row.tolist()
    return x, y, z


def _inverse(matrix: Array) -> Array:
    """Return the transposed pseudo-inverse; unreachable axes get small instead of huge entries."""
    length = np.sqrt((matrix * matrix).sum(axis=1, keepdims=True))
    length = np.where(length > 1e-9, length, np.inf)
    inverse: Array = pseudo_inverse(matrix / length, cutoff=1e-6).T / length
    return inverse


def pseudo_inverse(matrix: Array, *, cutoff: float) -> Array:
    """Return the pseudo-inverse of a small matrix, bit-identical on every processor, shape (R, K).

    Pairs of rows are rotated until all rows are orthogonal; their lengths are the singular values. Source:
    Hestenes 1958, "Inversion of Matrices by Biorthogonalization"; the angles are those of Rutishauser 1966,
    "The Jacobi Method for Real Symmetric Matrices".

    Args:
        matrix: Matrix, shape (K, R).
        cutoff: Relative size below which singular values are zero.
    """
    # Each row of the matrix is followed by the row of the accumulated rotation.
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
