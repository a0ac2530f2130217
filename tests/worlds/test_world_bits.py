"""Worlds on different processors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waits import LIMIT

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

WORLDS = ("courtyard", "race_gates")
"""Worlds with boxes, cylinders, tilted parts, meshes and a height field."""


def digests(**variables):
    """Return the digests of worlds as another processor would compute them."""
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"} | variables
    script = Path(__file__).with_name("collider_digest.py")
    done = subprocess.run(
        [sys.executable, script, *WORLDS],
        env=environment, capture_output=True, text=True, timeout=LIMIT, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_colliders_have_the_same_bits_on_every_processor(tmp_path, cache):
    """If this fails, a vehicle that touches something flies on differently on another processor.

    Worlds are made again, but not their textures, which nothing touches, and the step is not compiled again.
    """
    here = digests()
    assert [line.split()[0] for line in here] == list(WORLDS)
    for name in "finishes", "kernels":
        (tmp_path / name).symlink_to(cache / name)
    assert digests(OPENBLAS_CORETYPE="Nehalem", PEGASUS_CACHE_DIR=str(tmp_path)) == here
    assert (tmp_path / "worlds").is_dir()
