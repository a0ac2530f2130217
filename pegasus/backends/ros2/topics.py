"""Topics of a vehicle: what a user changes of them, and when each is due."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pegasus.backends.ros2.description import Message
from pegasus.backends.ros2.names import full_topic
from pegasus.backends.ros2.qos import QoS
from pegasus.backends.ros2.transport import Node, Publisher, Subscription
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.sensors.sensor import Schedule

_ALLOWED = "must be true, false, or a mapping of name and rate_hz"


@dataclass(frozen=True, kw_only=True)
class TopicOptions:
    """What a user changes of one topic."""

    enabled: bool = True
    """Whether there is such a topic at all."""
    name: str | None = None
    """Its name, below the vehicle's namespace unless it begins with a slash; its own when None."""
    rate_hz: float | None = None
    """Most messages per second of simulated time [Hz]; its own when None."""

    def __post_init__(self) -> None:
        rate = self.rate_hz
        require(rate is None or 0 < rate < math.inf, "rate_hz", rate, "must be above 0 Hz and finite")


def topic_options(content: Mapping[str, Any]) -> dict[str, TopicOptions]:
    """Return the options of topics by their own names.

    Args:
        content: By name of the topic `true`, `false`, a `TopicOptions`, or a mapping of `name` and `rate_hz`.

    Raises:
        ConfigError: If a value is none of these.
    """
    return {topic: _options(topic, value) for topic, value in content.items()}


class Topics:
    """The topics of N copies of a vehicle, opened by their own names as the user's options have them.

    Args:
        nodes: Node of each copy.
        options: Options of topics by their own names.
        physics_rate: Rate of the physics [Hz].
    """

    def __init__(
        self, nodes: Sequence[Node], options: Mapping[str, TopicOptions], *, physics_rate: float
    ) -> None:
        self._nodes, self._options, self._rate = nodes, options, physics_rate
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
        publishers = [node.publisher(message, name, qos) for node in self._nodes]
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
        return [node.subscription(message, options.name or topic, qos) for node in self._nodes]

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


def _options(topic: str, value: Any) -> TopicOptions:
    if isinstance(value, TopicOptions):
        return value
    if isinstance(value, bool):
        return TopicOptions(enabled=value)
    if not isinstance(value, Mapping):
        raise ConfigError(_ALLOWED, field=f"topics.{topic}", value=value)
    name, rate = value.get("name"), value.get("rate_hz")
    unknown = value.keys() - {"name", "rate_hz"}
    if unknown:
        raise ConfigError(
            "unknown field", field=f"topics.{topic}.{min(unknown)}", remedy="allowed here: name, rate_hz"
        )
    if name is not None and not isinstance(name, str):
        raise ConfigError("must be a name", field=f"topics.{topic}.name", value=name)
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int | float)):
        raise ConfigError("must be a number [Hz]", field=f"topics.{topic}.rate_hz", value=rate)
    try:
        return TopicOptions(name=name, rate_hz=rate)
    except ConfigError as error:
        raise error.within(field=f"topics.{topic}") from None
