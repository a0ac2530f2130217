"""AirSim (Shah et al. 2017): square and circle, variances of the IMU, and a rotor."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.config.scenario import WorldSpec
from pegasus.control import GeometricController, trajectories
from pegasus.control.trajectories import Trajectory
from pegasus.control.trajectories.shapes import Circle, Square
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.dynamics import PropellerThrust
from pegasus.estimation import EKF
from pegasus.experiments.published.comparison import Entry, Panel, PublishedComparison
from pegasus.recording import Track
from pegasus.recording.comparison import distances_to_path
from pegasus.sensors import (
    GPS,
    IMU,
    Accelerometer,
    Barometer,
    Gyroscope,
    ImuReading,
    Magnetometer,
    Vibration,
)

_ARM, _BOX, _ROTOR_HEIGHT = 0.225 * math.sqrt(0.5), (0.16, 0.10, 0.14), 0.15
_DIAMETER, _PROPELLER_HEIGHT = 0.2286, 0.01
_MASS, _MOTOR_MASS = 1.635, 0.052
_WIND = (3.0, 0.0, 0.0)
_HEIGHT, _SPEED, _SIDE, _RADIUS = 3.0, 2.0, 5.0, 10.0
_REST_RATE = 32.0
"""Rate at which AirSim's two noise densities give both of its published variances at rest [Hz]."""
_PATIENCE = 60.0
"""Longest time that a flight may take to begin its shape [s]."""
_THINNED = 10
"""Steps between two points of a path."""
_PHYSICS_RATE, _COPIES, _MANY = 256.0, 15, 300
_SETTLED, _SAMPLED = 6.0, 5.0
"""Time before the readings are sampled, and that over which they are [s]."""
_FLIGHT_VARIANCE = 9.46
"""Variance of a real accelerometer in flight [m^2/s^4]."""


def compare_airsim() -> PublishedComparison:
    """Return distances of flown paths, variances of the IMU, and a rotor, beside the published."""
    square = trajectories.square(side=_SIDE, height=_HEIGHT, speed=_SPEED, yaw=0.0)
    circle = trajectories.circle(radius=_RADIUS, height=_HEIGHT, speed=_SPEED, yaw=0.0)
    entries, panels = [], []
    flown_here: tuple[tuple[Square | Circle, float], ...] = ((square, 0.65), (circle, 1.47))
    for shape, published in flown_here:
        commanded = Track("commanded", *_sampled(shape))
        calm, windy = _flown(shape, {"model": "none"}), _flown(shape, _gusty())
        estimated, wandered, true = _on_estimates(shape)
        away = "published: real flight to simulation; ours: {}"
        entries += [
            Entry(f"{shape.name}, Hausdorff distance", "m", published, distance, away.format(name))
            for name, distance in (
                ("turbulent wind to calm air", _hausdorff(calm.position, windy.position)),
                ("estimated path of a flight by GPS to commanded path", estimated),
                ("true path of that flight to commanded path", wandered),
            )
        ]
        followed = f"{shape.name}, Hausdorff distance to commanded path"
        entries += [
            Entry(followed, "m", None, _hausdorff(commanded.position, flown.position), flown.name)
            for flown in (calm, windy)
        ]
        tracks = (("commanded", commanded.position), (windy.name, windy.position), ("by GPS and EKF", true))
        paths = [(name, path[:, 0], path[:, 1]) for name, path in tracks]
        title = f"{shape.name} at {_SPEED:g} m/s"
        panels.append(Panel(title, "x [m]", "y [m]", [], paths, equal_axes=True))
    entries += [*_imu_entries(), *_rotor_entries()]
    return PublishedComparison("AirSim (Shah et al. 2017)", entries, panels)


