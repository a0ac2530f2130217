"""Pseudo-inverse of small matrices."""

import numpy as np

from pegasus.base.pseudo_inverse import pseudo_inverse


def test_pseudo_inverse_is_that_of_lapack():
    """Axes that rotors cannot reach would come out huge, or those that they can reach wrong."""
    rng = np.random.default_rng(0)
    for k in range(200):
        matrix = rng.standard_normal((rng.integers(1, 7), rng.integers(2, 17)))
        if k % 3 == 0:
            matrix[-1] = 1.7 * matrix[0]
        if k % 5 == 0:
            matrix[0] = 0.0
        expected = np.linalg.pinv(matrix, rcond=1e-6)
        error = np.abs(pseudo_inverse(matrix, cutoff=1e-6) - expected).max()
        scale = np.abs(expected).max() * max(1.0, np.linalg.norm(expected, 2) * np.linalg.norm(matrix, 2))
        assert error <= 1e-13 * scale
