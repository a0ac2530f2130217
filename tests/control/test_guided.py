"""Guided flight: commands for all or some copies, waiting, and wrong input."""

import math
import threading

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.contracts.observer import Observer
from pegasus.control import GuidedController, GuidedPIDController

KINDS = [GuidedController, GuidedPIDController]


@pytest.fixture(params=KINDS)
def flight(request):
    """A hovering vehicle of three copies, with its simulation and its controller."""
    with Simulation("flat") as sim:
        pilot = request.param(spin_up=0.3)
        vehicle = sim.add(Multirotor("iris", count=3, backends=[pilot], sensors={}))
        pilot.takeoff(height=2.0).wait(sim)
        yield sim, vehicle, pilot


def test_copies_follow_their_own_commands(flight):
    """A command for one copy would move another, or a landed copy would stop the rotors of the others."""
    sim, vehicle, pilot = flight
    start = vehicle.state.position.copy()
    pilot.goto([[4.0, -3.0, 3.0]], yaw=math.pi / 2, copies=[0])
    pilot.velocity([0.0, 0.5, 0.0], copies=1).wait(sim)
    np.testing.assert_allclose(vehicle.state.velocity[1], [0.0, 0.5, 0.0], atol=0.15)
    pilot.hold(copies=slice(1, 2)).wait(sim)
    down = pilot.land(copies=np.array([False, False, True]))
    down.wait(sim)
    sim.run(8.0)
    np.testing.assert_allclose(vehicle.state.position[0], [4.0, -3.0, 3.0], atol=0.15)
    heading = np.arctan2(vehicle.state.rotation[0, 1, 0], vehicle.state.rotation[0, 0, 0])
    assert heading == pytest.approx(math.pi / 2, abs=0.05)
    assert vehicle.state.position[1, 2] == pytest.approx(start[1, 2], abs=0.1)
    assert vehicle.state.position[1, 1] > start[1, 1] + 0.05
    assert vehicle.state.position[2, 2] < start[2, 2] - 1.8
    np.testing.assert_array_equal(vehicle.rotor_command[2], 0.0)
    assert (vehicle.rotor_command[:2] > 0).all()
    with pytest.raises(ConfigError, match="copy 2: is not in the air; take off first"):
        pilot.goto([0.0, 0.0, 2.0])
    pilot.land().wait(sim)
    assert vehicle.in_contact.all()
    pilot.takeoff(height=1.0).wait(sim)
    np.testing.assert_allclose(vehicle.state.position[:, 2], start[:, 2] - 1.0, atol=0.2)


def test_names_of_points(flight):
    """A spawn point's name would not be a point to fly to, or one within the ground."""
    sim, vehicle, pilot = flight
    spot = sim.world.spawn_points[2]
    pilot.goto(spot.name, copies=1).wait(sim)
    np.testing.assert_allclose(vehicle.state.position[1], np.add(spot.position, (0.0, 0.0, 1.5)), atol=0.15)
    with pytest.raises(ConfigError, match=r"spawn point = 'spawn_x': .*spawn_"):
        pilot.goto("spawn_x")


def test_copies_take_off_one_after_the_other(flight):
    """A landed copy could fly again only once all have landed, or its take-off would move the others."""
    sim, vehicle, pilot = flight
    pilot.land(copies=[0, 2]).wait(sim)
    low, before = float(vehicle.state.position[0, 2]), vehicle.state.position[1].copy()
    with pytest.raises(ConfigError, match="iris, copy 1: has taken off already; fly to a point by goto"):
        pilot.takeoff()
    up = pilot.takeoff(height=1.0, copies=2)
    with pytest.raises(ConfigError, match="copy 2: has taken off already"):
        pilot.takeoff(copies=[0, 2])
    pilot.hold(copies=2)
    up.wait(sim)
    sim.run(2.0)
    np.testing.assert_allclose(vehicle.state.position[1], before, atol=0.1)
    np.testing.assert_allclose(vehicle.state.position[[0, 2], 2] - low, [0.0, 1.0], atol=0.03)
    np.testing.assert_array_equal(vehicle.rotor_command[0], 0.0)
    assert vehicle.reference.segment == "target"
    # One that is told to land before it has left the ground stays there.
    pilot.takeoff(copies=0)
    sim.step()
    pilot.land(copies=0)
    sim.run(3.0)
    assert vehicle.state.position[0, 2] == pytest.approx(low, abs=0.001)


def test_a_goto_with_a_heading_is_done_when_it_looks_there(flight):
    """A camera would take its picture while the vehicle still turns."""
    sim, vehicle, pilot = flight
    pilot.goto(vehicle.position, yaw=[3.0, 0.0, -1.5]).wait(sim)
    np.testing.assert_allclose(vehicle.state.heading, [3.0, 0.0, -1.5], atol=0.06)


