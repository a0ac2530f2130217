"""Flights of known vehicles for tests of identification."""

import functools

import numpy as np

from pegasus import McapRecorder, Multirotor, Simulation, read_log
from pegasus.control import GeometricController, trajectories
from pegasus.core.aircraft import Aircraft
from pegasus.fleet import Fleet, FlightRecord, Measured
from pegasus.recording import read_flight
from pegasus.sensors import IMU, Odometry

RATE = 250.0


def fly(path, vehicle, *, seconds, wind=None, seed=1):
    """Fly a lemniscate of 4 m/s in the core with an IMU and motion capture, and write its log."""
    capture = Odometry(
        rate_hz=100.0,
        latency=0.004,
        position_drift_sigma=(0.0, 0.0, 0.0),
        yaw_drift_sigma=0.0,
        position_noise_density=2e-4,
    )
    sensors = {"imu": IMU(rate_hz=RATE), "odometry": capture}
    course = trajectories.lemniscate(radius=3.0, height=4.0, speed=4.0, acceleration=5.0)
    world = {"extends": "flat", "name": "air", "wind": wind} if wind else "flat"
    with Simulation(world, seed=seed, rate=RATE, observers=[McapRecorder(path, state_rate=RATE)]) as sim:
        pilot = GeometricController(course, relative=False)
        sim.add(Multirotor(vehicle, position=(0.0, 0.0, 4.0), backends=[pilot], sensors=sensors))
        sim.run(duration=seconds)
    return path


def record_of(path, vehicle, **options):
    """Return the record of a log, from the time on at which the rotors turn."""
    whole = read_flight(path, Aircraft(vehicle), **options)
    return whole.between(0.5, whole.end)


@functools.cache
def clean(vehicle, seconds, excitation, hover, seed=0):
    """Return times, commands and motion of a vehicle under random commands about hover, in a fleet."""
    rng = np.random.default_rng(seed)
    count = round(seconds * RATE)
    fleet = Fleet(vehicle, 1, rate=RATE, dtype="float64", level="position")
    pilot = Fleet(vehicle, 1, rate=RATE, dtype="float64")
    for each in (fleet, pilot):
        each.reset(position=(0.0, 0.0, 20.0), rotor_speed=np.full(4, hover))
    rows = {name: [] for name in ("position", "orientation", "velocity", "angular_velocity", "rotor_speed")}
    commands, goal, shaken = [], np.zeros((1, 4)), np.zeros(4)
    for k in range(count):
        for name, values in rows.items():
            values.append(getattr(pilot.state, name)[0].copy())
        if k % round(RATE) == 0:
            goal = np.array([[*rng.uniform(-3, 3, 2), 20.0 + rng.uniform(-1, 1), 0.0]]) * excitation
            goal[0, 2] = goal[0, 2] if excitation else 20.0
        if k % 5 == 0:
            shaken = excitation * rng.normal(0.0, 0.03 * hover, 4)
        # The controller's speeds, as they result from the state of the flown vehicle.
        fleet.state.position[...] = pilot.state.position
        fleet.state.orientation[...] = pilot.state.orientation
        fleet.state.velocity[...] = pilot.state.velocity
        fleet.state.angular_velocity[...] = pilot.state.angular_velocity
        fleet.state.rotor_speed[...] = pilot.state.rotor_speed
        fleet.step(goal, 1)
        change = fleet.state.rotor_speed[0] - pilot.state.rotor_speed[0]
        commands.append(np.clip(pilot.state.rotor_speed[0] + 3.0 * change + shaken, 0.5 * hover, 1.4 * hover))
        pilot.step(commands[-1], 1)
    time = np.arange(count) / RATE
    return time, np.array(commands), {name: np.array(values) for name, values in rows.items()}


def noisy(flight, seed, *, every=5):
    """Return the record of a flight with white noise of motion capture and a gyroscope."""
    rng = np.random.default_rng(seed)
    time, commands, motion = flight

    def measured(name, sigma, step):
        values = motion[name][::step] + rng.normal(0.0, sigma, motion[name][::step].shape)
        return Measured("capture" if step > 1 else "gyroscope", name, time[::step], values)

    return FlightRecord(
        f"seed {seed}",
        time,
        commands,
        [
            measured("position", 0.003, every),
            measured("orientation", 0.001, every),
            measured("velocity", 0.03, every),
            measured("angular_velocity", 0.01, 1),
        ],
    )


__all__ = ["RATE", "clean", "fly", "noisy", "read_log", "record_of"]
