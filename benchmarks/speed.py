"""Print the speed of the standalone simulator: of its step, and of `pegasus run` by its parts.

python benchmarks/speed.py [SECONDS]           Steps of 1 to 1000 vehicles, as `pegasus bench`; speed.json
python benchmarks/speed.py run [SCENARIO ...]  `pegasus run`, recorded and audited; first_flight by default
python benchmarks/speed.py batch [COUNT]       A batch with one trajectory for all, and with one for each; 256
python benchmarks/speed.py guided [COUNT]      Vehicles that hold a point, and guided by velocities; 1
python benchmarks/speed.py estimator [COUNT]   What an estimator adds to the step of an Iris; 1
python benchmarks/speed.py models [COUNT]      What winds and propulsions add to the step of an Iris; 1
"""

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from pegasus import Multirotor, Simulation
from pegasus.cli.benchmark import report
from pegasus.config.files import load_vehicle, load_world
from pegasus.config.scenario import WorldSpec
from pegasus.contracts.sensor import build_sensors
from pegasus.control import GeometricController, GuidedController, trajectories
from pegasus.core.vehicle_manager import VehicleManager
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.estimation import EKF
from pegasus.experiments import Flight
from pegasus.recording import EnergyAudit, McapRecorder, TrackingAudit

_PARTS = {
    "sensors": (VehicleManager, "sense"),
    "missions, publish": (VehicleManager, "publish"),
    "command": (VehicleManager, "command"),
    "rotors, drag": (VehicleManager, "actuate"),
    "tracking audit": (TrackingAudit, "record"),
    "energy audit": (EnergyAudit, "record"),
    "log": (McapRecorder, "record"),
    "apply": (VehicleManager, "apply"),
    "physics": (MujocoEngine, "step"),
    "state": (VehicleManager, "observe"),
}
_WHOLE = "whole"


