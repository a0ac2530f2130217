"""Tests of the panel's run, pilot and view parts: speed, wind, recording, commands and cameras."""

import math

import numpy as np
import pytest
from panel_rig import last_error

from pegasus import Multirotor
from pegasus.base.frames import quaternion_from_euler
from pegasus.contracts.state import Estimate
from pegasus.control import GeometricController
from pegasus.dynamics.battery import Battery
from pegasus.panel import CameraMode
from pegasus.panel.pilot_part import PilotInput, gamepad_positions, stick_positions, stick_response
from pegasus.panel.view_part import viewpoint
from pegasus.recording.reader import read_log
from pegasus.session import Viewpoint
from tests.flyers import PLAIN_IRIS
from tests.waits import wait_until


@pytest.fixture
def flying(flat):
    """A panel with a hovering Iris."""
    flat.vehicle.add()
    flat.simulation.play()
    wait_until(lambda: flat.snapshot.time > 6.0, "the hover")
    return flat


@pytest.mark.parametrize("speed", ["fast", "", 0, 0.01, -1, "inf", None, 1e9])
def test_wrong_speed(flat, speed):
    """A forbidden speed would be accepted, or its error would not state the allowed range."""
    flat.simulation.set_speed(2)
    assert flat.simulation.set_speed(speed) is False
    assert "must be from 0.1 to 1000 times real time, or max" in last_error(flat)
    assert flat.simulation.speed == 2.0


def test_speed(panel):
    """The speed could not be chosen before a world is loaded, or would be lost by loading one."""
    assert panel.simulation.speed == 1.0
    assert panel.simulation.set_speed("0.5")
    panel.world.choose("flat")
    panel.world.load()
    assert panel.simulation.speed == 0.5
    assert panel.simulation.set_speed("max")
    assert panel.simulation.speed == "max"
    assert panel.simulation.waiting == 0.0


def test_wind(flat):
    """Wind set in the panel would blow in another direction, or could not be switched off."""
    assert flat.simulation.set_wind("3", -1)
    assert flat.snapshot.wind == (3.0, -1.0, 0.0)
    assert flat.simulation.set_wind(3, -1, intensity=0.5)
    assert flat.snapshot.wind != (3.0, -1.0, 0.0)
    assert flat.simulation.set_wind(0, 0)
    assert flat.snapshot.wind == (0.0, 0.0, 0.0)
    assert flat.simulation.set_wind("east", 0) is False
    assert last_error(flat) == "east = 'east': must be a finite number; correct the value"
    assert flat.simulation.set_wind(1, 0, intensity=-1) is False
    assert last_error(flat).startswith("wind.intensity = -1.0: must be at least 0 m/s")


def test_wrong_steps(flat):
    """A step count of zero would be taken as one."""
    assert flat.simulation.step(0) is False
    assert last_error(flat) == "count = 0: must be a whole number from 1 up"


def test_record(flying, tmp_path):
    """The record would not be in the folder that the panel shows."""
    assert flying.simulation.record(True)
    folder = flying.snapshot.recording
    assert folder.parent == tmp_path / "runs"
    began = flying.snapshot.time
    wait_until(lambda: flying.snapshot.time > began + 1, "a second")
    assert flying.simulation.record(False)
    assert flying.messages[-1].text == f"recorded into {folder}"
    assert flying.snapshot.recording is None
    assert read_log(folder)["iris/state"].time[0] >= began - 0.01


def test_record_where_nothing_can_be_written(flying, tmp_path):
    """A full disk or a wrong folder would end the run, or go unreported."""
    (tmp_path / "runs").touch()
    assert flying.simulation.record(True) is False
    assert "cannot be used as a folder for runs" in last_error(flying)
    began = flying.snapshot.time
    wait_until(lambda: flying.snapshot.time > began, "time to go on")


def test_go_to(flying):
    """The vehicle would fly to another point than the one clicked."""
    assert flying.pilot.go_to("2", 1, 3)
    wait_until(lambda: np.linalg.norm(flying.telemetry.position - [2, 1, 3]) < 0.05, "the arrival")
    assert flying.pilot.go_to_click((0, 0, 5), (-1, 0, -5))
    wait_until(lambda: np.linalg.norm(flying.telemetry.position - [-1, 0, 3]) < 0.1, "the second arrival")
    assert flying.pilot.go_to_click((0, 0, 5), (0, 0, 1)) is False
    assert last_error(flying) == "click: hits nothing; click on the ground"
    assert flying.pilot.go_to("x", 0, 0) is False
    assert last_error(flying) == "x = 'x': must be a finite number; correct the value"


