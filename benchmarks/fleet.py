"""Print the speed of fleets, in millions of vehicle-steps by second of processor time of one core.

python benchmarks/fleet.py [ROWS]    RK4 at 500 Hz, ten steps a launch; 1000 rows

Also derivatives, threads, and the first step of a process with an empty and with a full cache.

Shipped vehicles fly with their measured propellers in forward flight, batteries and the standard atmosphere;
"plain" ones with models as those of crazyflow: thrust and torque by squared speed, motor lag and drag. It is
measured beside them where it is installed (pip install crazyflow). Then come surroundings, sensors and
turbulence by what they add, and depth images of 64 x 48 pixels, in millions of rays by second.
"""

import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import starmap
from typing import Any

import numpy as np

from pegasus import Multirotor
from pegasus.base.row_threads import thread_count
from pegasus.config.files import load_vehicle
from pegasus.dynamics import QuadraticThrust
from pegasus.environment import DrydenWind, Environment
from pegasus.fleet import (
    Boxes,
    Cylinders,
    DepthCamera,
    Fleet,
    Frames,
    Rings,
    Spheres,
    Terrain,
    World,
)
from pegasus.sensors import IMU

STEPS, REPEATS = 10, 11


def plain(name: str) -> Multirotor:
    """Return a vehicle with thrust and torque by squared speed, those of its hover, and without a battery."""
    vehicle, spec = Multirotor(name), load_vehicle(name)[0]
    density, weight = np.full((1, 1), 1.225), vehicle.mass * 9.80665 / vehicle.rotor_count
    speed = vehicle.thrust_curve.rotor_speed(np.full((1, 1), weight), density)
    torque = vehicle.thrust_curve.thrust(speed, np.zeros((1, 1)), density)[1]
    constant, ratio = weight / float(speed[0, 0]) ** 2, float(torque[0, 0]) / weight
    curve = QuadraticThrust(thrust_constant=constant, moment_ratio=ratio)
    return Multirotor(spec.model_copy(update={"battery": None}), thrust_curve=curve)


def scattered(
    model: Any, rows: int, level: str, dtype: str, height: float = 0.0, **more: Any
) -> Callable[[], None]:
    """Return a function that flies rows from states and with commands of their own."""
    fleet = Fleet(model, rows, level=level, dtype=dtype, **more)
    vehicle = model if isinstance(model, Multirotor) else Multirotor(model)
    rng, weight = np.random.default_rng(0), vehicle.mass * 9.80665
    thrust = np.full((1, 1), weight / vehicle.rotor_count)
    hover = float(vehicle.thrust_curve.rotor_speed(thrust, np.full((1, 1), 1.2))[0, 0])
    tilt = rng.normal((0.0, 0.0, 0.0, 1.0), 0.1, (rows, 4))
    tilt /= np.linalg.norm(tilt, axis=1, keepdims=True)
    fleet.reset(
        position=rng.uniform((0.0, 0.0, height), (5.0, 5.0, 5.0 + height), (rows, 3)),
        orientation=tilt,
        velocity=rng.normal(0.0, 1.0, (rows, 3)),
        rotor_speed=hover * rng.uniform(0.9, 1.1, (rows, vehicle.rotor_count)),
    )
    fleet.command[...] = {
        "channels": hover * rng.uniform(0.95, 1.05, (rows, vehicle.rotor_count)),
        "attitude": np.concatenate([np.full((rows, 1), weight), tilt], axis=1),
    }[level]
    kept = fleet.snapshot()

    def fly() -> None:
        fleet.restore(kept)
        for _ in range(STEPS):
            fleet.step(None, STEPS)

    return fly


def speed(fly: Callable[[], None], rows: int, clock: Callable[[], float]) -> float:
    """Return the most vehicle-steps by second of a clock."""
    fly()
    spent = []
    for _ in range(REPEATS):
        start = clock()
        fly()
        spent.append(clock() - start)
    return rows * STEPS * STEPS / min(spent)


def derivatives(model: Any, rows: int) -> float:
    """Return vector-Jacobian products of a step by second of processor time of one core."""
    fleet = Fleet(model, rows)
    weights = {"position": np.ones((rows, 3))}
    steps, spent = 10, []
    for _ in range(REPEATS):
        start = time.thread_time()
        fleet.vjp(weights, steps)
        spent.append(time.thread_time() - start)
    return rows * steps / min(spent)


def first_steps(name: str, rows: int) -> list[tuple[float, float]]:
    """Return seconds by the clock and of processor time of a first step, with an empty and a full cache."""
    code = f"from pegasus.fleet import Fleet; Fleet({name!r}, {rows}).step()"
    found = []
    with tempfile.TemporaryDirectory() as folder:
        given = os.environ | {"XDG_CACHE_HOME": folder}
        for _ in range(2):
            wall, before = time.perf_counter(), os.times()
            subprocess.run([sys.executable, "-c", code], env=given, check=True)
            after = os.times()
            own = after.children_user + after.children_system - before.children_user - before.children_system
            found.append((time.perf_counter() - wall, own))
    return found


