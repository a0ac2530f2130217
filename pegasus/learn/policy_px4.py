"""PX4 that a learnt policy flies by body rates and thrust."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import numpy as np

from pegasus.backends.px4.guided import GuidedPX4
from pegasus.base.arrays import BoolArray
from pegasus.base.components import require
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.control.guided_commands import Command
from pegasus.learn.policy_controller import PolicyController
from pegasus.learn.terms import Law, term_of

COMMANDS = ("thrust", "rate_x", "rate_y", "rate_z")
"""Commands of a policy that PX4 carries out: thrust [N] and body rates [rad/s]."""


class _Actions(PolicyController):
    """Actions of a policy whose commands are carried out elsewhere."""

    def bind(self, vehicle: Vehicle) -> None:
        """Read what the policy observes and commands."""
        self.description = about = self._policy.describe(vehicle)
        self._terms = [term_of(entry, self.terms) for entry in about.terms]
        self._pilot = None
        self._count, self._dt = vehicle.count, 1.0 / vehicle.physics_rate
        self._targets = np.full((self._count, 3), np.nan)
        self._rest = np.array(about.rest_speed)
        self._low, self._high = np.array(about.low), np.array(about.high)
        self.start()

    @property
    def due(self) -> BoolArray:
        """Whether each copy is due to act, shape (N,)."""
        due: BoolArray = self.episodes.time >= self._due - 0.5 * self._dt
        return due


@dataclass(eq=False)
class PolicyPX4(GuidedPX4):
    """PX4 whose offboard pilot is a learnt policy of body rates and thrust; see `PX4`.

    PX4 arms and climbs by `height`; from there on the policy sends SET_ATTITUDE_TARGET at the interval of its
    actions, which PX4's rate controller follows. At the end of the trajectory PX4 lands. A command of
    `GuidedPX4`, such as `land`, takes a copy from the policy.
    """

    _: KW_ONLY
    policy: str | Path
    """File of the policy, as `pegasus train --set level=rates` writes it."""
    relative: bool = True
    """Whether the trajectory begins where the policy takes over, or is in the world."""
    observes: str = "estimate"
    """What the policy observes: `estimate` of its PX4, or `truth`. Rotor speeds are the true ones."""
    terms: Mapping[str, Law] = field(default_factory=dict)
    """Terms of the observation that are not shipped, by name."""

    def __post_init__(self) -> None:
        sees = self.observes in ("estimate", "truth")
        require(sees, "observes", self.observes, "must be estimate or truth")
        self._learnt = _Actions(
            self.policy, trajectory=self.trajectory, relative=self.relative, terms=self.terms
        )
        # The trajectory is the policy's; PX4 is flown by commands.
        self.trajectory = None
        super().__post_init__()
        self.trajectory = self._learnt.trajectory

    def bind(self, vehicle: Vehicle) -> None:
        """Prepare for a vehicle; see `PX4.bind`.

        Raises:
            ConfigError: If the policy commands something else than body rates and thrust.
        """
        self._learnt.bind(vehicle)
        found = self._learnt.description.channels
        require(
            found == COMMANDS,
            "policy",
            str(self.policy),
            f"commands {', '.join(found)}; PX4 takes {', '.join(COMMANDS)}",
            "train it with --set level=rates",
        )
        super().bind(vehicle)
        self._orders = np.full(vehicle.count, -1)

    def start(self) -> None:
        """Start the autopilots, which climb as soon as they can arm."""
        super().start()
        self._learnt.start()
        self._climb: Command | None = None
        self._orders[...] = -1

    @property
    def by_policy(self) -> BoolArray:
        """Whether each copy is flown by the policy, shape (N,)."""
        flown: BoolArray = self.mission.flying & (self.mission.order == self._orders)
        return flown

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Let the policy act, and send its commands and the readings; see `PX4.publish`."""
        if self._climb is None:
            self._climb = self.takeoff()
            self._climbed = self.mission.order.copy()
        self._learnt.publish(t, state, {})
        arrived = self._climb.done & self.mission.flying & (self.mission.order == self._climbed)
        if arrived.any():
            self._learnt.reset_copies(np.flatnonzero(arrived))
            self._climbed[arrived] = -1
        due = (self._learnt.due & self.by_policy) | arrived
        if due.any():
            self._act(t, due, state)
        super().publish(t, state, readings)
        assert self._pilot is not None
        self.reference = (self._learnt if self.by_policy.any() else self._pilot).reference

    def _act(self, t: float, due: BoolArray, state: VehicleState) -> None:
        """Command the next actions of copies; land those whose trajectory is over."""
        over = due & (self._learnt.episodes.time >= self._learnt.trajectory.duration)
        if over.any():
            self.land(copies=over)
        due = due & ~over
        if not due.any():
            return
        self._learnt.publish(t, self._seen(state), {})
        actions = self._learnt.command(t)
        assert actions is not None
        commands = actions[due]
        thrust = np.minimum(commands[:, 0], self._output.most[due])
        self.body_rates(commands[:, 1:], thrust=thrust, copies=due)
        self._orders[due] = self.mission.order[due]

    def _seen(self, state: VehicleState) -> VehicleState:
        """Return what the policy observes: the state as the autopilots see it, or the true one."""
        if self.observes == "truth" or self._flown is None or self.estimate is None:
            return state
        estimate, seen = self.estimate, self._flown.seen(state)
        for name in ("orientation", "angular_velocity"):
            known = getattr(estimate, name)
            own = getattr(seen, name)
            own[...] = np.where(np.isnan(known), own, known)
        return seen
