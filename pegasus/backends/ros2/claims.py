"""Names of topics and frames that a process has in use, none of them twice."""

from typing import NamedTuple

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

    def take(self, name: str, kind: str, owner: str, *, field: str, sole: bool) -> None:
        """Take a name.

        Args:
            name: Full name of a topic or a frame.
            kind: Type of its messages, or `frame`.
            owner: Who takes it, for the error message of the next one.
            field: Parameter that gives the name, for the error message of this one.
            sole: Whether nobody else of the same kind may have the name.

        Raises:
            ConfigError: If the name has another type, or another writer that does not share it.
        """
        wanted = _Claim(name, kind, owner, sole)
        for claim in (claim for claims in self._everyone for claim in claims._own):
            if claim.name == name and (claim.kind != wanted.kind or (claim.sole and sole)):
                raise ConfigError(
                    f"is the name of {claim.owner} already ({claim.kind})",
                    field=field,
                    value=name,
                    remedy="give each a name of its own",
                )
        self._own.append(wanted)

    def give_back(self, name: str) -> None:
        """Let others have a name.

        Args:
            name: The name.
        """
        self._own = [claim for claim in self._own if claim.name != name]

    def release(self) -> None:
        """Let others have all names, and be a user no longer; calling it twice is allowed."""
        if self in self._everyone:
            self._everyone.remove(self)
