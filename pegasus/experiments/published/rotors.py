"""RotorS (Furrer et al. 2016): the Firefly of its model files, and the noise of its IMU."""

import math
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.core.aircraft import Aircraft
from pegasus.core.model_wrench import MotionSamples, model_wrench
from pegasus.core.plant import Plant
from pegasus.core.simulation import Simulation
from pegasus.experiments.published.comparison import Entry, Panel, PublishedComparison
from pegasus.sensors import IMU, Accelerometer, Gyroscope, ImuReading

_MASS, _GRAVITY, _RADIUS, _DENSITY = 1.53, 9.81, 0.1, 1.225
_THRUST_CONSTANT, _MOMENT_CONSTANT = 8.54858e-6, 0.016
_UP, _DOWN = 0.0125, 0.025
_ROTOR_DRAG = 8.06428e-5
"""Force across the axis by rotor speed and in-plane velocity [N s^2/(m rad)]."""
_GYROSCOPE, _ACCELEROMETER = 2.0 * 35.0 / 3600 * math.pi / 180, 2.0 * 2.0e-3
"""Noise densities of its IMU, an ADIS16448 [rad/s/sqrt(Hz)], [m/s^2/sqrt(Hz)]."""
_RATE, _COPIES, _SECONDS = 250.0, 100, 4.0
_STEP = 0.0005
_SPEEDS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])


def compare_rotors() -> PublishedComparison:
    """Return hover, lag, rotor drag and noise of the IMU, beside those of RotorS."""
    vehicle = Aircraft(firefly(), count=len(_SPEEDS))
    published_hover = math.sqrt(_MASS * _GRAVITY / (6 * _THRUST_CONSTANT))
    weight, density = np.full((1, 1), _MASS * _GRAVITY / 6), np.full((1, 1), _DENSITY)
    hover = float(vehicle.thrust_curve.rotor_speed(weight, density)[0, 0])
    torque = vehicle.thrust_curve.thrust(np.full((1, 1), hover), np.zeros((1, 1)), density)[1]
    across = 6 * _ROTOR_DRAG * published_hover * _SPEEDS
    drag = _rotor_drag(vehicle, hover)
    (up, down), courses = _lag()
    gyroscope, accelerometer = _noise()
    entries = [
        Entry("rotor speed in hover", "rad/s", published_hover, hover),
        Entry(
            "torque of a rotor in hover", "N m", _MOMENT_CONSTANT * _MASS * _GRAVITY / 6, float(torque[0, 0])
        ),
        Entry("time constant of a motor, faster", "s", _UP, up),
        Entry("time constant of a motor, slower", "s", _DOWN, down),
        *(
            Entry(f"rotor drag in hover at {speed:g} m/s", "N", float(theirs), float(ours))
            for speed, theirs, ours in zip(_SPEEDS.tolist(), across, drag, strict=True)
        ),
        Entry("noise density of the gyroscope", "rad/s/sqrt(Hz)", _GYROSCOPE, gyroscope),
        Entry("noise density of the accelerometer", "m/s^2/sqrt(Hz)", _ACCELEROMETER, accelerometer),
    ]
    panels = [
        Panel(
            "Rotor drag of the Firefly in hover",
            "speed [m/s]",
            "force [N]",
            [("w lambda v", _SPEEDS, across)],
            [("thrust curve rotor", _SPEEDS, drag)],
        ),
        Panel(
            "Motor, steps between 400 and 600 rad/s",
            "time [s]",
            "rotor speed [rad/s]",
            _exponentials(),
            courses,
        ),
    ]
    return PublishedComparison("RotorS (Furrer et al. 2016), the Firefly of its model files", entries, panels)


