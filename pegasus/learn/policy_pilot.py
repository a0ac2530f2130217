"""Learnt policy in flight: what it observes, when it acts, and where it is to be."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import finite_numbers
from pegasus.contracts.state import Reference, VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.control.trajectories import Trajectory, hold, trajectory_from_spec
from pegasus.core.placement import Copies, chosen_copies
from pegasus.learn.episodes import Episodes
from pegasus.learn.policy_file import PolicyFile
from pegasus.learn.raptor import RaptorPolicy
from pegasus.learn.terms import Law, observed, term_of

_AHEAD = (0.1, 0.2, 0.4, 0.6)
"""Times of the preview from now [s]."""


class PolicyPilot:
    """Policy that flies N vehicles, each from the beginning of its own flight on.

    Args:
        policy: File of the policy; or `raptor`.
        trajectory: Where to be: a `Trajectory`, or parts of one as in scenario files; None for 1 m up.
        relative: Whether the trajectory begins where each flight begins, or is in the world.
        terms: Terms of the observation that are not shipped, by name.
    """

    def __init__(
        self, policy: str | Path, trajectory: Any, *, relative: bool, terms: Mapping[str, Law]
    ) -> None:
        self._policy = RaptorPolicy() if policy == "raptor" else PolicyFile(policy)
        given = hold(height=1.0) if trajectory is None else trajectory
        self.trajectory = given if isinstance(given, Trajectory) else trajectory_from_spec(given)
        self._relative, self._own = relative, terms

    def bind(self, vehicle: Vehicle) -> None:
        """Read what the policy observes and commands with a vehicle.

        Raises:
            ConfigError: If it observes a term that is not known, or cannot fly the vehicle.
        """
        self.description = about = self._policy.describe(vehicle)
        self._terms = [term_of(entry, self._own) for entry in about.terms]
        self._count, self._dt = vehicle.count, 1.0 / vehicle.physics_rate
        self._targets = np.full((self._count, 3), np.nan)
        self._rest = np.array(about.rest_speed)
        self._low, self._high = np.array(about.low), np.array(about.high)
        self.start()

    def start(self) -> None:
        """Begin all flights."""
        count = self._count
        at_rest = VehicleState.at_rest(count, len(self._rest))
        self._policy.reset()
        self.episodes = Episodes(at_rest, self._rest, np.zeros((count, len(self._low))), np.zeros(count))
        self._due = np.zeros(count)
        self._last = 0.0
        self._places = np.full((count, 3), np.nan)

    def begin(self, chosen: BoolArray) -> None:
        """Begin the flights of some copies anew, where they will be next.

        Args:
            chosen: The copies, shape (N,).
        """
        self.episodes.begin(chosen)
        self._policy.reset(chosen)
        self._due[chosen] = 0.0
        self._places[chosen] = np.nan

    def target(self, position: npt.ArrayLike, copies: Copies) -> None:
        """Let copies be at places in place of the trajectory.

        Args:
            position: Places in the world [m], one or shape (K, 3).
            copies: The K copies; all if None.
        """
        rows = chosen_copies(copies, self._count)
        self._targets[rows] = finite_numbers("position", position, (len(rows), 3))

    def advance(self, t: float) -> BoolArray:
        """Advance the flights to time t [s]; return the copies that are due to act, shape (N,)."""
        self.episodes.time += t - self._last
        self._last = t
        due: BoolArray = self.episodes.time >= self._due - 0.5 * self._dt
        return due

    def act(self, due: BoolArray, state: VehicleState) -> None:
        """Take the next actions of copies.

        Args:
            due: The copies, shape (N,).
            state: State that the policy observes, of all copies.
        """
        episodes, interval = self.episodes, self.description.interval
        episodes.motion = state
        fresh = np.isnan(self._places[:, 0])
        if fresh.any():
            self._places[fresh] = state.position[fresh] * (1.0, 1.0, 0.0) * float(self._relative)
        self._aim()
        episodes.integrate(interval, due & (self._due > 0.0))
        new = np.clip(self._policy(observed(self._terms, episodes)), -1.0, 1.0)
        episodes.action[due] = new[due]
        self._due[due] += interval

    @property
    def commands(self) -> Array:
        """Commands of the last actions, shape (N, A)."""
        commands: Array = self._low + 0.5 * (self.episodes.action + 1.0) * (self._high - self._low)
        return commands

    def _aim(self) -> None:
        """Set the goals, and report them."""
        episodes, moved = self.episodes, ~np.isnan(self._targets[:, :1])
        points, _ = self.trajectory.samples(episodes.time)
        ahead = [self.trajectory.samples(episodes.time + dt)[0][:, :3] for dt in _AHEAD]
        position = np.where(moved, self._targets, points[:, :3] + self._places)
        velocity = np.where(moved, 0.0, points[:, 3:6])
        preview = np.stack(ahead, axis=1) + self._places[:, None]
        preview = np.where(moved[:, None], position[:, None], preview)
        episodes.goal = {"position": position, "velocity": velocity, "preview": preview}
        self.reference = Reference.hold(position, np.zeros(self._count))
        self.reference.velocity[...] = velocity
