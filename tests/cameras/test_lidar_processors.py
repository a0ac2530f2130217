"""Tests of equal bits of lidar scans on different processors."""

from pathlib import Path

import pytest

from tests.processors import digests, oldest

pytest.importorskip("embreex", reason="pip install pegasus-multirotor[render]")
pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")


def test_scans_have_the_same_bits_on_every_processor() -> None:
    """A logged cloud could not be made again on another processor."""
    script = Path(__file__).with_name("scan_digest.py")
    here = digests(script)
    assert len(here) == 33
    assert digests(script, **oldest()) == here
