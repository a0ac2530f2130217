"""Check parameters that are vectors."""

import math
from typing import Any

import numpy as np

from pegasus.components import require


def require_vector(
    field: str, value: Any, *, unit: str = "", length: int = 3, negative_allowed: bool = True
) -> None:
    """Raise a ConfigError unless a value is a vector of finite numbers.

    A single number or too few would be broadcast somewhere far away, or blow up there.

    Args:
        field: Name of the parameter.
        value: Its value.
        unit: Unit of its entries.
        length: How many there must be.
        negative_allowed: Whether they may be below zero.
    """
    vector = isinstance(value, tuple | list | np.ndarray) and len(value) == length
    finite = vector and all(isinstance(v, float | int | np.number) and math.isfinite(v) for v in value)
    require(finite, field, value, f"must hold {length} finite numbers{f' [{unit}]' if unit else ''}")
    require(negative_allowed or min(value) >= 0, field, value, "must not be negative")
