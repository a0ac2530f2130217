"""Timeline link: Isaac Sim's timeline plays, pauses, stops and steps a simulation."""

import logging
import math
from collections.abc import Callable
from typing import Any

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.core.simulation import Playback, Simulation
from pegasus.isaac import kit
from pegasus.isaac.compat import deregister, isaac_sim
from pegasus.isaac.engine import IsaacEngine

_log = logging.getLogger(__name__)

_STARTED_ORDER = 20
"""Order among the callbacks of the start of physics: after the engine."""


class TimelineLink:
    """Link between the timeline and a simulation.

    Kit steps physics, and this link runs the pipeline before and after each step. Kit discards exceptions of
    callbacks, so a failed step is reported and stops the timeline.

    Args:
        simulation: The simulation, on Isaac Sim.
        play: Starts or resumes the simulation.
        failed: Called with the exception of a failed step or start.

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
        self._simulation, self._engine, self._play, self._failed = simulation, engine, play, failed
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
        """Disconnect from the timeline.

        Args:
            stage_is_open: The stage is still open; closing a stage deregisters its callbacks.
        """
        if stage_is_open:
            for handle in self._callbacks:
                deregister(handle)
        self._callbacks, self._subscriptions = [], []

    def _on_started(self) -> None:
        self._guarded(self._play)

    def _on_play(self) -> None:
        # The start of physics starts a run; this event resumes it after a pause.
        if self._simulation.playback is Playback.PAUSED:
            self._guarded(self._play)

    def _on_pause(self) -> None:
        self._simulation.pause()

    def _on_stop(self) -> None:
        self._broken = False
        try:
            self._simulation.stop()
        except Exception as error:
            self._failed(error)

    def _before_step(self, dt: float) -> None:
        self._guarded(lambda: self._advance(dt))

    def _after_step(self) -> None:
        self._guarded(self._observe)

    def _advance(self, dt: float) -> None:
        rate = self._engine.rate
        # The user may have changed the physics scene, or deleted it: Isaac Sim then steps at 60 Hz.
        require(
            math.isclose(dt * rate, 1.0, rel_tol=1e-4),
            "physics rate",
            f"{1.0 / dt:g} Hz",
            f"must be the simulation's rate, {rate} Hz",
            "set the physics scene's timeStepsPerSecond to it, or load the world again",
        )
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
            # With the next frame, since physics is within a step.
            kit.stop_soon()
            self._failed(error)
