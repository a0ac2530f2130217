"""Pseudo-inverse of small matrices with the same bits on every processor."""

import math

import numpy as np

from pegasus.base.arrays import Array

# Rows are orthogonal if their cosine is below this rounding error, after a few sweeps over all pairs.
_ROUNDING = 1e-15
_MOST_SWEEPS = 30


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
    rows = np.concatenate([matrix, np.eye(len(matrix))], axis=1).tolist()
    width = matrix.shape[1]
    squares = [_product(row, row, width) for row in rows]
    turned = True
    for _ in range(_MOST_SWEEPS):
        if not turned:
            break
        turned = False
        for i in range(len(rows)):
            for j in range(i + 1, len(rows)):
                first, second, own, others = rows[i], rows[j], squares[i], squares[j]
                shared = _product(first, second, width)
                if abs(shared) <= _ROUNDING * math.sqrt(own * others):
                    continue
                turned = True
                ratio = (others - own) / (2.0 * shared)
                tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                sine = tangent * cosine
                rows[i] = [cosine * a - sine * b for a, b in zip(first, second, strict=True)]
                rows[j] = [sine * a + cosine * b for a, b in zip(first, second, strict=True)]
                squares[i], squares[j] = (_product(rows[k], rows[k], width) for k in (i, j))
    inverse, most = np.zeros((width, len(rows))), max(squares, default=0.0)
    for row, square in zip(np.array(rows), squares, strict=True):
        if square > cutoff * cutoff * most:
            inverse += row[:width, None] * row[width:] / square
    return inverse


def _product(a: list[float], b: list[float], width: int) -> float:
    return math.fsum([a[k] * b[k] for k in range(width)])
