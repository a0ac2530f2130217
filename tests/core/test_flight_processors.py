"""Tests of equal bits of flights on different processors."""

from pathlib import Path

import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from tests.core import processor_flight
from tests.processors import digests, oldest


def test_flights_have_the_same_bits_on_every_processor() -> None:
    """A seed would fly another path on another processor, or in the optimized code that users have."""
    here = processor_flight.found()
    assert len(here) >= 32
    optimized = {"PEGASUS_COMPILE_QUICKLY": "0"}
    assert digests(Path(processor_flight.__file__), **oldest(), **optimized) == here
