"""Tests of motors against the closed form of a first-order lag."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.dynamics import FirstOrderMotor, IdealMotor
from tests.dynamics.by_law import motor_speed

MOTOR = FirstOrderMotor(time_constant_up=0.0125, time_constant_down=0.025, max_speed=1100.0)


@pytest.mark.parametrize("rate", [50, 250, 333, 1000])
def test_step_response_is_exact_at_any_rate(rate):
    """An Euler-integrated lag would depend on the step; the exact one does not."""
    speed, command, dt = np.full((1, 4), 200.0), np.full((1, 4), 900.0), 1 / rate
    for k in range(1, rate // 10 + 1):
        speed = motor_speed(MOTOR, speed, command, dt)
        np.testing.assert_allclose(speed, 900 - 700 * np.exp(-k * dt / 0.0125), rtol=1e-12)


def test_rise_and_fall_have_their_own_time_constants():
    """One time constant for both, or the two swapped, would show after one time constant."""
    command = np.array([[1000.0, 0.0]])
    speed = motor_speed(MOTOR, np.array([[0.0, 1000.0]]), command, 0.0125)
    np.testing.assert_allclose(speed, [[1000 * (1 - np.exp(-1)), 1000 * np.exp(-0.5)]], rtol=1e-12)


def test_ideal_motor_obeys_at_once():
    """A lag in the ideal motor would delay every command."""
    motor, command = IdealMotor(), np.array([[1.0, 2.0]])
    end = motor_speed(motor, np.zeros((1, 2)), command, 0.004)
    np.testing.assert_array_equal(end, command)


@pytest.mark.parametrize(
    ("field", "parameters"),
    [
        ("time_constant_up", {"time_constant_up": 0.0, "time_constant_down": 0.1}),
        ("time_constant_down", {"time_constant_up": 0.1, "time_constant_down": -1.0}),
        ("max_speed", {"time_constant_up": 0.1, "time_constant_down": 0.1, "max_speed": 0.0}),
        (
            "min_speed",
            {"time_constant_up": 0.1, "time_constant_down": 0.1, "max_speed": 5.0, "min_speed": 6.0},
        ),
    ],
)
def test_impossible_parameters_are_refused(field, parameters):
    """A time constant of zero would divide by zero during a flight."""
    with pytest.raises(ConfigError, match=f"^{field} = "):
        FirstOrderMotor(**parameters)
