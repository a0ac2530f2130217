"""Access to the ROS 2 graph: one driver per process and domain, rclpy or cyclonedds."""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Literal

from pegasus.backends.ros2.graph import Discovery, Driver, Node, find_discovery
from pegasus.backends.ros2.names import Claims, full_namespace, node_name
from pegasus.backends.ros2.topics import SharedClock
from pegasus.base.errors import ConfigError

_log = logging.getLogger(__name__)

TransportChoice = Literal["auto", "rclpy", "cyclonedds"]


class _Shared:
    """Driver with the number of its users and their claims."""

    def __init__(self, driver: Driver, discovery: Discovery) -> None:
        self.driver, self.discovery = driver, discovery
        self.user_count = 0
        self.claims: list[Claims] = []
        self.clock: SharedClock | None = None


class Transport:
    """One user's access to the graph; the driver closes with its last user."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self._nodes: list[Node] = []
        self._open = True
        self.claims = Claims(shared.claims)
        """Names of topics of this user."""
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
                f"already has a node {name}",
                field="namespace",
                value=namespace,
                remedy="give each vehicle its own namespace",
            )
        self._nodes.append(driver.node(name, namespace))
        return self._nodes[-1]

    def clock(self) -> SharedClock:
        """Return the publisher of simulation time, shared by the process."""
        if self._shared.clock is None:
            node = self._shared.driver.node("pegasus_clock", "/")
            self._shared.clock = SharedClock(node, Claims(self._shared.claims))
        return self._shared.clock

    def close(self) -> None:
        """Close all nodes of this user; the last user leaves the graph."""
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


# One driver per domain: the state of the middleware belongs to the process.
_SHARED: dict[int, _Shared] = {}


def open_transport(
    choice: TransportChoice = "auto", *, domain_id: int | None = None, localhost_only: bool = False
) -> Transport:
    """Return access to the graph.

    Args:
        choice: `rclpy`, `cyclonedds`, or `auto`: rclpy if it is available, else cyclonedds.
        domain_id: Domain; None for that of ROS_DOMAIN_ID, else 0.
        localhost_only: Whether to use only this machine, whatever the environment says.

    Raises:
        ConfigError: If the driver is not installed, or the process already uses the other one.
    """
    discovery = find_discovery(domain_id, localhost_only=localhost_only)
    number = discovery.domain_id
    if choice not in ("auto", *_DRIVERS):
        raise ConfigError(f"must be one of auto, {', '.join(_DRIVERS)}", field="transport", value=choice)
    used = next((shared.driver.name for shared in _SHARED.values()), None)
    if used is not None and choice not in ("auto", used):
        raise ConfigError(
            f"this process already uses {used}, and the two cannot be combined",
            field="transport",
            value=choice,
            remedy=f"use {used} for all vehicles",
        )
    if number not in _SHARED:
        driver = find_driver(used or choice)(discovery)
        _log.info("ROS 2 by %s in domain %d", driver.name, number)
        _SHARED[number] = _Shared(driver, discovery)
    if _SHARED[number].discovery != discovery:
        raise ConfigError(
            f"this process is already on domain {number} with range {_SHARED[number].discovery.range}",
            field="localhost_only",
            value=localhost_only,
            remedy="use the same for all vehicles",
        )
    return Transport(_SHARED[number])


def find_driver(choice: str = "auto") -> Callable[[Discovery], Driver]:
    """Return the class of the driver, with its package imported.

    Args:
        choice: `rclpy`, `cyclonedds`, or `auto`: rclpy if it is available, else cyclonedds.

    Raises:
        ConfigError: If its package is missing, or cannot be imported by this Python.
    """
    problems = []
    for name in _DRIVERS if choice == "auto" else (choice,):
        try:
            module = import_module(f"pegasus.backends.ros2.{name}_transport")
        except ImportError as error:
            problems.append(f"{name}: {error}")
            # For example a sourced ROS 2 of another Python version.
            if choice == "auto" and error.name != name:
                _log.warning("%s cannot be used: %s", name, error)
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
"""Class of each driver by the package it needs, the preferred one first."""
