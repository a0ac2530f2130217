"""People."""

from pegasus.simulator.logic.people.person import Person
from pegasus.simulator.logic.people.person_controller import PersonController

__all__ = ["Person", "PersonController"]
