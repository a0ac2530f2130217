"""Reverse mode of traces against central differences."""

from typing import Any

import numpy as np

from pegasus import Multirotor
from pegasus.base.step_math import Quat, Real, Vec3, exp, log, norm, rotation_quaternion, sin
from pegasus.base.tracing import column, trace, uniform, vjp
from pegasus.base.tracing.launches import Program
from pegasus.environment.gravity import GravityParameters, gravity_at
from tests.base.tracing.plant_step import flying, step_trace


def law(p: GravityParameters, v: Vec3, x: Real) -> tuple[Real, Quat]:
    """Return numbers by many operations, with a side that would be infinite where it is not taken."""
    size = norm(v)
    share = 0.0
    if size > 1e-9:
        share = x / size
    return gravity_at(p, x) * exp(-share) + log(2.0 + sin(x)) - abs(v[0]), rotation_quaternion(v)


def test_derivatives_are_those_of_central_differences() -> None:
    """Training by gradients would go astray."""
    parameters = GravityParameters(9.8, 1e-2)
    made = trace(law, uniform("p", parameters), column("v", Vec3), column("x"), outputs=("g", "q"))
    rng, count = np.random.default_rng(3), 50
    arrays: dict[str, Any] = {"v": rng.normal(0, 1, (count, 3)), "x": rng.normal(0, 1, count)}
    arrays |= {"p.acceleration": np.array([9.8]), "p.curvature": np.array([1e-2])}
    check(made, arrays, count, 1e-6)


def test_derivative_at_rest_is_finite() -> None:
    """The derivative of a side that is not taken would be infinity times 0."""
    made = vjp(trace(law, GravityParameters(9.8, 1e-2), column("v", Vec3), column("x"), outputs=("g", "q")))
    arrays = {c.name: np.zeros((1, c.size)) for c in made.inputs}
    arrays |= {c.name: np.zeros((1, c.size)) for c, _ in made.outputs}
    arrays["adjoint.g"][...] = 1.0
    arrays["adjoint.q"][...] = 1.0
    Program(made).launch(arrays, 1)()
    assert all(np.isfinite(a).all() for a in arrays.values())


def test_derivatives_of_the_step_are_those_of_central_differences() -> None:
    """The gradients of a whole step of the plant would be wrong."""
    vehicle = Multirotor("iris", sensors={})
    made = step_trace(vehicle, 0.002)
    check(made, flying(vehicle, 20), 20, 1e-5)


def check(made: Any, arrays: dict[str, Any], count: int, tolerance: float) -> None:
    """Compare derivatives along random directions with central differences of the same compiled law."""
    rng = np.random.default_rng(5)
    back = vjp(made)
    given = dict(arrays)
    weights = {c.name: rng.normal(0, 1, (count, c.size)) for c, _ in made.outputs}
    given |= {f"adjoint.{name}": w.copy() for name, w in weights.items()}
    given |= {c.name: np.zeros((count, c.size)) for c, _ in back.outputs if c.name not in given}
    Program(back).launch(given, count)()
    program = Program(made)
    for c in made.inputs:
        if c.uniform:
            continue
        direction = rng.normal(0, 1, (count, c.size))
        scale = 1e-6 * max(1.0, float(abs(arrays[c.name]).max()))
        sums = []
        for sign in (1.0, -1.0):
            moved = {name: a.copy() for name, a in arrays.items()}
            moved[c.name] += (sign * scale * direction).reshape(arrays[c.name].shape)
            out = {o.name: np.zeros((count, o.size)) for o, _ in made.outputs}
            program.launch({**moved, **{n: moved.get(n, a) for n, a in out.items()}}, count)()
            result = {n: moved.get(n, a).reshape(count, -1) for n, a in out.items()}
            sums.append(sum((weights[n] * result[n]).sum(axis=1) for n in weights))
        difference = (sums[0] - sums[1]) / (2.0 * scale)
        derivative = (given[f"adjoint.{c.name}"].reshape(count, -1) * direction).sum(axis=1)
        size = np.abs(difference).max() + 1.0
        assert np.abs(difference - derivative).max() < tolerance * size, c.name
