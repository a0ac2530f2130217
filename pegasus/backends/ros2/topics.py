"""Topics of a vehicle: opened under the names that users give them, each name once, and when each is due."""

from collections.abc import Mapping, Sequence

from pegasus.backends.ros2.claims import Claims
from pegasus.backends.ros2.description import Message
from pegasus.backends.ros2.names import full_topic
from pegasus.backends.ros2.qos import QoS
from pegasus.backends.ros2.shared_clock import CLOCK_TOPIC
from pegasus.backends.ros2.topic_options import TopicOptions
from pegasus.backends.ros2.transport import Node, Publisher, Subscription
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.sensors.sensor import Schedule

TRANSFORMS, STATIC_TRANSFORMS = "/tf", "/tf_static"
_OF_ALL_VEHICLES = (TRANSFORMS, STATIC_TRANSFORMS)


class Topics:
    """The topics of N copies of a vehicle, opened by their own names as the user's options have them.

    Args:
        nodes: Node of each copy.
        options: Options of topics by their own names.
        physics_rate: Rate of the physics [Hz].
        claims: Names that the vehicle takes, and those that others have.
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

    def publishers(
        self, topic: str, message: type[Message], qos: QoS, rate_hz: float | None = None
    ) -> tuple[list[Publisher], Schedule | None] | None:
        """Return the writer of each copy, and when the topic is due; None where it is switched off.

        Args:
            topic: Its own name.
            message: Class of its messages.
            qos: How samples reach their readers.
            rate_hz: Its own rate [Hz]; None for whenever there is something new.

        Raises:
            ConfigError: If its name or rate is not allowed, or the name is that of another topic.
        """
        options = self._chosen(topic)
        if not options.enabled:
            return None
        name = options.name or topic
        self._claim(topic, name, message, sole=topic not in _OF_ALL_VEHICLES)
        publishers = [node.publisher(message, name, options.quality(qos)) for node in self._nodes]
        rate = rate_hz if options.rate_hz is None else options.rate_hz
        # What is asked for at least as often as there are steps is sent at every one.
        if rate is None or rate >= self._rate:
            return publishers, None
        return publishers, Schedule(rate, self._rate, name=topic)

    def subscriptions(self, topic: str, message: type[Message], qos: QoS) -> list[Subscription] | None:
        """Return the reader of each copy; None where the topic is switched off.

        Args:
            topic: Its own name.
            message: Class of its messages.
            qos: What is asked of its writers.

        Raises:
            ConfigError: If its name is not allowed or that of another topic, or it was given a rate.
        """
        options = self._chosen(topic)
        rate = options.rate_hz
        require(rate is None, f"topics.{topic}.rate_hz", rate, "must be left out: it is received, not sent")
        if not options.enabled:
            return None
        name = options.name or topic
        self._claim(topic, name, message, sole=False)
        return [node.subscription(message, name, options.quality(qos)) for node in self._nodes]

    def clock(self) -> TopicOptions | None:
        """Return the options of the clock, which all vehicles share; None where nothing is asked for."""
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
            require(taken == topic, f"topics.{topic}.name", name, f"is that of the topic {taken} already")
        return options

    def _claim(self, topic: str, name: str, message: type[Message], *, sole: bool) -> None:
        for node in self._nodes:
            full, kind = full_topic(name, node.namespace), message.description.name
            owner = f"the topic {topic} of {node.namespace}"
            self._claims.take(full, kind, owner, field=f"topics.{topic}.name", sole=sole)
