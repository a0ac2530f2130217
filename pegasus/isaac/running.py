"""The session of the enabled extension: Kit makes the extension's object and hands it to nobody else."""

from typing import TYPE_CHECKING

from pegasus.errors import ConfigError

if TYPE_CHECKING:
    from pegasus.isaac.kit_session import KitSession

_running: list["KitSession"] = []


def announce(session: "KitSession") -> None:
    """Make a session the one that `pegasus.isaac.session` returns.

    Args:
        session: The session of the extension that starts.
    """
    _running.append(session)


def withdraw(session: "KitSession") -> None:
    """Stop returning a session; calling it twice is allowed.

    Args:
        session: The session of the extension that ends.
    """
    if session in _running:
        _running.remove(session)


def running_session() -> "KitSession":
    """Return the session that was announced last.

    Raises:
        ConfigError: If the extension is not enabled in this process.
    """
    if not _running:
        raise ConfigError(
            "the extension Pegasus is not enabled in this process",
            field="session",
            remedy="enable Pegasus in the extension manager, or start pegasus isaac --gui; a script makes a "
            "pegasus.Simulation of its own",
        )
    return _running[-1]
