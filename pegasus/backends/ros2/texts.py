"""Latched texts of the copies of a vehicle, published when they change."""

from collections.abc import Sequence

from pegasus.backends.ros2.graph import LATCHED
from pegasus.backends.ros2.messages import encode, message
from pegasus.backends.ros2.topics import Topics

STRING = "std_msgs/msg/String"


class Texts:
    """Topic of a text of each copy of a vehicle, std_msgs/String; empty at first.

    Args:
        topics: Topics of the vehicle.
        topic: Default name.

    Raises:
        ConfigError: If an option of the topic is not allowed.
    """

    def __init__(self, topics: Topics, topic: str) -> None:
        opened = topics.publishers(topic, STRING, LATCHED)
        self._publishers = [] if opened is None else opened[0]
        self._told = [""] * len(self._publishers)

    def tell(self, texts: Sequence[str]) -> None:
        """Publish the texts that have changed.

        Args:
            texts: Text of each copy.
        """
        for copy, (publisher, text) in enumerate(zip(self._publishers, texts, strict=False)):
            if text != self._told[copy]:
                self._told[copy] = text
                publisher.publish(encode(message(STRING, data=text)))

    def finish(self) -> None:
        """End the run: all texts are empty again."""
        self.tell([""] * len(self._publishers))