def test_keys(flying):
    """A key would fly in the wrong direction, or stay active after its browser disconnects."""
    flying.simulation.set_speed(2.0)
    there = flying.telemetry.position
    assert flying.pilot.steer(["w", "R", "shift"])
    wait_until(lambda: flying.telemetry.position[0] > there[0] + 0.2, "the way forward")
    assert flying.telemetry.segment == "velocity"
    assert flying.telemetry.position[2] > there[2]
    assert flying.telemetry.position[1] == pytest.approx(there[1], abs=0.05)
    wait_until(lambda: flying.telemetry.segment == "target", "the end of what is not renewed")


def test_a_landing_is_not_undone(flying):
    """Releasing a key would cancel a landing that was commanded after it."""
    flying.pilot.steer(["w"])
    flying.pilot.land()
    wait_until(lambda: flying.telemetry.segment == "landed", "the landing")
    began = flying.snapshot.time
    wait_until(lambda: flying.snapshot.time > began + 20, "a while")
    assert flying.telemetry.segment == "landed"
    assert flying.pilot.hover()
    wait_until(lambda: flying.telemetry.position[2] > 1.0, "the second take-off")


def test_keys_that_are_let_go(flying):
    """A vehicle would keep flying for half a second after its key is released."""
    flying.simulation.set_speed(1.0)
    assert flying.pilot.steer(["w"])
    assert flying.session.call(lambda s: s.vehicles["iris"].reference.segment) == "velocity"
    assert flying.pilot.steer([])
    assert flying.session.call(lambda s: s.vehicles["iris"].reference.segment) == "target"


def test_a_stick_at_rest_commands_nothing(flying):
    """A centred gamepad would cancel a go-to command."""
    flying.pilot.go_to(8, 0, 3)
    for _ in range(3):
        assert flying.pilot.steer([], [0.02, -0.03, 0.0, 0.05])
    wait_until(lambda: flying.telemetry.position[0] > 7.9, "the arrival")


def test_land_and_take_off_by_key_and_button(flying):
    """A key or button would do nothing, or repeat its command while it is held."""
    assert flying.pilot.steer(["L"])
    wait_until(lambda: flying.telemetry.segment == "landed", "the landing")
    assert flying.pilot.steer(["l"])
    assert flying.pilot.steer([], [0.0] * 4, [0])
    wait_until(lambda: flying.telemetry.position[2] > 1.0, "the take-off")
    assert flying.pilot.steer([], [0.0] * 4, [1])
    wait_until(lambda: flying.telemetry.segment == "landed", "the second landing")


def test_a_tap_that_is_over_before_it_is_looked_at(flying):
    """A short key press would be lost on a slow machine, or hide the next one."""
    for landing in (PilotInput(("L",)), PilotInput(buttons=(1,))):
        flying.pilot.apply_inputs([PilotInput(), landing, PilotInput()])
        wait_until(lambda: flying.telemetry.segment == "landed", "the landing")
        flying.pilot.apply_inputs([PilotInput(("t",)), PilotInput(("t",)), PilotInput(("t", "w"))])
        flying.pilot.apply_inputs([PilotInput()])
        wait_until(lambda: flying.telemetry.position[2] > 1.0, "the take-off")


def test_what_cannot_be_steered_is_said_once(flat):
    """A held key would repeat its error message, or cause none."""
    for _ in range(5):
        flat.pilot.steer(["w"])
    assert last_error(flat) == "vehicle: there is no vehicle; add one first"
    assert sum(message.error for message in flat.messages) == 1
    flat.pilot.steer([])
    flat.pilot.steer(["w"])
    assert sum(message.error for message in flat.messages) == 2


def test_gamepad(flying):
    """A stick would move the vehicle in the wrong direction, or gamepad and keys would not add up."""
    # Left stick up climbs and right stick up moves ahead; to the left they yaw and move left.
    assert gamepad_positions([0, -1, 0, 0]) == pytest.approx((0, 0, 1, 0))
    assert gamepad_positions([0, 0, 0, -1]) == pytest.approx((1, 0, 0, 0))
    assert gamepad_positions([-1, 0, 0, 0]) == pytest.approx((0, 0, 0, 1))
    assert gamepad_positions([0, 0, -1, 0]) == pytest.approx((0, 1, 0, 0))
    assert gamepad_positions([]) == (0, 0, 0, 0)
    assert flying.pilot.steer([], [0.0]) is False
    assert last_error(flying) == "gamepad = (0.0,): must have four axes"
    flying.simulation.set_speed(2.0)
    there = flying.telemetry.position
    wait_until(
        lambda: flying.pilot.steer(["r"], [0, 0, -1, 0]) and flying.telemetry.position[1] > there[1] + 0.3,
        "the way to the left",
    )
    assert flying.telemetry.position[2] > there[2] + 0.1


