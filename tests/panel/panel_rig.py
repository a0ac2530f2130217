"""Waiting conditions shared by the tests of the panel."""

import time

LIMIT = 60.0
"""Longest wait [s]: the first step compiles its kernels, which takes half of it on a loaded machine."""


def wait_until(condition, what):
    """Wait until a condition holds, and fail with its description."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.002)


def last_error(panel):
    """Return the last message, which must be an error."""
    assert panel.messages, "nothing was reported"
    assert panel.messages[-1].error, panel.messages[-1].text
    return panel.messages[-1].text
