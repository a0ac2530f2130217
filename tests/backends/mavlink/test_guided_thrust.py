"""Tests of the thrust of guided autopilots: shares of set-points, and flights of the real programs."""

import math
import os

import numpy as np
import pytest
from px4_rig import started_with

from pegasus import Multirotor, Simulation
from pegasus.backends import GuidedArduPilot, GuidedPX4
from pegasus.base.errors import ConfigError

NEEDED = {"px4": "PX4_DIR", "ardupilot": "ARDUPILOT_DIR"}


class Bound(GuidedPX4):
    """PX4 that is not launched, with a bend as if it were."""

    def __init__(self, bend):
        super().__init__(launch=False)
        self.bend = bend

    def bind(self, vehicle):
        super().bind(vehicle)
        self._bend = self.bend


class BoundArduPilot(GuidedArduPilot):
    """ArduPilot that is not launched, with parameters as if it were."""

    def __init__(self, **given):
        super().__init__(launch=False)
        self.given = given

    def bind(self, vehicle):
        super().bind(vehicle)
        self._curve = tuple(self.given.values())


def motor_of_px4(share, bend=0.0):
    """Return PX4's output for a thrust: the root of the quadratic curve of THR_MDL_FAC."""
    if bend == 0.0:
        return share
    return (-(1 - bend) + np.sqrt((1 - bend) ** 2 + 4 * bend * share)) / (2 * bend)


def motor_of_ardupilot(share, tilt, least, most, bend, density):
    """Return ArduPilot's output for a throttle, raised by tilt and air, and bent by MOT_THST_EXPO."""
    thrust = share / math.cos(tilt) / (density / 1.225)
    bent = (bend - 1 + np.sqrt((1 - bend) ** 2 + 4 * bend * thrust)) / (2 * bend) if bend else thrust
    return least + (most - least) * bent


def thrust_of(vehicle, backend, output):
    """Return the thrust along z of rotors with an output [N]."""
    return static_thrust(vehicle, np.array([backend._outputs.commands([float(output)] * 16)]))


def static_thrust(vehicle, speed):
    """Return the thrust along z of rotors at speeds [rad/s] in air that is at rest relative to them [N]."""
    density = vehicle.environment.air_density(vehicle.state.position)[:, None]
    thrust, _ = vehicle.thrust_curve.thrust(speed, np.zeros(speed.shape), density)
    return float((thrust * vehicle.layout.axis[:, 2]).sum())


@pytest.mark.parametrize("model", ["iris", "typhoon_h", "crazyflie"])
@pytest.mark.parametrize("bend", [0.0, 0.4])
def test_shares_of_px4(model, bend):
    """A commanded thrust would be another one in flight."""
    backend = Bound(bend)
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor(model, backends=[backend]))
        for factor in (0.6, 1.0, 1.3):
            wanted = factor * backend._output.weight
            (share,) = backend._thrust_shares(wanted, np.ones(1))
            assert thrust_of(vehicle, backend, motor_of_px4(share, bend)) == pytest.approx(
                wanted[0], rel=1e-6
            )


def test_rotors_that_turn_both_ways():
    """The omnicopter, half of whose rotors push down unless they are reversed, would have no thrust."""
    backend = Bound(0.0)
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("omnicopter", backends=[backend]))
        wanted = backend._output.weight
        (share,) = backend._thrust_shares(wanted, np.ones(1))
        speed = share * 1800.0 * np.sign(vehicle.layout.axis[:, 2])
        assert static_thrust(vehicle, speed[None]) == pytest.approx(wanted[0], rel=1e-6)
        assert backend._output.most[0] > 3.0 * wanted[0]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    ("options", "inherited", "bend"),
    [
        ({}, None, 0.0),
        ({}, "0.2", 0.2),
        ({"parameters": {"THR_MDL_FAC": 0.3}}, "0.2", 0.3),
        ({"environment": {"PX4_PARAM_THR_MDL_FAC": 0.4}}, None, 0.4),
    ],
)
def test_bend_of_px4(options, inherited, bend, tree, tmp_path, monkeypatch):
    """An airframe's script, or a value kept from another run, would bend the thrust without our knowledge."""
    if inherited is not None:
        monkeypatch.setenv("PX4_PARAM_THR_MDL_FAC", inherited)
    tree.say("")
    backend = GuidedPX4(tree.folder, **options)
    backend.run_folder = tmp_path / "run"
    seen = started_with(backend)
    assert float(seen["PX4_PARAM_THR_MDL_FAC"]) == backend._bend == bend
    assert seen["PX4_PARAM_MC_BAT_SCALE_EN"] == "0"


