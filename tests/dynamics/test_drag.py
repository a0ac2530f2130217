"""Tests of drag against its formulas, and of its energy dissipation."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.dynamics import LinearDrag, QuadraticDrag
from tests.dynamics.by_law import drag_wrench

RHO = np.array([[1.225]])


def test_linear_drag_per_axis():
    """Exchanged axes or a wrong sign would accelerate the vehicle."""
    force, torque = drag_wrench(
        LinearDrag(coefficients=(0.5, 0.3, 0.1)), np.array([[2.0, -4.0, 1.0]]), np.zeros((1, 3)), RHO
    )
    np.testing.assert_allclose(force, [[-1.0, 1.2, -0.1]])
    np.testing.assert_array_equal(torque, np.zeros((1, 3)))


def test_quadratic_drag_of_a_sphere_does_not_depend_on_the_direction():
    """A per-axis square would be smaller along the diagonal than along an axis."""
    drag = QuadraticDrag(areas=(0.04, 0.04, 0.04), drag_coefficient=0.47)
    directions = np.array([[1, 0, 0], [0, 0, -1], [0.6, 0.8, 0], [-0.48, 0.6, 0.64]], dtype=float)
    force, _ = drag_wrench(drag, 10 * directions, np.zeros((4, 3)), RHO)
    np.testing.assert_allclose(force, -0.5 * 1.225 * 0.47 * 0.04 * 100 * directions, rtol=1e-12)


def test_quadratic_torque():
    """A missing magnitude would make the torque linear in the rate."""
    drag = QuadraticDrag(areas=(0.0, 0.0, 0.0), angular_coefficients=(0.1, 0.2, 0.3))
    _, torque = drag_wrench(drag, np.zeros((1, 3)), np.array([[0.0, 3.0, 4.0]]), RHO)
    np.testing.assert_allclose(torque, [[0.0, -0.2 * 5 * 3, -0.3 * 5 * 4]])


def test_drag_of_turning_rotors():
    """Foerster's drag of a Crazyflie, 9.18e-7 N per m/s and rad/s, would stay when its rotors stop."""
    drag = QuadraticDrag(areas=(0.0, 0.0, 0.0), rotor_coefficients=(9.18e-7, 9.18e-7, 10.31e-7))
    air, still = Vec3(2.0, -1.0, 0.5), Vec3(0.0, 0.0, 0.0)
    force, _ = drag.law(drag, air, still, (2000.0, -2000.0, 1900.0, 2100.0), 1.2)
    assert [force[k] for k in range(3)] == pytest.approx([-0.014688, 0.007344, -0.004124])
    stopped, _ = drag.law(drag, air, still, (0.0, 0.0, 0.0, 0.0), 1.2)
    assert [stopped[k] for k in range(3)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "drag",
    [
        LinearDrag(coefficients=(0.5, 0.3, 0.0)),
        QuadraticDrag(areas=(0.01, 0.02, 0.06), angular_coefficients=(0.1, 0.2, 0.3)),
    ],
)
def test_drag_only_takes_energy_out(drag):
    """A positive power in still air would create energy."""
    rng = np.random.default_rng(1)
    v, w = rng.normal(scale=20, size=(2, 1000, 3))
    force, torque = drag_wrench(drag, v, w, RHO)
    power = (force * v).sum(1) + (torque * w).sum(1)
    assert (power <= 0).all()


def test_negative_coefficients_are_refused():
    """A negative coefficient would accelerate the vehicle."""
    with pytest.raises(ConfigError, match="coefficients"):
        LinearDrag(coefficients=(0.5, -0.1, 0.0))
    with pytest.raises(ConfigError, match="areas"):
        QuadraticDrag(areas=(-1.0, 0.0, 0.0))
