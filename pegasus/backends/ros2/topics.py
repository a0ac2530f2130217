"""Topics of vehicles: user options, unique names, due times, and the clock shared by all vehicles."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pegasus.backends.ros2.graph import CLOCK, Node, Publisher, QoS, Subscription
from pegasus.backends.ros2.messages import Template, message
from pegasus.backends.ros2.names import Claims, full_topic
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.core.schedule import Schedule

CLOCK_TOPIC = "/clock"
TRANSFORMS, STATIC_TRANSFORMS = "/tf", "/tf_static"
_SHARED_TOPICS = (TRANSFORMS, STATIC_TRANSFORMS)
_CLOCK_TYPE = "rosgraph_msgs/msg/Clock"
_FIELDS = {"name", "rate_hz", "reliable"}


@dataclass(frozen=True, kw_only=True)
class TopicOptions:
    """User options of one topic."""

    enabled: bool = True
    """Whether the topic exists."""
    name: str | None = None
    """Name, relative to the vehicle's namespace unless it begins with a slash; the default name if None."""
    rate_hz: float | None = None
    """Maximum number of messages per second of simulated time [Hz]; the default rate if None."""
    reliable: bool | None = None
    """Whether lost samples are sent again; the topic's default if None."""

    def __post_init__(self) -> None:
        rate = self.rate_hz
        require(rate is None or 0 < rate < math.inf, "rate_hz", rate, "must be above 0 Hz and finite")

    def __str__(self) -> str:
        if not self.enabled:
            return "off"
        given = [("name", self.name), ("rate_hz", self.rate_hz), ("reliable", self.reliable)]
        return ", ".join(f"{key} {value}" for key, value in given if value is not None) or "on"

    def quality(self, qos: QoS) -> QoS:
        """Return the quality of service of the topic.

        Args:
            qos: The topic's default.
        """
        return qos if self.reliable is None else replace(qos, reliable=self.reliable)


def topic_options(content: Mapping[str, Any]) -> dict[str, TopicOptions]:
    """Return the options of topics by their default names.

    Args:
        content: By name of the topic `true`, `false`, a `TopicOptions`, or a mapping of its fields.

    Raises:
        ConfigError: If a value is none of these.
    """
    return {topic: _options(topic, value) for topic, value in content.items()}


def _options(topic: str, value: Any) -> TopicOptions:
    if isinstance(value, TopicOptions):
        return value
    if isinstance(value, bool):
        return TopicOptions(enabled=value)
    if not isinstance(value, Mapping):
        allowed = "must be true, false, or a mapping of name, rate_hz and reliable"
        raise ConfigError(allowed, field=f"topics.{topic}", value=value)
    unknown = value.keys() - _FIELDS
    if unknown:
        raise ConfigError(
            "unknown field",
            field=f"topics.{topic}.{min(unknown)}",
            remedy=f"allowed here: {', '.join(sorted(_FIELDS))}",
        )
    name, rate, reliable = (value.get(key) for key in ("name", "rate_hz", "reliable"))
    if name is not None and not isinstance(name, str):
        raise ConfigError("must be a name", field=f"topics.{topic}.name", value=name)
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int | float)):
        raise ConfigError("must be a number [Hz]", field=f"topics.{topic}.rate_hz", value=rate)
    if not isinstance(reliable, bool | None):
        raise ConfigError("must be true or false", field=f"topics.{topic}.reliable", value=reliable)
    try:
        return TopicOptions(name=name, rate_hz=rate, reliable=reliable)
    except ConfigError as error:
        raise error.within(field=f"topics.{topic}") from None


class SharedClock:
    """The topic /clock, on which a process publishes each instant once."""

    def __init__(self, node: Node, claims: Claims) -> None:
        self._node, self._claims = node, claims
        self._template = Template(message(_CLOCK_TYPE), "clock")
        self._wanted: TopicOptions | None = None
        self._name = ""
        self._publisher: Publisher | None = None
        self._schedule: Schedule | None = None
        self._rate: float | None = None
        self._physics_rate = 0.0
        self._last = -1

    def use(self, options: TopicOptions | None, *, physics_rate: float) -> None:
        """Use the clock of the process for one more vehicle.

        Args:
            options: Options of the clock; None to keep the present ones.
            physics_rate: Rate of the physics [Hz].

        Raises:
            ConfigError: If another vehicle uses different options, or the name is taken.
        """
        if self._physics_rate and options in (None, self._wanted):
            return
        if self._wanted is not None:
            raise ConfigError(
                "differs from that of another vehicle, but all vehicles share one clock",
                field=f"topics.{CLOCK_TOPIC}",
                value=str(options),
                remedy="give the same options to all vehicles, or to only one of them",
            )
        self._open(options or TopicOptions(), physics_rate)
        self._wanted = options

    def publish(self, t: float) -> None:
        """Publish the simulation time if it is due and new, and someone subscribes to it.

        Args:
            t: Simulation time [s].
        """
        stamp = round(t * 1e9)
        if self._publisher is None or stamp == self._last:
            return
        if stamp < self._last:
            self._schedule = self._new_schedule()
        self._last = stamp
        due = self._schedule is None or self._schedule.due(round(t * self._physics_rate))
        if due and self._publisher.matched:
            self._publisher.publish(self._template.pack(*divmod(stamp, 1_000_000_000)))

    def _open(self, options: TopicOptions, physics_rate: float) -> None:
        name = full_topic(options.name or CLOCK_TOPIC) if options.enabled else ""
        if name != self._name:
            if name:
                field = f"topics.{CLOCK_TOPIC}.name"
                self._claims.take(name, _CLOCK_TYPE, "the clock", field=field, sole=True)
            self._claims.release_name(self._name)
        publisher, self._publisher, self._name = self._publisher, None, name
        if publisher is not None:
            publisher.close()
        if name:
            self._publisher = self._node.publisher(_CLOCK_TYPE, name, options.quality(CLOCK))
        self._node.announce()
        self._rate, self._physics_rate = options.rate_hz, physics_rate
        self._schedule = self._new_schedule()

    def _new_schedule(self) -> Schedule | None:
        if self._rate is None or self._rate >= self._physics_rate:
            return None
        return Schedule(self._rate, self._physics_rate, name=CLOCK_TOPIC)


