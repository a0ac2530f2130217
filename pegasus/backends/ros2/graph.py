"""Contracts of the ROS 2 graph: quality of service, discovery, and what every transport implements."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from xml.sax.saxutils import quoteattr

from pegasus.base.errors import ConfigError


@dataclass(frozen=True)
class QoS:
    """Quality of service of a topic."""

    reliable: bool = True
    """Whether lost samples are sent again; a reliable reader does not match a best-effort writer."""
    latched: bool = False
    """Whether late readers get the last samples: transient local durability."""
    depth: int = 10
    """Number of samples kept: by the writer for late readers, by the reader until they are taken."""


SENSOR_DATA = QoS(reliable=False, depth=5)
"""For readings, of which only the newest matters."""
IMAGES = QoS(depth=5)
"""For images and point clouds: reliable, because one lost fragment spoils the whole message."""
RELIABLE = QoS()
"""For commands and everything else that must arrive."""
LATCHED = QoS(latched=True, depth=1)
"""For messages that are sent once: static transforms, calibrations."""
CLOCK = QoS(reliable=False, depth=1)
"""For simulation time, of which only the newest matters."""


class Publisher(Protocol):
    """Writer of a topic."""

    @property
    def matched(self) -> int:
        """Number of matched subscriptions; cheap enough to ask before every message."""

    def publish(self, data: bytes) -> None:
        """Send a message without waiting; it is dropped if there is no room for it.

        Args:
            data: The message, encoded by `encode` or a `Template`.
        """

    def close(self) -> None:
        """Remove the writer from the topic; repeated calls are allowed."""


class Subscription(Protocol):
    """Reader of a topic."""

    def take(self) -> list[bytes]:
        """Return the messages received since the last call, oldest first, for `decode`; never wait."""

    def close(self) -> None:
        """Remove the reader from the topic; repeated calls are allowed."""


class Node(Protocol):
    """Node of the graph."""

    @property
    def name(self) -> str:
        """Name without namespace."""

    @property
    def namespace(self) -> str:
        """Namespace with its leading slash."""

    def publisher(self, kind: str, topic: str, qos: QoS) -> Publisher:
        """Return a new writer of a topic.

        Args:
            kind: Full name of the type of its messages.
            topic: Name; relative to the node's namespace unless it begins with a slash.
            qos: Quality of service that it offers.

        Raises:
            ConfigError: If the name is not allowed.
        """

    def subscription(self, kind: str, topic: str, qos: QoS) -> Subscription:
        """Return a new reader of a topic.

        Args:
            kind: Full name of the type of its messages.
            topic: Name; relative to the node's namespace unless it begins with a slash.
            qos: Quality of service that it requests.

        Raises:
            ConfigError: If the name is not allowed.
        """

    def announce(self) -> None:
        """Publish the node's topics on the graph; call it after its writers or readers have changed."""

    def close(self) -> None:
        """Close the node with all its writers and readers; repeated calls are allowed."""


class Driver(Protocol):
    """Middleware: rclpy or cyclonedds."""

    @property
    def name(self) -> str:
        """`rclpy` or `cyclonedds`."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The open nodes."""

    def node(self, name: str, namespace: str) -> Node:
        """Return a new node.

        Args:
            name: Name without namespace.
            namespace: Namespace with its leading slash.
        """

    def close(self) -> None:
        """Leave the graph."""


MAX_DOMAIN = 232
"""Highest domain of ROS 2."""
_PARTICIPANTS = 32
"""Participants on one machine that find each other without multicast, as ROS 2 sets it for Cyclone DDS."""
_KEY_HASH = "<GenerateKeyhash>true</GenerateKeyhash>"
"""Lets Fast DDS see the end of single writers and readers, which it knows by their key hash alone."""
_LINGER = "<WriterLingerDuration>20 ms</WriterLingerDuration>"
"""Time that each closing writer waits for acknowledgements; Cyclone's default is 1 s, one after another."""

Range = Literal["SYSTEM_DEFAULT", "SUBNET", "LOCALHOST", "OFF"]
_RANGES: tuple[Range, ...] = ("SYSTEM_DEFAULT", "SUBNET", "LOCALHOST", "OFF")


@dataclass(frozen=True)
class Discovery:
    """Discovery settings."""

    domain_id: int = 0
    """Domain; participants of different domains do not see each other."""
    range: Range = "SUBNET"
    """Discovery range."""
    static_peers: tuple[str, ...] = ()
    """Addresses of further machines that are asked."""

    def cyclonedds_config(self, *, process: int) -> str:
        """Return the settings as XML for Cyclone DDS."""
        peers = list(self.static_peers) if self.range in ("SUBNET", "LOCALHOST") else []
        general = discovery = ""
        if self.range == "OFF":
            general = "<AllowMulticast>false</AllowMulticast>"
            discovery = f"<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{process}</Tag>"
        elif self.range == "LOCALHOST":
            general = (
                "<AllowMulticast>false</AllowMulticast>"
                '<Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces>'
            )
            peers.insert(0, "localhost")
        if peers:
            discovery = (
                "<ParticipantIndex>auto</ParticipantIndex>"
                f"<MaxAutoParticipantIndex>{_PARTICIPANTS}</MaxAutoParticipantIndex>"
                f"<Peers>{''.join(f'<Peer address={quoteattr(peer)}/>' for peer in peers)}</Peers>"
            )
        return "".join(
            f"<{tag}>{content}</{tag}>"
            for tag, content in (
                ("General", general),
                ("Discovery", discovery),
                ("Internal", _KEY_HASH + _LINGER),
            )
            if content
        )


def find_discovery(
    domain_id: int | None = None,
    *,
    localhost_only: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Discovery:
    """Return the discovery settings of arguments and environment.

    The environment variables are ROS_DOMAIN_ID, ROS_LOCALHOST_ONLY, ROS_AUTOMATIC_DISCOVERY_RANGE and
    ROS_STATIC_PEERS; arguments come first.

    Args:
        domain_id: Domain, 0 to 232; None for that of the environment, else 0.
        localhost_only: Whether to use only this machine, whatever the environment says.
        environment: Environment variables; those of this process if None.

    Raises:
        ConfigError: If a value is not allowed.
    """
    variables = os.environ if environment is None else environment
    field, value = "domain_id", str(domain_id)
    if domain_id is None:
        field, value = "ROS_DOMAIN_ID", variables.get("ROS_DOMAIN_ID") or "0"
    if not value.isdecimal() or int(value) > MAX_DOMAIN:
        raise ConfigError(f"must be a number from 0 to {MAX_DOMAIN}", field=field, value=value)
    # rcl/discovery_options.h; rcl/localhost.h for the older ROS_LOCALHOST_ONLY, which still counts
    if localhost_only or variables.get("ROS_LOCALHOST_ONLY") == "1":
        return Discovery(int(value), "LOCALHOST")
    given = variables.get("ROS_AUTOMATIC_DISCOVERY_RANGE") or "SUBNET"
    reach = next((allowed for allowed in _RANGES if allowed == given), None)
    if reach is None:
        raise ConfigError(
            f"must be one of {', '.join(_RANGES)}", field="ROS_AUTOMATIC_DISCOVERY_RANGE", value=given
        )
    peers = tuple(peer for peer in variables.get("ROS_STATIC_PEERS", "").split(";") if peer)
    return Discovery(int(value), reach, peers)
