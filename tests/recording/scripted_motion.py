"""Vehicles of a simulation that move as a test says, under wrenches that it sets."""

from collections.abc import Callable, Mapping

import numpy as np
from recording_stand_ins import Vehicle

from pegasus import Multirotor, Simulation
from pegasus.config.files import load_world
from pegasus.contracts.engine import BodyState, Contacts
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.recording import EnergyAudit, EnergyBalance
from tests.flyers import PLAIN_IRIS

UNIFORM = {"model": "uniform", "acceleration": 9.81}
_WRENCHES = {"applied_force": "force", "applied_torque": "torque"} | {
    name: name for name in ("rotor_force", "rotor_torque", "drag_force", "drag_torque")
}


class Body(Vehicle):
    """Motion of N copies, their contacts and wrenches, for a test to write."""

    def __init__(
        self,
        count: int = 1,
        *,
        center_of_mass: tuple[float, float, float] = (0.0, 0.0, 0.0),
        products: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        super().__init__("iris", count)
        self.center_of_mass, self.products = np.array(center_of_mass), products
        self.in_contact = np.zeros(count, dtype=bool)
        for name in _WRENCHES:
            setattr(self, name, np.zeros((count, 3)))

    def multirotor(self) -> Multirotor:
        """Return a vehicle of 1.5 kg with as many copies."""
        spec = Multirotor(PLAIN_IRIS).spec.model_dump(exclude_unset=True) | {
            "mass": 1.5,
            "center_of_mass": self.center_of_mass.tolist(),
            "inertia": [0.03, 0.03, 0.055, *self.products],
        }
        return Multirotor(spec, count=self.count, name="iris", position=(0, 0, 50), sensors={})


class Script(MujocoEngine):
    """Engine that moves the copies of one vehicle by a script, and observer that sets their wrenches."""

    def __init__(self, body: Body, move: Callable[[Body, float], None], rate: float) -> None:
        super().__init__()
        self._body, self._move, self._rate, self._steps = body, move, rate, 0
        move(body, 0.0)

    def read(self, out: BodyState) -> None:
        """Write the scripted state."""
        for name in vars(out) if len(out.position) else ():
            getattr(out, name)[...] = getattr(self._body.state, name)

    def step(self, dt: float) -> None:
        """Move to the end of the step; the wrenches have been used."""
        self._steps += 1
        self._move(self._body, self._steps / self._rate)

    def contacts(self) -> Contacts:
        """Return a contact with the ground for each copy that has one."""
        ids = self._ids[self._body.in_contact[: len(self._ids)]]
        none = np.zeros((len(ids), 3))
        ground = np.full(len(ids), "/World/ground")
        return Contacts(ids, np.full(len(ids), -1), none, none, none, none[:, 0], ground)

    def start(self, simulation: Simulation) -> None:
        """Start."""

    def record(self, simulation: Simulation) -> None:
        """Set the wrenches of the coming step."""
        columns = simulation.vehicles["iris"].columns
        for name, column in _WRENCHES.items():
            columns[column][...] = getattr(self._body, name)

    def stop(self) -> None:
        """End the script."""


def flown(
    body: Body,
    move: Callable[[Body, float], None],
    *,
    steps: int = 500,
    rate: float = 250.0,
    gravity: Mapping[str, object] = UNIFORM,
    altitude: float = 0.0,
    then: Callable[[Simulation, int], None] = lambda *_: None,
) -> EnergyBalance:
    """Return the energy balance of a motion.

    Args:
        body: Its state and wrenches.
        move: Sets them at a time [s].
        steps: Number of steps.
        rate: Steps per second [Hz].
        gravity: Gravity of the world.
        altitude: Altitude of the world's origin [m].
        then: Called before each step, with its number.
    """
    world = load_world("flat")[0]
    origin = world.origin.model_copy(update={"altitude": altitude})
    world = world.model_copy(update={"gravity": gravity, "origin": origin})
    script, audit = Script(body, move, rate), EnergyAudit()
    with Simulation(world, engine=script, rate=rate, observers=[script, audit]) as simulation:
        simulation.add(body.multirotor())
        for step in range(steps):
            then(simulation, step)
            simulation.step()
    return audit.balances()["iris"]
