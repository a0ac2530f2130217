"""Names of topics that a process has in use: one type of message for each, and one who writes it."""

from typing import NamedTuple

from pegasus.backends.ros2.description import Message
from pegasus.errors import ConfigError


class _Claim(NamedTuple):
    name: str
    kind: str
    owner: str
    sole: bool


class Claims:
    """Names that one user of the graph has taken, checked against those of all others in the process.

    Args:
        everyone: The claims of all users, these among them from now on until they are released.
    """

    def __init__(self, everyone: "list[Claims]") -> None:
        self._everyone, self._own = everyone, list[_Claim]()
        everyone.append(self)

    def take(self, name: str, message: type[Message], owner: str, *, topic: str, sole: bool) -> None:
        """Take a name.

        Args:
            name: Full name of the topic.
            message: Class of its messages.
            owner: Who takes it, for the error message of the next one.
            topic: Own name of the topic, for the error message of this one.
            sole: Whether its messages cannot be told from those of another writer of the same type.

        Raises:
            ConfigError: If the name has another type of message, or a sole writer already.
        """
        wanted = _Claim(name, message.description.name, owner, sole)
        for claim in (claim for claims in self._everyone for claim in claims._own):
            if claim.name == name and (claim.kind != wanted.kind or (claim.sole and sole)):
                raise ConfigError(
                    f"is the name of {claim.owner} already ({claim.kind})",
                    field=f"topics.{topic}.name",
                    value=name,
                    remedy="give each topic a name of its own",
                )
        self._own.append(wanted)

    def give_back(self, name: str) -> None:
        """Let others have a name.

        Args:
            name: Full name of the topic.
        """
        self._own = [claim for claim in self._own if claim.name != name]

    def release(self) -> None:
        """Let others have all names, and be a user no longer; calling it twice is allowed."""
        if self in self._everyone:
            self._everyone.remove(self)
