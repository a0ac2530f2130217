"""Tests of controllers that run together: the bits of their flights, resets, and errors."""

from dataclasses import dataclass

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3, sqrt
from pegasus.control import (
    Body,
    CascadedPIDController,
    Controller,
    GeometricController,
    Setpoint,
    trajectories,
)
from tests.control.batch_flights import InNumpy

STEPS = 1500


def circle():
    return trajectories.sequence(
        trajectories.takeoff(1.0), trajectories.circle(1.0, height=1.0, yaw="forward"), trajectories.land()
    )


def eight():
    return trajectories.lemniscate(1.0, height=1.5, laps=5)


FLOWN = {
    "circle": lambda: GeometricController(circle()),
    "eight": lambda: GeometricController(eight(), position_gain=(4.0, 5.0, 6.0), spin_up=0.3),
    "pid": lambda: CascadedPIDController(circle()),
    "numpy": lambda: InNumpy(eight()),
}


def flights(names, *, visitor=False):
    """Return the states, references and commands of vehicles that fly together, by name."""
    found = {name: [] for name in names}
    with Simulation("flat", engine="mujoco") as simulation:

        def add(name, controller, x):
            place = (x, 0, 0.08)
            made = Multirotor("iris", name=name, position=place, backends=[controller], sensors={})
            return simulation.add(made)

        vehicles = {name: add(name, FLOWN[name](), 8.0 * list(FLOWN).index(name)) for name in names}
        for step in range(STEPS):
            if visitor and step == 300:
                add("visitor", GeometricController(eight(), spin_up=0.1), -8.0)
            if visitor and step == 900:
                simulation.remove("visitor")
            simulation.step()
            for name, vehicle in vehicles.items():
                state, reference = vehicle.state, vehicle.reference
                parts = (state.position, reference.position, reference.jerk, reference.yaw, vehicle.command)
                found[name].append(np.concatenate([part.ravel() for part in parts]))
    return {name: np.array(rows) for name, rows in found.items()}


def test_a_flight_has_the_same_bits_alone_and_with_others_in_any_order():
    """If this fails, another vehicle, its coming or its leaving changes the flight of this one."""
    alone = {name: flights([name])[name] for name in FLOWN}
    together = flights(list(FLOWN), visitor=True)
    turned = flights(list(reversed(FLOWN)))
    for name, rows in alone.items():
        assert np.ptp(rows[:, 2]) > 0.8, name
        np.testing.assert_array_equal(together[name], rows, err_msg=name)
        np.testing.assert_array_equal(turned[name], rows, err_msg=name)


def test_a_restarted_mission_begins_anew():
    """If this fails, a second run follows points of the first."""
    with Simulation("flat", engine="mujoco") as simulation:
        vehicles = [
            simulation.add(Multirotor("iris", position=(x, 0, 0.08), backends=[GeometricController(eight())]))
            for x in (0.0, 5.0)
        ]
        runs = []
        for _ in range(2):
            simulation.step(700)
            runs.append(np.concatenate([v.reference.position for v in vehicles]))
            simulation.reset()
        np.testing.assert_array_equal(*runs)
        simulation.step(500)
        controller = vehicles[0].backends.driver
        controller.start()
        simulation.step()
        assert vehicles[0].reference is controller.mission.reference
        assert vehicles[0].reference.segment == "idle"
        np.testing.assert_array_equal(vehicles[0].reference.idle, True)
        assert vehicles[1].reference.segment != "idle"


def test_each_lift_off_resets_a_controller_once():
    """If this fails, a hook of the user is skipped, or an integral of the last flight acts in the next."""
    resets = []

    class Counted(GeometricController):
        def reset(self, copies):
            super().reset(copies)
            resets.append(self.columns["integral"].copy())

    hop = trajectories.sequence(
        *(trajectories.takeoff(0.5), trajectories.land(), trajectories.idle(0.5), trajectories.takeoff(0.5))
    )
    with Simulation("flat", engine="mujoco") as simulation:
        controllers = [Counted(hop, spin_up=0.2), GeometricController(hop, spin_up=0.2)]
        for k, controller in enumerate(controllers):
            simulation.add(Multirotor("iris", position=(5.0 * k, 0, 0.08), backends=[controller]))
        simulation.run(controllers[0].mission.duration + 1.0)
        assert np.abs(controllers[0].columns["integral"]).max() > 0
    assert len(resets) == 2
    np.testing.assert_array_equal(resets, 0.0)


@dataclass(eq=False)
class Broken(Controller):
    @staticmethod
    def law(own: "Broken", body: Body, setpoint: Setpoint) -> tuple[Vec3, Vec3]:
        return Vec3(0.0, 0.0, sqrt(-own.spin_up) * setpoint.yaw), body.gravity


def test_a_command_that_is_not_finite_names_the_vehicle():
    """If this fails, one wrong law among fifty stops the run without a hint."""
    with Simulation("flat", engine="mujoco") as simulation:
        for k, name in enumerate(("first", "second")):
            backend = Broken(eight(), spin_up=0.1 + 10.0 * (k == 0))
            simulation.add(Multirotor("iris", name=name, position=(5.0 * k, 0, 0.08), backends=[backend]))
        with pytest.raises(ConfigError, match=r"^command of Broken for vehicle 'second' at t = .* copy 0"):
            simulation.run(1.0)
