"""Array types, and the array namespace that a formula computes in."""

from typing import Any, TypeAlias

import array_api_compat
import array_api_compat.numpy
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
"""Float64 array; formulas also accept arrays of any other array-API namespace (JAX, for one)."""

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


def namespace(array: Any) -> Any:
    """Return the array-API namespace of an array; NumPy's is found without a look-up.

    Args:
        array: An array of any namespace that follows the Python array API.
    """
    if type(array) is np.ndarray:
        return array_api_compat.numpy
    return array_api_compat.array_namespace(array)
