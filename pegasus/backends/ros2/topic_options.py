"""Options of a topic: whether there is one, its name, rate and reliability."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pegasus.backends.ros2.qos import QoS
from pegasus.components import require
from pegasus.errors import ConfigError

_ALLOWED = "must be true, false, or a mapping of name, rate_hz and reliable"
_FIELDS = {"name", "rate_hz", "reliable"}


@dataclass(frozen=True, kw_only=True)
class TopicOptions:
    """What a user changes of one topic."""

    enabled: bool = True
    """Whether there is such a topic at all."""
    name: str | None = None
    """Its name, below the vehicle's namespace unless it begins with a slash; its own when None."""
    rate_hz: float | None = None
    """Most messages per second of simulated time [Hz]; its own when None."""
    reliable: bool | None = None
    """Whether lost samples are sent again; as the topic has it when None."""

    def __post_init__(self) -> None:
        rate = self.rate_hz
        require(rate is None or 0 < rate < math.inf, "rate_hz", rate, "must be above 0 Hz and finite")

    def __str__(self) -> str:
        if not self.enabled:
            return "off"
        given = [("name", self.name), ("rate_hz", self.rate_hz), ("reliable", self.reliable)]
        return ", ".join(f"{key} {value}" for key, value in given if value is not None) or "on"

    def quality(self, qos: QoS) -> QoS:
        """Return the quality of service of a topic.

        Args:
            qos: The topic's own.
        """
        return qos if self.reliable is None else replace(qos, reliable=self.reliable)


def topic_options(content: Mapping[str, Any]) -> dict[str, TopicOptions]:
    """Return the options of topics by their own names.

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
        raise ConfigError(_ALLOWED, field=f"topics.{topic}", value=value)
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