def test_a_bend_that_is_not_a_number(tree):
    """The thrust would be wrong, or the reason unclear."""
    backend = GuidedPX4(tree.folder, environment={"PX4_PARAM_THR_MDL_FAC": "much"})
    with (
        Simulation() as sim,
        pytest.raises(ConfigError, match=r"PX4_PARAM_THR_MDL_FAC = 'much': must be a number"),
    ):
        sim.add(Multirotor("iris", backends=[backend]))


@pytest.mark.parametrize(("least", "most", "bend"), [(0.15, 0.95, 0.65), (0.05, 1.0, 0.0)])
@pytest.mark.parametrize("tilt", [0.0, 0.5])
def test_shares_of_ardupilot(least, most, bend, tilt):
    """A commanded thrust would be another one in flight."""
    backend = BoundArduPilot(least=least, most=most, bend=bend)
    with Simulation("flat", rate=1000) as sim:
        vehicle = sim.add(Multirotor("iris", backends=[backend]))
        (density,) = vehicle.environment.air_density(vehicle.state.position)
        for factor in (0.6, 1.0, 1.3):
            wanted = factor * backend._output.weight
            (share,) = backend._thrust_shares(wanted, np.array([math.cos(tilt)]))
            output = motor_of_ardupilot(share, tilt, least, most, bend, density)
            assert thrust_of(vehicle, backend, output) == pytest.approx(wanted[0], rel=1e-6)


def test_a_thrust_that_would_be_a_climb_rate():
    """An ArduPilot with other parameters would climb at a speed that nobody asked for."""
    backend = GuidedArduPilot(launch=False)
    with Simulation("flat", rate=1000) as sim:
        sim.add(Multirotor("iris", backends=[backend]))
        backend.guided.turn = backend.guided.require_air = lambda *_, **__: None
        with pytest.raises(
            ConfigError,
            match=r"GuidedArduPilot.launch = False: takes the thrust of attitudes .*; let Pegasus launch it",
        ):
            backend.body_rates([0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in NEEDED], ids=list(NEEDED)
)
def test_attitudes_of_the_real_ones(name, tmp_path):
    """PX4 or ArduPilot would turn elsewhere, or lift less or more than asked for."""
    if NEEDED[name] not in os.environ:
        pytest.skip(f"needs {name}: set {NEEDED[name]} to a built one")
    kind, rate = (GuidedPX4, 250.0) if name == "px4" else (GuidedArduPilot, 800.0)
    backend = kind()
    backend.run_folder = tmp_path
    with Simulation("flat", rate=rate) as sim:
        iris = sim.add(Multirotor("iris", backends=[backend]))
        weight = iris.mass * 9.81
        backend.takeoff(height=15.0).wait(sim, timeout=120.0)
        for factor in (1.0, 1.2, 0.85):
            backend.attitude(thrust=factor * weight)
            # A climb takes thrust from the measured propellers, of which neither autopilot knows.
            sim.run(1.1)
            lift = static_thrust(iris, iris.state.rotor_speed)
            assert lift == pytest.approx(factor * weight, abs=0.15 * iris.mass)
        backend.attitude(roll=0.2, pitch=-0.1, thrust=weight)
        sim.run(1.5)
        rotation = iris.state.rotation[0]
        assert math.atan2(rotation[2, 1], rotation[2, 2]) == pytest.approx(0.2, abs=0.04)
        assert -math.asin(rotation[2, 0]) == pytest.approx(-0.1, abs=0.04)
        backend.hold().wait(sim)
        backend.body_rates([0.0, 0.3, 0.5])
        # ArduPilot's yaw rate swings for two seconds.
        sim.run(2.5)
        np.testing.assert_allclose(iris.state.angular_velocity[0], [0.0, 0.3, 0.5], atol=0.04)
        backend.hold().wait(sim)
        backend.land().wait(sim)
