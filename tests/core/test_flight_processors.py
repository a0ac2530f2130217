"""Tests of equal bits of flights on different processors."""

from pathlib import Path

import pytest

from tests.processors import digests, oldest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")


def test_flights_have_the_same_bits_on_every_processor() -> None:
    """A seed would fly another path on another processor."""
    script = Path(__file__).with_name("processor_flight.py")
    here = digests(script)
    assert len(here) >= 32
    assert digests(script, **oldest()) == here
