"""Driver of the ROS 2 graph without a ROS installation: the wheel of Eclipse Cyclone DDS."""

import os
from typing import Any

from cyclonedds.core import DDSException, Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl_types
from cyclonedds.idl.annotations import final
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from pegasus.backends.ros2.graph import LATCHED, Discovery, QoS
from pegasus.backends.ros2.messages import Field, Message, encode, fields, message, type_hash
from pegasus.backends.ros2.names import full_topic
from pegasus.base.errors import ConfigError

_IDL: Any = idl_types
_PRIMITIVES: dict[str, Any] = {"bool": bool, "string": str}
_GRAPH_TOPIC = "ros_discovery_info"
"""DDS topic without ROS prefix, on which every participant publishes its nodes."""
_NODES = "rmw_dds_common/msg/ParticipantEntitiesInfo"


class CycloneDDSDriver:
    """DDS participant with all nodes of the process.

    Args:
        discovery: Discovery settings; those of CYCLONEDDS_URI are added to them.

    Raises:
        ConfigError: If Cyclone DDS cannot join the domain.
    """

    name = "cyclonedds"

    def __init__(self, discovery: Discovery) -> None:
        number = discovery.domain_id
        settings = [discovery.cyclonedds_config(process=os.getpid()), os.environ.get("CYCLONEDDS_URI", "")]
        self._types: dict[str, Any] = {}
        self.nodes: list[CycloneDDSNode] = []
        self._domain = None
        try:
            self._domain = Domain(number, ",".join(setting for setting in settings if setting))
        except DDSException as error:
            # Other code of this process has opened the domain; its settings apply.
            if error.code != DDSException.DDS_RETCODE_PRECONDITION_NOT_MET:
                raise _unusable(error, discovery) from None
        try:
            self.participant = DomainParticipant(number, Qos(Policy.Userdata(b"enclave=/;")))
        except DDSException as error:
            if self._domain is not None:
                _delete(self._domain)
            raise _unusable(error, discovery) from None
        self._graph = CycloneDDSPublisher(self, _NODES, _GRAPH_TOPIC, LATCHED)

    def node(self, name: str, namespace: str) -> "CycloneDDSNode":
        """Return a new node.

        Args:
            name: Name without namespace.
            namespace: Namespace with its leading slash.
        """
        node = CycloneDDSNode(self, name, namespace)
        self.nodes.append(node)
        return node

    def topic(self, kind: str, name: str) -> Any:
        """Return a topic for one writer or reader.

        Args:
            kind: Full name of the type of its messages.
            name: DDS name.
        """
        if kind not in self._types:
            self._types[kind] = dds_type(kind)
        return Topic(self.participant, name, self._types[kind])

    def announce(self) -> None:
        """Publish the nodes with their writers and readers."""
        nodes = [node.entities() for node in self.nodes]
        own = {"data": self.participant.guid.bytes}
        self._graph.publish(encode(message(_NODES, gid=own, node_entities_info_seq=nodes)))

    def forget(self, node: "CycloneDDSNode") -> None:
        """Remove a node and announce the change.

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
    """Node: a name for some of the participant's writers and readers.

    Args:
        driver: The driver.
        name: Name without namespace.
        namespace: Namespace with its leading slash.
    """

    def __init__(self, driver: CycloneDDSDriver, name: str, namespace: str) -> None:
        self.name, self.namespace = name, namespace
        self._driver = driver
        self._writers: list[CycloneDDSPublisher] = []
        self._readers: list[CycloneDDSSubscription] = []
        self._open = True

    def publisher(self, kind: str, topic: str, qos: QoS) -> "CycloneDDSPublisher":
        """Return a new writer of a topic."""
        name = f"rt{full_topic(topic, self.namespace)}"
        self._writers.append(CycloneDDSPublisher(self._driver, kind, name, qos))
        return self._writers[-1]

    def subscription(self, kind: str, topic: str, qos: QoS) -> "CycloneDDSSubscription":
        """Return a new reader of a topic."""
        name = f"rt{full_topic(topic, self.namespace)}"
        self._readers.append(CycloneDDSSubscription(self._driver, kind, name, qos))
        return self._readers[-1]

    def entities(self) -> Message:
        """Return the description of the node for the graph."""
        self._writers = [writer for writer in self._writers if writer.gid]
        self._readers = [reader for reader in self._readers if reader.gid]
        return message(
            "rmw_dds_common/msg/NodeEntitiesInfo",
            node_namespace=self.namespace,
            node_name=self.name,
            reader_gid_seq=[{"data": reader.gid} for reader in self._readers],
            writer_gid_seq=[{"data": writer.gid} for writer in self._writers],
        )

    def announce(self) -> None:
        """Publish the node's topics on the graph."""
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
        driver: The driver.
        kind: Full name of the type of its messages.
        name: DDS name of the topic.
        qos: Quality of service that it offers.
    """

    def __init__(self, driver: CycloneDDSDriver, kind: str, name: str, qos: QoS) -> None:
        self._topic = driver.topic(kind, name)
        self._writer = DataWriter(driver.participant, self._topic, _policies(kind, qos))
        self._sample = self._topic.data_type()
        self.gid = self._writer.guid.bytes

    @property
    def matched(self) -> int:
        """Number of matched subscriptions."""
        # Polled: callbacks of a listener come from threads of the middleware.
        if not self.gid:
            return 0
        status: Any = self._writer.get_publication_matched_status()  # type: ignore[no-untyped-call]
        return int(status.current_count)

    def publish(self, data: bytes) -> None:
        """Send a message; it is dropped if the buffers of a stuck reader are full."""
        sample = self._sample
        sample.cdr = data
        try:
            self._writer.write(sample)
        except DDSException as error:
            if error.code != DDSException.DDS_RETCODE_TIMEOUT:
                raise

    def close(self) -> None:
        """Remove the writer from the topic."""
        if self.gid:
            self.gid = b""
            _delete(self._writer)
            _delete(self._topic)


class CycloneDDSSubscription:
    """Reader of a topic.

    Args:
        driver: The driver.
        kind: Full name of the type of its messages.
        name: DDS name of the topic.
        qos: Quality of service that it requests.
    """

    def __init__(self, driver: CycloneDDSDriver, kind: str, name: str, qos: QoS) -> None:
        self._topic = driver.topic(kind, name)
        self._reader = DataReader(driver.participant, self._topic, _policies(kind, qos))
        self._depth = qos.depth
        self.gid = self._reader.guid.bytes

    def take(self) -> list[bytes]:
        """Return the messages received since the last call, oldest first."""
        # Notices of a writer's end have no data.
        return [sample.cdr for sample in self._reader.take(self._depth) if sample.sample_info.valid_data]

    def close(self) -> None:
        """Remove the reader from the topic."""
        if self.gid:
            self.gid = b""
            _delete(self._reader)
            _delete(self._topic)


def _policies(kind: str, qos: QoS) -> Qos:
    history = Policy.History.KeepLast(qos.depth)
    policies: list[Any] = [
        history,
        # Never wait for a stuck reader.
        Policy.Reliability.Reliable(max_blocking_time=0) if qos.reliable else Policy.Reliability.BestEffort,
        Policy.DataRepresentation(use_cdrv0_representation=True),
        Policy.Userdata(f"typehash={type_hash(kind)};".encode()),
    ]
    if qos.latched:
        policies += [
            Policy.Durability.TransientLocal,
            Policy.DurabilityService(duration(seconds=0), history, -1, -1, -1),
        ]
    return Qos(*policies)


def _delete(entity: Any) -> None:
    # The package deletes entities only in their finalisers.
    entity.__del__()


def _unusable(error: DDSException, discovery: Discovery) -> ConfigError:
    return ConfigError(
        f"Cyclone DDS cannot join the domain: {error}",
        field="domain_id",
        value=discovery.domain_id,
        remedy="check CYCLONEDDS_URI and the network interfaces, or use localhost_only",
    )


def dds_type(kind: str) -> Any:
    """Return the class by which Cyclone DDS carries a message type; its instances hold the bytes, `cdr`.

    The fields are declared because readers and writers compare types by them, and Cyclone DDS checks samples
    against them.
    """
    declared = _declared(kind, {})
    declared.serialize = _serialize
    # Notices of a writer's end carry a key, which keyless types leave empty.
    declared.deserialize = declared.deserialize_key = classmethod(_deserialize)
    return declared


def _serialize(self: Any, **options: object) -> Any:  # noqa: ARG001
    return self.cdr


def _deserialize(cls: Any, data: bytes) -> Any:
    sample = cls()
    sample.cdr = data
    return sample


def _declared(kind: str, known: dict[str, Any]) -> Any:
    """Return a message type as an IDL struct, each type once."""
    if kind not in known:
        members = {field.name: _member(field, known) for field in fields(kind)}
        package, _, name = kind.split("/")
        dds_name = f"{package}.msg.dds_.{name}_"
        known[kind] = final(make_idl_struct(f"{name}_", dds_name, members, dataclassify=False))
    return known[kind]


def _member(field: Field, known: dict[str, Any]) -> Any:
    if field.nested:
        one = _declared(field.base, known)
    elif field.bound is not None:
        one = _IDL.bounded_str[field.bound]
    else:
        one = _PRIMITIVES.get(field.base) or getattr(_IDL, field.base)
    if not field.many:
        return one
    return _IDL.sequence[one] if field.length is None else _IDL.array[one, field.length]