class Topics:
    """Topics of N copies of a vehicle, opened by their default names with the user's options.

    A topic that the run before has opened is returned again, without the messages that came since.

    Args:
        nodes: Node of each copy.
        options: Options of topics by their default names.
        physics_rate: Rate of the physics [Hz].
        claims: Names that the vehicle takes.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        options: Mapping[str, TopicOptions],
        *,
        physics_rate: float,
        claims: Claims,
    ) -> None:
        self._nodes, self._options, self._rate, self._claims = nodes, options, physics_rate, claims
        self._names: dict[str, str] = {}
        self._known: list[str] = []
        self._publishers: dict[str, list[Publisher]] = {}
        self._subscriptions: dict[str, list[Subscription]] = {}

    def publishers(
        self, topic: str, kind: str, qos: QoS, rate_hz: float | None = None
    ) -> tuple[list[Publisher], Schedule | None] | None:
        """Return the writer of each copy and the schedule of the topic; None if the topic is disabled.

        Args:
            topic: Default name.
            kind: Full name of the type of its messages.
            qos: Default quality of service.
            rate_hz: Default rate [Hz]; None for every new reading or state.

        Raises:
            ConfigError: If its name or rate is not allowed, or the name is taken.
        """
        options = self._chosen(topic)
        if not options.enabled:
            return None
        if topic not in self._publishers:
            name = options.name or topic
            self._claim(topic, name, kind, sole=topic not in _SHARED_TOPICS)
            self._publishers[topic] = [
                node.publisher(kind, name, options.quality(qos)) for node in self._nodes
            ]
        publishers = self._publishers[topic]
        rate = rate_hz if options.rate_hz is None else options.rate_hz
        # Rates above that of the physics mean every step.
        if rate is None or rate >= self._rate:
            return publishers, None
        return publishers, Schedule(rate, self._rate, name=topic)

    def subscriptions(self, topic: str, kind: str, qos: QoS) -> list[Subscription] | None:
        """Return the reader of each copy; None if the topic is disabled.

        Args:
            topic: Default name.
            kind: Full name of the type of its messages.
            qos: Default quality of service.

        Raises:
            ConfigError: If its name is not allowed or taken, or it was given a rate.
        """
        options = self._chosen(topic)
        rate = options.rate_hz
        require(rate is None, f"topics.{topic}.rate_hz", rate, "must be left out: the topic is received")
        if not options.enabled:
            return None
        if topic not in self._subscriptions:
            name = options.name or topic
            self._claim(topic, name, kind, sole=False)
            self._subscriptions[topic] = [
                node.subscription(kind, name, options.quality(qos)) for node in self._nodes
            ]
        for subscription in self._subscriptions[topic]:
            subscription.take()
        return self._subscriptions[topic]

    def clock(self) -> TopicOptions | None:
        """Return the options of the clock, which all vehicles share; None if there are none."""
        self._known.append(CLOCK_TOPIC)
        return self._options.get(CLOCK_TOPIC)

    def require_known(self) -> None:
        """Raise a ConfigError if an option names a topic that was never opened."""
        for topic in self._options:
            if topic not in self._known:
                raise ConfigError(
                    "the vehicle has no such topic",
                    field="topics",
                    value=topic,
                    remedy=f"it has {', '.join(self._known)}",
                )

    def _chosen(self, topic: str) -> TopicOptions:
        self._known.append(topic)
        options = self._options.get(topic, TopicOptions())
        if options.enabled:
            name = options.name or topic
            taken = self._names.setdefault(full_topic(name), topic)
            require(taken == topic, f"topics.{topic}.name", name, f"is already the name of the topic {taken}")
        return options

    def _claim(self, topic: str, name: str, kind: str, *, sole: bool) -> None:
        for node in self._nodes:
            full = full_topic(name, node.namespace)
            owner = f"the topic {topic} of {node.namespace}"
            self._claims.take(full, kind, owner, field=f"topics.{topic}.name", sole=sole)
