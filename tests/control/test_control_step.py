"""Tests of the compiled step of controllers: laws, their state and inputs, and the arrays that they share."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, get_type_hints

import numpy as np
import pytest

from pegasus.base.step_math import Quat, Real, Vec3
from pegasus.base.tracing import Argument
from pegasus.contracts.backend import BACKENDS
from pegasus.contracts.state import Reference, VehicleState
from pegasus.control import (
    Body,
    CascadedPIDController,
    Controller,
    GeometricController,
    Setpoint,
    torque_of,
    trajectories,
)
from pegasus.control.control_step import inverse_of
from pegasus.control.guided import guided_geometric_law, guided_pid_law
from pegasus.control.guided_step import ATTITUDE, BODY_RATES, TARGET
from pegasus.control.mission_step import Motion
from pegasus.dynamics import PolynomialThrust, PropellerThrust, QuadraticThrust, ThrustCurve


@dataclass(eq=False)
class Leaky(Controller):
    """Controller whose law has a state and an input of each copy."""

    stiffness: float = 20.0
    damping: tuple[float, float, float] = (2.0, 2.0, 3.0)

    @staticmethod
    def law(
        own: "Leaky", body: Body, setpoint: Setpoint, leaked: Real, wish: Vec3, dt: Real
    ) -> tuple[Vec3, Vec3, Real]:
        leaked = leaked + dt * (setpoint.position[2] - body.position[2] - leaked)
        force = Vec3(0.0, 0.0, body.mass * (own.stiffness * leaked - body.gravity[2])) + wish
        return force, torque_of(body, body.angular_velocity * -own.damping[0]), leaked


@dataclass(eq=False)
class Numpy(Controller):
    """Controller in NumPy."""

    def wrench(self, state, reference, dt):
        force = np.zeros((self.count, 3))
        lag = reference.position - state.position
        force[:, 2] = self.mass * (9.8 + 3.0 * lag[:, 2])
        return force, -0.3 * state.angular_velocity


@dataclass(eq=False)
class Turned(GeometricController):
    law: ClassVar[Any] = staticmethod(guided_geometric_law)


@dataclass(eq=False)
class TurnedPID(CascadedPIDController):
    law: ClassVar[Any] = staticmethod(guided_pid_law)


CONTROLLERS = [kind for _, kind in BACKENDS.items() if issubclass(kind, Controller)]
CONTROLLERS += [Turned, TurnedPID, Leaky]


def state_and_reference(count, seed=1):
    """Return violent motion and references far away, so that limits are reached."""
    rng = np.random.default_rng(seed)
    state = VehicleState.at_rest(count, 4)
    state.position[:] = rng.normal(0, 2, (count, 3))
    orientation = rng.normal(0, [1, 1, 1, 3], (count, 4))
    state.orientation[:] = orientation / np.linalg.norm(orientation, axis=1, keepdims=True)
    state.velocity[:], state.angular_velocity[:] = rng.normal(0, 2, (2, count, 3))
    reference = Reference.hold(rng.normal(0, 2, (count, 3)), rng.uniform(-3, 3, count))
    reference.velocity[:], reference.acceleration[:], reference.jerk[:] = rng.normal(0, 2, (3, count, 3))
    reference.yaw_rate[:] = rng.normal(0, 1, count)
    return state, reference


def differing(kind, count):
    """Return values of all gains of a controller for each copy."""
    gains = {f.name: f.default for f in fields(kind) if isinstance(f.default, float | tuple)}
    shares = np.linspace(0.6, 1.0, count)
    return {name: np.multiply.outer(shares, value) for name, value in gains.items()}


def bound(vehicles, kind, count, own=None, **vehicle):
    controller = kind(trajectories.hold(height=1.0), **own or {})
    controller.bind(vehicles.StandIn(count=count, **vehicle))
    rng = np.random.default_rng(2)
    for name in controller._step.inputs if controller._step else ():
        controller.columns[name][...] = rng.normal(0.5, 1, (9, *controller.columns[name].shape[1:]))[:count]
    if "directive" in controller.columns:
        controller.columns["directive"][...] = np.resize([TARGET, ATTITUDE, BODY_RATES], count)
    return controller


def by_python(step, shared):
    """Return the results of the step of every copy by Python, by name."""
    arrays, found = {**step.arrays, **shared}, []
    for i in range(9):
        given = [row(a, arrays, i) if isinstance(a, Argument) and not a.values else a for a in step.arguments]
        given[:2] = step.arguments[0].values[i % len(step.arguments[0].values)], step.arguments[1].values[0]
        given[6] = float(arrays["elapsed"][0])
        force, torque, thrust, speed, _, fault, *state = step.function(*given)
        assert not fault.value
        parts = {"rotor_speed": speed, "thrust": thrust, "force": force, "torque": torque}
        found.append(parts | dict(zip(step.state, state, strict=True)))
    return {name: np.array([numbers(one[name]) for one in found]) for name in found[0]}


def row(argument, arrays, i):
    """Return the value of an argument for copy i."""
    if argument.kind in (float, Vec3, Quat):
        return number(argument.kind, arrays[argument.name][i])
    hints = get_type_hints(argument.kind)
    return argument.kind(*(number(hints[n], arrays[f"{argument.name}.{n}"][i]) for n in hints))


def number(kind, values):
    return float(values) if kind is float else kind(*values.tolist())


def numbers(value):
    return [value[k] for k in range(3)] if isinstance(value, Vec3) else value


def results(controller):
    step = controller._step
    return {
        **{name: step.arrays[name] for name in ("rotor_speed", "thrust", "force", "torque")},
        **step.columns,
    }


@pytest.mark.parametrize("kind", CONTROLLERS)
@pytest.mark.parametrize("gains", ["same", "differing"])
def test_python_and_compiled_code_give_the_same_bits(vehicles, kind, gains):
    """If this fails, debugging in Python shows another flight than the compiled step."""
    own = differing(kind, 9) if gains == "differing" else {}
    products = np.array([[0.03, 0.001, 0.002], [0.001, 0.03, -0.001], [0.002, -0.001, 0.05]])
    compiled = bound(vehicles, kind, 9, own, inertia=products)
    limited = 0
    for k in range(30):
        state, reference = state_and_reference(9, seed=k)
        dt = 0.004 * k
        step = compiled._step
        shared = {f"motion.{name}": getattr(state, name) for name in get_type_hints(Motion)}
        shared |= {f"setpoint.{name}": getattr(reference, name) for name in get_type_hints(Setpoint)}
        step.arrays["elapsed"][0] = dt
        expected = by_python(step, shared)
        compiled.wrench(state, reference, dt)
        found = results(compiled)
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values, err_msg=f"{name} at {k}")
        limited += int((compiled._step.arrays["thrust"] == compiled._limits["upper"][:, None]).sum())
    assert np.isfinite(compiled._step.arrays["thrust"]).all()
    assert limited > 10


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_rows_do_not_depend_on_the_others(vehicles, kind):
    """If this fails, a flight depends on how many copies fly."""
    many, alone = bound(vehicles, kind, 9), bound(vehicles, kind, 1)
    for k in range(5):
        state, reference = state_and_reference(9, seed=k)
        first = VehicleState(**{name: array[:1] for name, array in vars(state).items()})
        own = Reference(**{n: a[:1] for n, a in vars(reference).items() if n != "segment"})
        many.wrench(state, reference, 0.01)
        alone.wrench(first, own, 0.01)
        for name, values in results(alone).items():
            np.testing.assert_array_equal(values, results(many)[name][:1], err_msg=name)


def test_follows_the_arrays_of_state_and_reference(vehicles):
    """If this fails, a vehicle is controlled by a state that is no longer its own."""
    controller = bound(vehicles, GeometricController, 2)
    state, reference = state_and_reference(2)
    first = [part.copy() for part in controller.wrench(state, reference, 0.0)]
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        changed = state.copy()
        setattr(changed, name, getattr(state, name)[::-1].copy())
        force, torque = controller.wrench(changed, reference, 0.0)
        assert (force != first[0]).any() or (torque != first[1]).any(), name
    for name in ("position", "velocity", "acceleration", "jerk", "yaw", "yaw_rate"):
        changed = reference.copy()
        setattr(changed, name, getattr(reference, name)[::-1].copy())
        force, torque = controller.wrench(state, changed, 0.0)
        assert (force != first[0]).any() or (torque != first[1]).any(), name
    state.velocity[:] = 0.0
    assert (controller.wrench(state, reference, 0.0)[0] != first[0]).any()
    # Arrays of another type or layout are copied at each call.
    state, reference = state_and_reference(2)
    state.position = np.asfortranarray(state.position)
    np.testing.assert_array_equal(controller.wrench(state, reference, 0.0)[0], first[0])
    state.position += 1.0
    assert (controller.wrench(state, reference, 0.0)[0] != first[0]).any()


def test_a_law_has_state_and_inputs_of_each_copy(vehicles):
    """If this fails, a custom law cannot integrate, or cannot be told anything."""
    controller = bound(vehicles, Leaky, 2)
    state, reference = (
        VehicleState.at_rest(2, 4),
        Reference.hold(np.array([[0, 0, 1.0], [0, 0, 2.0]]), np.zeros(2)),
    )
    controller.columns["wish"][...] = [[0, 0, 0], [0, 0, 0.5]]
    for _ in range(3):
        controller.wrench(state, reference, 0.1)
    leaked = 1.0 - 0.9**3
    np.testing.assert_allclose(controller.columns["leaked"], [leaked, 2 * leaked])
    force, _ = controller.wrench(state, reference, 0.0)
    np.testing.assert_allclose(force[:, 2], 1.5 * (20.0 * np.array([1, 2]) * leaked + 9.80665) + [0, 0.5])
    controller.reset(np.arange(2))
    np.testing.assert_array_equal(controller.columns["leaked"], 0.0)
    np.testing.assert_array_equal(controller.columns["wish"], [[0, 0, 0], [0, 0, 0.5]])


def test_a_controller_may_add_to_a_compiled_law(vehicles):
    """If this fails, a subclass of a shipped controller that changes its wrench has no effect."""

    class Pushed(CascadedPIDController):
        def wrench(self, state, reference, dt):
            force, torque = super().wrench(state, reference, dt)
            return force + np.array([0.0, 0.0, 1.0]), torque

    pushed, plain = bound(vehicles, Pushed, 1), bound(vehicles, CascadedPIDController, 1)
    state, reference = VehicleState.at_rest(1, 4), Reference.hold(np.zeros((1, 3)), np.zeros(1))
    curve = vehicles.QuadraticCurve()
    lifts = [curve.thrust(c.rotor_speed(state, reference, 0.0), 0.0, 1.2)[0].sum() for c in (pushed, plain)]
    assert lifts[0] - lifts[1] == pytest.approx(1.0, rel=1e-9)


def windmill(p: "Windmill", speed: Real, air_velocity: Vec3, air_density: Real) -> tuple[Vec3, Vec3]:
    force = p.slope * speed * air_density + p.curvature * speed * speed * speed - 0.0 * air_velocity[2]
    return Vec3(0.0, 0.0, force), Vec3(0.0, 0.0, 0.05 * force)


@dataclass(frozen=True, kw_only=True)
class Windmill(ThrustCurve):
    """Thrust curve of a user, with a law and no inverse."""

    law: ClassVar[Any] = staticmethod(windmill)

    slope: float = 2e-3
    curvature: float = 5e-9


CURVES = [
    QuadraticThrust(thrust_constant=8.5e-6, moment_ratio=0.06),
    PolynomialThrust(coefficients=(0.01, 1e-4, 8e-6), moment_ratio=0.06),
    PolynomialThrust(coefficients=(0.0, 1e-4, 5e-6, 2e-9), moment_ratio=0.06),
    PropellerThrust(diameter=0.25, thrust_coefficient=0.11, power_coefficient=0.05),
    PropellerThrust(
        diameter=0.25,
        thrust_coefficient=(0.11, 0.05),
        power_coefficient=(0.05, 0.03),
        advance_ratio=(0.0, 0.8),
    ),
    Windmill(),
]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: type(curve).__name__)
@pytest.mark.parametrize("kind", [GeometricController, Numpy])
def test_rotor_speeds_give_the_thrusts_by_any_curve(vehicles, curve, kind):
    """If this fails, a vehicle with another thrust curve gets other thrusts than its controller asked for."""
    controller = bound(vehicles, kind, 9, thrust_curve=curve)
    state, reference = state_and_reference(9)
    speed = controller.rotor_speed(state, reference, 0.0)
    step = controller._drive or controller._step
    density = np.full((9, 1), 1.225)
    given, _ = curve.thrust(speed, np.zeros((9, 4)), density)
    assert np.ptp(step.arrays["thrust"]) > 1.0
    np.testing.assert_allclose(given, step.arrays["thrust"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        curve.rotor_speed(step.arrays["thrust"], density), speed, rtol=1e-12, atol=1e-9
    )
    if type(curve).inverse_law is not None:
        np.testing.assert_array_equal(curve.rotor_speed(step.arrays["thrust"], density), speed)
    else:
        inverse, p = inverse_of(type(curve)), curve.parameters()
        alone = [[inverse(p, thrust, 1.225) for thrust in row] for row in step.arrays["thrust"].tolist()]
        np.testing.assert_array_equal(alone, speed)