def flamewheel() -> dict[str, Any]:
    """Return the Flamewheel of AirSim's sources as a vehicle file.

    Its inertia is that of a box with motors as points, its drag that of the faces of the box, to which the
    areas of the propellers are added.
    """
    x, y, z = _BOX
    box = (_MASS - 4 * _MOTOR_MASS) / 12
    motors = 4 * _MOTOR_MASS
    across = _ARM**2 + _ROTOR_HEIGHT**2
    inertia = [
        box * (y * y + z * z) + motors * across,
        box * (x * x + z * z) + motors * across,
        box * (x * x + y * y) + motors * 2 * _ARM**2,
    ]
    side, disc = math.pi * _DIAMETER * _PROPELLER_HEIGHT, math.pi * (_DIAMETER / 2) ** 2
    faces = ((y * z, side), (x * z, side), (x * y, disc))
    coefficients = [1.3 * (face + 4 * rotor) / face for face, rotor in faces]
    places = ((1, -1, "ccw"), (-1, 1, "ccw"), (1, 1, "cw"), (-1, -1, "cw"))
    return {
        "name": "flamewheel",
        "mass": _MASS,
        "inertia": inertia,
        "propeller": {"diameter": _DIAMETER},
        "rotors": [
            {"position": [a * _ARM, b * _ARM, _ROTOR_HEIGHT], "direction": sense} for a, b, sense in places
        ],
        "motor": {
            "model": "first_order",
            "time_constant_up": 0.005,
            "time_constant_down": 0.005,
            "max_speed": 9500 * math.pi / 30,
        },
        "thrust_curve": {
            "model": "propeller",
            "diameter": _DIAMETER,
            "thrust_coefficient": 0.11,
            "power_coefficient": 0.047,
        },
        "drag": {"model": "box", "size": list(_BOX), "drag_coefficients": coefficients},
        "sensors": {},
    }


def _gusty() -> dict[str, Any]:
    return {"model": "dryden", "mean_velocity": list(_WIND)}


def _sampled(shape: Trajectory) -> tuple[Array, Array]:
    """Return times [s] and positions [m] of a trajectory, every 40 ms."""
    times = np.arange(0.0, shape.duration, 0.04)
    return times, np.array([shape.sample(float(t)).position for t in times])


def _flown(shape: Trajectory, wind: dict[str, Any]) -> Track:
    """Return the path of the Flamewheel along a shape, after the take-off below its first point."""
    start = shape.sample(0.0).position
    world = WorldSpec(name="flat", generator={"model": "flat"}, wind=wind)
    ground = start[0], start[1], 0.1
    path = trajectories.sequence(trajectories.takeoff(height=_HEIGHT, start=ground), shape)
    controller = GeometricController(path, relative=False)
    times, positions = [], []
    with Simulation(world, seed=1) as sim:
        drone = sim.add(Aircraft(flamewheel(), position=ground, backends=[controller]))
        _until(sim, drone, shape.name)
        for _ in range(round(shape.duration * sim.rate / _THINNED)):
            sim.run(_THINNED / sim.rate)
            times.append(sim.time)
            positions.append(drone.state.position[0].copy())
    name = "calm air" if wind["model"] == "none" else f"turbulent wind of {_WIND[0]:g} m/s"
    return Track(name, np.array(times), np.array(positions))


def _hausdorff(first: Array, second: Array) -> float:
    """Return the symmetric Hausdorff distance of two paths [m], shapes (K, 3) and (L, 3)."""
    return float(max(distances_to_path(first, second).max(), distances_to_path(second, first).max()))


