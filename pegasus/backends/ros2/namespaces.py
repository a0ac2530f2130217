"""Namespaces of the copies of a vehicle."""

import re


def default_namespace(name: str) -> str:
    """Return a vehicle's name with `_` for all that ROS 2 does not allow in one.

    Args:
        name: Name of the vehicle.
    """
    return re.sub(r"[^A-Za-z0-9_]|^(?=\d)", "_", name)


def copy_namespaces(namespace: str, count: int) -> list[str]:
    """Return the namespace of each of N copies: as it is for one, else with a number behind it.

    Args:
        namespace: The namespace; a number at its end is that of the first copy, which is else 0.
        count: Number of copies N.
    """
    if count == 1:
        return [namespace]
    stem = namespace.rstrip("0123456789")
    first = int(namespace[len(stem) :] or 0)
    return [f"{stem}{first + i}" for i in range(count)]