def test_stick_response():
    """A stick would act in its dead zone, jump at its edge, be asymmetric, or not reach full deflection."""
    x = np.arange(-150, 151) / 100
    y = np.array([stick_response(value, dead_zone=0.1, expo=0.4) for value in x])
    np.testing.assert_array_equal(y[np.abs(x) <= 0.1], 0.0)
    np.testing.assert_array_equal(y, -y[::-1])
    np.testing.assert_allclose(y[np.abs(x) >= 1.0], np.sign(x[np.abs(x) >= 1.0]))
    assert np.diff(y).min() >= 0.0
    assert np.diff(y).max() < 0.01 * (0.6 + 3 * 0.4) / 0.9 + 1e-12
    # At half the range beyond the dead zone: 0.6 / 2 + 0.4 / 8.
    assert stick_response(0.55, dead_zone=0.1, expo=0.4) == pytest.approx(0.35)


def test_sticks():
    """Opposite keys would not cancel."""
    assert stick_positions(["w", "s", "a", "q", "f"]) == (0.0, 1.0, -1.0, 1.0)
    assert stick_positions([]) == (0.0, 0.0, 0.0, 0.0)


def test_commands_that_nobody_takes(flat):
    """A command that no vehicle can take would be dropped without a message."""
    assert flat.pilot.hover() is False
    assert last_error(flat) == "vehicle: there is no vehicle; add one first"
    flat.vehicle.add()
    assert flat.pilot.hover() is False
    assert last_error(flat) == "simulation: is not running; press play first"
    flat.backend.set_flight("circle")
    flat.vehicle.set_position(5, 5, 1)
    flat.vehicle.set_name("other")
    flat.vehicle.add()
    flat.view.follow("other")
    for command in (flat.pilot.hover, flat.pilot.land, lambda: flat.pilot.fly(0, 0, 0, 0)):
        assert command() is False
        assert last_error(flat).startswith("vehicle = 'other': cannot be steered manually; add one with the")
    flat.view.follow("iris")
    flat.simulation.step()
    assert flat.pilot.fly(1, 0, 0, 0) is False
    assert last_error(flat) == "vehicle: is not in the air; take off first"
    assert flat.pilot.fly("x", 0, 0, 0) is False
    assert last_error(flat) == "forward = 'x': must be a finite number; correct the value"


def test_telemetry(flying):
    """The telemetry of a vehicle would differ from the simulation."""
    flying.simulation.pause()
    shown = flying.telemetry
    vehicle, environment = flying.session.call(lambda s: (s.vehicles["iris"], s.environment))
    np.testing.assert_array_equal(shown.position, vehicle.state.position[0])
    assert shown.altitude == environment.altitude(vehicle.state.position)[0]
    assert shown.speed == pytest.approx(np.linalg.norm(vehicle.state.velocity[0]))
    assert shown.climb == vehicle.state.velocity[0, 2]
    speeds = vehicle.state.rotor_speed[0].tolist()
    assert [actuator.text for actuator in shown.actuators] == [f"{speed:.0f} rad/s" for speed in speeds]
    assert [actuator.name for actuator in shown.actuators] == [f"rotor_{j}" for j in range(4)]
    assert all(0.3 < actuator.share < 0.9 for actuator in shown.actuators)
    np.testing.assert_array_equal(shown.reference, vehicle.reference.position[0])
    assert shown.error == pytest.approx(np.linalg.norm(shown.reference - shown.position))
    imu = vehicle.readings["imu"]
    np.testing.assert_array_equal(shown.readings["imu"]["specific_force"], imu.specific_force[0])
    assert shown.readings["gps"]["latitude"] == pytest.approx(38.7368, abs=1e-3)
    gps = vehicle.readings["gps"]
    east = math.radians(gps.longitude[0] - environment.origin.longitude) * 6378137.0
    east *= math.cos(math.radians(environment.origin.latitude))
    assert shown.measured[0] == pytest.approx(east, abs=0.05)
    assert shown.in_contact is False


