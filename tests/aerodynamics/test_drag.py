"""Drag against its formulas, and that it only ever takes energy out."""

import array_api_strict
import numpy as np
import pytest

from pegasus.aerodynamics import LinearDrag, QuadraticDrag
from pegasus.aerodynamics.drag import quadratic_resistance
from pegasus.errors import ConfigError

RHO = np.array([[1.225]])


def test_linear_drag_per_axis():
    """Axes mixed up, or the sign turned, would push the vehicle along."""
    force, torque = LinearDrag(coefficients=(0.5, 0.3, 0.1)).wrench(
        np.array([[2.0, -4.0, 1.0]]), np.zeros((1, 3)), RHO
    )
    np.testing.assert_allclose(force, [[-1.0, 1.2, -0.1]])
    assert torque is None


def test_quadratic_drag_of_a_sphere_does_not_depend_on_the_direction():
    """A per-axis square would be smaller along the diagonal than along an axis."""
    drag = QuadraticDrag(areas=(0.04, 0.04, 0.04), drag_coefficient=0.47)
    directions = np.array([[1, 0, 0], [0, 0, -1], [0.6, 0.8, 0], [-0.48, 0.6, 0.64]], dtype=float)
    force, _ = drag.wrench(10 * directions, np.zeros((4, 3)), RHO)
    np.testing.assert_allclose(force, -0.5 * 1.225 * 0.47 * 0.04 * 100 * directions, rtol=1e-12)


def test_quadratic_torque():
    """A missing magnitude would make the torque linear in the rate."""
    drag = QuadraticDrag(areas=(0.0, 0.0, 0.0), angular_coefficients=(0.1, 0.2, 0.3))
    _, torque = drag.wrench(np.zeros((1, 3)), np.array([[0.0, 3.0, 4.0]]), RHO)
    np.testing.assert_allclose(torque, [[0.0, -0.2 * 5 * 3, -0.3 * 5 * 4]])


@pytest.mark.parametrize(
    "drag",
    [
        LinearDrag(coefficients=(0.5, 0.3, 0.0)),
        QuadraticDrag(areas=(0.01, 0.02, 0.06), angular_coefficients=(0.1, 0.2, 0.3)),
    ],
)
def test_drag_only_takes_energy_out(drag):
    """A positive power in still air would be energy from nowhere."""
    rng = np.random.default_rng(1)
    v, w = rng.normal(scale=20, size=(2, 1000, 3))
    force, torque = drag.wrench(v, w, RHO)
    power = (force * v).sum(1) + (0 if torque is None else (torque * w).sum(1))
    assert (power <= 0).all()


def test_resistance_runs_in_any_array_namespace():
    """A NumPy-only call in the formula would keep it from running on JAX."""
    v, c = np.random.default_rng(2).normal(size=(5, 3)), np.array([0.1, 0.2, 0.3])
    strict = quadratic_resistance(array_api_strict.asarray(v), coefficients=array_api_strict.asarray(c))
    np.testing.assert_allclose(np.asarray(strict), quadratic_resistance(v, coefficients=c))


def test_negative_coefficients_are_refused():
    """A negative coefficient would push."""
    with pytest.raises(ConfigError, match="coefficients"):
        LinearDrag(coefficients=(0.5, -0.1, 0.0))
    with pytest.raises(ConfigError, match="areas"):
        QuadraticDrag(areas=(-1.0, 0.0, 0.0))
