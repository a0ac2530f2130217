"""Tests of designed vehicles: figures against known drones, and flights."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends.ardupilot.motor_frames import fit_frame
from pegasus.backends.mavlink.airframe import output_map
from pegasus.base.components import build
from pegasus.config.scenario import inertia_tensor
from pegasus.control import GeometricController, trajectories
from pegasus.design.vehicle_recipe import Recipe, design_vehicle
from pegasus.dynamics import THRUST_CURVES, ThrustCurve
from pegasus.environment import Environment
from pegasus.recording import TrackingAudit

HERE = Path()
IRIS = {
    "name": "like_iris",
    "mass": 1.5,
    "size": 0.51,
    "propeller": "10x4.7SF",
    "kv": 920.0,
    "cell_count": 3,
    "capacity": 5.1,
}
RACER = {
    "name": "like_racer",
    "mass": 0.75,
    "size": 0.25,
    "propeller": "5x4.3x3",
    "kv": 2400.0,
    "cell_count": 4,
    "capacity": 1.5,
    "motor_mass": 0.034,
}
LIFTER = {
    "name": "lifter",
    "mass": 14.0,
    "size": 1.3,
    "rotor_count": 8,
    "propeller": "18x6",
    "kv": 320.0,
    "cell_count": 6,
    "capacity": 22.0,
}
COAXIAL = {
    "name": "coaxial",
    "mass": 5.0,
    "size": 0.6,
    "rotor_count": 8,
    "layout": "coaxial",
    "propeller": "12x5",
    "kv": 600.0,
    "cell_count": 6,
    "capacity": 10.0,
}
RING = IRIS | {"name": "ring", "mass": 2.0, "size": 0.6, "rotor_count": 5, "layout": "ring"}
PLUS = IRIS | {"name": "plus", "mass": 2.0, "size": 0.6, "rotor_count": 6, "layout": "plus"}


def made(**changes):
    return design_vehicle(Recipe(**(IRIS | changes)), folder=HERE)


def vehicle(text, **changes):
    return Multirotor(yaml.safe_load(text), **changes)


@pytest.mark.parametrize("recipe", [IRIS, RACER, LIFTER, COAXIAL, RING, PLUS], ids=lambda r: r["name"])
def test_it_hovers_at_the_stated_speed(recipe):
    """The file would say another hover speed than holds it, or sink at full throttle."""
    result = design_vehicle(Recipe(**recipe), folder=HERE)
    hold = GeometricController(trajectories.hold(height=5.0), spin_up=0.0)
    with Simulation("flat") as sim:
        flyer = sim.add(vehicle(result.text, position=(0, 0, 5.0), backends=[hold], sensors={}))
        sim.run(8.0)
        assert abs(flyer.state.position[0, 2] - 5.0) < 0.01
        mean = np.sqrt((flyer.state.rotor_speed**2).mean())
        # The design's air is that of the sea level.
        thinner = sim.environment.air_density(flyer.state.position)[0] / 1.225
        assert mean == pytest.approx(result.design.hover_speed / np.sqrt(thinner), rel=1e-3)
        design, battery = result.design, flyer.battery
        # Five rotors do not share alike, and the power goes with the cube of the speed.
        uneven = thinner * (flyer.state.rotor_speed**3).mean() / design.hover_speed**3
        power = uneven * design.hover_current * design.battery.voltage
        assert battery.voltage[0] * battery.current[0] == pytest.approx(power, rel=5e-3)
    assert flyer.spec.motor["max_speed"] > result.design.hover_speed


@pytest.mark.parametrize("recipe", [RACER, COAXIAL], ids=lambda r: r["name"])
def test_it_tracks_the_square(recipe):
    """A designed vehicle would hover, and fall when it is to turn a corner."""
    square = trajectories.square(side=3.0, height=2.0, speed=2.5, yaw="forward")
    controller, audit = GeometricController(square), TrackingAudit()
    with Simulation("flat", observers=[audit]) as sim:
        flyer = sim.add(
            vehicle(design_vehicle(Recipe(**recipe), folder=HERE).text, backends=[controller], sensors={})
        )
        sim.run(controller.mission.duration)
    assert audit.errors()[flyer.name].segments["square"].maximum < 0.05


def test_racer_against_measurements():
    """Thrust constant, rotor inertia, lag and largest speed of Agilicious' racer, which were measured."""
    known, design = Multirotor("racer"), design_vehicle(Recipe(**RACER), folder=HERE).design
    assert design.propeller.thrust_constant == pytest.approx(1.562522e-6, rel=0.2)
    assert design.rotor_inertia == pytest.approx(known.spec.propeller.inertia, rel=0.5)
    assert design.time_constant == pytest.approx(known.motor.time_constant_up, rel=0.3)
    assert design.max_speed == pytest.approx(known.motor.max_speed, rel=0.15)
    ratio = design.inertia.diagonal() / known.inertia.diagonal()
    assert ((ratio > 0.5) & (ratio < 1.5)).all()


