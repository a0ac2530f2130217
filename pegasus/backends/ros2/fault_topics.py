"""Topics by which ROS 2 clients inject and heal faults, and see which ones act."""

import logging

import yaml

from pegasus.backends.ros2.graph import RELIABLE
from pegasus.backends.ros2.messages import CdrError, decode
from pegasus.backends.ros2.texts import STRING, Texts
from pegasus.backends.ros2.topics import Topics
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.fault import build_fault
from pegasus.core.aircraft import Aircraft

_log = logging.getLogger(__name__)


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

    def __init__(self, topics: Topics, vehicle: Aircraft) -> None:
        self._vehicle = vehicle
        self._inject = topics.subscriptions("faults/inject", STRING, RELIABLE) or []
        self._heal = topics.subscriptions("faults/heal", STRING, RELIABLE) or []
        self._acting = Texts(topics, "faults/acting")

    def update(self) -> None:
        """Inject and heal as received, and publish the names of faults if they have changed.

        An invalid message is logged and changes nothing.
        """
        for take, subscriptions in ((self._take, self._inject), (self._end, self._heal)):
            for copy, subscription in enumerate(subscriptions):
                for data in subscription.take():
                    try:
                        take(copy, str(decode(STRING, data).data))
                    except (ConfigError, CdrError) as error:
                        _log.warning("invalid fault for copy %d of %s: %s", copy, self._vehicle.name, error)
        acting = self._vehicle.faults.acting
        self._acting.tell(
            [
                "; ".join(injection.label for injection in acting if injection.active[copy])
                for copy in range(self._vehicle.count)
            ]
        )

    def finish(self) -> None:
        """End the run: no fault acts any more."""
        self._acting.finish()

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
