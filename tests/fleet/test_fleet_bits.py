"""Tests of fleets beside simulations: the same bits in double precision, near them in single precision."""

import numpy as np
import pytest

from pegasus import Backend, Multirotor, Simulation
from pegasus.config.settings import names
from pegasus.fleet import Fleet

RATE, HOLD, HEIGHT = 500.0, 50, 3000.0
FIELDS = ("position", "orientation", "velocity", "angular_velocity", "rotor_speed", "joint_angle")


class Given(Backend):
    """Backend that commands given channels, each for some steps."""

    drives = True

    def __init__(self, commands):
        self.commands, self.k = commands, 0

    def command(self, t):
        self.k += 1
        return self.commands[(self.k - 1) // HOLD]


def commands_of(model, count, rows, seed):
    """Return commands within the limits of the channels, near those of level flight, (count, rows, U)."""
    channels = Multirotor(model).channels
    rng = np.random.default_rng(seed)
    made = np.empty((count, rows, len(channels)))
    for k, channel in enumerate(channels):
        low, high = (0.4, 0.8) if channel.unit == "rad/s" else (0.0, 1.0)
        span = channel.high - max(channel.low, 0.0) if channel.unit == "rad/s" else channel.high - channel.low
        first = max(channel.low, 0.0) if channel.unit == "rad/s" else channel.low
        made[:, :, k] = first + span * rng.uniform(low, high, (count, rows))
    return made


@pytest.mark.parametrize("model", names("vehicles"))
def test_equals_the_core(model):
    """Every shipped vehicle flies ten seconds of commands with the bits of a simulation, on rows abreast."""
    rows, holds = 3, round(10.0 * RATE / HOLD)
    commands = commands_of(model, holds, rows, seed=3)
    fleet = Fleet(model, rows, rate=RATE, dtype="float64")
    place = np.arange(3 * rows).reshape(rows, 3) * 20.0 + (0.0, 0.0, HEIGHT)
    with Simulation(rate=RATE) as sim:
        vehicle = sim.add(
            Multirotor(model, count=rows, position=place, backends=[Given(commands)], sensors={})
        )
        sim.play()
        fleet.reset(position=vehicle.state.position, orientation=vehicle.state.orientation)
        for hold in commands:
            for _ in range(HOLD):
                sim.step()
            fleet.step(hold, HOLD)
            assert not fleet.state.fault.any()
            for name in FIELDS:
                assert np.array_equal(getattr(fleet.state, name), vehicle.columns[name]), (name, sim.time)
        if vehicle.battery is not None:
            assert np.array_equal(fleet.columns["charge"][0, :rows], vehicle.battery.charge)
        assert np.linalg.norm(fleet.state.position - place) > 1.0


@pytest.mark.parametrize("model", ["crazyflie", "iris", "racer", "tiltrotor"])
def test_single_precision(model):
    """After a second of manoeuvre single precision is within a millimetre of double precision."""
    commands = commands_of(model, 10, 64, seed=5)
    fleets = [Fleet(model, 64, dtype=dtype) for dtype in ("float64", "float32")]
    for hold in commands:
        for fleet in fleets:
            fleet.step(hold, HOLD)
    double, single = (fleet.state.position for fleet in fleets)
    assert np.linalg.norm(double, axis=1).max() > 0.5
    assert np.abs(double - single).max() < 1e-3
