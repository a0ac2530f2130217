"""Tests of control laws of users: their form, what they may use, and their parameters."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Real, Vec3
from pegasus.contracts.state import Reference, VehicleState
from pegasus.control import Body, Controller, GeometricController, Setpoint, geometric
from pegasus.control.control_step import parts_of_law
from pegasus.control.per_copy import DERIVED, Derived, PerCopy
from tests.control.test_control_step import Leaky, bound, state_and_reference


def misplaced(own: Leaky, setpoint: Setpoint, body: Body) -> tuple[Vec3, Vec3]:
    return own.stiffness * setpoint.velocity, body.velocity


def taken(own: Leaky, body: Body, setpoint: Setpoint, thrust: Real, dt: Real) -> tuple[Vec3, Vec3, Real]:
    return own.stiffness * setpoint.velocity * dt, body.velocity, thrust


def too_many(own: Leaky, body: Body, setpoint: Setpoint, dt: Real) -> tuple[Vec3, Vec3, Real]:
    return own.stiffness * setpoint.velocity * dt, body.velocity, dt


def not_annotated(own: Leaky, body: Body, setpoint: Setpoint, wish) -> tuple[Vec3, Vec3]:
    return own.stiffness * setpoint.velocity + wish, body.velocity


FORM = (
    r"must be \(own, body, setpoint, \*state, \*inputs, dt\) -> tuple\[Vec3, Vec3, \*state\], all annotated"
)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (misplaced, rf"^law = 'misplaced': {FORM}"),
        (too_many, rf"^law = 'too_many': {FORM}"),
        (not_annotated, rf"^law = 'not_annotated': {FORM}"),
        (taken, r"^law = 'taken': has the argument thrust; rename it"),
    ],
)
def test_a_wrong_law_is_named(law, message):
    """If this fails, a mistake in a custom law shows up as an error of the compiler."""
    with pytest.raises(ConfigError, match=message):
        parts_of_law(law)


def geometric_law(
    own: GeometricController, body: Body, setpoint: Setpoint, integral: Vec3, turned: Vec3, dt: Real
) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Return twice the torque of the shipped law of this name, with a list of forces."""
    force, torque, *state = geometric.geometric_law(own, body, setpoint, integral, turned, dt)
    forces = [force, Vec3(0.0, 0.0, 1.0)]
    return forces[0] + forces[1], 2.0 * torque, state[0], state[1]


@dataclass(eq=False)
class Doubled(GeometricController):
    """Controller whose law calls the shipped one, whose name it has."""

    law: ClassVar[Any] = staticmethod(geometric_law)


def test_a_law_may_call_a_shipped_one_of_its_name(vehicles):
    """If this fails, functions are told apart by their names: another law is flown, or one calls itself."""
    state, reference = state_and_reference(9)
    doubled, plain = bound(vehicles, Doubled, 9), bound(vehicles, GeometricController, 9)
    force, torque = doubled.wrench(state, reference, 0.0)
    expected = plain.wrench(state, reference, 0.0)
    np.testing.assert_array_equal(torque, 2.0 * expected[1])
    np.testing.assert_array_equal(force[:, 2], expected[0][:, 2] + 1.0)


@dataclass(eq=False)
class Squared(Controller):
    """Controller whose law cannot be compiled."""

    @staticmethod
    def law(own: "Squared", body: Body, setpoint: Setpoint) -> tuple[Vec3, Vec3]:
        return setpoint.velocity * own.spin_up, body.velocity * body.position[2] ** 2


def test_a_law_that_cannot_be_compiled_is_named_with_its_line(vehicles):
    """If this fails, a user looks for the fault of an own law in Pegasus."""
    controller = bound(vehicles, Squared, 1)
    line = r"test_laws.py:\d+: `return setpoint.velocity \* own.spin_up, body.*2`"
    with pytest.raises(ConfigError, match=rf"law Squared.law: .*{line} cannot be compiled: .* use x \* x"):
        controller.wrench(*state_and_reference(1), 0.0)


@dataclass(frozen=True)
class Springs:
    """Parameters within a parameter."""

    stiffness: float = 3.0
    places: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 2.5)


@dataclass(eq=False)
class Sprung(Controller):
    """Controller whose parameters are a dataclass, a whole number, and one that is not given."""

    springs: Springs = Springs()
    count_of_springs: PerCopy[int] = 2
    unused: Derived[float] = DERIVED

    @staticmethod
    def law(own: "Sprung", body: Body, setpoint: Setpoint) -> tuple[Vec3, Vec3]:
        lift = setpoint.velocity[2] * 0.0
        for k in range(own.count_of_springs):
            lift = lift + own.springs.stiffness * (own.springs.places[k] - body.position[2])
        return Vec3(0.0, 0.0, lift), Vec3(0.0, 0.0, 0.0)


def test_parameters_of_a_law_may_be_dataclasses_and_whole_numbers(vehicles):
    """If this fails, a law has to spell out its parameters one by one, or flies by those of another copy."""
    state, reference = VehicleState.at_rest(2, 4), Reference.hold(np.zeros((2, 3)), np.zeros(2))
    for count, lift in ((2, 4.5), (3, 9.0)):
        force, _ = bound(vehicles, Sprung, 2, {"count_of_springs": count}).wrench(state, reference, 0.0)
        np.testing.assert_array_equal(force[:, 2], lift)
    with pytest.raises(ConfigError, match=r"^whole numbers of the law = .*: must be the same for all copies"):
        bound(vehicles, Sprung, 2, {"count_of_springs": [2, 3]})
