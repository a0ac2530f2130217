"""The limit of everything that a test waits for, and waiting for a condition."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LIMIT = 300.0
"""Longest wait [s]. It only ends a test that hangs; a machine under load is many times slower than idle."""


def wait_until(condition: Callable[[], T], what: str = "the condition", *, limit: float = LIMIT) -> T:
    """Wait until a condition is true, and return its value.

    Args:
        condition: Function that is called repeatedly.
        what: Description of the condition, for the error.
        limit: Longest wait [s].

    Raises:
        AssertionError: If the condition is not met within the limit.
    """
    end = time.monotonic() + limit
    while not (found := condition()):
        assert time.monotonic() < end, f"waited {limit:g} s in vain for {what}"
        time.sleep(0.005)
    return found
