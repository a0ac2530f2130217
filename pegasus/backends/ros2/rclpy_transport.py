"""Driver of the ROS 2 graph with a sourced ROS 2: rclpy, which sends and receives encoded messages."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks

    _HUMBLE = False
except ModuleNotFoundError:
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

    _HUMBLE = True

from pegasus.backends.ros2.graph import Discovery, QoS
from pegasus.backends.ros2.names import full_topic
from pegasus.base.errors import ConfigError

_QUERY_INTERVAL = 25
"""Calls between two looks whether a topic has writers: to take from one without costs as much each time."""
_SERVICE_PARAMETER = "start_type_description_service"


class RclpyDriver:
    """Separate rclpy context without an executor: messages are taken from the middleware by polling.

    An executor would wait for all entities in another thread while this one creates and destroys them.
    """

    name = "rclpy"

    def __init__(self, discovery: Discovery) -> None:
        self._context = Context()
        with _discovery_range(discovery):
            # Arguments and signal handlers belong to the program.
            rclpy.init(
                args=[],
                context=self._context,
                domain_id=discovery.domain_id,
                signal_handler_options=SignalHandlerOptions.NO,
            )
        self.nodes: list[RclpyNode] = []

    def node(self, name: str, namespace: str) -> "RclpyNode":
        """Return a new node.

        Args:
            name: Name without namespace.
            namespace: Namespace with its leading slash.
        """
        node = rclpy.create_node(
            name,
            context=self._context,
            namespace=namespace,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
            # Services need an executor.
            parameter_overrides=[Parameter(_SERVICE_PARAMETER, value=False)],
        )
        self.nodes.append(RclpyNode(self, node, name, namespace))
        return self.nodes[-1]

    def forget(self, node: "RclpyNode", inner: Any) -> None:
        """Remove a node.

        Args:
            node: The node, its writers and readers closed.
            inner: Its node of rclpy.
        """
        self.nodes.remove(node)
        inner.destroy_node()

    def close(self) -> None:
        """Leave the graph."""
        for node in tuple(self.nodes):
            node.close()
        rclpy.shutdown(context=self._context)


class RclpyNode:
    """Node of rclpy.

    Args:
        driver: The driver.
        inner: The node of rclpy.
        name: Name without namespace.
        namespace: Namespace with its leading slash.
    """

    def __init__(self, driver: RclpyDriver, inner: Any, name: str, namespace: str) -> None:
        self.name, self.namespace = name, namespace
        self._driver, self._inner = driver, inner
        self._publishers: list[RclpyPublisher] = []
        self._subscriptions: list[RclpySubscription] = []
        self._open = True

    def publisher(self, kind: str, topic: str, qos: QoS) -> "RclpyPublisher":
        """Return a new writer of a topic."""
        name = full_topic(topic, self.namespace)
        self._publishers.append(RclpyPublisher(self._inner, kind, name, qos))
        return self._publishers[-1]

    def subscription(self, kind: str, topic: str, qos: QoS) -> "RclpySubscription":
        """Return a new reader of a topic."""
        name = full_topic(topic, self.namespace)
        self._subscriptions.append(RclpySubscription(self._inner, kind, name, qos))
        return self._subscriptions[-1]

    def announce(self) -> None:
        """Do nothing: rclpy announces topics by itself."""

    def close(self) -> None:
        """Close the node with all its writers and readers."""
        if not self._open:
            return
        self._open = False
        for publisher in self._publishers:
            publisher.close()
        for subscription in self._subscriptions:
            subscription.close()
        self._driver.forget(self, self._inner)


class RclpyPublisher:
    """Writer of a topic.

    Args:
        node: Node of rclpy.
        kind: Full name of the type of its messages.
        name: Full name of the topic.
        qos: Quality of service that it offers.
    """

    def __init__(self, node: Any, kind: str, name: str, qos: QoS) -> None:
        self._node = node
        self._inner = node.create_publisher(
            _ros_class(kind),
            name,
            _profile(qos),
            event_callbacks=PublisherEventCallbacks(use_default_callbacks=False),
        )

    @property
    def matched(self) -> int:
        """Number of matched subscriptions."""
        count: int = self._inner.get_subscription_count() if self._inner is not None else 0
        return count

    def publish(self, data: bytes) -> None:
        """Send a message; the middleware decides whether it waits for a stuck reader."""
        self._inner.publish(data)

    def close(self) -> None:
        """Remove the writer from the topic."""
        inner, self._inner = self._inner, None
        if inner is not None:
            self._node.destroy_publisher(inner)


class RclpySubscription:
    """Reader of a topic.

    Args:
        node: Node of rclpy.
        kind: Full name of the type of its messages.
        name: Full name of the topic.
        qos: Quality of service that it requests.
    """

    def __init__(self, node: Any, kind: str, name: str, qos: QoS) -> None:
        self._node, self._name, self._depth = node, name, qos.depth
        self._calls, self._writers = 0, 0
        self._inner = node.create_subscription(
            _ros_class(kind),
            name,
            _never_called,
            _profile(qos),
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            raw=True,
        )

    def take(self) -> list[bytes]:
        """Return the messages received since the last call, oldest first.

        Those of a new writer, or of one that has left, may come some calls later.
        """
        inner = self._inner
        taken: list[bytes] = []
        if inner is None:
            return taken
        if self._calls % _QUERY_INTERVAL == 0:
            self._writers = self._node.count_publishers(self._name)
        elif not self._writers:
            self._calls += 1
            return taken
        self._calls += 1
        handle = inner.handle
        with handle:
            while len(taken) < self._depth and (found := handle.take_message(inner.msg_type, True)):
                taken.append(found[0])
        return taken

    def close(self) -> None:
        """Remove the reader from the topic."""
        inner, self._inner = self._inner, None
        if inner is not None:
            self._node.destroy_subscription(inner)


def _never_called(_: bytes) -> None:
    """Callback of subscriptions, which only an executor would call."""


def _ros_class(kind: str) -> Any:
    """Return the class of a message type in the ROS 2 installation; its coder is not used."""
    package, _, name = kind.split("/")
    try:
        return getattr(import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"the ROS 2 installation lacks this message: {error}",
            field="message",
            value=kind,
            remedy=f"install ros-<distribution>-{package.replace('_', '-')}",
        ) from None


def _profile(qos: QoS) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=qos.depth,
        reliability=ReliabilityPolicy.RELIABLE if qos.reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if qos.latched else DurabilityPolicy.VOLATILE,
    )


def _variables(discovery: Discovery) -> dict[str, str]:
    """Return the environment variables of a discovery range.

    Raises:
        ConfigError: If this ROS 2 lacks the range.
    """
    if not _HUMBLE:
        return {"ROS_AUTOMATIC_DISCOVERY_RANGE": discovery.range}
    if discovery.range == "OFF":
        raise ConfigError(
            "ROS 2 Humble cannot switch discovery off",
            field="ROS_AUTOMATIC_DISCOVERY_RANGE",
            value="OFF",
            remedy="use LOCALHOST, or transport cyclonedds",
        )
    return {"ROS_LOCALHOST_ONLY": str(int(discovery.range == "LOCALHOST"))}


@contextmanager
def _discovery_range(discovery: Discovery) -> Iterator[None]:
    """Set the discovery range in the environment, from which alone rclpy reads it."""
    variables = _variables(discovery)
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