def test_follow(flat):
    """Another copy would be followed than the chosen one."""
    flat.vehicle.set_count(3)
    flat.vehicle.add()
    assert flat.telemetry.copy == 0
    assert flat.view.follow("iris", 2)
    assert flat.telemetry.copy == 2
    np.testing.assert_array_equal(flat.telemetry.position, flat.snapshot.vehicles[0].position[2])
    assert flat.view.follow("iris", 3) is False
    assert last_error(flat) == "copy = 3: must be from 0 to 2"
    assert flat.view.follow("x500") is False
    assert last_error(flat) == "vehicle = 'x500': no such vehicle; there are iris"
    assert flat.view.followed == ("iris", 2)


def test_camera(flat):
    """The viewport would not move with the followed vehicle, or would move when none is followed."""
    assert flat.view.set_viewpoint((1, 2, "3"), (0, 0, 0))
    free = flat.view.viewpoint
    assert flat.view.set_mode("chase")
    assert flat.view.camera(flat.snapshot) == free
    flat.vehicle.add()
    assert flat.view.camera(flat.snapshot) != free
    assert flat.view.set_mode("free")
    assert flat.view.camera(flat.snapshot) == free
    assert flat.view.set_mode("orbit") is False
    assert last_error(flat) == "camera = 'orbit': must be one of free, follow, chase, first person"
    assert flat.view.set_viewpoint((1, 1, 1), (1, 1, 1)) is False
    assert last_error(flat) == "target = (1.0, 1.0, 1.0): must not be the same as the position; move one"
    assert flat.view.set_viewpoint((1, "a", 1), (1, 1, 1)) is False
    assert last_error(flat) == "position = 'a': must be a finite number; correct the value"
    assert flat.view.viewpoint == free


def test_viewpoints():
    """The chase camera would not be behind the vehicle, or the first-person camera not roll with it."""
    free = Viewpoint((1.0, 0.0, 2.0), (0.0, 0.0, 0.0))
    place = np.array([10.0, 20.0, 5.0])
    north = quaternion_from_euler(0.3, -0.2, math.pi / 2)

    def at(mode):
        seen = viewpoint(mode, place, north, free=free)
        return np.array(seen.position) - place, np.array(seen.target) - np.array(seen.position), seen.up

    offset, _, up = at(CameraMode.FOLLOW)
    np.testing.assert_allclose(offset, [1.0, 0.0, 2.0])
    offset, ahead, up = at(CameraMode.CHASE)
    assert offset[1] < -2.0
    assert abs(offset[0]) < 1e-9
    assert offset[2] > 0
    assert up == (0.0, 0.0, 1.0)
    offset, ahead, up = at(CameraMode.FIRST_PERSON)
    np.testing.assert_allclose(ahead, [0.0, math.cos(0.2), math.sin(0.2)], atol=1e-12)
    assert np.dot(ahead, up) == pytest.approx(0.0, abs=1e-12)
    assert up[2] == pytest.approx(math.cos(0.3) * math.cos(0.2))
    assert viewpoint(CameraMode.FREE, place, north, free=free) == free


def test_what_is_drawn(panel):
    """One display switch would change another."""
    for name in "trails", "axes", "reference_path", "contact_flashes":
        for value in True, False:
            others = {k: v for k, v in vars(panel.view.drawing).items() if k != name}
            assert panel.view.draw(**{name: value})
            assert getattr(panel.view.drawing, name) is value
            assert {k: v for k, v in vars(panel.view.drawing).items() if k != name} == others


def test_screenshots(panel, tmp_path):
    """A second screenshot within a second would replace the first, or a full disk would break the page."""
    assert panel.view.screenshot()
    assert panel.view.screenshot_count == 1
    assert panel.view.save_screenshot(b"one")
    assert panel.view.save_screenshot(b"two")
    pictures = sorted((tmp_path / "runs").glob("screenshot-*.png"))
    assert {path.read_bytes() for path in pictures} == {b"one", b"two"}
    assert str(pictures[-1]) in panel.messages[-1].text
    panel.view.out = tmp_path / "file"
    panel.view.out.touch()
    assert panel.view.save_screenshot(b"three") is False
    assert last_error(panel).startswith(f"{tmp_path / 'file'}: cannot be written: ")


