"""Names of a vehicle's frames, and the tree that they form (REP 105)."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from pegasus.components import require

Tree = Literal["full", "map", "odom"]

_NAME = re.compile(r"[^\s/][^\s]*")


class FrameNames(NamedTuple):
    """Names of the frames of one copy of a vehicle."""

    prefix: str
    """What stands before the frames of its own, with its slash."""
    map: str
    """The world: x east, y north, z up."""
    odom: str
    """Where an external estimator believes that the world is, which drifts."""
    base_link: str
    """The body: x ahead, y left, z up."""

    def own(self, frame: str) -> str:
        """Return the name of another frame of the vehicle.

        Args:
            frame: Its name without prefix.
        """
        return self.prefix + frame


@dataclass(frozen=True, kw_only=True)
class Frames:
    """Names of a vehicle's frames, and how they hang together (REP 105)."""

    tree: Tree = "full"
    """What `/tf` tells: `full` map to odom to base_link, `map` map to base_link, `odom` odom to base_link."""
    map: str = "map"
    """Frame of the world, of all vehicles alike."""
    odom: str = "odom"
    """Frame of odometry, behind the prefix."""
    base_link: str = "base_link"
    """Frame of the body, behind the prefix."""
    prefix: str | None = None
    """What stands before the frames of a vehicle; its namespace and a slash when None."""

    def __post_init__(self) -> None:
        trees = get_args(Tree)
        require(self.tree in trees, "tree", self.tree, f"must be one of {', '.join(trees)}")
        names = {name: getattr(self, name) for name in ("map", "odom", "base_link")}
        for field, name in names.items():
            allowed = "must be a name without blanks that does not begin with a slash"
            require(isinstance(name, str) and bool(_NAME.fullmatch(name)), field, name, allowed)
        prefix = self.prefix
        fits = not prefix or (isinstance(prefix, str) and bool(_NAME.fullmatch(prefix)))
        require(fits, "prefix", prefix, "must have no blanks and not begin with a slash")
        require(len(set(names.values())) == 3, "map, odom, base_link", [*names.values()], "must differ")

    def names(self, namespace: str) -> FrameNames:
        """Return the names of the frames of a vehicle.

        Args:
            namespace: Its namespace.
        """
        prefix = f"{namespace.strip('/')}/".removeprefix("/") if self.prefix is None else self.prefix
        return FrameNames(prefix, self.map, prefix + self.odom, prefix + self.base_link)
