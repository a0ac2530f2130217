"""Flights of a learnt policy in the core: with contacts, wind, noisy sensors and varied vehicles."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.estimation import EKF
from pegasus.learn.episodes import Draws, Episodes, Keys, Motion
from pegasus.learn.policy_controller import PolicyController
from pegasus.learn.task import Task
from pegasus.learn.verdict import Referee, Result
from pegasus.sensors import SENSORS

_HEIGHT = 20.0
"""Height of the origins of the episodes above the ground [m]."""


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


@dataclass(frozen=True, eq=False)
class _LocalMotion:
    """Motion of N vehicles by the origins of their episodes."""

    motion: Motion
    origins: Array
    """Origins in the world [m], shape (N, 3)."""

    @property
    def position(self) -> Array:
        position: Array = self.motion.position - self.origins
        return position

    @property
    def orientation(self) -> Array:
        return self.motion.orientation

    @property
    def velocity(self) -> Array:
        return self.motion.velocity

    @property
    def angular_velocity(self) -> Array:
        return self.motion.angular_velocity

    @property
    def rotor_speed(self) -> Array:
        return self.motion.rotor_speed


@dataclass(eq=False)
class _TaskController(PolicyController):
    """Flies episodes of a task: it aims as the task does, by the state that it sees."""

    task: Any = None
    origins: Any = None
    draws: Draws | None = None
    """Random numbers of the goals, until the first action."""

    def _require_goals(self) -> None:
        """Do nothing: the task gives what its policies observe."""

    def _aim(self) -> None:
        episodes = self.episodes
        episodes.motion = _LocalMotion(self._state, self.origins)
        self.task.aim(episodes, self.draws, np.ones(len(episodes), dtype=bool))
        self.draws = None


def evaluate_in_core(
    policy: Path, task: Task, disturbances: Disturbances, *, count: int = 100, seed: int = 1
) -> Result:
    """Fly episodes of a task in the core, those that `evaluate` flies in a fleet; return their result.

    Groups of vehicles, such as swarms, fly apart from others, in open air. Success is that of the true
    motion; the policy has its goals by the state that it sees, such as the gate that it passes next.

    Args:
        policy: File of the policy.
        task: The task.
        disturbances: What differs.
        count: Number of episodes, rounded up to whole groups.
        seed: Seed of their beginnings, and of the simulation.

    Raises:
        ConfigError: If the task has surroundings of its own, which the core lacks.
    """
    alone = task.world(1) is None
    require(
        alone, "task", type(task).__name__, "has surroundings, which only fleets have", "fly it in a fleet"
    )
    count += -count % task.group
    every, origins = np.ones(count, dtype=bool), _origins(task, count)

    def begun() -> tuple[dict[str, Any], Draws]:
        draws = Keys(seed, count).begin(every)
        return dict(task.begin(draws)), draws

    spread = {"uniform": {"low": 1.0 - disturbances.mass, "high": 1.0 + disturbances.mass, "relative": True}}
    options: dict[str, Any] = {"variation": {"mass": spread}} if disturbances.mass else {}
    if disturbances.noise:
        options["estimator"] = EKF(sensors=("imu", "magnetometer", "odometry"), start="known")
        options["extra_sensors"] = {"odometry": SENSORS["odometry"]()}
    wind = {"mean_velocity": [disturbances.wind, 0.0, 0.0]} if disturbances.wind else None
    with Simulation("flat", seed=seed, rate=task.rate, wind=wind) as sim:
        pilot = _TaskController(policy, task=task, origins=origins)
        start, draws = begun()
        places = np.broadcast_to(start.pop("position", 0.0), (count, 3)) + origins
        vehicle = sim.add(Aircraft(task.vehicle, count=count, position=places, backends=[pilot], **options))
        for name in ("rotor_speed", "joint_angle"):
            rest = pilot.episodes.rest_speed if name == "rotor_speed" else None
            values = start.pop(name, rest)
            if values is not None:
                vehicle.columns[name][...] = values
        vehicle.place(places, **start)
        seen = pilot.episodes
        truth = Episodes(_LocalMotion(vehicle.state, origins), seen.rest_speed, seen.action, np.zeros(count))
        task.aim(truth, draws, every)
        _, pilot.draws = begun()
        referee = Referee(task, count)
        for _ in range(referee.steps):
            sim.step(task.substeps)
            truth.time += task.interval
            task.aim(truth, None, every)
            truth.integrate(task.interval, every)
            referee.see(truth)
            if not referee.going.any():
                break
        return referee.result


def _origins(task: Task, count: int) -> Array:
    """Return the origins of the episodes in the world, those of a group at the same place, shape (N, 3)."""
    groups = count // task.group
    side = int(np.ceil(np.sqrt(groups)))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)[:groups]
    places = np.concatenate([grid * task.room, np.full((groups, 1), _HEIGHT)], axis=1)
    return np.repeat(places, task.group, axis=0)
