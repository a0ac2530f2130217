"""Names of nodes, namespaces and topics by the rules of ROS 2, and the names that a process has in use."""

import re
from typing import NamedTuple

from pegasus.base.errors import ConfigError

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")
# rmw/validate_namespace.h, rmw/validate_full_topic_name.h, rmw/validate_node_name.h
_NODE_LIMIT, _NAMESPACE_LIMIT, _TOPIC_LIMIT = 255, 245, 247
_RULE = "letters, digits and _, none beginning with a digit"


def node_name(name: str) -> str:
    """Return the name of a node, validated.

    Args:
        name: Name without a slash, such as "pegasus".

    Raises:
        ConfigError: If ROS 2 does not allow it.
    """
    if not _TOKEN.fullmatch(name):
        raise ConfigError(f"must be {_RULE}", field="node name", value=name)
    return _within(name, _NODE_LIMIT, "node name")


def full_namespace(namespace: str) -> str:
    """Return a namespace with its leading slash, validated; "/" for none.

    Args:
        namespace: Such as "drone0", "/fleet/drone0" or "".

    Raises:
        ConfigError: If ROS 2 does not allow it.
    """
    if namespace in ("", "/"):
        return "/"
    return _within(_absolute(namespace, "namespace"), _NAMESPACE_LIMIT, "namespace")


def full_topic(topic: str, namespace: str = "/") -> str:
    """Return the full name of a topic, validated.

    Args:
        topic: Name; one with a leading slash is absolute.
        namespace: Namespace of relative names.

    Raises:
        ConfigError: If ROS 2 does not allow it.
    """
    name = _absolute(topic, "topic")
    above = full_namespace(namespace)
    if not topic.startswith("/") and above != "/":
        name = above + name
    return _within(name, _TOPIC_LIMIT, "topic")


def default_namespace(name: str) -> str:
    """Return the name of a vehicle with `_` for every character that ROS 2 does not allow."""
    return re.sub(r"[^A-Za-z0-9_]|^(?=\d)", "_", name)


def copy_namespaces(namespace: str, count: int) -> list[str]:
    """Return the namespace of each of N copies: unchanged for one copy, else numbered.

    Args:
        namespace: The namespace; a number at its end is that of the first copy, else counting begins at 0.
        count: Number of copies N.
    """
    if count == 1:
        return [namespace]
    stem = namespace.rstrip("0123456789")
    first = int(namespace[len(stem) :] or 0)
    return [f"{stem}{first + i}" for i in range(count)]


class _Claim(NamedTuple):
    name: str
    kind: str
    owner: str
    sole: bool


class Claims:
    """Names of topics and frames that one user of the graph has taken, unique within the process.

    Args:
        everyone: Claims of all users of the process; these are added until they are released.
    """

    def __init__(self, everyone: "list[Claims]") -> None:
        self._everyone, self._own = everyone, list[_Claim]()
        everyone.append(self)

    def take(self, name: str, kind: str, owner: str, *, field: str, sole: bool) -> None:
        """Take a name.

        Args:
            name: Full name of a topic or a frame.
            kind: Type of its messages, or `frame`.
            owner: Description of the user, for errors of later users.
            field: Parameter that gives the name, for the error of this user.
            sole: Whether the name allows only one user of the same kind.

        Raises:
            ConfigError: If the name is taken with another type, or by another user as its only one.
        """
        wanted = _Claim(name, kind, owner, sole)
        for claim in (claim for claims in self._everyone for claim in claims._own):
            if claim.name == name and (claim.kind != wanted.kind or (claim.sole and sole)):
                raise ConfigError(
                    f"is already the name of {claim.owner} ({claim.kind})",
                    field=field,
                    value=name,
                    remedy="choose a unique name",
                )
        self._own.append(wanted)

    def release_name(self, name: str) -> None:
        """Release one name."""
        self._own = [claim for claim in self._own if claim.name != name]

    def release(self) -> None:
        """Release all names; repeated calls are allowed."""
        if self in self._everyone:
            self._everyone.remove(self)


def _absolute(name: str, field: str) -> str:
    if not _PATH.fullmatch(name):
        raise ConfigError(f"must be parts between slashes, each of {_RULE}", field=field, value=name)
    return name if name.startswith("/") else f"/{name}"


def _within(name: str, limit: int, field: str) -> str:
    if len(name) > limit:
        raise ConfigError(f"must have at most {limit} characters", field=field, value=name)
    return name
