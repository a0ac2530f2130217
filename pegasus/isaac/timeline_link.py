"""The timeline of Isaac Sim drives a simulation: play, pause and stop, and each step of physics."""

import logging
from collections.abc import Callable
from typing import Any

from pegasus.errors import ConfigError
from pegasus.isaac import kit
from pegasus.isaac.compat import forget, isaac_sim
from pegasus.isaac.engine import IsaacEngine
from pegasus.simulation import Playback, Simulation

_log = logging.getLogger(__name__)

_STARTED_ORDER = 20
"""Place among those told of the start: the engine comes first."""


class TimelineLink:
    """Let the timeline drive a simulation.

    Kit steps physics; before each step all of the pipeline comes that is before physics, after it the rest.
    Kit swallows what its callbacks raise, so a step that fails is told and stops the timeline.

    Args:
        simulation: The simulation, on Isaac Sim.
        play: Plays the simulation.
        failed: Takes what a step or the start of a run raises.

    Raises:
        ConfigError: If the simulation runs on another engine.
    """

    def __init__(
        self, simulation: Simulation, *, play: Callable[[], None], failed: Callable[[Exception], None]
    ) -> None:
        engine = simulation.engine
        if not isinstance(engine, IsaacEngine):
            raise ConfigError(
                "must run on Isaac Sim here", field="engine", value=type(engine).__name__, remedy="use isaac"
            )
        self._simulation, self._engine, self._play_it, self._failed = simulation, engine, play, failed
        self._broken = False
        engine.in_window = True
        isaac = isaac_sim()
        self._callbacks = [
            isaac.on_started(self._on_started, order=_STARTED_ORDER),
            *isaac.on_step(self._before_step, self._after_step),
        ]
        self._subscriptions: list[Any] = [
            kit.on_timeline(kit.TimelineEvent.PLAY, self._on_play),
            kit.on_timeline(kit.TimelineEvent.PAUSE, self._on_pause),
            kit.on_timeline(kit.TimelineEvent.STOP, self._on_stop),
        ]

    def close(self, *, stage_is_open: bool = True) -> None:
        """Let go of the timeline.

        Args:
            stage_is_open: Whether the stage of the simulation is still there; its callbacks went with it.
        """
        if stage_is_open:
            for handle in self._callbacks:
                forget(handle)
        self._callbacks, self._subscriptions = [], []

    def _on_started(self) -> None:
        self._guarded(self._play_it)

    def _on_play(self) -> None:
        # The start of a run comes with physics; here it goes on after a pause.
        if self._simulation.playback is Playback.PAUSED:
            self._guarded(self._play_it)

    def _on_pause(self) -> None:
        self._simulation.pause()

    def _on_stop(self) -> None:
        self._broken = False
        try:
            self._simulation.stop()
        except Exception as error:
            self._failed(error)

    def _before_step(self) -> None:
        self._guarded(self._advance)

    def _after_step(self) -> None:
        self._guarded(self._observe)

    def _advance(self) -> None:
        self._simulation.advance()
        self._engine.begin_step()

    def _observe(self) -> None:
        self._engine.end_step()
        self._simulation.observe_step()

    def _guarded(self, act: Callable[[], None]) -> None:
        if self._broken:
            return
        try:
            act()
        except Exception as error:
            self._broken = True
            # Only with the next frame: physics is in the middle of a step.
            kit.stop_soon()
            self._failed(error)
