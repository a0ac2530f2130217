"""Isaac Sim: the engine, renderer and extension that run in Kit, and `session` to reach the extension."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegasus.isaac.kit_session import KitSession

__all__ = ["session"]


def session() -> "KitSession":
    """Return the session of the extension, for the Script Editor and for other extensions.

    It loads worlds and scenarios, adds and removes vehicles, plays, pauses and stops. Call it in the thread
    of Kit.

    Raises:
        ConfigError: If the extension is not enabled in this process.
    """
    from pegasus.isaac.running import running_session

    return running_session()
