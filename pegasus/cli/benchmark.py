"""Benchmark of the standalone simulator, by part of the step."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import orjson
from rich.console import Console
from rich.table import Table

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import Backend
from pegasus.contracts.vehicle import Vehicle, as_rotorcraft
from pegasus.control import GeometricController, trajectories
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation

_HEIGHT = 50.0
_RATE = 250.0
_BATCH = 50
_PARTS = ("sensors", "backends", "rotors, drag", "physics", "state")


class _HoverSpeed(Backend):
    """Backend that commands a constant hover speed, without computation per step."""

    drives = True

    def bind(self, vehicle: Vehicle) -> None:
        vehicle = as_rotorcraft(vehicle)
        weight = vehicle.mass * -vehicle.environment.gravity_vector(np.array([[0.0, 0.0, _HEIGHT]]))[0, 2]
        force = np.full((vehicle.count, vehicle.rotor_count), weight / vehicle.rotor_count)
        self._speed = vehicle.thrust_curve.rotor_speed(force, np.full((vehicle.count, 1), 1.225))

    def command(self, t: float) -> Array:
        return self._speed


@dataclass(frozen=True)
class Measurement:
    """Step times for a number of vehicles; medians over batches of steps."""

    vehicle_count: int
    controlled: bool
    """Whether a geometric controller flies them; otherwise the rotors turn at hover speed."""
    step_time: float
    """Wall time per step [us]."""
    fastest: float
    """Wall time per step of the fastest batch [us]."""
    slowest: float
    """Wall time per step of the slowest batch [us]."""
    parts: dict[str, float] = field(default_factory=dict)
    """Wall time per step by part of the pipeline [us]."""

    @property
    def steps_per_second(self) -> float:
        """Steps per second of wall time."""
        return 1e6 / self.step_time

    @property
    def vehicle_step_time(self) -> float:
        """Wall time per vehicle and step [us]."""
        return self.step_time / self.vehicle_count

    @property
    def real_time_factor(self) -> float:
        """Simulated time over wall time at 250 Hz."""
        return self.steps_per_second / _RATE


def measure(vehicle_count: int, *, seconds: float, controlled: bool = False) -> Measurement:
    """Measure the step times of flying Irises with IMU, GPS, barometer and magnetometer.

    Args:
        vehicle_count: Number of vehicles.
        seconds: Wall time of the measurement [s].
        controlled: Whether a geometric controller flies the vehicles.
    """
    require(vehicle_count >= 1, "vehicles", vehicle_count, "must be at least 1")
    require(seconds > 0, "seconds", seconds, "must be above 0 s")
    hold = trajectories.hold(height=_HEIGHT)
    backend = GeometricController(hold, spin_up=0.0) if controlled else _HoverSpeed()
    with Simulation("flat", rate=_RATE) as simulation:
        simulation.add(Aircraft("iris", count=vehicle_count, position=(0, 0, _HEIGHT), backends=[backend]))
        whole = _batches(simulation, seconds / 2, lambda: simulation.step(_BATCH))
        split: list[list[float]] = [[] for _ in _PARTS]
        _batches(simulation, seconds / 2, lambda: _timed_steps(simulation, split))
    return Measurement(
        vehicle_count,
        controlled,
        statistics.median(whole),
        min(whole),
        max(whole),
        {name: statistics.median(times) for name, times in zip(_PARTS, split, strict=True)},
    )


def report(
    vehicle_counts: Sequence[int],
    *,
    seconds: float,
    json: Path | None = None,
    console: Console | None = None,
) -> None:
    """Measure step times for several numbers of vehicles, and print a table.

    Args:
        vehicle_counts: Numbers of vehicles.
        seconds: Wall time of each measurement [s].
        json: File for the results as JSON, if given.
        console: Console for the table.

    Raises:
        ConfigError: If the file cannot be written.
    """
    if json is not None:
        # Fail before the measurement if the file cannot be written.
        _write(json, [])
    results = [
        measure(count, seconds=seconds, controlled=controlled)
        for controlled in (False, True)
        for count in vehicle_counts
    ]
    title = "Iris with IMU, GPS, barometer and magnetometer; medians; times in microseconds"
    table = Table(title=title, box=None, padding=(0, 1, 0, 0))
    for name in ("count", "flown by", "steps/s", "x real time", "step", "vehicle-step", *_PARTS):
        table.add_column(name, justify="left" if name == "flown by" else "right", min_width=6)
    for result in results:
        table.add_row(
            str(result.vehicle_count),
            "control" if result.controlled else "-",
            f"{result.steps_per_second:,.0f}",
            f"{result.real_time_factor:.1f}",
            f"{result.step_time:.1f}",
            f"{result.vehicle_step_time:.2f}",
            *(f"{result.parts[name]:.1f}" for name in _PARTS),
        )
    (console or Console()).print(table)
    if json is not None:
        _write(json, results)


def _batches(simulation: Simulation, seconds: float, steps: Callable[[], object]) -> list[float]:
    """Return the wall time per step of each batch [us]; every batch starts from the same state."""
    steps()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        # Open-loop hover drifts, so each batch starts from a reset.
        simulation.reset()
        simulation.step(2)
        began = time.perf_counter()
        steps()
        times.append((time.perf_counter() - began) / _BATCH * 1e6)
    return times


def _timed_steps(simulation: Simulation, split: list[list[float]]) -> None:
    """Step through a batch part by part, and append each part's mean time per step [us]."""
    clock, vehicles, dt = time.perf_counter, simulation.vehicles, simulation.dt
    totals = [0.0] * len(_PARTS)
    for _ in range(_BATCH):
        t, step = simulation.time, simulation.step_count
        marks = [clock()]
        vehicles.sense(step, t)
        marks.append(clock())
        vehicles.publish(step, t)
        vehicles.command(t)
        marks.append(clock())
        vehicles.actuate(t, dt)
        marks.append(clock())
        vehicles.apply()
        simulation.engine.step(dt)
        marks.append(clock())
        simulation.observe_step()
        marks.append(clock())
        for k in range(len(_PARTS)):
            totals[k] += marks[k + 1] - marks[k]
    for times, total in zip(split, totals, strict=True):
        times.append(total / _BATCH * 1e6)


def _write(path: Path, results: Sequence[Measurement]) -> None:
    content = {
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "mujoco": version("mujoco"),
        },
        "rate_hz": _RATE,
        "unit": "us",
        "measurements": [
            asdict(r)
            | {
                "steps_per_second": r.steps_per_second,
                "vehicle_step_time": r.vehicle_step_time,
                "real_time_factor": r.real_time_factor,
            }
            for r in results
        ],
    }
    try:
        path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror}", field="json", value=str(path), remedy="give another file"
        ) from None
