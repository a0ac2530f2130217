"""Block-tridiagonal systems, solved by the same operations in the same order on every processor.

Blocks and vectors of all rows share an array whose last axis counts the rows.
"""

import numpy as np

from pegasus.arrays import Array


def product(a: Array, b: Array) -> Array:
    """Return the products of matrices, without BLAS, whose sums differ by processor, shape (i, j, n).

    Args:
        a: Matrices, shape (i, k, n).
        b: Matrices, shape (k, j, n).
    """
    total: Array = (a[:, :, None] * b).sum(axis=1)
    return total


def inverses(blocks: Array) -> Array:
    """Return the inverses of matrices that need no exchange of rows, by Gauss and Jordan.

    Args:
        blocks: Matrices, shape (m, m, n); positive definite but for rows of the identity.
    """
    size = len(blocks)
    unit = np.broadcast_to(np.eye(size)[:, :, None], blocks.shape)
    work = np.concatenate([blocks, unit], axis=1)
    for k in range(size):
        row = work[k] / work[k, k]
        work = work - work[:, k, None] * row
        work[k] = row
    return work[:, size:]


class Chain:
    """Block-tridiagonal matrix, factored by cyclic reduction (Heller 1976, SIAM J. Numer. Anal. 13).

    The rows of odd index are eliminated at once, then those of odd index among the rest, until one is left:
    for positive definite matrices that is as accurate as elimination row by row.

    Args:
        lower: Blocks left of the diagonal, shape (m, m, n); the first is not used.
        diagonal: Blocks on the diagonal, shape (m, m, n).
        upper: Blocks right of the diagonal, shape (m, m, n); the last is not used.
    """

    def __init__(self, lower: Array, diagonal: Array, upper: Array) -> None:
        self._levels: list[tuple[Array, Array, Array, Array, Array]] = []
        while diagonal.shape[2] > 1:
            odd, inner = diagonal.shape[2] // 2, (diagonal.shape[2] - 1) // 2
            inverse, before, after = inverses(diagonal[..., 1::2]), lower[..., 1::2], upper[..., 1::2]
            left = product(lower[..., 2::2], inverse[..., :inner])
            right = product(upper[..., : 2 * odd : 2], inverse)
            self._levels.append((inverse, before, after[..., :inner], left, right))
            diagonal = diagonal[..., ::2].copy()
            diagonal[..., 1:] -= product(left, after[..., :inner])
            diagonal[..., :odd] -= product(right, before)
            lower, upper = np.zeros((2, *diagonal.shape))
            lower[..., 1:] = -product(left, before[..., :inner])
            upper[..., :odd] = -product(right, after)
        self._last = inverses(diagonal)

    def solve(self, right: Array) -> Array:
        """Return the solution.

        Args:
            right: Right-hand sides, shape (m, k, n).
        """
        odds: list[Array] = []
        for _, _, after, left, onward in self._levels:
            odd, rest = right[..., 1::2], right[..., ::2].copy()
            rest[..., 1:] -= product(left, odd[..., : after.shape[2]])
            rest[..., : odd.shape[2]] -= product(onward, odd)
            odds.append(odd)
            right = rest
        solution = product(self._last, right)
        for (inverse, before, after, _, _), odd in zip(reversed(self._levels), reversed(odds), strict=True):
            rest = odd - product(before, solution[..., : odd.shape[2]])
            rest[..., : after.shape[2]] -= product(after, solution[..., 1:])
            both = np.empty((*odd.shape[:2], odd.shape[2] + solution.shape[2]))
            both[..., ::2], both[..., 1::2] = solution, product(inverse, rest)
            solution = both
        return solution


class Ring:
    """Such a matrix whose first and last rows are neighbours, of three blocks or more.

    Args:
        lower: Blocks left of the diagonal, shape (m, m, n); that of the first row belongs to the last.
        diagonal: Blocks on the diagonal, shape (m, m, n).
        upper: Blocks right of the diagonal, shape (m, m, n); that of the last row belongs to the first.
    """

    def __init__(self, lower: Array, diagonal: Array, upper: Array) -> None:
        self._chain = Chain(lower[..., 1:], diagonal[..., 1:], upper[..., 1:])
        self._left, self._right = lower[..., :1], upper[..., :1]
        to_first = np.zeros_like(diagonal[..., 1:])
        to_first[..., 0], to_first[..., -1] = lower[..., 1], upper[..., -1]
        self._by_first = self._chain.solve(to_first)
        self._first = inverses(diagonal[..., :1] - self._onto_first(self._by_first))

    def solve(self, right: Array) -> Array:
        """Return the solution.

        Args:
            right: Right-hand sides, shape (m, k, n).
        """
        rest = self._chain.solve(right[..., 1:])
        first = product(self._first, right[..., :1] - self._onto_first(rest))
        return np.concatenate([first, rest - product(self._by_first, first)], axis=2)

    def _onto_first(self, rest: Array) -> Array:
        """Return what the other rows' values add to the first row."""
        return product(self._right, rest[..., :1]) + product(self._left, rest[..., -1:])
