"""Isaac Sim as a host application of simulations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec
from pegasus.contracts.engine import Engine
from pegasus.contracts.observer import Observer
from pegasus.contracts.renderer import Renderer
from pegasus.core.host import HostState
from pegasus.isaac.launch import FRAME_RATE_SETTING, inside_isaac_sim, start, take_options
from pegasus.scene.scene import Scene


class IsaacHost:
    """Host application Isaac Sim; see `pegasus.core.host.Host` for the contract."""

    # Other modules of this room import omni, so methods import them.

    @property
    def running(self) -> bool:
        """This process runs in Isaac Sim."""
        return inside_isaac_sim()

    def start(self, arguments: Sequence[str], *, headless: bool) -> list[str]:
        """Start Isaac Sim in this process; return the arguments that are not options of it."""
        options, rest = take_options(list(arguments))
        start(headless=headless, **options.keywords())
        return rest

    def make_engine(self, rate: float) -> Engine:
        """Return an engine on the active physics of Isaac Sim, at a rate [Hz]."""
        if not self.running:
            raise ConfigError(
                "Isaac Sim does not run in this process",
                field="engine",
                value="isaac",
                remedy="use `pegasus isaac`, or call pegasus.isaac.launch.start() first",
            )
        from pegasus.isaac import kit
        from pegasus.isaac.engine import IsaacEngine

        return IsaacEngine(rate=rate, frame_rate=kit.setting(FRAME_RATE_SETTING))

    def owns(self, engine: Engine) -> bool:
        """Return whether an engine is an `IsaacEngine`."""
        from pegasus.isaac.engine import IsaacEngine

        return isinstance(engine, IsaacEngine)

    def open_scene(self, engine: Engine) -> Scene | None:
        """Return the scene of the open stage for an engine that keeps it, else None."""
        from pegasus.isaac.engine import IsaacEngine
        from pegasus.isaac.world_stage import scene_of_open_stage

        assert isinstance(engine, IsaacEngine)
        return scene_of_open_stage(engine) if engine.keeps_stage else None

    def world_file(self, name: str, address: str) -> Path:
        """Return a local USD file that refers to a scene at an address."""
        from pegasus.isaac.environments import environment_file, full_address

        return environment_file(name, full_address(address))

    def read_scene(self, world: WorldSpec) -> Scene:
        """Return the scene of a world, whose geometry is read on first use."""
        from pegasus.isaac.world_stage import scene_of_file

        assert isinstance(world.usd, Path)
        return scene_of_file(world.usd, world.lights, world.labels)

    def make_renderer(self, engine: Engine) -> tuple[Renderer, Sequence[Observer[Any]]]:
        """Return the renderer on RTX, and the observer that renders due images."""
        from pegasus.isaac.engine import IsaacEngine
        from pegasus.isaac.renderer import DueImages, IsaacRenderer

        assert isinstance(engine, IsaacEngine)
        return IsaacRenderer(engine), [DueImages(engine)]

    def state(self, engine: Engine) -> HostState:
        """Return the state that the frames of a script have shown; RUNNING where Kit steps by itself."""
        from pegasus.isaac.engine import IsaacEngine

        assert isinstance(engine, IsaacEngine)
        return HostState.RUNNING if engine.in_window else engine.toolbar.state

    def show_frame(self, engine: Engine) -> None:
        """Render a frame without stepping physics."""
        from pegasus.isaac.engine import IsaacEngine

        assert isinstance(engine, IsaacEngine)
        engine.render_frame()
