"""The way onto the ROS 2 graph without a ROS installation: the wheel of Eclipse Cyclone DDS."""

import os
from typing import Any

from cyclonedds.core import DDSException, Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from pegasus.backends.ros2.cdr import encode
from pegasus.backends.ros2.dds_types import dds_type
from pegasus.backends.ros2.description import Message
from pegasus.backends.ros2.discovery import Discovery
from pegasus.backends.ros2.messages import Gid, NodeEntitiesInfo, ParticipantEntitiesInfo
from pegasus.backends.ros2.names import full_topic
from pegasus.backends.ros2.qos import LATCHED, QoS
from pegasus.errors import ConfigError

_GRAPH_TOPIC = "ros_discovery_info"
"""Topic of DDS, without ROS's prefix, on which every participant names its nodes."""


class CycloneDDSDriver:
    """One participant, on which all nodes of the process are.

    Args:
        discovery: Where others are looked for. CYCLONEDDS_URI is read after it and can say more.

    Raises:
        ConfigError: If Cyclone DDS cannot take part.
    """

    name = "cyclonedds"

    def __init__(self, discovery: Discovery) -> None:
        number = discovery.domain_id
        settings = [discovery.cyclonedds_config(process=os.getpid()), os.environ.get("CYCLONEDDS_URI", "")]
        self._types: dict[type[Message], Any] = {}
        self.nodes: list[CycloneDDSNode] = []
        self._domain = None
        try:
            self._domain = Domain(number, ",".join(setting for setting in settings if setting))
        except DDSException as error:
            # Somebody else in this process is on the domain already; then its settings hold.
            if error.code != DDSException.DDS_RETCODE_PRECONDITION_NOT_MET:
                raise _unusable(error, discovery) from None
        try:
            self.participant = DomainParticipant(number, Qos(Policy.Userdata(b"enclave=/;")))
        except DDSException as error:
            if self._domain is not None:
                _delete(self._domain)
            raise _unusable(error, discovery) from None
        self._graph = CycloneDDSPublisher(self, ParticipantEntitiesInfo, _GRAPH_TOPIC, LATCHED)

    def node(self, name: str, namespace: str) -> "CycloneDDSNode":
        """Return a new node.

        Args:
            name: Name without namespace.
            namespace: Namespace with its leading slash.
        """
        node = CycloneDDSNode(self, name, namespace)
        self.nodes.append(node)
        return node

    def topic(self, message: type[Message], name: str) -> Any:
        """Return a topic for one writer or reader.

        Args:
            message: Class of its messages.
            name: Name as DDS has it.
        """
        if message not in self._types:
            self._types[message] = dds_type(message)
        return Topic(self.participant, name, self._types[message])

    def announce(self) -> None:
        """Tell the others which nodes there are, and what each writes and reads."""
        nodes = [node.entities() for node in self.nodes]
        message = ParticipantEntitiesInfo(Gid(self.participant.guid.bytes), nodes)
        self._graph.publish(encode(message))

    def forget(self, node: "CycloneDDSNode") -> None:
        """Take a node off the list and tell the others.

        Args:
            node: The node, its writers and readers closed.
        """
        self.nodes.remove(node)
        self.announce()

    def close(self) -> None:
        """Leave the domain."""
        for node in tuple(self.nodes):
            node.close()
        self._graph.close()
        _delete(self.participant)
        if self._domain is not None:
            _delete(self._domain)


class CycloneDDSNode:
    """A node: a name for some of the participant's writers and readers.

    Args:
        driver: Where the participant is.
        name: Name without namespace.
        namespace: Namespace with its leading slash.
    """

    def __init__(self, driver: CycloneDDSDriver, name: str, namespace: str) -> None:
        self.name, self.namespace = name, namespace
        self._driver = driver
        self._writers: list[CycloneDDSPublisher] = []
        self._readers: list[CycloneDDSSubscription] = []
        self._open = True

    def publisher(self, message: type[Message], topic: str, qos: QoS) -> "CycloneDDSPublisher":
        """Return a new writer of a topic."""
        name = f"rt{full_topic(topic, self.namespace)}"
        self._writers.append(CycloneDDSPublisher(self._driver, message, name, qos))
        return self._writers[-1]

    def subscription(self, message: type[Message], topic: str, qos: QoS) -> "CycloneDDSSubscription":
        """Return a new reader of a topic."""
        name = f"rt{full_topic(topic, self.namespace)}"
        self._readers.append(CycloneDDSSubscription(self._driver, message, name, qos))
        return self._readers[-1]

    def entities(self) -> NodeEntitiesInfo:
        """Return what the others are told about the node."""
        self._writers = [writer for writer in self._writers if writer.gid]
        self._readers = [reader for reader in self._readers if reader.gid]
        return NodeEntitiesInfo(
            node_namespace=self.namespace,
            node_name=self.name,
            reader_gid_seq=[Gid(reader.gid) for reader in self._readers],
            writer_gid_seq=[Gid(writer.gid) for writer in self._writers],
        )

    def announce(self) -> None:
        """Tell the graph which topics the node has."""
        self._driver.announce()

    def close(self) -> None:
        """Close the node with all its writers and readers."""
        if not self._open:
            return
        self._open = False
        for writer in self._writers:
            writer.close()
        for reader in self._readers:
            reader.close()
        self._driver.forget(self)


