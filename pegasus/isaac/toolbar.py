"""Toolbar and window of Isaac Sim while a script steps physics."""

from collections.abc import Callable

from pegasus.core.host import HostState
from pegasus.isaac import kit


class Toolbar:
    """Pause, play and stop of the toolbar, and the closed window, as the frames of a script show them.

    Only a change within one of these frames is the user's: Replicator's orchestrator and other code of the
    script pause the timeline between them, and steps go on.
    """

    def __init__(self) -> None:
        self._state = HostState.RUNNING

    @property
    def state(self) -> HostState:
        """State of the application, as its user has last set it."""
        if not kit.is_running():
            return HostState.CLOSED
        if self._state is not HostState.RUNNING and kit.is_playing():
            self._state = HostState.RUNNING
        return self._state

    def watch(self, frame: Callable[[], None]) -> None:
        """Render a frame, and note what the user does in it; a closed application renders none."""
        if (state := self.state) is HostState.CLOSED:
            return
        watched = state is not HostState.RUNNING or kit.is_playing()
        frame()
        if watched and not kit.is_playing():
            self._state = HostState.STOPPED if kit.is_stopped() else HostState.PAUSED