def crazyflow(rows: int) -> dict[str, Callable[[], None]]:
    """Return functions that fly drones of crazyflow, by title; none where it is not installed."""
    try:
        peer = importlib.import_module("crazyflow.sim.sim")
    except ImportError:
        print("crazyflow: not installed, left out")
        return {}

    def flown(integrator: Any, control: Any, command: list[float]) -> Callable[[], None]:
        sim = peer.Sim(n_worlds=rows, freq=500, integrator=integrator, control=control)
        asked = np.tile(np.array(command, dtype=np.float32), (rows, 1, 1))

        def fly() -> None:
            by_attitude = control == peer.Control.attitude
            (sim.attitude_control if by_attitude else sim.rotor_vel_control)(asked)
            for _ in range(STEPS):
                sim.step(STEPS)
            sim.data.states.pos.block_until_ready()

        return fly

    speeds, attitude = [15000.0] * 4, [0.1, 0.0, 0.0, 0.4]
    euler, rk4, by_speeds = peer.Integrator.euler, peer.Integrator.rk4, peer.Control.rotor_vel
    cases = {
        "crazyflow, Euler": (euler, by_speeds, speeds),
        "crazyflow, RK4": (rk4, by_speeds, speeds),
        "crazyflow, Euler, attitude": (euler, peer.Control.attitude, attitude),
    }
    return dict(zip(cases, starmap(flown, cases.values()), strict=True))


def parked(rows: int) -> Callable[[], None]:
    """Return a function that lets rows stand on the ground."""
    fleet = Fleet("crazyflie", rows, world=World(ground=0.0))
    fleet.reset(position=(0.0, 0.0, 0.0075))
    fleet.step(np.zeros(4), 100)

    def stand() -> None:
        for _ in range(STEPS):
            fleet.step(None, STEPS)

    return stand


def solids(rows: int) -> dict[str, World]:
    """Return surroundings by title, other ones for each row, far from where it flies."""
    rng = np.random.default_rng(1)
    place = rng.uniform((-20.0, -20.0, 40.0), (20.0, 20.0, 80.0), (rows, 8, 3))
    heights = rng.uniform(0.0, 0.5, (64, 64))
    return {
        "ground": World(ground=0.0),
        "terrain": World(terrain=Terrain(heights=heights, spacing=(1.0, 1.0), origin=(-32.0, -32.0))),
        "8 spheres": World(spheres=Spheres(position=place, radius=0.5)),
        "8 boxes": World(boxes=Boxes(position=place, lengths=(1.0, 1.0, 3.0))),
        "8 cylinders": World(cylinders=Cylinders(position=place, radius=0.3, height=3.0)),
        "8 frames": World(frames=Frames(position=place, width=1.2, height=1.2)),
        "8 rings": World(rings=Rings(position=place, radius=0.6)),
    }


def around(rows: int) -> None:
    """Print what surroundings, sensors and turbulence leave of the speed, and the speed of rays."""
    windy = Environment(wind=DrydenWind(wind_at_20_ft=7.0))
    cases: dict[str, Callable[[], None]] = {
        "open air": scattered("crazyflie", rows, "channels", "float32", 5.0),
        "on the ground": parked(rows),
        "IMU": scattered("crazyflie", rows, "channels", "float32", 5.0, sensors={"imu": IMU()}),
        "Dryden": scattered("crazyflie", rows, "channels", "float32", 5.0, environment=windy),
    }
    worlds = solids(rows)
    cases |= {
        title: scattered("crazyflie", rows, "channels", "float32", 5.0, world=world)
        for title, world in worlds.items()
    }
    for title, fly in cases.items():
        found = speed(fly, rows, time.thread_time)
        print(f"crazyflie, {title:29} {1e-6 * found:8.2f} M/s on one core", flush=True)
    for title, world in worlds.items():
        fleet = Fleet("crazyflie", rows, world=world)
        fleet.reset(position=np.random.default_rng(2).uniform((-9, -9, 56), (9, 9, 64), (rows, 3)))
        camera, spent = DepthCamera(fleet), []
        for _ in range(3):
            start = time.thread_time()
            camera.image()
            spent.append(time.thread_time() - start)
        print(f"depth, {title:33} {3072e-6 * rows / min(spent):8.1f} M rays/s on one core", flush=True)


def main() -> None:
    """Print the table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    cores = thread_count()
    models = {"crazyflie": "crazyflie", "iris": "iris", "crazyflie, plain": plain("crazyflie")}
    peers = {title: speed(fly, rows, time.process_time) for title, fly in crazyflow(rows).items()}
    for title, found in peers.items():
        print(f"{title:40} {1e-6 * found:8.2f} M/s")
    for title, model in models.items():
        for level in ("channels", "attitude"):
            for dtype in ("float32", "float64"):
                os.environ["OMP_NUM_THREADS"] = "1"
                start = time.process_time()
                fly = scattered(model, rows, level, dtype)
                made = time.process_time() - start
                one = speed(fly, rows, time.thread_time)
                os.environ["OMP_NUM_THREADS"] = str(cores)
                every = speed(scattered(model, rows, level, dtype), rows, time.perf_counter)
                beside = "".join(f", {one / found:.1f} x {name}" for name, found in peers.items())
                figures = f"{1e-6 * one:8.2f} M/s on one core, {1e-6 * every:.2f} by wall on {cores}"
                name = f"{title}, {level}, {dtype}"
                print(f"{name:40} {figures}; made in {made:.1f} s{beside}", flush=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    around(rows)
    for title, model in models.items():
        print(f"{title + ', derivatives':40} {1e-6 * derivatives(model, rows):8.2f} M products/s on one core")
    for title, (wall, own) in zip(("empty", "full"), first_steps("crazyflie", rows), strict=True):
        print(f"first step, {title} cache: {wall:.1f} s by the clock, {own:.1f} s of processor time")


if __name__ == "__main__":
    main()