def firefly() -> dict[str, Any]:
    """Return the Firefly as a vehicle file.

    Its rotor drag w lambda v is given as that of flapping, (a + d) k w v / R. The yaw inertia of the model
    file, 0.0977 kg m^2, is more than that of any body with the other two; their sum stands in its place.
    """
    coefficient = _THRUST_CONSTANT * (2 * math.pi) ** 2 / (_DENSITY * (2 * _RADIUS) ** 4)
    power = 2 * math.pi * _MOMENT_CONSTANT / (2 * _RADIUS) * coefficient
    corners = [(math.radians(30 + 60 * k), "cw" if k % 2 else "ccw") for k in range(6)]
    return {
        "name": "firefly",
        "mass": _MASS,
        "inertia": [0.0347563, 0.0458929, 0.0806492],
        "propeller": {"diameter": 2 * _RADIUS},
        "rotors": [
            {"position": [0.215 * math.cos(angle), 0.215 * math.sin(angle), 0.037], "direction": direction}
            for angle, direction in corners
        ],
        "motor": {
            "model": "first_order",
            "time_constant_up": _UP,
            "time_constant_down": _DOWN,
            "max_speed": 838.0,
        },
        # Its thrust does not depend on the inflow: a flat table over the advance ratios that occur here.
        "thrust_curve": {
            "model": "rotor",
            "diameter": 2 * _RADIUS,
            "advance_ratio": [0.0, 0.3],
            "thrust_coefficient": [coefficient, coefficient],
            "power_coefficient": [power, power],
            "induced_drag": _ROTOR_DRAG * _RADIUS / _THRUST_CONSTANT,
        },
        "sensors": {},
    }


def _rotor_drag(vehicle: Aircraft, hover: float) -> Array:
    """Return the force against a level velocity at `_SPEEDS` [N], shape (5,)."""
    count = len(_SPEEDS)
    samples = MotionSamples(
        position=np.zeros((count, 3)),
        orientation=np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
        velocity=np.column_stack([_SPEEDS, np.zeros((count, 2))]),
        angular_velocity=np.zeros((count, 3)),
        rotor_speed=np.full((count, 6), hover),
        rotor_acceleration=np.zeros((count, 6)),
    )
    force, _ = model_wrench(vehicle, samples, air_density=_DENSITY)
    against: Array = -force[:, 0]
    return against


def _lag() -> tuple[list[float], list[tuple[str, Array, Array]]]:
    """Return the time to 63 % of a step up and down [s], and the courses of both."""
    plant = Plant()
    plant.arrange([Aircraft(firefly() | {"mass": 1e6, "inertia": [1e3, 1e3, 1e3]})])
    columns = plant.columns
    columns["air_density"][...] = _DENSITY
    columns["highest_speed"][...] = 838.0
    constants: list[float] = []
    courses: list[tuple[str, Array, Array]] = []
    for name, first, last in (("faster", 400.0, 600.0), ("slower", 600.0, 400.0)):
        columns["rotor_speed"][...] = first
        columns["command"][...] = last
        speeds = [first]
        for _ in range(300):
            plant.advance(_STEP)
            speeds.append(float(columns["rotor_speed"][0, 0]))
        times = np.arange(len(speeds), dtype=np.float64) * _STEP
        share = (np.array(speeds) - first) / (last - first)
        constants.append(float(np.interp(1 - math.exp(-1), share, times)))
        courses.append((name, times, np.array(speeds, dtype=np.float64)))
    return constants, courses


def _exponentials() -> list[tuple[str, Array, Array]]:
    times = np.linspace(0.0, 0.15, 16)
    return [
        ("faster", times, 600 - 200 * np.exp(-times / _UP)),
        ("slower", times, 400 + 200 * np.exp(-times / _DOWN)),
    ]


def _noise() -> tuple[float, float]:
    """Return the noise densities of an IMU with those of RotorS, from the differences of readings at rest."""
    gyroscope, accelerometer = (
        Gyroscope(noise_density=_GYROSCOPE),
        Accelerometer(noise_density=_ACCELEROMETER),
    )
    imu = IMU(rate_hz=_RATE, gyroscope=gyroscope, accelerometer=accelerometer)
    rates, forces = [], []
    with Simulation("flat", rate=_RATE, seed=1) as sim:
        drone = sim.add(Aircraft("iris", count=_COPIES, sensors={"imu": imu}))
        sim.run(2.0)
        for _ in range(round(_SECONDS * _RATE)):
            sim.step()
            reading = drone.reading(ImuReading)
            rates.append(reading.angular_velocity.copy())
            forces.append(reading.specific_force.copy())
    # The difference of two readings has twice the variance of the white noise, and none of a constant bias.
    densities = [math.sqrt(float((np.diff(r, axis=0) ** 2).mean()) / 2 / _RATE) for r in (rates, forces)]
    return densities[0], densities[1]
