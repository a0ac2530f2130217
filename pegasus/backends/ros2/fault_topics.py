"""Topics by which ROS 2 clients inject and heal faults, and see which ones act."""

import logging
from typing import TYPE_CHECKING

import yaml

from pegasus.backends.ros2.graph import LATCHED, RELIABLE
from pegasus.backends.ros2.messages import CdrError, decode, encode, message
from pegasus.backends.ros2.topics import Topics
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.core.fault import build_fault

if TYPE_CHECKING:
    from pegasus.core.multirotor import Multirotor

_log = logging.getLogger(__name__)

_STRING = "std_msgs/msg/String"
_INTERVAL = 5
"""Number of steps between two looks for messages."""


class FaultTopics:
    """Topics `faults/inject`, `faults/heal` and `faults/acting` of N copies of a vehicle, std_msgs/String.

    A message to inject is a mapping in YAML, as in scenario files: `{model: motor_loss, rotor: 2}`. One to
    heal is the name of a fault, or empty for all. Each concerns the copy of its namespace.

    Args:
        topics: Topics of the vehicle.
        vehicle: The vehicle.

    Raises:
        ConfigError: If an option of a topic is not allowed.
    """

    def __init__(self, topics: Topics, vehicle: "Multirotor") -> None:
        self._vehicle = vehicle
        self._inject = topics.subscriptions("faults/inject", _STRING, RELIABLE) or []
        self._heal = topics.subscriptions("faults/heal", _STRING, RELIABLE) or []
        opened = topics.publishers("faults/acting", _STRING, LATCHED)
        self._publishers = [] if opened is None else opened[0]
        self._told = [""] * vehicle.count
        self._steps = 0

    def read(self, t: float) -> None:
        """Inject and heal as received, and publish the names of faults if they have changed.

        An invalid message is logged and changes nothing.

        Args:
            t: Simulation time [s].
        """
        self._steps += 1
        if self._steps % _INTERVAL:
            return
        for take, subscriptions in ((self._take, self._inject), (self._end, self._heal)):
            for copy, subscription in enumerate(subscriptions):
                for data in subscription.take():
                    try:
                        take(copy, str(decode(_STRING, data).data))
                    except (ConfigError, CdrError) as error:
                        _log.warning("invalid fault for copy %d of %s: %s", copy, self._vehicle.name, error)
        for copy, publisher in enumerate(self._publishers):
            acting = self._vehicle.faults.acting
            names = "; ".join(injection.label for injection in acting if injection.active[copy])
            if names != self._told[copy]:
                self._told[copy] = names
                publisher.publish(encode(message(_STRING, data=names)))

    def finish(self) -> None:
        """End the run: no fault acts any more."""
        for publisher, told in zip(self._publishers, self._told, strict=False):
            if told:
                publisher.publish(encode(message(_STRING)))

    def _take(self, copy: int, text: str) -> None:
        try:
            described = yaml.safe_load(text)
        except yaml.YAMLError:
            described = None
        allowed = "must be a mapping in YAML such as {model: motor_loss, rotor: 2}"
        require(isinstance(described, dict), "data", text, allowed)
        self._vehicle.inject(build_fault(described), copies=copy)

    def _end(self, copy: int, name: str) -> None:
        self._vehicle.heal(name or None, copies=copy)
