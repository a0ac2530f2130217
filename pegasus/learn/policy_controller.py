"""Controller that flies by a learnt policy."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import Backend
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Reference, VehicleState
from pegasus.contracts.vehicle import Vehicle, as_machine
from pegasus.control.trajectories import Trajectory, hold, trajectory_from_spec
from pegasus.learn.episodes import Episodes
from pegasus.learn.policy_file import PolicyFile
from pegasus.learn.terms import Law, observed, term_of

_AHEAD = (0.1, 0.2, 0.4, 0.6)


@dataclass(eq=False)
class PolicyController(Backend):
    """Flies by a policy of an ONNX file, from the first step on: it observes what its file lists.

    It sees the estimated state where the vehicle has an estimator, else the true one.
    """

    policy: str | Path
    """File of the policy, as `pegasus train` writes it."""
    _: KW_ONLY
    trajectory: Any = None
    """Where to be: a `Trajectory`, or parts of one as in scenario files; by default 1 m above the start."""
    relative: bool = True
    """Whether the trajectory is relative to each vehicle's start position, or in world coordinates."""
    terms: Mapping[str, Law] = field(default_factory=dict)
    """Terms of the observation that are not shipped, by name."""

    drives = True
    reads_sensors = False
    takes_feedback = True

    def __post_init__(self) -> None:
        self._file = PolicyFile(self.policy)
        given = self.trajectory
        if given is None:
            given = hold(height=1.0)
        self.trajectory = given if isinstance(given, Trajectory) else trajectory_from_spec(given)
        entries = [{"name": name, "scale": scale} for name, scale in self._file.description.terms]
        self._terms = [term_of(entry, self.terms) for entry in entries]

    def bind(self, vehicle: Vehicle) -> None:
        """Check that the vehicle has the channels that the policy commands.

        Raises:
            ConfigError: If it has others, or does not reach their commands.
        """
        about, machine = self._file.description, as_machine(vehicle)
        names = tuple(channel.name for channel in vehicle.channels)
        require(
            names == about.channels,
            "policy",
            str(self.policy),
            f"commands {', '.join(about.channels)}; {vehicle.name!r} has {', '.join(names)}",
        )
        for channel, low, high in zip(vehicle.channels, about.low, about.high, strict=True):
            if not channel.low <= low < high <= channel.high:
                raise ConfigError(
                    f"commands {channel.name} from {low:.4g} to {high:.4g} with {about.vehicle!r}; "
                    f"{vehicle.name!r} takes {channel}",
                    field="policy",
                    value=str(self.policy),
                )
        self._count, self._dt = vehicle.count, 1.0 / vehicle.physics_rate
        self._start = machine.state
        self._rest = np.array(about.rest_speed)
        self._low, self._high = np.array(about.low), np.array(about.high)
        self.start()

    def start(self) -> None:
        """Start from a fresh state."""
        count = self._count
        self._action = np.zeros((count, len(self._low)))
        self._time = np.zeros(count)
        self._due = np.zeros(count)
        self._origin = np.full((count, 3), np.nan)
        self._state: VehicleState | None = None
        self._last: float | None = None

    def reset_copies(self, rows: IntArray) -> None:
        """Start copies anew."""
        self._action[rows] = self._time[rows] = self._due[rows] = 0.0
        self._origin[rows] = np.nan

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Keep the state."""
        self._state = state
        fresh = np.isnan(self._origin[:, 0])
        if fresh.any():
            self._origin[fresh] = state.position[fresh] if self.relative else 0.0

    def command(self, t: float) -> Array | None:
        """Return the commands of the last actions; new actions are taken at the interval of the policy."""
        assert self._state is not None
        if self._last is not None:
            self._time += t - self._last
        self._last = t
        due = self._time >= self._due - 0.5 * self._dt
        if due.any():
            episodes = Episodes(self._state, self._rest, self._action, self._time, self._goal())
            new = np.clip(self._file(observed(self._terms, episodes)), -1.0, 1.0)
            self._action[due] = new[due]
            self._due[due] += self._file.description.interval
        commands: Array = self._low + 0.5 * (self._action + 1.0) * (self._high - self._low)
        return commands

    def _goal(self) -> dict[str, Array]:
        """Return what to follow now, and report it."""
        points, _ = self.trajectory.samples(self._time)
        ahead = [self.trajectory.samples(self._time + dt)[0][:, :3] for dt in _AHEAD]
        position = points[:, :3] + self._origin
        velocity = points[:, 3:6].copy()
        reference = Reference.hold(position, np.zeros(self._count))
        reference.velocity[...] = velocity
        self.reference = reference
        return {
            "position": position,
            "velocity": velocity,
            "preview": np.stack(ahead, axis=1) + self._origin[:, None],
        }
