"""Snapshots: a restored run goes on with the same bits, in the same and in a fresh simulation."""

import dataclasses
from pathlib import Path

import pytest

import pegasus
from pegasus import Multirotor, Simulation
from pegasus.backends.scenario import scenario_simulation
from pegasus.config.files import load_scenario
from pegasus.control import CascadedPIDController, GeometricController, GuidedController, trajectories
from pegasus.dynamics import GroundEffect
from pegasus.estimation import EKF
from pegasus.faults import (
    BatteryCold,
    BatteryEmpty,
    BirdStrike,
    BladeLoss,
    CellFailure,
    CommandDelay,
    GpsJamming,
    GpsJump,
    GpsLoss,
    GpsSpoofing,
    MotorLoss,
    MotorSeized,
    MotorStuck,
    PayloadLoss,
    PayloadShift,
    PropellerImbalance,
    SensorBias,
    SensorDelay,
    SensorDrift,
    SensorDropouts,
    SensorNoise,
    SensorOff,
    SensorScale,
    SensorSpikes,
    SensorStuck,
    SensorWrongAxis,
    ThrustLoss,
    VoltageDrop,
    WindShock,
)
from pegasus.sensors import UWB, Airspeed, Odometry, OpticalFlow, Rangefinder
from tests.snapshot_rig import require_same_bits

SCENARIOS = sorted((Path(pegasus.__file__).parent.parent / "config" / "scenarios").glob("*.yaml"))
PROGRAMS = "model: px4", "model: ardupilot", "model: ros2"
WITHOUT_AUTOPILOT = [file for file in SCENARIOS if not any(name in file.read_text() for name in PROGRAMS)]


@pytest.mark.parametrize("file", WITHOUT_AUTOPILOT, ids=lambda file: file.stem)
def test_shipped_scenario_goes_on_with_the_same_bits(file):
    """A snapshot misses something that a shipped scenario uses."""
    spec, path = load_scenario(file)
    require_same_bits(lambda: scenario_simulation(spec, path), round(1.4 * spec.rate), round(0.6 * spec.rate))


def every_sensor():
    return {
        "pitot": Airspeed(),
        "range": Rangefinder(ray_count=3, cone_angle=0.2),
        "flow": OpticalFlow(),
        "odometry": Odometry(),
        "uwb": UWB(anchors=[(5.0, 0.0, 2.0), (-5.0, 3.0, 2.0), (0.0, -5.0, 1.0), (0.0, 0.0, 5.0)]),
    }


def estimating():
    """Return two kinds of vehicles with all sensors, filters and turbulence."""
    sim = Simulation("courtyard", seed=5, wind={"model": "von_karman", "mean_velocity": [4.0, 1.0, 0.0]})
    path = trajectories.lemniscate(radius=2.0, height=1.5)
    sim.add(
        Multirotor(
            "pegasus",
            count=2,
            position=[(0.0, 0.0, 0.1), (5.0, 5.0, 0.1)],
            backends=[GeometricController(path, spin_up=0.6)],
            extra_sensors=every_sensor(),
            estimator=EKF(wind=True),
            ground_effect=GroundEffect(),
        )
    )
    sim.add(
        Multirotor(
            "iris",
            position=(-4.0, 2.0, 0.1),
            backends=[CascadedPIDController(path, spin_up=0.2)],
            estimator=EKF(flown=False),
        )
    )
    return sim


