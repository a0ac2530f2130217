"""Tests of the terms of observations: their values, and those that are not allowed."""

from types import SimpleNamespace

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_euler
from pegasus.learn import Episodes, Term
from pegasus.learn.terms import LAWS, observed, term_of

YAW = 0.5 * np.pi


def episodes(yaw=YAW, pitch=0.0):
    """Return two rows at (1, 2, 3) that head and fly north."""
    attitude = quaternion_from_euler(0.0, np.array(pitch), np.array(yaw))
    motion = SimpleNamespace(
        position=np.array([[1.0, 2.0, 3.0]] * 2),
        orientation=np.stack([attitude] * 2),
        velocity=np.array([[0.0, 4.0, 0.0]] * 2),
        angular_velocity=np.array([[0.1, 0.2, 0.3]] * 2),
        rotor_speed=np.array([[100.0, 150.0]] * 2),
    )
    goal = {
        "position": np.array([[1.0, 2.0, 4.0]] * 2),
        "velocity": np.array([[1.0, 0.0, 0.0]] * 2),
        "preview": np.array([[[1.0, 5.0, 3.0], [0.0, 2.0, 3.0]]] * 2),
    }
    return Episodes(motion, np.array([100.0, 100.0]), np.full((2, 2), 0.25), np.zeros(2), goal)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("position_error", [0, 0, 1]),
        ("velocity", [0, 4, 0]),
        ("velocity_error", [1, -4, 0]),
        ("angular_velocity", [0.1, 0.2, 0.3]),
        ("rotation", [0, -1, 0, 1, 0, 0, 0, 0, 1]),
        ("rotor_speed", [0.0, 0.5]),
        ("action", [0.25, 0.25]),
        ("preview", [0, 3, 0, -1, 0, 0]),
    ],
)
def test_values(name, expected):
    """A term has the values of its formula, times its scale."""
    assert Term(name, 2.0)(episodes()) == pytest.approx(2.0 * np.array([expected] * 2), abs=1e-12)


def test_terms_stand_side_by_side():
    """An observation has its terms in order, as float32; one may be a function of the user's own."""

    def height(flights):
        return flights.motion.position[:, 2:]

    observation = observed([Term("velocity"), Term(height, 10.0)], episodes())
    assert observation.tolist() == [[0.0, 4.0, 0.0, 30.0]] * 2
    assert observation.dtype == np.float32
    assert Term(height).name == "height"
    assert term_of(("height", 2.0), {"height": height}) == Term(height, 2.0)
    assert set(LAWS) == {law.__name__ for law in LAWS.values()}


def test_bad_terms():
    """An unknown term, a scale that is not finite and a term that is not given are refused."""
    with pytest.raises(ConfigError, match="term = 'attitude': must be one of position_error"):
        Term("attitude")
    with pytest.raises(ConfigError, match="scale = nan: must be finite"):
        Term("velocity", float("nan"))
    with pytest.raises(ConfigError, match="terms = 'height': must be a shipped term, or one that is given"):
        term_of(("height", 1.0), {})