def _on_estimates(shape: Square | Circle) -> tuple[float, float, Array]:
    """Return distances of the estimated and the true path from the commanded one [m], and a true path.

    The vehicles fly on the estimates of their filters. The horizontal Hausdorff distances are medians over
    the vehicles; the path is that of the median, moved so that the commanded one begins with the shape.
    """
    first = np.array(shape.sample(0.0).position)
    # Each vehicle flies the shape from its own start.
    moved = replace(shape, center=(-first[0], -first[1]))
    controller = GeometricController(trajectories.sequence(trajectories.takeoff(height=_HEIGHT), moved))
    sensors = {"imu": _imu(250.0), "gps": GPS(), "barometer": Barometer(), "magnetometer": Magnetometer()}
    paths: list[tuple[Array, ...]] = []
    with Simulation("flat", seed=1) as sim:
        drone = sim.add(
            Aircraft(
                flamewheel(),
                count=_COPIES,
                spacing=40.0,
                sensors=sensors,
                backends=[controller],
                estimator=EKF(),
            )
        )
        _until(sim, drone, shape.name)
        for _ in range(round(shape.duration * sim.rate / _THINNED)):
            sim.run(_THINNED / sim.rate)
            reference, estimate = drone.reference, drone.estimate
            assert reference is not None
            assert estimate is not None
            places = reference.position, estimate.position, drone.state.position
            paths.append(tuple(place * np.array([1.0, 1.0, 0.0]) for place in places))
    commanded, estimated, true = (np.array(path) for path in zip(*paths, strict=True))
    near, far = (
        [_hausdorff(commanded[:, k], flown[:, k]) for k in range(_COPIES)] for flown in (estimated, true)
    )
    middle = int(np.argsort(far)[_COPIES // 2])
    path: Array = true[:, middle] - commanded[0, middle] + first
    return float(np.median(near)), far[middle], path


def _until(sim: Simulation, drone: Aircraft, segment: str) -> None:
    """Step until a vehicle has begun a part of its path.

    Raises:
        RuntimeError: If it does not within a minute.
    """
    while drone.reference is None or drone.reference.segment != segment:
        if sim.time > _PATIENCE:
            raise RuntimeError(f"{drone.name} has not begun its {segment} after {_PATIENCE:g} s")
        sim.step()


def _imu(rate: float, in_plane: float = 0.0) -> IMU:
    """Return the IMU of AirSim's data sheets (InvenSense MPU 6000): densities, and biases that wander."""
    return IMU(
        rate_hz=rate,
        gyroscope=Gyroscope(
            noise_density=8.727e-5, bias_random_walk=9.974e-7, bias_correlation_time=500.0, turn_on_bias=0.0
        ),
        accelerometer=Accelerometer(
            noise_density=2.3536e-3, bias_random_walk=1.248e-5, bias_correlation_time=800.0, turn_on_bias=0.0
        ),
        vibration=Vibration(in_plane=in_plane),
    )


def _variances(imu: IMU, *, flies: bool) -> tuple[float, float, float]:
    """Return the variances of gyroscope [rad^2/s^2] and accelerometer [m^2/s^4], and the rotor speed [rad/s].

    They are means over copies and axes.

    Vehicles that fly hover; the axes of the accelerometer are then x and y, which feel the vibration.
    """
    hover = trajectories.sequence(trajectories.takeoff(height=_HEIGHT), trajectories.hold())
    backends = [GeometricController(hover)] if flies else []
    rates, forces = [], []
    with Simulation("flat", rate=_PHYSICS_RATE, seed=1) as sim:
        model = flamewheel()
        drone = sim.add(Aircraft(model, count=_MANY, sensors={"imu": imu}, backends=backends))
        sim.run(_SETTLED)
        for _ in range(round(_SAMPLED * sim.rate)):
            sim.step()
            if "imu" in drone.new_readings:
                reading = drone.reading(ImuReading)
                rates.append(reading.angular_velocity.copy())
                forces.append(reading.specific_force[:, : 2 if flies else 3].copy())
        turning = float(drone.state.rotor_speed.mean())
    return float(np.var(rates, axis=0).mean()), float(np.var(forces, axis=0).mean()), turning


def _imu_entries() -> list[Entry]:
    gyroscope, accelerometer, _ = _variances(_imu(_REST_RATE), flies=False)
    _, quiet, hover = _variances(_imu(_REST_RATE), flies=True)
    # The vibration is fitted: four rotors of random phase give each axis 4 (a w^2)^2 / 2.
    shaken = _variances(_imu(_PHYSICS_RATE, math.sqrt(_FLIGHT_VARIANCE / 2) / hover**2), flies=True)[1]
    simulated, real = "published: AirSim's sensor", "published: real sensor"
    rest, flight = "variance of the {} at rest", "variance of the accelerometer in flight"
    return [
        Entry(rest.format("gyroscope"), "rad^2/s^2", 2.47e-7, gyroscope, simulated),
        Entry(rest.format("gyroscope"), "rad^2/s^2", 6.71e-7, gyroscope, real),
        Entry(rest.format("accelerometer"), "m^2/s^4", 1.78e-4, accelerometer, simulated),
        Entry(rest.format("accelerometer"), "m^2/s^4", 1.93e-4, accelerometer, real),
        Entry(flight, "m^2/s^4", 1.75e-3, quiet, f"{simulated}; ours: hover, no vibration"),
        Entry(flight, "m^2/s^4", _FLIGHT_VARIANCE, shaken, f"{real}; ours: hover, vibration fitted to it"),
    ]


def _rotor_entries() -> list[Entry]:
    """Return thrust and torque of the rotor of AirSim's generic quadrotor at its largest speed."""
    curve = PropellerThrust(diameter=_DIAMETER, thrust_coefficient=0.109919, power_coefficient=0.040164)
    speed = np.array([[6396.667 * math.pi / 30]])
    thrust, torque = curve.thrust(speed, np.zeros((1, 1)), np.array([[1.225]]))
    return [
        Entry("thrust of a rotor at 6396.667 rpm", "N", 4.179446, float(thrust[0, 0])),
        Entry("torque of a rotor at 6396.667 rpm", "N m", 0.055562, float(torque[0, 0])),
    ]