class _Stopwatch:
    """Processor time of the calls of a function, in this thread."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.spent, self.calls, self._function = 0, 0, function

    def wrapped(self) -> Callable[..., Any]:
        """Return the function with this stopwatch around it."""

        def timed(*args: Any, **options: Any) -> Any:
            began = time.thread_time_ns()
            try:
                return self._function(*args, **options)
            finally:
                self.spent += time.thread_time_ns() - began
                self.calls += 1

        return timed


def _nothing() -> None:
    pass


def _cost_of_a_watch() -> tuple[float, float]:
    """Return the time that a stopwatch adds to its own figure and to the whole, for each call [ns]."""
    watch, count = _Stopwatch(_nothing), 100_000
    call, began = watch.wrapped(), time.thread_time_ns()
    for _ in range(count):
        call()
    return watch.spent / count, (time.thread_time_ns() - began) / count


def fly(scenario: str) -> tuple[float, float, dict[str, float]]:
    """Fly a scenario as `pegasus run` does, first as it is and then with a stopwatch around every part.

    Args:
        scenario: Name of the scenario, or path of its file.

    Returns:
        Real-time factor of the first flight; processor time per step of the second one, of the whole and of
        each part, without that of the stopwatches [us].
    """
    parts = _PARTS | {_WHOLE: (Flight, "_step_to_the_end")}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as undo:
        factor = Flight(scenario).fly(out=Path(folder)).summary.real_time_factor
        watches = {part: _Stopwatch(getattr(owner, name)) for part, (owner, name) in parts.items()}
        for part, (owner, name) in parts.items():
            undo.enter_context(patch.object(owner, name, watches[part].wrapped()))
        flight = Flight(scenario)
        flight.fly(out=Path(folder))
    inside, added = _cost_of_a_watch()
    whole, steps = watches.pop(_WHOLE), flight.simulation.step_count
    calls = sum(watch.calls for watch in watches.values())
    times = {part: (watch.spent - watch.calls * inside) / steps / 1e3 for part, watch in watches.items()}
    return factor, (whole.spent - calls * added) / steps / 1e3, times


def yardstick() -> float:
    """Return the processor time of the addition of two vectors [us]."""
    vector, count = np.ones(3), 100_000
    began = time.thread_time_ns()
    for _ in range(count):
        np.add(vector, vector)
    return (time.thread_time_ns() - began) / count / 1e3


def report_runs(scenarios: list[str]) -> None:
    """Fly scenarios, and print a table of their speed.

    Args:
        scenarios: Names or files.
    """
    table = Table(title="pegasus run; microseconds of processor time per step", box=None)
    for column in ("", *scenarios):
        table.add_column(column, justify="right" if column else "left")
    runs = [fly(scenario) for scenario in scenarios]
    table.add_row("x real time", *(f"{factor:.1f}" for factor, _, _ in runs))
    table.add_row("step", *(f"{whole:.1f}" for _, whole, _ in runs))
    for part in _PARTS:
        table.add_row(part, *(f"{parts[part]:.1f}" for _, _, parts in runs))
    table.add_row("the rest", *(f"{whole - sum(parts.values()):.1f}" for _, whole, parts in runs))
    Console().print(table)
    Console().print(f"np.add of two vectors on this machine at this load: {yardstick():.2f} us")


def flight_of(k: int, count: int) -> trajectories.Trajectory:
    """Return the trajectory of a copy: a circle, a lemniscate or a spline, of a size of its own.

    Args:
        k: Index of the copy.
        count: Number of copies.
    """
    radius = 1.5 + k / count
    if k % 3 == 2:
        angles = np.linspace(0.0, 20.0 * np.pi, 60).tolist()
        ring = [(radius * np.cos(a), radius * np.sin(a), 2.0 + 0.3 * np.sin(2.0 * a)) for a in angles]
        return trajectories.waypoints(tuple(ring), speed=1.5)
    return (trajectories.circle, trajectories.lemniscate)[k % 3](radius, height=2.0, laps=50)


def step_times(flights: Any, count: int) -> list[float]:
    """Return processor times per step of a batch in flight, over 512 steps each [us].

    Args:
        flights: A trajectory for all copies, or one for each.
        count: Number of copies.
    """
    places, times = [(8.0 * (k % 16), 8.0 * (k // 16), 0.08) for k in range(count)], []
    with Simulation("flat", engine="mujoco") as simulation:
        backends = [GeometricController(flights)]
        simulation.add(Multirotor("iris", count=count, position=places, backends=backends))
        simulation.step(2000)
        for _ in range(5):
            began = time.thread_time_ns()
            simulation.step(512)
            times.append((time.thread_time_ns() - began) / 512 / 1e3)
    return times


def report_batch(count: int) -> None:
    """Print the step times of a batch with one trajectory for all, and with one for each.

    Args:
        count: Number of copies.
    """
    flights = [flight_of(k, count) for k in range(count)]
    shared, own = (min(step_times(given, count)) for given in (flights[0], flights))
    print(f"{count} copies, one trajectory for all: {shared:.0f} us per step; one for each: {own:.0f} us")
    print(f"{own / shared:.2f} times as long; np.add of two vectors at this load: {yardstick():.2f} us")


def report_guided(count: int) -> None:
    """Print the step times of vehicles without sensors that are guided by velocities, and that hold a point.

    Args:
        count: Number of vehicles, added one by one.
    """
    fastest = []
    for guided in (False, True):
        with Simulation("flat", engine="mujoco") as simulation:
            pilots = [
                GuidedController() if guided else GeometricController(trajectories.hold(height=1.5))
                for _ in range(count)
            ]
            for k, pilot in enumerate(pilots):
                place = (8.0 * (k % 16), 8.0 * (k // 16), 0.08)
                simulation.add(Multirotor("iris", position=place, backends=[pilot], sensors={}))
                if isinstance(pilot, GuidedController):
                    pilot.takeoff()
            simulation.run(4.0)
            for pilot in pilots:
                if isinstance(pilot, GuidedController):
                    pilot.velocity([0.1, 0.0, 0.0])
            times = []
            for _ in range(8):
                began = time.thread_time_ns()
                simulation.step(250)
                times.append((time.thread_time_ns() - began) / 250 / 1e3)
            fastest.append(min(times))
    held, commanded = fastest
    print(f"{count} vehicles: {held:.1f} us per step; guided: {commanded:.1f} us")
    print(f"np.add of two vectors at this load: {yardstick():.2f} us")


_MEAN = {"mean_velocity": [5.0, 0.0, 0.0]}
WINDS: dict[str, Any] = {
    "constant": _MEAN,
    "log": {"model": "log", **_MEAN},
    "dryden": {"model": "dryden", **_MEAN},
    "von_karman": {"model": "von_karman", **_MEAN},
    "log, dryden": [{"model": "log", **_MEAN}, {"model": "dryden"}],
    "gusts": {"model": "gusts", **_MEAN},
}
_BLADES = {
    "diameter": 0.254,
    "advance_ratio": [0.0, 0.142, 0.289, 0.438, 0.577, 0.719],
    "thrust_coefficient": [0.1185, 0.0994, 0.0770, 0.0502, 0.0178, -0.0218],
    "power_coefficient": [0.0480, 0.0451, 0.0414, 0.0352, 0.0258, 0.0130],
}
_ELECTRIC = {
    "model": "electric",
    "kv": 920,
    "resistance": 0.12,
    "inertia": 3e-5,
    "nominal_voltage": 14.8,
    "speed_control": "closed_loop",
    "proportional_gain": 0.02,
    "max_speed": 1000.0,
}
_PROPELLER = {"model": "propeller", **_BLADES}
_ROTOR = {"model": "rotor", **_BLADES, "flapping": 0.6, "induced_drag": 0.3, "hub_stiffness": 0.3}
_SENSORS = {name: {"model": name} for name in ("imu", "gps", "barometer", "magnetometer")}
_ERRONEOUS_IMU = {
    "model": "imu",
    "gyroscope": {"scale_error_sigma": 0.01, "g_sensitivity_sigma": 1e-4, "temperature_bias_sigma": 1e-4},
    "accelerometer": {"misalignment_sigma": 0.01, "temperature_bias_sigma": 1e-3},
    "vibration": {"in_plane": 5e-6, "blade_passage": 1e-6},
}
_PLAIN = {
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1.5886e-5, "moment_ratio": 0.016334},
    "battery": None,
}
VEHICLES: dict[str, dict[str, Any]] = {
    "as shipped": {name: load_vehicle("iris")[0].model_dump()[name] for name in _PLAIN},
    "IMU with errors": {"sensors": _SENSORS | {"imu": _ERRONEOUS_IMU}},
    "electric": {"motor": _ELECTRIC},
    "propeller": {"thrust_curve": _PROPELLER},
    "rotor": {"thrust_curve": _ROTOR},
    "electric, rotor": {"motor": _ELECTRIC, "thrust_curve": _ROTOR},
}
"""Changes of an Iris with a quadratic thrust curve and without a battery."""


def report_models(count: int) -> None:
    """Print the step times of vehicles with several winds and propulsions, measured in turn.

    Args:
        count: Number of copies.
    """
    iris = load_vehicle("iris")[0].model_dump() | _PLAIN
    flown: dict[str, tuple[Any, Any]] = {name: (wind, {}) for name, wind in WINDS.items()}
    flown |= {name: (_MEAN, change) for name, change in VEHICLES.items()}
    flown["electric, rotor, dryden"] = WINDS["dryden"], VEHICLES["electric, rotor"]
    places = [(8.0 * (k % 16), 8.0 * (k // 16), 10.0) for k in range(count)]
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in flown}
    steps = 20 + 3000 // count
    with ExitStack() as stack:
        simulations = {}
        for name, (wind, change) in flown.items():
            world = WorldSpec(**load_world("flat")[0].model_dump() | {"wind": wind})
            simulation = stack.enter_context(Simulation(world, engine="mujoco"))
            hold = GeometricController(trajectories.hold(height=10.0))
            simulation.add(Multirotor(iris | change, count=count, position=places, backends=[hold]))
            simulation.step(100)
            simulations[name] = simulation
        for _ in range(12):
            for name, simulation in simulations.items():
                began = time.process_time_ns(), time.perf_counter_ns()
                simulation.step(steps)
                ended = time.process_time_ns(), time.perf_counter_ns()
                spent, passed = ((b - a) / steps / count / 1e3 for a, b in zip(began, ended, strict=True))
                times[name].append((spent, passed))
    print("us per vehicle-step: processor time of all threads, and time by the clock")
    plain = [min(taken) for taken in zip(*times["constant"], strict=True)]
    for name, pairs in times.items():
        least = [min(taken) for taken in zip(*pairs, strict=True)]
        columns = (f"{value:7.3f} {value - first:+.3f}" for value, first in zip(least, plain, strict=True))
        print(f"{name:24} {'     '.join(columns)}")
    print(f"np.add of two vectors at this load: {yardstick():.2f} us")


ESTIMATED: dict[str, dict[str, Any]] = {
    "IMU, magnetometer": {},
    "and barometer": {"barometer": {"model": "barometer"}},
    "and GPS": {"barometer": {"model": "barometer"}, "gps": {"model": "gps"}},
    "and odometry": {
        "barometer": {"model": "barometer"},
        "gps": {"model": "gps"},
        "odometry": {"model": "odometry"},
    },
}


def report_estimators(count: int) -> None:
    """Print the step times of vehicles in flight with an estimator and without, measured in turn.

    Args:
        count: Number of copies.
    """
    places = [(8.0 * (k % 16), 8.0 * (k // 16), 10.0) for k in range(count)]
    always = {"imu": {"model": "imu"}, "magnetometer": {"model": "magnetometer"}}
    steps = 20 + 3000 // count
    with ExitStack() as stack:
        pairs: dict[str, list[Simulation]] = {name: [] for name in ESTIMATED}
        for name, sensors in ESTIMATED.items():
            for estimator in (None, EKF(start="known")):
                simulation = stack.enter_context(Simulation("flat", engine="mujoco"))
                hold = GeometricController(trajectories.hold(height=10.0), spin_up=0.0)
                vehicle = Multirotor(
                    "iris",
                    count=count,
                    position=places,
                    backends=[hold],
                    sensors=build_sensors(always | sensors),
                    estimator=estimator,
                )
                simulation.add(vehicle)
                simulation.step(300)
                pairs[name].append(simulation)
        times: dict[str, list[list[float]]] = {name: [[], []] for name in ESTIMATED}
        for _ in range(8):
            for name, simulations in pairs.items():
                for simulation, taken in zip(simulations, times[name], strict=True):
                    began = time.process_time_ns()
                    simulation.step(steps)
                    taken.append((time.process_time_ns() - began) / steps / count / 1e3)
    for name, (without, estimated) in times.items():
        added = min(estimated) - min(without)
        print(f"{name:18} {min(estimated):7.3f} us per vehicle-step, {added:+.3f} by the estimator")
    print(f"np.add of two vectors at this load: {yardstick():.2f} us")


if __name__ == "__main__":
    if sys.argv[1:2] == ["batch"]:
        report_batch(int(sys.argv[2]) if sys.argv[2:] else 256)
    elif sys.argv[1:2] == ["estimator"]:
        report_estimators(int(sys.argv[2]) if sys.argv[2:] else 1)
    elif sys.argv[1:2] == ["models"]:
        report_models(int(sys.argv[2]) if sys.argv[2:] else 1)
    elif sys.argv[1:2] == ["guided"]:
        report_guided(int(sys.argv[2]) if sys.argv[2:] else 1)
    elif sys.argv[1:2] == ["run"]:
        report_runs(sys.argv[2:] or ["first_flight"])
    else:
        report(
            [1, 10, 100, 1000], seconds=float(sys.argv[1]) if sys.argv[1:] else 4.0, json=Path("speed.json")
        )
