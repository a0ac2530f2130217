"""Base class of controllers of people."""

from typing import TYPE_CHECKING, Optional

from pegasus.simulator.logic.state import State

if TYPE_CHECKING:
    from pegasus.simulator.logic.people.person import Person

__all__ = ["PersonController"]


class PersonController:
    """Controller that may set the target of its person in each step."""

    def __init__(self) -> None:
        self._person: Person | None = None

    @property
    def person(self) -> Optional["Person"]:
        """The person; None before it is on the stage."""
        return self._person

    def initialize(self, person: "Person") -> None:
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