def test_iris_against_its_measured_propeller():
    """Thrust and torque of UIUC's measurements; the body of PX4's model is twice as inert as such parts."""
    known, design = Multirotor("iris"), made().design
    squared = 483.2**2
    thrust, torque = known.thrust_curve.thrust(np.array([[483.2]]), np.zeros((1, 1)), np.full((1, 1), 1.225))
    assert design.hover_speed == pytest.approx(483.2, rel=0.03)
    assert design.propeller.thrust_constant == pytest.approx(thrust[0, 0] / squared, rel=0.05)
    assert design.propeller.moment_ratio == pytest.approx(torque[0, 0] / thrust[0, 0], rel=0.02)
    assert design.max_speed == pytest.approx(known.motor.max_speed, rel=0.2)
    ratio = design.inertia.diagonal() / known.inertia.diagonal()
    assert ((ratio > 0.4) & (ratio < 0.6)).all()


def test_the_file_says_what_the_design_is():
    """The file would lose digits, or contain a figure under a wrong name."""
    for recipe in (IRIS, RING, COAXIAL):
        result = design_vehicle(Recipe(**recipe), folder=HERE)
        design, spec = result.design, vehicle(result.text).spec
        np.testing.assert_allclose(inertia_tensor(spec.inertia), design.inertia, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(spec.center_of_mass, design.center_of_mass, atol=1e-6)
        curve, speed = (
            build(ThrustCurve, THRUST_CURVES, spec.thrust_curve, field="thrust_curve"),
            design.hover_speed,
        )
        thrust, torque = curve.thrust(np.full((1, 1), speed), np.zeros((1, 1)), np.full((1, 1), 1.225))
        assert thrust[0, 0] == pytest.approx(design.propeller.thrust_constant * speed**2, 1e-3)
        assert torque[0, 0] == pytest.approx(design.propeller.torque_constant * speed**2, 1e-3)
        assert spec.motor["max_speed"] == pytest.approx(design.max_speed, 1e-4)
        assert spec.battery["resistance"] == pytest.approx(design.battery.resistance, 2e-3)
        # What is left at full throttle balances the back-EMF and the winding.
        torque = design.propeller.torque_constant * design.max_speed**2
        current = design.motor.current(torque, design.battery.voltage)
        left = design.motor.torque_constant * design.max_speed + design.motor.resistance * current
        assert spec.battery["rated_voltage"] == pytest.approx(left, 1e-3)
        assert spec.propeller.inertia == pytest.approx(design.rotor_inertia, 1e-3)
        assert sum(part.mass for part in design.parts) == pytest.approx(spec.mass)


def test_four_rotors_are_in_the_order_of_px4():
    """An autopilot would drive the wrong motors."""
    layout, iris = vehicle(made().text).layout, Multirotor("iris").layout
    np.testing.assert_array_equal(layout.spin, iris.spin)
    np.testing.assert_array_equal(np.sign(layout.position[:, :2]), np.sign(iris.position[:, :2]))
    np.testing.assert_allclose(np.linalg.norm(layout.position[0] - layout.position[1]), 0.51, atol=2e-4)


@pytest.mark.parametrize(
    ("layout", "counts"), [("x", (4, 6, 8, 10)), ("plus", (4, 6, 8, 10)), ("coaxial", (6, 8, 12))]
)
def test_ardupilot_has_a_frame_for_it(layout, counts):
    """ArduPilot, which has most frames in one of two mirror images only, would refuse a designed vehicle."""
    for count in counts:
        flown = vehicle(made(rotor_count=count, layout=layout, size=1.6, mass=4.0).text)
        flown.environment = Environment()
        rotors = output_map(flown.spec.ardupilot, flown.channels, output_count=16, field="ardupilot")
        assert sorted(fit_frame(flown, rotors, {}).channels) == list(range(count))


def test_measured_figures_take_precedence():
    """An estimate would replace a measured figure."""
    design = made(
        motor_mass=0.07,
        motor_resistance=0.2,
        no_load_current=0.7,
        battery_mass=0.3,
        arm_mass=0.02,
        thrust_coefficient=0.11,
        power_coefficient=0.05,
    ).design
    assert (design.motor.mass, design.motor.resistance, design.battery.mass) == (0.07, 0.2, 0.3)
    assert (design.arm_mass, design.motor.no_load_current(11.1)) == (0.02, 0.7)
    assert (design.propeller.thrust_coefficient, design.propeller.power_coefficient) == (0.11, 0.05)
    assert {part.name: part.mass for part in design.parts}["battery"] == 0.3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"mass": 15.0},
            "--mass = 15.0: cannot hover: thrust 41.9 N against weight 147.1 N, 105.2 N are missing; "
            "reduce it below 4.28 kg",
        ),
        ({"mass": 0.6}, "--mass = 0.6: is less than the parts, which weigh 0.83 kg"),
        ({"mass": -1.0}, "--mass = -1.0: must be from 0.005 to 500 kg"),
        ({"size": 0.3}, "--size = 0.3: neighbouring propellers overlap by 0.0419 m"),
        ({"size": 51.0}, "--size = 51.0: must be from 0.03 to 10 m"),
        ({"rotor_count": 5}, "--rotors = 5: must be even and at least 4 in the layout x; or use ring"),
        ({"rotor_count": 3, "layout": "ring"}, "--rotors = 3: must be at least 4"),
        ({"rotor_count": 7, "layout": "coaxial"}, "--rotors = 7: must be even and at least 6"),
        ({"layout": "star"}, "--layout = 'star': must be one of x, plus, coaxial, ring"),
        ({"propeller": "10"}, "--propeller = '10': must be diameter x pitch in inches"),
        ({"kv": 0.0}, "--kv = 0.0: must be from 10 to 50000 rpm/V"),
        ({"cell_count": 0}, "--cells = 0: must be from 1 to 24"),
        ({"battery_mass": 0.0}, "--battery-mass = 0.0: must be above 0 kg"),
        ({"no_load_current": -1.0}, "--no-load-current = -1.0: must be above 0"),
        ({"inertia": (0.02, 0.02)}, "--inertia = (0.02, 0.02): must hold 3 or 6 numbers"),
        ({"inertia": (0.01, 0.01, 0.05)}, "violates the triangle inequality"),
        ({"arm_mass": -0.1}, "--arm-mass = -0.1: must not be negative"),
        ({"thrust_coefficient": 3.0}, "--thrust-coefficient = 3.0: must be from 0 to 1"),
    ],
)
def test_what_cannot_fly_is_refused(change, message):
    """A vehicle that cannot fly would be written to a file."""
    with pytest.raises(ConfigError) as caught:
        made(**change)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_size_of_the_remedy_is_enough():
    """The size that the error suggests would be rejected too."""
    with pytest.raises(ConfigError, match=r"use at least 0\.36 m"):
        made(size=0.3)
    made(size=0.36)
    with pytest.raises(ConfigError, match=r"below 4\.28 kg"):
        made(mass=4.29)
    made(mass=4.27)


def test_a_measured_inertia_takes_the_place_of_the_estimate():
    """A measured inertia could only be written into the file by hand."""
    for given in ((0.021, 0.022, 0.04), (0.021, 0.022, 0.04, 0.001, 0.0, -0.002)):
        text = made(inertia=given).text
        assert yaml.safe_load(text)["inertia"] == pytest.approx(given)
        assert "# Inertia: measured." in text
        assert "sum of each part" not in text
