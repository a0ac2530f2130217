"""The window in Isaac Sim itself: run there, by the extension manager or its test runner."""

import omni.kit.app
import omni.kit.test
import omni.ui as ui

from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.replicator_part import ReplicatorPart
from pegasus.isaac.window import TITLE, PegasusWindow
from pegasus.panel.panel import Panel


class TestWindow(omni.kit.test.AsyncTestCase):  # type: ignore[misc]
    """Load and fly by the panel's parts, with the window open."""

    async def setUp(self) -> None:
        """Open a window on a session of its own."""
        # The extension shows a window of the same title.
        window = ui.Workspace.get_window(TITLE)
        self.hidden = window is not None and bool(window.visible)
        if self.hidden:
            ui.Workspace.show_window(TITLE, False)
            await self._frames(3)
        self.session = KitSession()
        self.panel = Panel(self.session)
        self.replicator = ReplicatorPart(self.panel, self.session)
        self.window = PegasusWindow(self.panel, self.replicator)

    async def tearDown(self) -> None:
        """Close all of it."""
        self.window.destroy()
        self.replicator.close()
        self.panel.close()
        self.session.clear()
        self.session.close()
        if self.hidden:
            ui.Workspace.show_window(TITLE, True)

    async def _frames(self, count: int) -> None:
        for _ in range(count):
            await omni.kit.app.get_app().next_update_async()

    async def test_load_add_fly(self) -> None:
        """What the window shows would not be what the panel does, or a field would fail to be drawn."""
        assert self.panel.world.choose("flat")
        assert self.panel.world.load()
        assert self.panel.vehicle.add()
        await self._frames(20)
        assert self.panel.simulation.play()
        await self._frames(200)
        assert self.session.snapshot.time > 0.5
        assert self.panel.simulation.stop()

    async def test_closing_touches_nothing(self) -> None:
        """A vehicle in the air would fall when its window is closed."""
        self.panel.world.choose("flat")
        self.panel.world.load()
        self.panel.vehicle.add()
        self.window.destroy()
        await self._frames(10)
        assert len(self.session.snapshot.vehicles) == 1
        self.replicator = ReplicatorPart(self.panel, self.session)
        self.window = PegasusWindow(self.panel, self.replicator)

    async def test_every_section_is_drawn(self) -> None:
        """A widget that Kit does not make as it is asked to would leave the window empty below it."""
        self.panel.world.choose("flat")
        self.panel.world.load()
        self.panel.vehicle.add()
        self.panel.simulation.play()
        for mode in ("chase", "first person", "follow", "free"):
            assert self.panel.view.set_mode(mode)
            await self._frames(20)
        assert self.panel.view.look((3.0, 3.0, 3.0), (0.0, 0.0, 1.0))
        await self._frames(20)
        assert not [message for message in self.panel.messages if message.error]
        self.panel.simulation.stop()
