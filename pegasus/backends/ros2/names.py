"""Names of nodes, namespaces and topics, by ROS 2's rules."""

import re

from pegasus.errors import ConfigError

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")
# rmw/validate_namespace.h, rmw/validate_full_topic_name.h, rmw/validate_node_name.h
_NODE_LIMIT, _NAMESPACE_LIMIT, _TOPIC_LIMIT = 255, 245, 247
_RULE = "letters, digits and _, none beginning with a digit"


def node_name(name: str) -> str:
    """Return the name of a node as it is, checked.

    Args:
        name: Name without a slash, such as "pegasus".

    Raises:
        ConfigError: If ROS 2 does not allow it.
    """
    if not _TOKEN.fullmatch(name):
        raise ConfigError(f"must be {_RULE}", field="node name", value=name)
    return _within(name, _NODE_LIMIT, "node name")


def full_namespace(namespace: str) -> str:
    """Return a namespace with its leading slash, checked; "/" for none.

    Args:
        namespace: Such as "drone0", "/fleet/drone0" or "".

    Raises:
        ConfigError: If ROS 2 does not allow it.
    """
    if namespace in ("", "/"):
        return "/"
    return _within(_absolute(namespace, "namespace"), _NAMESPACE_LIMIT, "namespace")


def full_topic(topic: str, namespace: str = "/") -> str:
    """Return the full name of a topic, checked.

    Args:
        topic: Name; one with a leading slash stands outside the namespace.
        namespace: Namespace that other names are under.

    Raises:
        ConfigError: If ROS 2 does not allow it.
    """
    name = _absolute(topic, "topic")
    above = full_namespace(namespace)
    if not topic.startswith("/") and above != "/":
        name = above + name
    return _within(name, _TOPIC_LIMIT, "topic")


def _absolute(name: str, field: str) -> str:
    if not _PATH.fullmatch(name):
        raise ConfigError(f"must be parts between slashes, each of {_RULE}", field=field, value=name)
    return name if name.startswith("/") else f"/{name}"


def _within(name: str, limit: int, field: str) -> str:
    if len(name) > limit:
        raise ConfigError(f"must have at most {limit} characters", field=field, value=name)
    return name