def test_waits_end(flight):
    """A wait for what cannot come would step for ever."""
    sim, _, pilot = flight
    with pytest.raises(TimeoutError, match=r"goto: iris, copy 0, is not done after 0.5 s, .* m away"):
        pilot.goto([50.0, 0.0, 2.0]).wait(sim, timeout=0.5)
    replaced = pilot.goto([50.0, 0.0, 2.0])
    pilot.hold()
    with pytest.raises(ConfigError, match="goto: was replaced by a later command"):
        replaced.wait(sim)


class Waiter(Observer):
    """Observer that waits for a command."""

    def __init__(self, pilot):
        self.pilot = pilot

    def record(self, sim):
        self.pilot.hold().wait(sim)


def test_waits_where_nobody_may_step(flight):
    """A wait in an observer would step within a step; one in another thread would step beside the run."""
    sim, _, pilot = flight
    refused = []

    def wait():
        try:
            pilot.hold().wait(sim)
        except RuntimeError as error:
            refused.append(str(error))

    for _ in sim.stepping(0.02):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert len(refused) == 5
    assert refused[0] == "another thread runs this simulation; step it or wait in that thread"
    pilot.hold().wait(sim)
    sim.add_observer(Waiter(pilot))
    with pytest.raises(RuntimeError, match="an observer or backend cannot step its simulation; do so after"):
        sim.step()


def test_stands_until_told():
    """The vehicle would take off by itself, or follow a command on the ground later."""
    with Simulation("flat") as sim:
        pilot = GuidedController()
        vehicle = sim.add(Multirotor("iris", backends=[pilot], sensors={}))
        sim.run(2.0)
        np.testing.assert_array_equal(vehicle.rotor_command, 0.0)
        with pytest.raises(ConfigError, match="vehicle: is not in the air; take off first"):
            pilot.velocity([1.0, 0.0, 0.0])


def test_copies_are_named_in_rising_order(flight):
    """The first of two points would go to copy 0, though copy 2 is named first."""
    _, _, pilot = flight
    with pytest.raises(ConfigError, match=r"copies = \[2, 0\]: must be in rising order"):
        pilot.goto([[1.0, 0.0, 2.0], [5.0, 0.0, 2.0]], copies=[2, 0])


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("goto", {"point": [1.0, 2.0]}, "point = .* must be finite numbers of shape"),
        ("goto", {"point": [1.0, np.nan, 2.0]}, "point = .* must be finite"),
        ("goto", {"point": [1.0, 0.0, 2.0], "yaw": 90}, "yaw = 90: must be in radians"),
        ("goto", {"point": [1.0, 0.0, 2.0], "speed": 0.0}, "speed = 0.0: must be above 0 m/s"),
        ("velocity", {"velocity": [1.0, 0.0, 0.0], "frame": "ned"}, "frame = 'ned': must be world or body"),
        ("hold", {"copies": 7}, "copies = 7: must be an index below 1, several different ones"),
        ("takeoff", {"height": -1.0}, "height = -1.0: must be above 0 m"),
    ],
)
def test_wrong_input(name, values, message):
    """A wrong command would be followed, or fail deep in the arithmetic."""
    with pytest.raises(ConfigError, match=message):
        getattr(GuidedController(), name)(**values)


def test_points_below_the_ground(flight):
    """If this fails, heights counted downwards fly a vehicle into the ground."""
    sim, vehicle, pilot = flight
    with pytest.raises(
        ConfigError, match=r"point = \[1.0, 0.0, -5.0\]: is below the ground; z is up"
    ) as caught:
        pilot.goto([1.0, 0.0, -5.0], copies=1)
    assert "\n" not in str(caught.value)
    pilot.goto([1.0, 0.0, 0.6], copies=1).wait(sim)
    assert vehicle.state.position[1, 2] == pytest.approx(0.6, abs=0.15)


def guided_together(kinds):
    """Return positions and references in all steps of vehicles that are commanded, by class."""
    with Simulation("flat") as sim:
        pilots = [kind(spin_up=0.1) for kind in kinds]
        vehicles = []
        for kind, pilot in zip(kinds, pilots, strict=True):
            place = (9.0 * KINDS.index(kind), 0.0, 0.08)
            vehicles.append(sim.add(Multirotor("iris", position=place, backends=[pilot], sensors={})))
            pilot.takeoff(height=0.3 + KINDS.index(kind))
        rows = []
        for step in range(600):
            if step == 400:
                for pilot in pilots:
                    pilot.velocity([0.5, 0.2, 0.1], yaw_rate=0.3, frame="body")
            sim.step()
            rows.append(
                [(*v.state.position[0], *v.reference.position[0], v.reference.yaw[0]) for v in vehicles]
            )
        return dict(zip(kinds, np.swapaxes(rows, 0, 1), strict=True))


def test_the_bits_do_not_depend_on_other_vehicles():
    """The references of all guided vehicles are made together: one would follow the orders of another."""
    together = guided_together(KINDS)
    for kind in KINDS:
        (alone,) = guided_together([kind]).values()
        assert np.ptp(alone[:, 2]) > 0.2
        np.testing.assert_array_equal(together[kind], alone)
