"""Loads of the air by the laws of drag and rotors."""

import numpy as np
import pytest

from pegasus import Multirotor
from pegasus.control.airloads import body_load, rotor_load
from pegasus.dynamics import QuadraticDrag

VELOCITY = np.array([[3.0, -1.0, 0.5], [0.0, 2.0, -4.0]])
DENSITY = np.array([[1.2], [1.1]])


def test_a_law_of_drag_gets_the_speeds_of_the_rotors():
    """The drag of turning rotors would be left out."""
    drag = QuadraticDrag(areas=(0.01, 0.02, 0.03), rotor_coefficients=(1e-6, 2e-6, 0.0))
    speeds = np.array([[400.0, 500.0], [0.0, 0.0]])
    size = np.linalg.norm(VELOCITY, axis=1, keepdims=True)
    wanted = -0.5 * DENSITY * size * [0.01, 0.02, 0.03] * VELOCITY
    wanted[0] -= 900.0 * np.array([1e-6, 2e-6, 0.0]) * VELOCITY[0]
    np.testing.assert_allclose(body_load(drag, VELOCITY, speeds, DENSITY)[0], wanted, rtol=1e-12)


def test_the_shipped_rotor_is_pulled_across_its_axis():
    """The drag of rotors would not count in the thrust that a flight needs."""
    curve = Multirotor("iris", sensors={}).thrust_curve
    force, _ = rotor_load(curve, VELOCITY[:1], np.array([600.0]), DENSITY[:1])
    assert force[0, 0] < 0.0 < force[0, 1]
    assert force[0, 0] / force[0, 1] == pytest.approx(-3.0)
