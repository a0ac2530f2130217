"""Tests of gradients through step functions: closed forms and central differences."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus.base.compiler import Kernel, Rows
from pegasus.base.gradients import Gradients
from pegasus.base.step_math import Column, Real, Reals, Table, Vec3, interpolate, norm, sin


@dataclass(frozen=True)
class Law:
    gain: float
    shift: tuple[float, float, float]
    points: tuple[float, ...]
    values: tuple[float, ...]
    model: int = 1


@dataclass
class Rowed:
    kind: Column[int]
    law: Column[Law]
    x: Column[Real]
    v: Column[Vec3]
    w: Table[Real]
    y: Column[Real]
    u: Column[Vec3]


def total(values: Reals) -> Real:
    """Sum three numbers."""
    result = 0.0
    for j in range(3):
        result += values[j]
    return result


def respond(i: int, rows: Rowed, dt: Real) -> None:
    """Set y and u from x, v, w and the parameters."""
    p = rows.law[rows.kind[i]]
    rows.y[i] = p.gain * sin(rows.x[i]) + dt * total(rows.w[i]) + interpolate(rows.x[i], p.points, p.values)
    rows.u[i] = rows.v[i] * norm(rows.v[i]) + Vec3(p.shift[0], p.shift[1], p.shift[2]) * rows.x[i]


kernel = Kernel(respond, gradients=True)


def made():
    """Return arrays of three rows of two kinds; the second row is at rest."""
    return {
        "kind": np.array([0, 1, 0], dtype=np.int32),
        "law": [
            Law(2.0, (1.0, 2.0, 3.0), (-1.0, 1.0), (0.0, 4.0)),
            Law(5.0, (0.0, 0.0, -1.0), (0.0, 0.5, 1.0), (1.0, 2.0, 3.0)),
        ],
        "x": np.array([0.3, 0.25, -0.4]),
        "v": np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        "w": np.arange(9.0).reshape(3, 3),
        "y": np.zeros(3),
        "u": np.zeros((3, 3)),
    }


def test_gradients_are_those_of_closed_forms():
    """If this fails, a fit of parameters or an optimal command goes the wrong way."""
    arrays, gradients = made(), Gradients()
    launch = kernel.launch(Rows(Rowed, arrays, gradients), 3, 0.5)
    launch(0.1)
    gradients.of(arrays["y"])[...] = [1.0, 1.0, 10.0]
    gradients.of(arrays["u"])[0] = [0.0, 0.0, 1.0]
    launch.backward()
    law = gradients.of(arrays["law"])
    np.testing.assert_allclose(law["gain"], [math.sin(0.3) + 10 * math.sin(-0.4), math.sin(0.25)], rtol=1e-14)
    np.testing.assert_allclose(law["shift"], [[0.0, 0.0, 0.3], [0.0, 0.0, 0.0]], rtol=1e-14)
    np.testing.assert_allclose(law["values"][0], [0.35 + 10 * 0.7, 0.65 + 10 * 0.3], rtol=1e-14)
    np.testing.assert_allclose(law["values"][1], [0.5, 0.5, 0.0], rtol=1e-14)
    assert "model" not in law
    slopes = [2 * math.cos(0.3) + 2 + 3, 5 * math.cos(0.25) + 2, 10 * (2 * math.cos(-0.4) + 2)]
    np.testing.assert_allclose(gradients.of(arrays["x"]), slopes, rtol=1e-14)
    np.testing.assert_allclose(gradients.of(arrays["w"]), [[0.1] * 3, [0.1] * 3, [1.0] * 3], rtol=1e-14)
    np.testing.assert_allclose(gradients.of(arrays["v"])[0], [3 * 4 / 5, 0.0, 5 + 4 * 4 / 5], rtol=1e-14)


def test_the_gradient_of_a_norm_at_rest_is_finite():
    """If this fails, quadratic drag of a vehicle at rest makes every gradient NaN."""
    arrays, gradients = made(), Gradients()
    launch = kernel.launch(Rows(Rowed, arrays, gradients), 3, 0.1)
    launch()
    gradients.of(arrays["u"])[...] = 1.0
    launch.backward()
    np.testing.assert_array_equal(gradients.of(arrays["v"])[1], 0.0)
    assert gradients.of(arrays["v"])[0].all()


def test_gradients_add_up_until_they_are_cleared():
    """If this fails, a second iteration of a fit starts from the gradients of the first."""
    arrays, gradients = made(), Gradients()
    launch = kernel.launch(Rows(Rowed, arrays, gradients), 3, 0.1)
    found = []
    for clear in (False, True, False):
        if clear:
            gradients.clear()
        launch()
        gradients.of(arrays["y"])[...] = 1.0
        launch.backward()
        law = gradients.of(arrays["law"])
        found.append((gradients.of(arrays["x"]).copy(), law["gain"].copy(), law["values"][0].copy()))
    for first, second, third in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(2 * first, third, rtol=1e-14)


def test_gradients_change_no_bits_and_are_asked_for():
    """If this fails, a flight with gradients is another one, or a missing gradient is a zero."""
    first, second, gradients = made(), made(), Gradients()
    kernel.launch(Rows(Rowed, first, gradients), 3, 0.1)()
    launch = Kernel(respond).launch(Rows(Rowed, second, gradients), 3, 0.1)
    launch()
    np.testing.assert_array_equal(first["y"], second["y"])
    np.testing.assert_array_equal(first["u"], second["u"])
    for incomplete in (launch, kernel.launch(Rows(Rowed, made()), 3, 0.1)):
        with pytest.raises(ValueError, match="gradients=True"):
            incomplete.backward()
    with pytest.raises(KeyError, match="no rows"):
        gradients.of(np.zeros(3))
    with pytest.raises(KeyError, match="float64"):
        gradients.of(first["kind"])
