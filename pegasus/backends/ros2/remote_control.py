"""Remote control of a simulation: topics that pause, resume and reset it."""

import logging
import threading
from types import TracebackType

from pegasus.backends.ros2.graph import RELIABLE, Subscription
from pegasus.backends.ros2.messages import CdrError, decode
from pegasus.backends.ros2.transport import TransportChoice, open_transport
from pegasus.base.errors import ConfigError
from pegasus.core.simulation import Simulation

_log = logging.getLogger(__name__)

_NODE, _NAMESPACE = "simulation", "/pegasus"
_INTERVAL = 0.02
"""Polling interval of the topics in wall time [s]; simulated time stands still during a pause."""
_BOOL = "std_msgs/msg/Bool"


class RemoteControl:
    """Context manager that lets ROS 2 clients pause and reset a simulation.

    `/pegasus/pause` (std_msgs/Bool) pauses or resumes it, `/pegasus/reset` (std_msgs/Bool, true) resets it. A
    stopped simulation stays stopped.

    Args:
        simulation: The simulation.
        transport: `rclpy`, `cyclonedds` or `auto`.
        domain_id: Domain of the graph; that of ROS_DOMAIN_ID if None.
        localhost_only: Whether only processes of this machine see it.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        transport: TransportChoice = "auto",
        domain_id: int | None = None,
        localhost_only: bool = False,
    ) -> None:
        self._simulation = simulation
        self._choice, self._domain_id, self._localhost_only = transport, domain_id, localhost_only

    def __enter__(self) -> "RemoteControl":
        self._transport = open_transport(
            self._choice, domain_id=self._domain_id, localhost_only=self._localhost_only
        )
        try:
            node = self._transport.node(_NODE, _NAMESPACE)
            pause = node.subscription(_BOOL, "pause", RELIABLE)
            reset = node.subscription(_BOOL, "reset", RELIABLE)
            node.announce()
        except BaseException:
            self._transport.close()
            raise
        self._node, self._closed = node, threading.Event()
        self._thread = threading.Thread(target=self._listen, args=(pause, reset), name="pegasus-ros2")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._thread.join()
        self._node.close()
        self._transport.close()

    def _listen(self, pause: Subscription, reset: Subscription) -> None:
        while not self._closed.wait(_INTERVAL):
            try:
                for data in pause.take():
                    self._pause(paused=decode(_BOOL, data).data)
                if any(decode(_BOOL, data).data for data in reset.take()):
                    self._simulation.reset()
            except (ConfigError, CdrError, OSError, RuntimeError) as error:
                _log.warning("invalid command to the simulation: %s", error)

    def _pause(self, *, paused: bool) -> None:
        simulation = self._simulation
        if paused:
            simulation.pause()
        elif simulation.playback.value == "paused":
            simulation.play()
