"""Pause, resume and reset a simulation from elsewhere, by topics that are read while it stands still too."""

import logging
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from pegasus.backends.ros2.cdr import CdrError, decode
from pegasus.backends.ros2.messages import Bool
from pegasus.backends.ros2.qos import RELIABLE
from pegasus.backends.ros2.transport import Subscription, TransportChoice, open_transport
from pegasus.errors import ConfigError

if TYPE_CHECKING:
    from pegasus.simulation import Simulation

_log = logging.getLogger(__name__)

_NODE, _NAMESPACE = "simulation", "/pegasus"
_INTERVAL = 0.02
"""Wall time between two looks at the topics [s]; a simulation that stands still has no other."""


class RemoteControl:
    """Let others pause and reset a simulation while a `with` block lasts.

    `/pegasus/pause` (std_msgs/Bool) holds it still or lets it go on, `/pegasus/reset` (std_msgs/Bool, true)
    begins anew. One that is stopped stays so.

    Args:
        simulation: The simulation.
        transport: `rclpy`, `cyclonedds` or `auto`.
        domain_id: Domain of the graph; that of ROS_DOMAIN_ID when None.
        localhost_only: Whether only processes of this machine see it.
    """

    def __init__(
        self,
        simulation: "Simulation",
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
            pause = node.subscription(Bool, "pause", RELIABLE)
            reset = node.subscription(Bool, "reset", RELIABLE)
            node.announce()
        except BaseException:
            self._transport.close()
            raise
        self._node, self._over = node, threading.Event()
        self._thread = threading.Thread(target=self._listen, args=(pause, reset), name="pegasus-ros2")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._node.close()
        self._transport.close()

    def _listen(self, pause: Subscription, reset: Subscription) -> None:
        while not self._over.wait(_INTERVAL):
            try:
                for data in pause.take():
                    self._pause(still=decode(Bool, data).data)
                if any(decode(Bool, data).data for data in reset.take()):
                    self._simulation.reset()
            except (ConfigError, CdrError, OSError, RuntimeError) as error:
                _log.warning("a command on the simulation is refused: %s", error)

    def _pause(self, *, still: bool) -> None:
        simulation = self._simulation
        if still:
            simulation.pause()
        elif simulation.playback.value == "paused":
            simulation.play()
