"""How many processors there are."""

import os


def processor_count() -> int:
    """Return how many processors this process may use."""
    # Not every system can say which.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
