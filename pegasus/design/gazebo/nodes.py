"""Elements of SDF files, read by name with checks of their values."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, normalize, quaternion_from_euler
from pegasus.base.text_files import is_number
from pegasus.base.xml_files import Element


class Node:
    """Element of an SDF file, which knows which of its children have been read.

    Args:
        element: The element.
        file: Its file.
    """

    def __init__(self, element: Element, file: Path) -> None:
        self.tag, self.attributes, self.file = element.tag, element.attributes, file
        self.words = element.text.strip()
        self.nodes = [Node(child, file) for child in element.children]
        self._line = element.line
        self._is_read = False

    def child(self, *path: str) -> "Node | None":
        """Return the first child of a name, of its first child of the next name, and so on; None if missing.

        Args:
            path: The names.
        """
        node: Node | None = self
        for tag in path:
            nodes = node.nodes if node is not None else []
            node = next((child for child in nodes if child.tag == tag), None)
            if node is not None:
                node._is_read = True
        return node

    def every(self, tag: str) -> "list[Node]":
        """Return the children of a name."""
        found = [node for node in self.nodes if node.tag == tag]
        for node in found:
            node._is_read = True
        return found

    def text(self, *path: str, default: str = "") -> str:
        """Return the text of a child."""
        node = self.child(*path)
        return default if node is None else node.words

    def number(self, *path: str, default: float = 0.0) -> float:
        """Return the number of a child."""
        node = self.child(*path)
        return default if node is None else node.numbers(1)[0]

    def vector(self, *path: str, default: tuple[float, ...]) -> Array:
        """Return the numbers of a child, as many as its default has."""
        node = self.child(*path)
        return np.array(default if node is None else node.numbers(len(default)))

    def flag(self, *path: str) -> bool:
        """Return whether a child says true; a missing one does not."""
        node = self.child(*path)
        if node is None:
            return False
        if node.words.lower() not in ("0", "1", "true", "false"):
            raise node.error("must be true or false")
        return node.words.lower() in ("1", "true")

    def numbers(self, count: int) -> list[float]:
        """Return the numbers of this element."""
        words = self.words.split()
        try:
            found = [float(word) for word in words]
        except ValueError:
            found = []
        if len(found) != count or not all(map(math.isfinite, found)):
            raise self.error("must be a finite number" if count == 1 else f"must hold {count} finite numbers")
        return found

    def transform(self) -> Array:
        """Return the pose that this element holds, shape (4, 4)."""
        made = np.eye(4)
        if not self.words:
            return made
        if self.attributes.get("rotation_format", "euler_rpy") == "quat_xyzw":
            values = self.numbers(7)
            made[:3, :3] = matrix_from_quaternion(normalize(np.array(values[3:])))
        else:
            values = self.numbers(6)
            degrees = self.attributes.get("degrees", "false").lower() in ("1", "true")
            unit = math.radians(1.0) if degrees else 1.0
            made[:3, :3] = matrix_from_quaternion(quaternion_from_euler(*(unit * v for v in values[3:])))
        made[:3, 3] = values[:3]
        return made

    def pose(self) -> Array:
        """Return the pose of a child of this name, shape (4, 4); the identity if it is missing."""
        node = self.child("pose")
        return np.eye(4) if node is None else node.transform()

    def unread(self) -> Iterator[str]:
        """Yield the names of the elements within that were not read and are not 0, as paths."""
        for node in self.nodes:
            if node._is_nothing():
                continue
            if not node._is_read:
                yield node.tag
            else:
                yield from (f"{node.tag}/{path}" for path in node.unread())

    def _is_nothing(self) -> bool:
        """Return whether it holds no text or only zeros."""
        if not all(is_number(word) and float(word) == 0 for word in self.words.split()):
            return False
        return all(node._is_nothing() for node in self.nodes)

    def error(self, problem: str, remedy: str | None = None) -> ConfigError:
        """Return an error about this element.

        Args:
            problem: The fault.
            remedy: The remedy.
        """
        value = self.words or None
        return ConfigError(
            problem, file=self.file, field=f"line {self._line}: <{self.tag}>", value=value, remedy=remedy
        )
