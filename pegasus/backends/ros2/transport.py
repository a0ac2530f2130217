"""The way onto the ROS 2 graph: one transport per process, by rclpy or by cyclonedds."""

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Literal, Protocol

from pegasus.backends.ros2.claims import Claims
from pegasus.backends.ros2.description import Message
from pegasus.backends.ros2.discovery import Discovery, find_discovery
from pegasus.backends.ros2.names import full_namespace, node_name
from pegasus.backends.ros2.qos import QoS
from pegasus.backends.ros2.shared_clock import SharedClock
from pegasus.errors import ConfigError

_log = logging.getLogger(__name__)

TransportChoice = Literal["auto", "rclpy", "cyclonedds"]


class Publisher(Protocol):
    """Writer of a topic."""

    @property
    def matched(self) -> int:
        """Number of subscriptions that listen now; cheap enough to be asked before every message."""

    def publish(self, data: bytes) -> None:
        """Send a message without waiting for anyone; one for which there is no room is dropped.

        Args:
            data: The message, encoded by `encode` or a `Template`.
        """

    def close(self) -> None:
        """Take the writer off the topic; calling it twice is allowed."""


class Subscription(Protocol):
    """Reader of a topic."""

    def take(self) -> list[bytes]:
        """Return the messages that came since the last call, oldest first, for `decode`; never wait."""

    def close(self) -> None:
        """Take the reader off the topic; calling it twice is allowed."""


class Node(Protocol):
    """A node on the graph."""

    @property
    def name(self) -> str:
        """Name without namespace."""

    @property
    def namespace(self) -> str:
        """Namespace with its leading slash."""

    def publisher(self, message: type[Message], topic: str, qos: QoS) -> Publisher:
        """Return a new writer of a topic.

        Args:
            message: Class of its messages.
            topic: Name; below the node's namespace unless it begins with a slash.
            qos: How samples reach their readers.

        Raises:
            ConfigError: If the name is not allowed.
        """

    def subscription(self, message: type[Message], topic: str, qos: QoS) -> Subscription:
        """Return a new reader of a topic.

        Args:
            message: Class of its messages.
            topic: Name; below the node's namespace unless it begins with a slash.
            qos: What is asked of its writers.

        Raises:
            ConfigError: If the name is not allowed.
        """

    def announce(self) -> None:
        """Tell the graph which topics the node has; to be called when its writers or readers have changed."""

    def close(self) -> None:
        """Close the node with all its writers and readers; calling it twice is allowed."""


class Driver(Protocol):
    """What carries nodes, writers and readers: rclpy or cyclonedds."""

    @property
    def name(self) -> str:
        """`rclpy` or `cyclonedds`."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes that are open."""

    def node(self, name: str, namespace: str) -> Node:
        """Return a new node.

        Args:
            name: Name without namespace.
            namespace: Namespace with its leading slash.
        """

    def close(self) -> None:
        """Leave the graph."""


class _Shared:
    """A driver, and who uses it."""

    def __init__(self, driver: Driver, discovery: Discovery) -> None:
        self.driver, self.discovery = driver, discovery
        self.user_count = 0
        self.claims: list[Claims] = []
        self.clock: SharedClock | None = None


class Transport:
    """A user's share in the process's part in the graph; the last one to close it leaves the graph."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self._nodes: list[Node] = []
        self._open = True
        self.claims = Claims(shared.claims)
        """Names of topics that this user has taken."""
        shared.user_count += 1

    @property
    def name(self) -> str:
        """`rclpy` or `cyclonedds`."""
        return self._shared.driver.name

    def node(self, name: str, namespace: str = "/") -> Node:
        """Return a new node.

        Args:
            name: Name without namespace.
            namespace: Namespace, with or without its leading slash.

        Raises:
            ConfigError: If a name is not allowed, or this process has such a node already.
        """
        namespace, name = full_namespace(namespace), node_name(name)
        driver = self._shared.driver
        if any((node.namespace, node.name) == (namespace, name) for node in driver.nodes):
            raise ConfigError(
                f"there is a node {name} in it already",
                field="namespace",
                value=namespace,
                remedy="give each vehicle its own namespace",
            )
        self._nodes.append(driver.node(name, namespace))
        return self._nodes[-1]

    def clock(self) -> SharedClock:
        """Return the process's writer of simulation time."""
        if self._shared.clock is None:
            node = self._shared.driver.node("pegasus_clock", "/")
            self._shared.clock = SharedClock(node, Claims(self._shared.claims))
        return self._shared.clock

    def close(self) -> None:
        """Close all nodes that were made here, and leave the graph if nobody else is on it."""
        if not self._open:
            return
        self._open = False
        for node in self._nodes:
            node.close()
        self.claims.release()
        self._shared.user_count -= 1
        if not self._shared.user_count:
            del _SHARED[self._shared.discovery.domain_id]
            self._shared.driver.close()


# A process takes part in a domain once, whoever wants to: the middleware's state is the process's.
_SHARED: dict[int, _Shared] = {}


def open_transport(
    choice: TransportChoice = "auto", *, domain_id: int | None = None, localhost_only: bool = False
) -> Transport:
    """Return a share in this process's part in the graph.

    Args:
        choice: `rclpy`, `cyclonedds`, or `auto`: rclpy where it can be used, else cyclonedds.
        domain_id: Domain; that of ROS_DOMAIN_ID, else 0, when None.
        localhost_only: Whether only this machine is looked at, whatever the environment says.

    Raises:
        ConfigError: If neither or the wanted one is not installed, or the process uses the other already.
    """
    discovery = find_discovery(domain_id, localhost_only=localhost_only)
    number = discovery.domain_id
    if choice not in ("auto", *_DRIVERS):
        raise ConfigError(f"must be one of auto, {', '.join(_DRIVERS)}", field="transport", value=choice)
    used = next((shared.driver.name for shared in _SHARED.values()), None)
    if used is not None and choice not in ("auto", used):
        raise ConfigError(
            f"this process uses {used} already, and both do not go together",
            field="transport",
            value=choice,
            remedy=f"use {used} for all vehicles",
        )
    if number not in _SHARED:
        driver = _driver(used or choice)(discovery)
        _log.info("ROS 2 by %s in domain %d", driver.name, number)
        _SHARED[number] = _Shared(driver, discovery)
    if _SHARED[number].discovery != discovery:
        raise ConfigError(
            f"this process is on domain {number} already, with a range of {_SHARED[number].discovery.range}",
            field="localhost_only",
            value=localhost_only,
            remedy="give all vehicles the same",
        )
    return Transport(_SHARED[number])


def _driver(choice: str) -> Callable[[Discovery], Driver]:
    """Return the class of the driver, its package imported."""
    problems = []
    for name in _DRIVERS if choice == "auto" else (choice,):
        try:
            module = import_module(f"pegasus.backends.ros2.{name}_transport")
        except ImportError as error:
            problems.append(f"{name}: {error}")
            # A sourced ROS 2 of another Python is found and cannot be used, which is worth saying.
            if choice == "auto" and error.name != name:
                _log.warning("%s is passed over: %s", name, error)
            continue
        driver: Callable[[Discovery], Driver] = getattr(module, _DRIVERS[name])
        return driver
    raise ConfigError(
        f"cannot be used ({', '.join(problems)})",
        field="transport",
        value=choice,
        remedy="install it by pip install 'pegasus-multirotor[ros2]', or source a ROS 2 installation",
    )


_DRIVERS = {"rclpy": "RclpyDriver", "cyclonedds": "CycloneDDSDriver"}
"""Classes by the name of the package that they need, the preferred one first."""
