"""Base class of controllers of people."""

from collections.abc import Sequence
from typing import Protocol

from pegasus.simulator.logic.state import State

__all__ = ["PersonController"]


class Walker(Protocol):
    """Person on the stage, as `Person` is for its controller."""

    @property
    def state(self) -> State:
        """Present state."""

    def update_target_position(self, position: Sequence[float], walk_speed: float = 1.0) -> None:
        """Walk straight to a position [m], shape (3,), with a speed [m/s]."""


class PersonController:
    """Controller that may set the target of its person in each step."""

    def __init__(self) -> None:
        self._person: Walker | None = None

    @property
    def person(self) -> Walker | None:
        """The person; None before it is on the stage."""
        return self._person

    def initialize(self, person: Walker) -> None:
        """Take the person."""
        self._person = person

    def update_state(self, state: State) -> None:
        """Take the state of the person."""

    def update(self, dt: float) -> None:
        """Act for a step of dt [s]."""

    def start(self) -> None:
        """Start a run."""

    def stop(self) -> None:
        """End a run."""

    def reset(self) -> None:
        """Return to the start."""