def failing():
    """Return a vehicle with faults that wait, act, sample and end, one with another mass, and one in air."""
    sim = Simulation("flat", seed=9, wind={"mean_velocity": [2.0, 0.0, 0.0], "model": "constant"})
    hover = trajectories.hold(height=2.0)
    iris = sim.add(
        Multirotor(
            "iris",
            count=2,
            position=[(0, 0, 2), (4, 0, 2)],
            backends=[GeometricController(hover, spin_up=0.0)],
        )
    )
    for fault in (
        SensorDelay("gps", delay=0.1, start=0.1),
        SensorDropouts("barometer", probability=0.4),
        SensorNoise("imu", field="angular_velocity", sigma=0.02, start=0.2, duration=0.35),
        SensorBias("imu", field="specific_force", bias=(0.1, 0.0, 0.0), ramp=1.0),
        GpsSpoofing("gps", velocity=(1.0, 0.0, 0.0), start=0.3),
        WindShock(velocity=(0.0, 3.0, 0.0), start=0.3, duration=0.4),
        CommandDelay(delay=0.02, start=0.25),
        MotorStuck(start=0.6, duration=0.05),
        SensorStuck("magnetometer", start=0.2),
        CellFailure(start=0.3),
        MotorLoss(1, start=0.7),
    ):
        iris.inject(fault, copies=None if fault.start is None else [1])
    other = sim.add(
        Multirotor(
            "iris", name="other", position=(8, 0, 2), backends=[GeometricController(hover, spin_up=0.0)]
        )
    )
    other.inject(PayloadLoss(mass=0.2, position=(0.0, 0.0, -0.05), start=0.2))
    other.inject(BladeLoss(0, start=0.55))
    other.inject(BirdStrike(impulse=(0.1, 0.0, 0.1), start=0.65))
    return sim


def ailing():
    """Return a vehicle with the other faults, which begin one after another."""
    sim = Simulation("flat", seed=9)
    hover = GeometricController(trajectories.hold(height=20.0), spin_up=0.0)
    iris = sim.add(Multirotor("iris", count=2, position=[(0, 0, 20), (4, 0, 20)], backends=[hover]))
    for k, fault in enumerate((
        PropellerImbalance(1),
        SensorDrift("imu", field="specific_force", rate=0.1),
        SensorScale("imu", field="angular_velocity", factor=1.1),
        SensorSpikes("barometer", field="pressure", size=100.0, probability=0.3),
        SensorWrongAxis("magnetometer", field="magnetic_field", axes=("y", "-x", "z")),
        GpsJump(offset=(3.0, 0.0, 0.0)),
        GpsJamming(strength=0.5),
        BatteryCold(),
        VoltageDrop(share=0.95),
        PayloadShift(mass=0.1, shift=(0.03, 0.0, 0.0)),
        ThrustLoss(0, share=0.9),
        SensorOff("magnetometer"),
        MotorSeized(2),
        GpsLoss(),
        BatteryEmpty(),
    )):  # fmt: skip
        iris.inject(dataclasses.replace(fault, start=0.3 + 0.04 * k), copies=[k % 2])
    return sim


def tumbling():
    """Return vehicles that fall on the ground and on each other, and one that is at rest."""
    sim = Simulation("courtyard", seed=2)
    sim.add(Multirotor("iris", count=3, position=[(0, 0, 0.6), (0.1, 0, 1.2), (0.05, 0.1, 1.8)]))
    sim.add(Multirotor("crazyflie", position=(3.0, 3.0, 0.05)))
    for k, vehicle in enumerate(sim.vehicles):
        vehicle.place(None, velocity=(0.5, 0.2 * k, -1.0), angular_velocity=(3.0, 1.0, 2.0 * k))
    return sim


def guided():
    sim = Simulation("courtyard", seed=2, wind={"model": "thermals"})
    pilot = GuidedController(height=1.0, spin_up=0.1)
    sim.add(Multirotor("iris", count=2, position=[(0, 0, 0.1), (4, 0, 0.1)], backends=[pilot]))
    sim.play()
    pilot.takeoff(copies=[1])
    return sim


@pytest.mark.parametrize(
    ("make", "before", "after"),
    [
        (estimating, 300, 150),
        (failing, 125, 125),
        (ailing, 150, 150),
        (tumbling, 110, 120),
        (guided, 80, 100),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_parts_go_on_with_the_same_bits(make, before, after):
    """A sensor, filter, fault, wind, contact or mission has a state that a snapshot misses."""
    require_same_bits(make, before, after)
