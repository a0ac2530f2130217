"""Flights of a learnt policy in the core: with contacts, wind, noisy sensors and varied vehicles."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.components import require
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.estimation import EKF
from pegasus.learn.episodes import Episodes, Keys
from pegasus.learn.policy_controller import PolicyController
from pegasus.learn.task import Task
from pegasus.sensors import SENSORS

_APART = 8.0
"""Distance between the places of the vehicles [m]."""
_HEIGHT = 20.0
"""Height of these above the ground [m]."""


@dataclass(frozen=True, kw_only=True)
class Disturbances:
    """What differs from the fleet that a policy learnt in."""

    wind: float = 0.0
    """Speed of the wind, towards the east [m/s]."""
    mass: float = 0.0
    """Largest share by which the masses differ from that of the file."""
    noise: bool = False
    """Whether the policy sees the estimate of a filter with IMU, magnetometer and odometry, not the truth."""

    def __post_init__(self) -> None:
        require(self.wind >= 0, "wind", self.wind, "must not be negative")
        require(0 <= self.mass < 1, "mass", self.mass, "must be from 0 to below 1")


def evaluate_in_core(
    policy: Path, task: Task, disturbances: Disturbances, *, count: int = 100, seed: int = 1
) -> tuple[float, float]:
    """Fly episodes of a task in the core; return the share that succeeded, and the median last distance [m].

    An episode succeeds as in `evaluate`. Tasks whose goal stands still at the origin can be flown so.

    Args:
        policy: File of the policy.
        task: The task.
        disturbances: What differs.
        count: Number of episodes.
        seed: Seed of their beginnings, and of the simulation.
    """
    side = int(np.ceil(np.sqrt(count)))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)[:count]
    places = np.concatenate([grid * _APART, np.full((count, 1), _HEIGHT)], axis=1)
    spread = {"uniform": {"low": 1.0 - disturbances.mass, "high": 1.0 + disturbances.mass, "relative": True}}
    options: dict[str, Any] = {"variation": {"mass": spread}} if disturbances.mass else {}
    if disturbances.noise:
        options["estimator"] = EKF(sensors=("imu", "magnetometer", "odometry"), start="known")
        options["extra_sensors"] = {"odometry": SENSORS["odometry"]()}
    wind = {"mean_velocity": [disturbances.wind, 0.0, 0.0]} if disturbances.wind else None
    with Simulation("flat", seed=seed, rate=task.rate, wind=wind) as sim:
        pilot = PolicyController(policy)
        vehicle = sim.add(Aircraft(task.vehicle, count=count, position=places, backends=[pilot], **options))
        pilot.goto(places)
        start = dict(task.begin(Keys(seed, count).begin(np.ones(count, dtype=bool))))
        vehicle.place(start.pop("position") + places, **start)
        good = np.ones(count, dtype=bool)
        steps = round(task.duration / task.interval)
        for k in range(steps):
            sim.step(task.substeps)
            # The truth, whatever the policy sees.
            seen = pilot.episodes
            episodes = Episodes(vehicle.state, seen.rest_speed, seen.action, seen.time, seen.goal)
            good &= ~task.failed(episodes)
            if k >= 0.8 * steps:
                good &= task.succeeded(episodes)
        return float(good.mean()), float(np.median(episodes.distance))
