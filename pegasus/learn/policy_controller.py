"""Controller that flies by a learnt policy."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import finite_numbers, require
from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import Backend
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Reference, VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.control.trajectories import Trajectory, hold, trajectory_from_spec
from pegasus.core.placement import Copies, chosen_copies
from pegasus.learn.commands import commands_of
from pegasus.learn.episodes import Episodes
from pegasus.learn.level_pilot import LevelPilot
from pegasus.learn.policy_file import PolicyFile
from pegasus.learn.raptor import RaptorPolicy
from pegasus.learn.terms import Law, observed, term_of

_AHEAD = (0.1, 0.2, 0.4, 0.6)


@dataclass(eq=False)
class PolicyController(Backend):
    """Flies by a policy of an ONNX file, from the first step on: it observes what its file lists.

    It sees the estimated state where the vehicle has an estimator, else the true one.
    """

    policy: str | Path
    """File of the policy, as `pegasus train` writes it; or `raptor`, which flies most quadrotors."""
    _: KW_ONLY
    trajectory: Any = None
    """Where to be: a `Trajectory`, or parts of one as in scenario files; by default at 1 m."""
    relative: bool = True
    """Whether the trajectory begins where each vehicle starts, or is in the world."""
    terms: Mapping[str, Law] = field(default_factory=dict)
    """Terms of the observation that are not shipped, by name."""

    drives = True
    reads_sensors = False
    takes_feedback = True

    def __post_init__(self) -> None:
        self._policy = RaptorPolicy() if self.policy == "raptor" else PolicyFile(self.policy)
        given = self.trajectory
        if given is None:
            given = hold(height=1.0)
        self.trajectory = given if isinstance(given, Trajectory) else trajectory_from_spec(given)

    def bind(self, vehicle: Vehicle) -> None:
        """Check that the vehicle has the channels that the policy commands.

        Raises:
            ConfigError: If it has others, or does not reach their commands.
        """
        self.description = about = self._policy.describe(vehicle)
        self._terms = [term_of(entry, self.terms) for entry in about.terms]
        self._pilot = None if about.level == "channels" else LevelPilot(about.level, vehicle)
        channels = vehicle.channels if self._pilot is None else self._pilot.inputs
        names = tuple(channel.name for channel in channels)
        require(
            names == about.channels,
            "policy",
            str(self.policy),
            f"commands {', '.join(about.channels)}; {vehicle.name!r} has {', '.join(names)}",
        )
        for channel, low, high in zip(channels, about.low, about.high, strict=True):
            if not channel.low <= low <= high <= channel.high:
                raise ConfigError(
                    f"commands {channel.name} from {low:.4g} to {high:.4g} with {about.vehicle!r}; "
                    f"{vehicle.name!r} takes {channel}",
                    field="policy",
                    value=str(self.policy),
                )
        self._count, self._dt = vehicle.count, 1.0 / vehicle.physics_rate
        self._targets = np.full((self._count, 3), np.nan)
        self._rest = np.array(about.rest_speed)
        self._low, self._high = np.array(about.low), np.array(about.high)
        self.start()
        self._require_goals()

    def _require_goals(self) -> None:
        """Raise a ConfigError unless a trajectory gives what the policy observes of its goals."""
        place = np.zeros(3)
        goal = {"position": place, "velocity": place, "preview": np.zeros((len(_AHEAD), 3))}
        episodes = Episodes(self.episodes.motion, self._rest, self.episodes.action, self.episodes.time)
        episodes.goal = {
            name: np.broadcast_to(values, (self._count, *values.shape)) for name, values in goal.items()
        }
        for term in self._terms:
            try:
                term(episodes)
            except KeyError:
                raise ConfigError(
                    f"observes {term.name}, which only its task {self.description.task!r} has",
                    field="policy",
                    value=str(self.policy),
                    remedy="fly it by pegasus evaluate",
                ) from None

    def goto(self, position: npt.ArrayLike, copies: Copies = None) -> None:
        """Fly to places in place of the trajectory, and stay there.

        Args:
            position: Places in the world [m], one or shape (K, 3).
            copies: The K copies; all if None.
        """
        rows = chosen_copies(copies, self._count)
        self._targets[rows] = finite_numbers("position", position, (len(rows), 3))

    def start(self) -> None:
        """Start from a fresh state."""
        count = self._count
        at_rest = self._state = VehicleState.at_rest(count, len(self._rest))
        self._policy.reset()
        if self._pilot is not None:
            self._pilot.start()
        self.episodes = Episodes(at_rest, self._rest, np.zeros((count, len(self._low))), np.zeros(count))
        self._due = np.zeros(count)
        self._last = 0.0
        self._places = np.full((count, 3), np.nan)

    def reset_copies(self, rows: IntArray) -> None:
        """Start copies anew."""
        chosen = np.zeros(self._count, dtype=bool)
        chosen[rows] = True
        self.episodes.begin(chosen)
        self._policy.reset(chosen)
        if self._pilot is not None:
            self._pilot.start(chosen)
        self._due[rows] = 0.0
        self._places[rows] = np.nan

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Take the state."""
        self.episodes.motion = self._state = state
        self.episodes.time += t - self._last
        self._last = t
        fresh = np.isnan(self._places[:, 0])
        if fresh.any():
            self._places[fresh] = state.position[fresh] * (1.0, 1.0, 0.0) * float(self.relative)

    def command(self, t: float) -> Array | None:
        """Return the commands of the last actions; new actions are taken at the interval of the policy."""
        episodes, interval = self.episodes, self.description.interval
        due = episodes.time >= self._due - 0.5 * self._dt
        if due.any():
            self._aim()
            episodes.integrate(interval, due & (self._due > 0.0))
            new = np.clip(self._policy(observed(self._terms, episodes)), -1.0, 1.0)
            episodes.action[due] = new[due]
            self._due[due] += interval
        commands = commands_of(episodes.action, self._low, self._high)
        return commands if self._pilot is None else self._pilot.speeds(t, self._state, commands)

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
