"""Isaac Sim: engine, renderer and extension that run in Kit, and the running extension's session."""

from typing import TYPE_CHECKING

from pegasus.base.errors import ConfigError

if TYPE_CHECKING:
    from pegasus.isaac.kit_session import KitSession

__all__ = ["session"]

_running: list["KitSession"] = []
# Kit keeps the object of an extension to itself, so its session is registered here.


def session() -> "KitSession":
    """Return the session of the extension, for the Script Editor and for other extensions.

    It loads worlds and scenarios, adds and removes vehicles, plays, pauses and stops. Call it in Kit's
    thread.

    Raises:
        ConfigError: If the extension is not enabled in this process.
    """
    if not _running:
        raise ConfigError(
            "the extension Pegasus is not enabled in this process",
            field="session",
            remedy="enable Pegasus in the extension manager, or start pegasus isaac --gui; a script "
            "creates a pegasus.Simulation instead",
        )
    return _running[-1]


def register_session(session: "KitSession") -> None:
    """Register the session of an extension that starts; `session` returns the last one registered."""
    _running.append(session)


def unregister_session(session: "KitSession") -> None:
    """Remove the session of an extension that ends; a second call has no effect."""
    if session in _running:
        _running.remove(session)
