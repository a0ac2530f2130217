"""What a participant tells about its nodes: rmw_dds_common."""

from pegasus.backends.ros2.description import Message, ros


class Gid(Message, package="rmw_dds_common"):
    """Identity of a participant, a writer or a reader."""

    data: bytes = ros("uint8[16]")


class NodeEntitiesInfo(Message, package="rmw_dds_common"):
    """A node, and what it reads and writes."""

    node_namespace: str = ros("string<=256")
    node_name: str = ros("string<=256")
    reader_gid_seq: list[Gid] = ros(Gid, "[]")
    writer_gid_seq: list[Gid] = ros(Gid, "[]")


class ParticipantEntitiesInfo(Message, package="rmw_dds_common"):
    """The nodes of a participant."""

    gid: Gid = ros(Gid)
    node_entities_info_seq: list[NodeEntitiesInfo] = ros(NodeEntitiesInfo, "[]")
