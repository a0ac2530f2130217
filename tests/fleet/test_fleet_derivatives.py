"""Tests of derivatives through the steps of fleets against central differences in double precision."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.fleet import Fleet
from tests.fleet.test_fleet_bits import commands_of

FIELDS = ("position", "orientation", "velocity", "angular_velocity", "rotor_speed")


@pytest.mark.parametrize(
    ("model", "level"), [("crazyflie", "channels"), ("tailsitter", "channels"), ("iris", "attitude")]
)
def test_derivatives_are_those_of_differences(model, level):
    """Derivatives by state, commands and mass through three steps differ from differences by 1e-6 at most."""
    rows, steps = 12, 3
    rng = np.random.default_rng(1)
    fleet = Fleet(
        model,
        rows,
        level=level,
        dtype="float64",
        vary={"mass": {"uniform": {"low": 0.9, "high": 1.1, "relative": True}}},
    )
    commands = commands_of(model, 1, rows, seed=8)[0]
    turned = rng.normal((0.0, 0.0, 0.0, 1.0), 0.05, (rows, 4))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    speeds = commands[:, : fleet.state.rotor_speed.shape[1]]
    fleet.reset(
        position=rng.normal((0.0, 0.0, 20.0), 1.0, (rows, 3)),
        orientation=turned,
        velocity=rng.normal((6.0, 0.0, 0.0), 1.0, (rows, 3)),
        angular_velocity=rng.normal(0, 0.3, (rows, 3)),
        rotor_speed=speeds * 0.97,
    )
    fleet.command[...] = (
        commands if level == "channels" else np.concatenate([np.full((rows, 1), 15.0), turned], 1)
    )
    fleet.step(None, 1)
    start = fleet.snapshot()
    weights = {name: rng.normal(0, 1, getattr(fleet.state, name).shape) for name in FIELDS}
    weights["rotor_speed"] *= 1e-2
    found = fleet.vjp(weights, steps)
    for name, values in fleet.snapshot().items():
        assert np.array_equal(values, start[name]), name
    for name in (*FIELDS, "command", "machine.body.mass"):
        column = fleet.columns[name][:, :rows]
        direction = rng.normal(0, 1, column.shape) * np.maximum(1.0, np.abs(column).max(axis=1))[:, None]
        scale = 1e-6
        sums = []
        for sign in (1.0, -1.0):
            fleet.restore(start)
            fleet.columns[name][:, :rows] += sign * scale * direction
            fleet.step(None, steps)
            sums.append(sum((weights[n] * getattr(fleet.state, n)).sum(axis=1) for n in FIELDS))
        fleet.restore(start)
        difference = (sums[0] - sums[1]) / (2.0 * scale)
        derivative = (found[name].reshape(rows, -1) * direction.T).sum(axis=1)
        size = np.abs(difference).max() + 1.0
        assert np.abs(difference - derivative).max() < 1e-6 * size, name
    assert np.abs(found["command"]).max() > 1e-6


def test_weights_are_checked():
    """Weights of what a step does not change, or of another shape, are refused."""
    fleet = Fleet("iris", 3)
    with pytest.raises(
        ConfigError, match="weights = 'positon': is not changed by a step; did you mean position"
    ):
        fleet.vjp({"positon": np.ones((3, 3))})
    with pytest.raises(ConfigError, match=r"position = \(2, 3\): must be finite numbers of shape \(3, 3\)"):
        fleet.vjp({"position": np.ones((2, 3))})
