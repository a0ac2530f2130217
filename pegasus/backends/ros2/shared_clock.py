"""Simulation time on the graph, told once for all vehicles of a process."""

from typing import TYPE_CHECKING

from pegasus.backends.ros2.claims import Claims
from pegasus.backends.ros2.messages import Clock
from pegasus.backends.ros2.names import full_topic
from pegasus.backends.ros2.qos import CLOCK
from pegasus.backends.ros2.template import Template
from pegasus.backends.ros2.topic_options import TopicOptions
from pegasus.errors import ConfigError
from pegasus.sensors.sensor import Schedule

if TYPE_CHECKING:
    from pegasus.backends.ros2.transport import Node, Publisher

CLOCK_TOPIC = "/clock"


class SharedClock:
    """The topic /clock, on which a process tells each instant once, whoever comes first.

    Args:
        node: Node that it is told from.
        claims: Names of topics that the clock takes.
    """

    def __init__(self, node: "Node", claims: Claims) -> None:
        self._node, self._claims = node, claims
        self._template = Template(Clock(), "clock")
        self._wanted: TopicOptions | None = None
        self._name = ""
        self._publisher: Publisher | None = None
        self._schedule: Schedule | None = None
        self._rate: float | None = None
        self._physics_rate = 0.0
        self._last = -1

    def use(self, options: TopicOptions | None, *, physics_rate: float) -> None:
        """Take part in the clock of the process.

        Args:
            options: Its options; None for those that it has.
            physics_rate: Rate of the physics [Hz].

        Raises:
            ConfigError: If others have asked for other options, or the name is taken.
        """
        if self._physics_rate and options in (None, self._wanted):
            return
        if self._wanted is not None:
            raise ConfigError(
                "differs from that of another vehicle, and there is one clock for all",
                field=f"topics.{CLOCK_TOPIC}",
                value=str(options),
                remedy="give all vehicles the same, or one of them alone",
            )
        self._open(options or TopicOptions(), physics_rate)
        self._wanted = options

    def publish(self, t: float) -> None:
        """Tell the simulation time if it is due, unless it is what was told last.

        Args:
            t: Simulation time [s].
        """
        stamp = round(t * 1e9)
        if self._publisher is None or stamp == self._last:
            return
        if stamp < self._last:
            self._schedule = self._new_schedule()
        self._last = stamp
        if self._schedule is None or self._schedule.due(round(t * self._physics_rate)):
            self._publisher.publish(self._template.pack(*divmod(stamp, 1_000_000_000)))

    def _open(self, options: TopicOptions, physics_rate: float) -> None:
        name = full_topic(options.name or CLOCK_TOPIC) if options.enabled else ""
        if name != self._name:
            if name:
                self._claims.take(
                    name, Clock.description.name, "the clock", field=f"topics.{CLOCK_TOPIC}.name", sole=True
                )
            self._claims.give_back(self._name)
        publisher, self._publisher, self._name = self._publisher, None, name
        if publisher is not None:
            publisher.close()
        if name:
            self._publisher = self._node.publisher(Clock, name, options.quality(CLOCK))
        self._node.announce()
        self._rate, self._physics_rate = options.rate_hz, physics_rate
        self._schedule = self._new_schedule()

    def _new_schedule(self) -> Schedule | None:
        if self._rate is None or self._rate >= self._physics_rate:
            return None
        return Schedule(self._rate, self._physics_rate, name=CLOCK_TOPIC)
