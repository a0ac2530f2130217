"""Waiting conditions shared by the tests of the panel."""

import time

LIMIT = 20.0


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
