"""The panel's part for the run: play, pause, step, stop, reset, speed, wind, record."""

from pathlib import Path
from typing import Any

import numpy as np

from pegasus.errors import ConfigError
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.pace import HIGHEST_SPEED, LOWEST_SPEED
from pegasus.panel.session import Session
from pegasus.simulation import Playback

MAX = "max"
"""The speed that is as fast as it goes."""


class SimulationPart(Part):
    """Run the simulation.

    Args:
        board: What all parts share.
        session: Runs the simulation.
        out: Folder that holds the recorded runs; `runs` in the current one when None.
    """

    def __init__(self, board: Board, session: Session, *, out: Path | None = None) -> None:
        super().__init__(board)
        self._session = session
        self.out = Path("runs") if out is None else out

    @property
    def playback(self) -> Playback:
        """Whether it runs, as the last snapshot has it."""
        return self._session.snapshot.playback

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._session.snapshot.time

    @property
    def speed(self) -> float | str:
        """Wanted speed in times real time, or `max`."""
        speed = self._session.snapshot.speed
        return MAX if speed is None else speed

    @property
    def real_time_factor(self) -> float:
        """Speed that is reached, in times real time."""
        return self._session.snapshot.real_time_factor

    @property
    def recording(self) -> Path | None:
        """Folder that is recorded into; None while nothing is."""
        return self._session.snapshot.recording

    @property
    def records(self) -> bool:
        """Whether runs are recorded, this one or the next."""
        return self._session.records

    @property
    def waiting(self) -> float:
        """How long the current step has been waiting, such as for an autopilot that starts, wall time [s]."""
        return self._session.stalled

    @action(Topic.SIMULATION)
    def play(self) -> None:
        """Start, or go on after a pause."""
        self._session.play()

    @action(Topic.SIMULATION)
    def pause(self) -> None:
        """Hold still."""
        self._session.pause()

    @action(Topic.SIMULATION)
    def step(self, count: int = 1) -> None:
        """Advance by some steps and hold still.

        Args:
            count: Number of steps.
        """
        self._session.step(count)

    @action(Topic.SIMULATION)
    def stop(self) -> None:
        """End the run; vehicles and clock go back to the start."""
        self._session.stop()

    @action(Topic.SIMULATION)
    def reset(self) -> None:
        """Go back to the start, and play again if it was playing."""
        self._session.reset()

    @action(Topic.SIMULATION)
    def set_speed(self, speed: float | str) -> None:
        """Set how fast simulated time passes.

        Args:
            speed: Times real time, 0.1 to 1000, or `max`.
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
        """Let another wind blow from now on.

        Args:
            east: Velocity of the air towards the east [m/s].
            north: Towards the north [m/s].
            up: Upwards [m/s].
            intensity: Standard deviation of each component of its turbulence [m/s]; 0 for none.
        """
        mean = [number("east", east), number("north", north), number("up", up)]
        rough = number("intensity", intensity)
        wind: dict[str, Any] = {"model": "constant", "mean_velocity": mean}
        if rough != 0:
            wind |= {"model": "gusts", "intensity": rough}
        elif not np.any(mean):
            wind = {"model": "none"}
        self._session.set_wind(wind)

    @action(Topic.SIMULATION)
    def record(self, on: bool) -> None:
        """Record, from now and from the start of each later run, or no more.

        Args:
            on: Whether to.
        """
        before = self.recording
        self._session.record(self.out if on else None)
        if not on and before is not None:
            self.board.report(f"recorded into {before}")
