"""Isaac Sim: engine, renderer and extension that run in Kit, and the running extension's session."""

from typing import TYPE_CHECKING

from pegasus.base.errors import ConfigError

if TYPE_CHECKING:
    from pegasus.isaac.kit_session import KitSession

__all__ = ["session"]

_running: dict["KitSession", str] = {}
# With the id of its extension: Kit keeps the object of an extension to itself.


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
    return list(_running)[-1]


def require_first(ext_id: str) -> None:
    """Require that no other extension runs a session: the timeline and the stage can follow only one.

    Raises:
        ConfigError: If one does.
    """
    for owner in _running.values():
        raise ConfigError(
            f"{ext_id} is not started, since {owner} runs Pegasus in this process already",
            remedy="disable one of the two in the extension manager; they may be two folders of Pegasus",
        )


def register_session(session: "KitSession", owner: str = "a script") -> None:
    """Register the session of an extension that starts, or of a script; `session` returns the last one."""
    _running[session] = owner


def unregister_session(session: "KitSession") -> None:
    """Remove the session of an extension that ends; a second call has no effect."""
    _running.pop(session, None)