class CycloneDDSPublisher:
    """Writer of a topic.

    Args:
        driver: Where the participant is.
        message: Class of the messages.
        name: Name as DDS has it.
        qos: How samples reach their readers.
    """

    def __init__(self, driver: CycloneDDSDriver, message: type[Message], name: str, qos: QoS) -> None:
        self._topic = driver.topic(message, name)
        self._writer = DataWriter(driver.participant, self._topic, _policies(message, qos))
        self._sample = self._topic.data_type()
        self.gid = self._writer.guid.bytes

    @property
    def matched(self) -> int:
        """Number of subscriptions that listen now."""
        # A listener would know without being asked, but its callbacks come from the middleware's threads.
        if not self.gid:
            return 0
        status: Any = self._writer.get_publication_matched_status()  # type: ignore[no-untyped-call]
        return int(status.current_count)

    def publish(self, data: bytes) -> None:
        """Send a message; one for which the buffers of a stuck reader have no room is dropped."""
        sample = self._sample
        sample.cdr = data
        try:
            self._writer.write(sample)
        except DDSException as error:
            if error.code != DDSException.DDS_RETCODE_TIMEOUT:
                raise

    def close(self) -> None:
        """Take the writer off the topic."""
        if self.gid:
            self.gid = b""
            _delete(self._writer)
            _delete(self._topic)


class CycloneDDSSubscription:
    """Reader of a topic.

    Args:
        driver: Where the participant is.
        message: Class of the messages.
        name: Name as DDS has it.
        qos: What is asked of the writers.
    """

    def __init__(self, driver: CycloneDDSDriver, message: type[Message], name: str, qos: QoS) -> None:
        self._topic = driver.topic(message, name)
        self._reader = DataReader(driver.participant, self._topic, _policies(message, qos))
        self._depth = qos.depth
        self.gid = self._reader.guid.bytes

    def take(self) -> list[bytes]:
        """Return the messages that came since the last call, oldest first."""
        # What a writer that left leaves behind has no data.
        return [sample.cdr for sample in self._reader.take(self._depth) if sample.sample_info.valid_data]

    def close(self) -> None:
        """Take the reader off the topic."""
        if self.gid:
            self.gid = b""
            _delete(self._reader)
            _delete(self._topic)


def _policies(message: type[Message], qos: QoS) -> Qos:
    history = Policy.History.KeepLast(qos.depth)
    policies: list[Any] = [
        history,
        # Never wait: the simulation goes on when a reader does not.
        Policy.Reliability.Reliable(max_blocking_time=0) if qos.reliable else Policy.Reliability.BestEffort,
        Policy.DataRepresentation(use_cdrv0_representation=True),
        Policy.Userdata(f"typehash={message.description.type_hash};".encode()),
    ]
    if qos.latched:
        policies += [
            Policy.Durability.TransientLocal,
            Policy.DurabilityService(duration(seconds=0), history, -1, -1, -1),
        ]
    return Qos(*policies)


def _delete(entity: Any) -> None:
    # The package ends an entity in its finaliser only, which can be called ahead of time.
    entity.__del__()


def _unusable(error: DDSException, discovery: Discovery) -> ConfigError:
    return ConfigError(
        f"Cyclone DDS cannot join the domain: {error}",
        field="domain_id",
        value=discovery.domain_id,
        remedy="check CYCLONEDDS_URI and the network interfaces, or use localhost_only",
    )
