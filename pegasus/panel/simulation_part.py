"""Panel part for the run: playback, speed, wind and recording."""

from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.errors import ConfigError
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.session.session import Session
from pegasus.session.worker import HIGHEST_SPEED, LOWEST_SPEED

MAX = "max"
"""Name of the unlimited speed."""


class SimulationPart(Part):
    """Control of the run.

    Args:
        board: Listeners and messages of the panel.
        session: Session that runs the simulation.
        out: Parent folder of recorded runs; `runs` in the current folder when None.
    """

    def __init__(self, board: Board, session: Session, *, out: Path | None = None) -> None:
        super().__init__(board)
        self._session = session
        self.out = Path("runs") if out is None else out

    @property
    def speed(self) -> float | str:
        """Target speed as a multiple of real time, or `max`."""
        speed = self._session.snapshot.speed
        return MAX if speed is None else speed

    @property
    def records(self) -> bool:
        """Whether the current run and later ones are recorded."""
        return self._session.records

    @property
    def waiting(self) -> float:
        """Wall time spent in the current step so far, such as while an autopilot starts [s]."""
        return self._session.stalled

    @action(Topic.SIMULATION)
    def play(self) -> None:
        """Start or resume the run."""
        self._session.play()

    @action(Topic.SIMULATION)
    def pause(self) -> None:
        """Pause the run."""
        self._session.pause()

    @action(Topic.SIMULATION)
    def step(self, count: int = 1) -> None:
        """Advance by a number of steps, then pause."""
        self._session.step(count)

    @action(Topic.SIMULATION)
    def stop(self) -> None:
        """End the run; reset vehicles and clock."""
        self._session.stop()

    @action(Topic.SIMULATION)
    def reset(self) -> None:
        """Restart the run from the beginning, playing or paused as before."""
        self._session.reset()

    @action(Topic.SIMULATION)
    def set_speed(self, speed: float | str) -> None:
        """Set the simulation speed.

        Args:
            speed: Multiple of real time, 0.1 to 1000, or `max`.
        """
        if speed == MAX:
            self._session.set_speed(None)
            return
        try:
            wanted = number("speed", speed)
        except ConfigError:
            allowed = f"must be from {LOWEST_SPEED:g} to {HIGHEST_SPEED:g} times real time, or max"
            raise ConfigError(allowed, field="speed", value=speed) from None
        self._session.set_speed(wanted)

    @action(Topic.SIMULATION)
    def set_wind(
        self, east: float | str, north: float | str, up: float | str = 0.0, *, intensity: float | str = 0.0
    ) -> None:
        """Replace the wind.

        Args:
            east: Velocity of the air towards the east [m/s].
            north: Velocity towards the north [m/s].
            up: Upward velocity [m/s].
            intensity: Standard deviation of each turbulence component [m/s]; 0 for none.
        """
        mean = [number("east", east), number("north", north), number("up", up)]
        turbulence = number("intensity", intensity)
        wind: dict[str, Any] = {"model": "constant", "mean_velocity": mean}
        if turbulence != 0:
            wind |= {"model": "gusts", "intensity": turbulence}
        elif not np.any(mean):
            wind = {"model": "none"}
        self._session.set_wind(wind)

    @action(Topic.SIMULATION)
    def record(self, on: bool) -> None:
        """Switch recording on or off, for the current run and later ones.

        Args:
            on: Whether to record.
        """
        before = self._session.snapshot.recording
        self._session.record(self.out if on else None)
        if not on and before is not None:
            self.board.report(f"recorded into {before}")
