"""People on the stage."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.base.frames import quaternion_from_euler
from pegasus.core.simulation import Simulation
from pegasus.simulator.logic.interface.pegasus_interface import PegasusInterface
from pegasus.simulator.logic.people.person_controller import PersonController
from pegasus.simulator.logic.state import State
from pegasus.simulator.notices import Layered, refusal

__all__ = ["Person"]


class Person(Layered):
    """Person who stands or walks to a target.

    Args:
        stage_prefix: Its name.
        character_name: One of `get_character_asset_list()`.
        init_pos: Start position of the feet [m], shape (3,).
        init_yaw: Start heading [rad].
        controller: Called in each step.
        backend: None: use `pegasus.isaac.people.PeopleOnROS2`.

    Raises:
        ConfigError: If there is no such character, or a backend is given.
    """

    def __init__(
        self,
        stage_prefix: str,
        character_name: str | None = None,
        init_pos: Sequence[float] = (0.0, 0.0, 0.0),
        init_yaw: float = 0.0,
        controller: PersonController | None = None,
        backend: Any = None,
    ) -> None:
        from pegasus.isaac import people

        if backend is not None:
            raise refusal("Person: backend", "use pegasus.isaac.people.PeopleOnROS2")
        simulation = PegasusInterface().simulation()
        self._controller = controller
        self.person = people.Person(
            simulation,
            character_name or "",
            name=stage_prefix.rpartition("/")[2],
            position=np.asarray(init_pos, dtype=np.float64),
            heading=init_yaw,
        )
        """The person of Pegasus."""
        if controller is not None:
            controller.initialize(self)
            simulation.add_observer(_Steps(self, controller))

    @staticmethod
    def get_character_asset_list() -> list[str]:
        """Return the names of the characters of Isaac Sim's assets."""
        from pegasus.isaac import people

        return people.characters()

    @property
    def state(self) -> State:
        """Present state; people have no angular velocity and acceleration here."""
        state = State()
        state.position = self.person.position.copy()
        state.linear_velocity = self.person.velocity.copy()
        state.attitude = quaternion_from_euler(0.0, 0.0, self.person.heading)
        return state

    def update_target_position(self, position: Sequence[float], walk_speed: float = 1.0) -> None:
        """Walk straight to a position [m], shape (3,), with a speed [m/s]."""
        self.person.walk(np.asarray(position, dtype=np.float64), speed=walk_speed)


class _Steps:
    """Observer that calls the controller of a person after each step."""

    def __init__(self, person: Person, controller: PersonController) -> None:
        self._person, self._controller = person, controller

    def start(self, simulation: Simulation) -> None:
        """Start a run."""
        self._controller.start()

    def record(self, simulation: Simulation) -> None:
        """Let the controller act."""
        self._controller.update_state(self._person.state)
        self._controller.update(1.0 / simulation.rate)

    def stop(self) -> None:
        """End a run."""
        self._controller.stop()
