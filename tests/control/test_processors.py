"""Tests of equal bits of trajectories and controllers on different processors."""

from pathlib import Path

from tests.control import control_digest
from tests.processors import digests, oldest


def test_trajectories_and_controllers_have_the_same_bits_on_every_processor():
    """If this fails, the same scenario flies another path on another processor, or in other company.

    OpenBLAS is told to take the kernels of another processor, and NumPy and the C library to leave out the
    instructions that they choose at run time (their exponentials and sines differ with them).
    """
    here = control_digest.found()
    assert here["allocated together"] == here["allocated alone"]
    assert here["controlled together"] == here["controlled alone"] == here["controlled in another order"]
    assert digests(Path(control_digest.__file__), **oldest()) == here
