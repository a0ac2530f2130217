"""Loads of the air by the models of drag and rotors, compiled and in NumPy."""

from dataclasses import dataclass

import numpy as np
import pytest

from pegasus import Multirotor
from pegasus.control.airloads import body_load, rotor_load
from pegasus.dynamics import LinearDrag, QuadraticDrag, QuadraticThrust

VELOCITY = np.array([[3.0, -1.0, 0.5], [0.0, 2.0, -4.0]])
DENSITY = np.array([[1.2], [1.1]])


@dataclass(frozen=True, kw_only=True)
class Twice(LinearDrag):
    """Drag in NumPy that inherits a law, which the step does not fly."""

    def wrench(self, velocity, angular_velocity, air_density):
        return -2.0 * np.array(self.coefficients) * velocity, None


def test_a_drag_in_numpy_counts_as_the_step_flies_it():
    """A flight would be checked against the law that the vehicle's own drag replaces."""
    speeds = np.full((2, 4), 500.0)
    force, torque = body_load(Twice(coefficients=(0.1, 0.2, 0.3)), VELOCITY, speeds, DENSITY)
    np.testing.assert_allclose(force, -2.0 * np.array([0.1, 0.2, 0.3]) * VELOCITY, rtol=1e-14)
    assert not torque.any()


def test_a_law_of_drag_gets_the_speeds_of_the_rotors():
    """The drag of turning rotors would be left out."""
    drag = QuadraticDrag(areas=(0.01, 0.02, 0.03), rotor_coefficients=(1e-6, 2e-6, 0.0))
    speeds = np.array([[400.0, 500.0], [0.0, 0.0]])
    size = np.linalg.norm(VELOCITY, axis=1, keepdims=True)
    wanted = -0.5 * DENSITY * size * [0.01, 0.02, 0.03] * VELOCITY
    wanted[0] -= 900.0 * np.array([1e-6, 2e-6, 0.0]) * VELOCITY[0]
    np.testing.assert_allclose(body_load(drag, VELOCITY, speeds, DENSITY)[0], wanted, rtol=1e-12)


def test_a_curve_in_numpy_gives_force_and_torque_along_its_axis():
    """A thrust curve in NumPy would be taken for none."""

    class InNumpy(QuadraticThrust):
        def thrust(self, rotor_speed, inflow, air_density):
            return 2e-5 * rotor_speed**2 - 0.1 * inflow, 1e-6 * rotor_speed**2

    curve, speed = InNumpy(thrust_constant=1e-5, moment_ratio=0.02), np.array([500.0, 600.0])
    force, torque = rotor_load(curve, VELOCITY, speed, DENSITY)
    np.testing.assert_allclose(force[:, 2], 2e-5 * speed**2 - 0.1 * VELOCITY[:, 2], rtol=1e-14)
    np.testing.assert_allclose(torque[:, 2], 1e-6 * speed**2, rtol=1e-14)
    assert not force[:, :2].any()


def test_the_shipped_rotor_is_pulled_across_its_axis():
    """The drag of rotors would not count in the thrust that a flight needs."""
    curve = Multirotor("iris", sensors={}).thrust_curve
    force, _ = rotor_load(curve, VELOCITY[:1], np.array([600.0]), DENSITY[:1])
    assert force[0, 0] < 0.0 < force[0, 1]
    assert force[0, 0] / force[0, 1] == pytest.approx(-3.0)
