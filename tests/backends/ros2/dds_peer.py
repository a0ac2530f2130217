"""Peer process on ROS 2 with Cyclone DDS alone; its serializer is independent of Pegasus.

Started with the number of a domain, it reads one JSON command per line and answers each with one line. A
message is a mapping of its fields; a block of bytes is a list of numbers.
"""

import dataclasses
import json
import os
import sys
from typing import get_type_hints

import dds_types_of_ros as messages
from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

LOOPBACK = (
    "<General><Interfaces><NetworkInterface name='lo'/></Interfaces><AllowMulticast>false</AllowMulticast>"
    "</General><Discovery><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex><Peers><Peer address='localhost'/></Peers>"
    "</Discovery>"
)
if os.environ.get("ROS_DISTRO") == "humble":
    # Its Fast DDS announces participants by multicast only.
    LOOPBACK = (
        "<General><Interfaces><NetworkInterface name='lo' multicast='true'/></Interfaces></General>"
        "<Discovery><ParticipantIndex>auto</ParticipantIndex></Discovery>"
    )
GRAPH = "ros_discovery_info"
RCLPY_TOPICS = ("rt/parameter_events",)
"""What every node of rclpy writes by itself."""
POLICIES = {
    "best_effort": [Policy.Reliability.BestEffort],
    "reliable": [Policy.Reliability.Reliable(10**9)],
    "latched": [Policy.Reliability.Reliable(10**9), Policy.Durability.TransientLocal],
}


class Peer:
    """The peer's state; each public method is a command."""

    def __init__(self, domain):
        self._domain = Domain(domain, LOOPBACK)
        self._participant = DomainParticipant(domain, Qos(Policy.Userdata(b"enclave=/;")))
        self._readers, self._writers = {}, {}
        self._endpoints = BuiltinDataReader(self._participant, BuiltinTopicDcpsPublication)
        self._found, self._seen = {}, set()
        self._nodes = {}
        graph = self._topic(GRAPH, "ParticipantEntitiesInfo")
        self._graph = DataReader(self._participant, graph, self._qos("latched", 1))

    def listen(self, topic, kind, qos="best_effort", depth=1000):
        """Subscribe to a topic."""
        self._readers[topic] = DataReader(
            self._participant, self._topic(f"rt{topic}", kind), self._qos(qos, depth)
        )

    def ignore(self, topic):
        """Unsubscribe from a topic."""
        del self._readers[topic]

    def take(self, topic):
        """Return the messages of a topic since the last call."""
        samples = self._readers[topic].take(1000)
        return [dataclasses.asdict(sample) for sample in samples if sample.sample_info.valid_data]

    def advertise(self, topic, kind, qos="reliable", depth=10):
        """Create a writer of a topic."""
        self._writers[topic] = DataWriter(
            self._participant, self._topic(f"rt{topic}", kind), self._qos(qos, depth)
        )

    def retire(self, topic):
        """Delete the writer of a topic."""
        del self._writers[topic]

    def matched(self, topic):
        """Return the number of matched readers of a topic written here, or of matched writers."""
        if topic in self._writers:
            return self._writers[topic].get_publication_matched_status().current_count
        return self._readers[topic].get_subscription_matched_status().current_count

    def send(self, topic, **fields):
        """Write a message."""
        writer = self._writers[topic]
        writer.write(built(writer.data_type, fields))

    def nodes(self):
        """Return the nodes of other participants, each with the topics that it writes."""
        for sample in self._graph.take(1000):
            if sample.sample_info.valid_data:
                self._nodes[bytes(sample.gid.data)] = sample.node_entities_info_seq
        for sample in self._endpoints.take(1000):
            gid = sample.key.bytes
            if sample.sample_info.valid_data:
                self._found[gid] = sample
                self._seen.add(gid.hex())
            else:
                self._found.pop(gid, None)
        return {
            f"{node.node_namespace.rstrip('/')}/{node.node_name}": {
                "writes": sorted(
                    self._found[gid].topic_name
                    for gid in (bytes(item.data) for item in node.writer_gid_seq)
                    if gid in self._found and self._found[gid].topic_name not in RCLPY_TOPICS
                ),
                "reader_count": len(node.reader_gid_seq),
            }
            for nodes in self._nodes.values()
            for node in nodes
        }

    def endpoint(self, topic):
        """Return type, user data and QoS of a topic's writer."""
        self.nodes()
        found = next(item for item in self._found.values() if item.topic_name == f"rt{topic}")
        return {
            "type": found.type_name,
            "user_data": found.qos[Policy.Userdata].data.decode(),
            "reliable": isinstance(found.qos[Policy.Reliability], Policy.Reliability.Reliable),
            "latched": found.qos[Policy.Durability] == Policy.Durability.TransientLocal,
        }

    def writers(self):
        """Return the identifiers of all writers seen so far, also of those that have ended."""
        self.nodes()
        return sorted(self._seen)

    def _topic(self, name, kind):
        return Topic(self._participant, name, getattr(messages, kind))

    @staticmethod
    def _qos(name, depth):
        representation = Policy.DataRepresentation(use_cdrv0_representation=True)
        return Qos(*POLICIES[name], Policy.History.KeepLast(depth), representation)


def built(kind, fields):
    """Return a message from its fields."""
    hints = get_type_hints(kind)
    return kind(**{name: value_of(hints[name], value) for name, value in fields.items()})


def value_of(kind, value):
    """Return the value of a field."""
    if isinstance(kind, type) and issubclass(kind, IdlStruct):
        return built(kind, value)
    inner = getattr(kind, "__args__", None)
    if isinstance(value, list) and inner:
        return [value_of(inner[0], item) for item in value]
    return value


def main(domain):
    """Answer commands until there are no more."""
    peer = Peer(domain)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(peer, command.pop("do"))(**command)
        except Exception as error:
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