class Believer(GeometricController):
    """A pilot with an autopilot's estimate that is off by 1 m to the east and 0.1 rad in yaw."""

    def publish(self, t, state, readings):
        super().publish(t, state, readings)
        if t < 0.5:
            return
        self.estimate.received[...] = t
        self.estimate.position[...] = state.position + np.array([1.0, 0.0, 0.0])
        self.estimate.velocity[...] = state.velocity
        self.estimate.orientation[...] = quaternion_from_euler(0.0, 0.0, 0.1)
        self.estimate.angular_velocity[...] = state.angular_velocity
        self.estimate.position_error[...] = 1.0, 0.0, 0.0
        self.estimate.velocity_error[...] = 0.0
        self.estimate.attitude_error[...] = 0.1


def test_estimate_beside_truth(flat):
    """The autopilot's estimate would not be shown, be of another copy, or change afterwards."""
    pilot = Believer([{"hold": {"height": 1.0}}])
    pilot.estimate = Estimate.unknown(2)
    flat.session.add(Multirotor("iris", count=2, backends=[pilot]))
    flat.simulation.step(50)
    assert flat.telemetry.estimate is None
    flat.simulation.step(100)
    assert flat.view.follow("iris", 1)
    shown = flat.telemetry.estimate
    np.testing.assert_allclose(shown.position - flat.telemetry.position, [1.0, 0.0, 0.0], atol=1e-3)
    np.testing.assert_array_equal(shown.position_error, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(shown.attitude, [0.0, 0.0, 0.1], atol=1e-12)
    assert shown.attitude_error == 0.1
    assert shown.age == pytest.approx(1 / 250)
    before = shown.position.copy()
    flat.simulation.step(400)
    np.testing.assert_array_equal(shown.position, before)
    assert flat.telemetry.estimate.position[2] > before[2] + 0.05


def test_battery(flat):
    """A vehicle's battery would be missing, be another copy's, or be shown for a vehicle without one."""
    pilot = GeometricController([{"hold": {"height": 1.0}}], spin_up=0.1)
    battery = Battery(cell_count=4, capacity=0.05, resistance=0.02)
    vehicle = Multirotor("iris", battery=battery, backends=[pilot])
    flat.session.add(vehicle)
    flat.simulation.step(1)
    full = flat.telemetry.battery
    assert full.charge == pytest.approx(1.0, abs=1e-3)
    flat.simulation.step(500)
    shown = flat.telemetry.battery
    assert (shown.voltage, shown.current, shown.charge) == (
        vehicle.battery.voltage[0],
        vehicle.battery.current[0],
        vehicle.battery.charge[0],
    )
    assert shown.charge < 0.95 * full.charge
    assert shown.voltage < full.voltage
    flat.session.add(Multirotor(PLAIN_IRIS, name="other", position=(3, 0, 0.1)))
    flat.view.follow("other")
    assert flat.telemetry.battery is None


def test_the_way_to_a_point(flying):
    """The path would not be drawn to the vehicle's target, or remain once there is no target."""
    flying.simulation.pause()
    flying.pilot.go_to(8, 1, 3)
    flying.simulation.step()
    path = flying.snapshot.vehicles[0].plan.path()
    np.testing.assert_allclose(path[0], flying.telemetry.position, atol=0.1)
    np.testing.assert_allclose(path[-1], [8, 1, 3])
    flying.pilot.steer(["w"])
    flying.simulation.step()
    assert flying.snapshot.vehicles[0].plan is None


def test_a_plane_flies_by_keys(flat):
    """A plane could be added with the controller of multirotors alone, or its keys do nothing."""
    flat.vehicle.choose("plane")
    flat.vehicle.set_position(0, 0, 0.15)
    # A controller of multirotors says that it cannot fly it.
    assert not flat.vehicle.add()
    assert "plane" in last_error(flat)
    assert flat.backend.set_controller("plane")
    assert flat.vehicle.add(), last_error(flat)
    flat.simulation.set_speed("max")
    flat.simulation.play()
    wait_until(lambda: flat.snapshot.time > 1.0, "the launch")
    wait_until(lambda: flat.telemetry.segment == "circle", "the circle")
    flat.simulation.set_speed(1.0)
    assert flat.pilot.steer(keys=["q", "r"])
    wait_until(lambda: flat.telemetry.segment == "line", "the turn")
    assert flat.pilot.steer()
    wait_until(lambda: flat.telemetry.segment == "circle", "the circle after the keys are released")
    assert flat.pilot.steer(keys=["l"])
    wait_until(lambda: flat.telemetry.segment in ("line", "approach"), "the way to the approach")
