"""Array types, and the array namespace that a formula computes in."""

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
"""Float64 array; formulas also accept arrays of any other array-API namespace (JAX, for one)."""

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


_FOLLOWS_ARRAY_API = hasattr(np, "permute_dims")
"""Whether NumPy follows the array API itself, as it has since version 2."""
MANY = 16
"""Number of rows from which a transposed memory layout is faster."""


LINE = 64
"""Bytes of a line of the processor's cache."""


def empty_lines(shape: tuple[int, ...], kind: Any) -> Array:
    """Return an array without values that begins with a line of the cache."""
    kind = np.dtype(kind)
    size = math.prod(shape) * kind.itemsize
    memory = np.empty(size + LINE, dtype=np.uint8)
    first = -memory.ctypes.data % LINE
    array: Array = memory[first : first + size].view(kind).reshape(shape)
    return array


def row_product(rows: Array, matrix: Array) -> Array:
    """Return rows @ matrix, each sum taken in the order of its terms.

    In libraries for linear algebra the order of summation and the rounding depend on the processor and on the
    number of rows; here a row has the same bits on every processor and in every batch.

    Args:
        rows: Vectors of any namespace, shape (..., K).
        matrix: Matrix of up to 7 rows or at least 2 columns, shape (K, M).

    Returns:
        The products, shape (..., M).
    """
    if type(rows) is np.ndarray and rows.ndim == 2 and (len(rows) >= MANY or len(matrix) > 7):
        # The terms of all rows lie side by side, so that adding them is one loop over long arrays.
        return sum_along(np.multiply(matrix[:, :, None], rows.T[:, None, :], order="C"), 0).T
    return sum_along(rows[..., :, None] * matrix, -2)


def sum_along(terms: Array, axis: int) -> Array:
    """Return sums of up to 7 terms, or over an axis that is not the last, in the order of the terms."""
    plain = type(terms) is np.ndarray
    sums: Array = np.add.reduce(terms, axis=axis) if plain else namespace(terms).sum(terms, axis=axis)
    return sums


def namespace(array: Any) -> Any:
    """Return the array-API namespace of an array; NumPy's is found without a look-up.

    Args:
        array: An array of any namespace that follows the Python array API.
    """
    if type(array) is np.ndarray and _FOLLOWS_ARRAY_API:
        return np
    # Not at the top: importing it takes longer than NumPy.
    import array_api_compat.numpy

    if type(array) is np.ndarray:
        return array_api_compat.numpy
    return array_api_compat.array_namespace(array)
