"""Traced laws have the bits of Python, on one row and on several rows side by side."""

from typing import Any

import pytest

from pegasus import Multirotor
from pegasus.base import elementary
from pegasus.base.step_math import (
    Quat,
    Vec3,
    interpolate,
    interval,
    normalized,
    rotation_quaternion,
    rotation_vector,
)
from pegasus.base.tracing import Argument, column, uniform
from pegasus.dynamics.drag import LinearDrag, QuadraticDrag, linear_drag, quadratic_drag
from pegasus.dynamics.motors import FirstOrderMotor, first_order_motor
from pegasus.dynamics.thrust_curves import (
    PolynomialThrust,
    QuadraticCoefficients,
    polynomial_speed,
    polynomial_thrust,
    quadratic_thrust,
)
from pegasus.environment.atmosphere import standard_air, standard_layers
from pegasus.environment.gravity import GravityParameters, gravity_at
from pegasus.environment.wind import WindParameters, wind_at
from tests.base.tracing import laws
from tests.base.tracing.comparison import Laws, differences

EARTH = GravityParameters(9.80665, 1.0 / 6.371e6)
POINTS, VALUES = (-2.0, -0.5, 0.0, 3.0, 4.0, 9.0), (1.0, 5.0, -2.0, 0.5, 7.0, 8.0)


def own() -> Laws:
    """Return laws of every form of Python that is traced."""
    one = (
        "early_returns",
        "skips",
        "between",
        "closures",
        "stores",
        "inner_constant",
        "whole_numbers",
        "many_names",
    )
    found: dict[str, Any] = {name: (getattr(laws, name), [column(f"{name}_x")]) for name in one}
    found["moon"] = (
        laws.environment,
        [EARTH, laws.moon_gravity, laws.wind_by_weight, column("a", Vec3), column("b")],
    )
    found["heavy"] = laws.heavier_gravity, [EARTH, column("c")]
    drag = [None, column("d", Vec3), column("e", Vec3), (), 1.2]
    found["odd_drag"] = laws.odd_drag, drag
    found["chosen"] = laws.chosen, [VALUES, column("f")]
    found["chosen_among"] = laws.chosen, [column("g", float, 4), column("h")]
    found["chosen_uniform"] = laws.chosen, [uniform("table", VALUES), column("i")]
    found["held"] = laws.held, [column("j"), POINTS, VALUES]
    found["handed_over"] = laws.handed_over, [column("o"), *laws.HANDED]
    found["loose_truths"] = laws.loose_truths, [column("m"), column("n")]
    found["turned"] = laws.turned_vectors, [column("k", Quat), column("l")]
    return found


def elementary_functions() -> Laws:
    """Return the elementary functions and those of rotations and tables."""
    one = ("exp", "expm1", "log", "sin", "cos", "tan", "asin")
    found: dict[str, Any] = {name: (getattr(elementary, name), [column(f"{name}_x")]) for name in one}
    for name in ("atan2", "power"):
        found[name] = getattr(elementary, name), [column(f"{name}_x"), column(f"{name}_y")]
    found["vector"] = rotation_vector, [column("q", Quat)]
    found["quaternion"] = rotation_quaternion, [column("v", Vec3)]
    found["normalized"] = normalized, [column("n", Quat)]
    found["interval"] = interval, [POINTS, column("i")]
    found["interpolate"] = interpolate, [column("j"), uniform("points", POINTS), uniform("values", VALUES)]
    return found


def shipped() -> Laws:
    """Return shipped laws, with parameters as literals and as inputs."""
    found: dict[str, Any] = {}
    rotor = [column("speed"), column("air", Vec3), column("density")]
    body = [column("air_velocity", Vec3), column("turning", Vec3), column("speeds", float, 4), column("rho")]
    quadratic = QuadraticDrag(areas=(0.1, 0.2, 0.3), rotor_coefficients=(1e-7, 0.0, 0.0))
    polynomial = PolynomialThrust(coefficients=(0.1, 0.01, 2e-5), inflow_linear=-1e-3, inflow_quadratic=1e-4)
    lag = FirstOrderMotor(time_constant_up=0.02, time_constant_down=0.04)
    motor = [column("w"), column("state", Vec3), column("u"), 0.0, 0.002]
    curves = {name: Multirotor(name, sensors={}).thrust_curve for name in ("iris", "crazyflie")}
    for way in ("literal", "input"):

        def make(name: str, law: Any, p: Any, rest: list[Any], way: str = way) -> None:
            given = p if way == "literal" else uniform(f"{name}_p", p)
            found[f"{name}_{way}"] = law, [given, *(renamed(a, f"{name}_{way}") for a in rest)]

        make("gravity", gravity_at, EARTH, [column("altitude")])
        make("linear", linear_drag, LinearDrag(coefficients=(0.1, 0.2, 0.0)), body)
        make("quadratic", quadratic_drag, quadratic, body)
        make("square", quadratic_thrust, QuadraticCoefficients(1e-5, 1e-7), rotor)
        make("polynomial", polynomial_thrust, polynomial, rotor)
        make("lag", first_order_motor, lag, motor)
        for name, curve in curves.items():
            make(name, type(curve).law, curve.parameters(), rotor)
    found["inverse"] = polynomial_speed, [polynomial, column("thrust"), 1.2]
    found["air"] = standard_air, [standard_layers(), column("height")]
    wind = WindParameters((1.0, 2.0, 0.0), 1, tuple(0.1 * k for k in range(10)), (0.0, 1.0, 2.0), 0.5)
    found["wind"] = wind_at, [wind, column("place", Vec3), column("t")]
    return found


def renamed(argument: Any, prefix: str) -> Any:
    """Return an argument with a name of its own; literals as they are."""
    if not isinstance(argument, Argument):
        return argument
    return column(f"{prefix}_{argument.name}", argument.kind, argument.width)


@pytest.mark.parametrize("make", [own, elementary_functions, shipped])
def test_compiled_laws_have_the_bits_of_python(make: Any) -> None:
    """A flight would depend on the processor, and a custom law on whether it is compiled."""
    assert differences(make()) == []
