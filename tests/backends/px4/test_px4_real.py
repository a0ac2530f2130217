"""Flights of the real PX4, where PX4_DIR names a built PX4-Autopilot."""

import logging
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from offboard_rig import part_ways
from px4_rig import Recorder, datagrams, distance, fly_until, free_instance, iris

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import PX4, GuidedPX4
from pegasus.backends.mavlink.ports import bind_udp
from pegasus.backends.px4.hil_instance import Phase
from pegasus.backends.px4.program import PX4Program
from pegasus.config.autopilot_specs import PX4Spec
from pegasus.config.files import load_scenario, load_vehicle
from pegasus.config.settings import names
from pegasus.faults import LinkDelay, LinkDuplicate, LinkLoss
from pegasus.sensors import Odometry, OpticalFlow, Rangefinder
from tests.waits import LIMIT

DIRECTORY = os.environ.get("PX4_DIR")
pytestmark = [
    pytest.mark.px4,
    pytest.mark.skipif(not DIRECTORY, reason="needs PX4: set PX4_DIR to a built PX4-Autopilot"),
    pytest.mark.usefixtures("nothing_left"),
]
HOVER = [{"takeoff": {"height": 5.0}}, {"hold": {"duration": 60.0}}]


@pytest.fixture
def real(tmp_path, caplog):
    """Return a function that makes a backend of the real PX4; the test must cause no warning."""

    def make(trajectory=None, **options):
        backend = PX4(DIRECTORY, trajectory=trajectory, **options)
        backend.run_folder = tmp_path / "run"
        return backend

    yield make
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


def square():
    """Return the trajectory of the shipped scenario."""
    scenario, _ = load_scenario("px4_square")
    return scenario.vehicles[0].backends[0]["trajectory"]


def test_links_of_others_beside_a_trajectory(real):
    """MAVSDK at 14540 + N would get nothing during a trajectory, or the estimate would be rare."""
    backend = real(HOVER)
    with Simulation(seed=7) as simulation:
        vehicle = simulation.add(iris(backend))
        number = backend.first_instance
        with bind_udp("0.0.0.0", (14540 if number < 10 else 14840) + number) as user:
            fly_until(simulation, lambda: backend.armed[0], limit=30.0)
            datagrams(user)
            heard, told = 0, set()
            for _ in simulation.stepping(5.0):
                heard += len(datagrams(user))
                told.add(float(vehicle.estimate.received[0]))
    # One datagram was received, and 35 estimates.
    assert heard > 500
    assert len(told) > 100


@pytest.mark.parametrize("known", [True, False])
def test_a_px4_that_waits_already(real, tmp_path, known):
    """A waiting PX4 would be armed and flown in place of the launched one, with another airframe."""
    number = free_instance()
    program = PX4Program(DIRECTORY, airframe="none_iris", parameters={}, derived={}, sensor_rate=250.0)
    stranger = program.process(number, directory=tmp_path / "stranger", log=tmp_path / "stranger.log")
    stranger.start()
    try:
        deadline = time.monotonic() + LIMIT
        while not any("Waiting for simulator" in line for line in stranger.last_lines(50)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with Simulation(seed=8) as simulation:
            if known:
                with pytest.raises(ConfigError, match="a PX4 of this number is already running") as caught:
                    simulation.add(iris(real(instance=number)))
                assert f"pid {stranger.pid}" in str(caught.value)
            backend = real(HOVER)
            simulation.add(iris(backend))
            assert backend.first_instance != number
            fly_until(simulation, lambda: backend.armed[0], limit=30.0)
        assert stranger.alive
    finally:
        stranger.stop()


def test_the_square(real):
    """The shipped scenario would not arm, take off, fly a square at 5 m, land and disarm."""
    backend, recorder = real(square()), Recorder()
    with Simulation(seed=1) as simulation:
        vehicle = simulation.add(iris(backend, recorder))
        ground = vehicle.state.position[0].copy()
        fly_until(simulation, lambda: backend.armed[0], limit=30.0)
        armed = simulation.time
        estimate, errors = vehicle.estimate, []

        def landed_at_last():
            errors.append([*estimate.position_error[0], estimate.attitude_error[0]])
            return not backend.armed[0]

        fly_until(simulation, landed_at_last, limit=60.0)
        landed = simulation.time
        assert backend._instances[0].phase is Phase.LOCKSTEP
    path = np.array(recorder.position)[:, 0]
    assert armed < 15.0
    assert path[:, 2].max() == pytest.approx(5.0, abs=0.3)
    corners = [(-2.5, -2.5, 5.0), (2.5, -2.5, 5.0), (2.5, 2.5, 5.0), (-2.5, 2.5, 5.0)]
    for corner in corners:
        assert distance(path, corner).min() < 0.5
    # PX4 cuts corners only slightly, and overshoots by no more than its braking distance.
    assert np.abs(path[:, :2]).max() < 3.7
    assert distance(path[-1], [*corners[0][:2], ground[2]]) < 0.5
    assert landed < 60.0
    assert landed - estimate.received[0] < 1.0
    east, north, up, tilt = np.abs(errors).max(axis=0)
    # A GPS latency that is wrong by 0.19 s would cost 0.7 m and 6 degrees at 2 m/s.
    assert max(east, north) < 0.15
    assert up < 0.6
    assert np.degrees(tilt) < 2.0
    log = backend.run_folder / f"px4_{backend.first_instance}.log"
    assert "Ready for takeoff!" in log.read_text()
    assert list((backend.run_folder / f"px4_{backend.first_instance}" / "log").rglob("*.ulg"))


@pytest.mark.parametrize("name", ["tilted_hexarotor", "coaxial_x8", "crazyflie"])
def test_a_vehicle_without_a_section(real, name):
    """A vehicle without a PX4 section would tip over, or oscillate and stay on the ground."""
    spec, _ = load_vehicle(name)
    backend, recorder = real(square()), Recorder()
    with Simulation("flat", seed=8) as simulation:
        bare = spec.model_copy(update={"px4": PX4Spec()})
        vehicle = simulation.add(Multirotor(bare, backends=[backend, recorder]))
        fly_until(simulation, lambda: backend.armed[0], limit=30.0)
        upright = []

        def landed():
            upright.append(vehicle.state.rotation[0, 2, 2])
            return not backend.armed[0]

        fly_until(simulation, landed, limit=90.0)
    path = np.array(recorder.position)[:, 0]
    # The GPS of the vehicle's file wanders.
    assert path[:, 2].max() == pytest.approx(5.0, abs=1.5)
    for corner in [(-2.5, -2.5), (2.5, -2.5), (2.5, 2.5), (-2.5, 2.5)]:
        assert distance(path[path[:, 2] > 3.0, :2], corner).min() < 0.8
    assert min(upright) > np.cos(np.radians(25.0))


@pytest.mark.parametrize("vehicle_count", [1, 5])
def test_five_at_once(real, vehicle_count):
    """Five copies, or five vehicles, would not all fly."""
    backends, recorders, copies = [], [], 5 // vehicle_count
    with Simulation(seed=2) as simulation:
        for i in range(vehicle_count):
            backends.append(real(HOVER))
            recorders.append(Recorder())
            options = {"count": copies, "position": (0.0, 5.0 * i, 0.1)}
            simulation.add(iris(backends[-1], recorders[-1], **options))
        simulation.run(20.0)
        assert all(all(backend.armed) for backend in backends)
    for recorder in recorders:
        last = recorder.between(19.0, np.inf)
        np.testing.assert_allclose(last[:, :, 2], 5.0, atol=0.5)
        np.testing.assert_allclose(
            last[:, :, :2], np.tile(recorder.position[0][:, :2], (len(last), 1, 1)), atol=0.5
        )


def test_pause_and_reset(real):
    """PX4 would not survive a pause, or not restart at a reset."""
    backend = real(HOVER)
    with Simulation(seed=3) as simulation:
        vehicle = simulation.add(iris(backend))
        for _ in range(2):
            fly_until(simulation, lambda: vehicle.state.position[0, 2] > 3.0, limit=30.0)
            simulation.pause()
            time.sleep(3.0)
            simulation.play()
            simulation.run(2.0)
            assert backend.armed == [True]
            assert vehicle.state.position[0, 2] > 3.0
            simulation.reset()


@pytest.mark.parametrize(
    ("parts", "parameters"),
    [
        ({"vision": Odometry()}, {"EKF2_EV_CTRL": 15, "EKF2_HGT_REF": 3}),
        ({"flow": OpticalFlow(), "down": Rangefinder()}, {"EKF2_OF_CTRL": 1, "EKF2_RNG_CTRL": 1}),
    ],
    ids=["odometry", "optical flow"],
)
def test_without_gps(real, parts, parameters):
    """Axes or signs of the GPS replacement would be wrong: PX4 would not arm, or fly away."""
    backend = real(square(), parameters={"EKF2_GPS_CTRL": 0, "SYS_HAS_GPS": 0, **parameters})
    fitted = {**iris(backend).sensors, **parts}
    del fitted["gps"]
    with Simulation(seed=6) as simulation:
        vehicle = simulation.add(iris(backend, sensors=fitted))
        fly_until(simulation, lambda: backend.armed[0], limit=30.0)
        estimate, errors, high = vehicle.estimate, [], []

        def landed():
            errors.append(np.abs(estimate.position_error[0, :2]).max())
            high.append(vehicle.state.position[0, 2])
            return not backend.armed[0]

        fly_until(simulation, landed, limit=60.0)
    assert max(errors) < 0.8
    # Above the optical flow's range the height is the barometer's, bent by the accelerometer's bias.
    assert max(high) == pytest.approx(5.0, abs=1.5)


def test_a_square_where_north_is_not_y(real, tmp_path):
    """PX4 would fly a turned square, or mistake its attitude, where true north is 9.8 degrees off y."""
    world = tmp_path / "far.yaml"
    world.write_text("{name: far, extends: flat, origin: {latitude: 70.0, longitude: 10.0, altitude: 50.0}}")
    backend, recorder = real(square()), Recorder()
    with Simulation(world, seed=1) as simulation:
        vehicle = simulation.add(iris(backend, recorder, position=(400e3, 0.0, 0.1)))
        fly_until(simulation, lambda: backend.armed[0], limit=30.0)
        errors = []

        def landed():
            errors.append(vehicle.estimate.attitude_error[0])
            return not backend.armed[0]

        fly_until(simulation, landed, limit=60.0)
    path = np.array(recorder.position)[:, 0] - [400e3, 0.0, 0.0]
    for corner in [(-2.5, -2.5, 5.0), (2.5, -2.5, 5.0), (2.5, 2.5, 5.0), (-2.5, 2.5, 5.0)]:
        assert distance(path, corner).min() < 0.5
    assert np.degrees(np.nanmax(errors)) < 3.0


def test_a_bad_link_in_flight(real):
    """PX4 would hang, or lose lockstep, by samples that are lost, late or doubled."""
    backend = real(HOVER, step_timeout=10.0)
    with Simulation(seed=7) as simulation:
        vehicle = simulation.add(iris(backend))
        fly_until(simulation, lambda: vehicle.state.position[0, 2] > 4.0, limit=90.0)
        simulation.run(duration=4.0)
        place = vehicle.state.position[0].copy()
        vehicle.inject(LinkDuplicate("mavlink", amount=0.3, duration=8.0))
        vehicle.inject(LinkDelay("mavlink", amount=0.012, duration=8.0))
        vehicle.inject(LinkLoss("mavlink", amount=0.05, duration=8.0))
        for _ in simulation.stepping(10.0):
            assert backend._instances[0].phase is Phase.LOCKSTEP
        assert distance(vehicle.state.position, place).max() < 1.0
        assert backend.armed[0]


def test_failures_of_its_shell(real):
    """PX4's `failure` command would not start a failure, or not end it."""
    backend = real(HOVER, step_timeout=10.0, parameters={"SYS_FAILURE_EN": 1})
    with Simulation(seed=7) as simulation:
        vehicle = simulation.add(iris(backend))
        fly_until(simulation, lambda: vehicle.state.position[0, 2] > 4.0, limit=90.0)

        def shell(*words):
            binary = Path(DIRECTORY) / "build/px4_sitl_default/bin/px4-failure"
            command = [binary, "--instance", str(backend.first_instance), *words]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT) as asked:
                fly_until(simulation, lambda: asked.poll() is not None, limit=10.0)
            simulation.run(duration=0.1)
            return [injection.label for injection in vehicle.faults.acting]

        for unit, kind, fault in (
            ("gps", "off", "sensor_off gps"),
            ("baro", "stuck", "sensor_stuck barometer"),
            ("mag", "delayed", "sensor_delay magnetometer"),
        ):
            assert shell(unit, kind) == [fault]
            assert shell(unit, "ok") == []
        assert shell("motor", "off", "-i", "1") == ["motor_loss rotor 0"]


def test_a_high_rate(real):
    """At 1000 Hz PX4 would answer every fourth sample, or not at all."""
    backend = real(HOVER)
    sensors = iris(backend).sensors
    sensors["imu"].rate_hz = 1000.0
    with Simulation(seed=4, rate=1000.0) as simulation:
        vehicle = simulation.add(Multirotor("iris", backends=[backend], sensors=sensors))
        fly_until(simulation, lambda: vehicle.state.position[0, 2] > 3.0, limit=30.0)
        assert backend._instances[0].phase is Phase.LOCKSTEP
        assert backend._instances[0]._interval == 1


def test_one_is_killed(real, caplog):
    """A vehicle would crash, or the run end, when another vehicle's PX4 dies."""
    backends = [real(HOVER) for _ in range(2)]
    with Simulation(seed=5) as simulation:
        vehicles = [
            simulation.add(iris(backend, position=(0.0, 5.0 * i, 0.1))) for i, backend in enumerate(backends)
        ]
        fly_until(simulation, lambda: all(v.state.position[0, 2] > 3.0 for v in vehicles), limit=30.0)
        os.kill(backends[0]._processes[0].pid, signal.SIGKILL)
        simulation.run(4.0)
        assert vehicles[0].state.position[0, 2] < 0.5
        assert vehicles[1].state.position[0, 2] == pytest.approx(5.0, abs=0.6)
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(warnings) == 2
    assert "is gone" in warnings[0]
    assert "was killed by SIGKILL" in warnings[1]
    caplog.clear()


def test_guided_copies(tmp_path):
    """A command for one copy would move another, or PX4 land in spite of a later command."""
    pilot = GuidedPX4(DIRECTORY)
    pilot.run_folder = tmp_path / "run"
    with Simulation(seed=9) as simulation:
        vehicle = simulation.add(iris(pilot, count=2, position=[[0.0, 0.0, 0.1], [0.0, 6.0, 0.1]]))
        simulation.run(10.0)
        assert pilot.armed == [False, False]
        pilot.takeoff(height=4.0).wait(simulation)
        height = part_ways(simulation, vehicle, pilot)
        np.testing.assert_allclose(vehicle.state.position[0], [4.0, 0.0, 3.0], atol=0.5)
        np.testing.assert_allclose(vehicle.state.position[1], [0.0, 6.0, height], atol=0.7)
        pilot.land().wait(simulation)
        assert pilot.armed == [False, False]
        assert vehicle.in_contact.all()


@pytest.mark.parametrize("model", [name for name in names("vehicles") if not load_vehicle(name)[0].joints])
def test_hover_and_thrust_of_all_vehicles(model, tmp_path, caplog):
    """A shipped vehicle would shake in PX4's hands, or a thrust of its weight not carry it."""
    pilot = GuidedPX4(DIRECTORY)
    pilot.run_folder = tmp_path / "run"
    with Simulation("flat", seed=3) as simulation:
        vehicle = simulation.add(Multirotor(model, backends=[pilot]))
        pilot.takeoff(height=10.0).wait(simulation)
        rates = []
        for _ in range(100):
            simulation.run(0.01)
            rates.append(vehicle.state.angular_velocity[0].copy())
        assert np.abs(rates).max() < 0.15
        pilot.attitude(thrust=vehicle.mass * 9.81)
        simulation.run(0.6)
        before = float(vehicle.state.velocity[0, 2])
        simulation.run(0.5)
        assert float(vehicle.state.velocity[0, 2]) - before == pytest.approx(0.0, abs=0.03)
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_the_plane(real):
    """PX4's plane would not take off, fly its waypoints and land, or its estimator reject the airspeed."""
    scenario, _ = load_scenario("px4_plane")
    waypoints = scenario.vehicles[0].backends[0]["waypoints"]
    backend, recorder = real(waypoints=waypoints), Recorder()
    with Simulation("flat", seed=1) as simulation:
        vehicle = simulation.add(Multirotor("plane", backends=[backend, recorder]))
        fly_until(simulation, lambda: backend.armed[0], limit=30.0)
        fly_until(simulation, lambda: not backend.armed[0], limit=200.0)
        assert backend.reached == [len(waypoints)]
        (health,) = backend.health
        assert 0.0 < health.largest_ratios["airspeed"] < 0.5
        assert max(health.largest_ratios.values()) < 1.0
        # It is disarmed while it still rolls.
        simulation.run(10.0)
        assert vehicle.in_contact.all()
        assert np.linalg.norm(vehicle.state.velocity[0]) < 0.1
        assert float(vehicle.state.rotation[0, 2, 2]) > 0.95
    path = np.array(recorder.position)[:, 0]
    for entry in waypoints[1:-1]:
        assert distance(path, entry["waypoint"]["position"]).min() < 40.0
    # It lands along its approach.
    assert abs(path[-1, 1]) < 5.0


def test_vtols(real):
    """PX4's VTOLs would not change to forward flight and back, or not land where they are told."""
    scenario, _ = load_scenario("px4_vtol")
    waypoints, count = scenario.vehicles[0].backends[0]["waypoints"], 5
    backend, recorder = real(waypoints=waypoints), Recorder()
    with Simulation("flat", seed=1) as simulation:
        # Their GPS wander by a metre: neighbours would touch as they land.
        options = {"count": count, "spacing": 6.0}
        vehicle = simulation.add(Multirotor("standard_vtol", backends=[backend, recorder], **options))
        start = vehicle.state.position.copy()
        fly_until(simulation, lambda: all(backend.armed), limit=40.0)
        lifts = []
        for _ in simulation.stepping(200.0):
            lifts.append(vehicle.state.rotor_speed[:, :4].max(axis=1).copy())
            if not any(backend.armed):
                break
        assert not any(backend.armed)
        assert backend.reached == [len(waypoints)] * count
        assert all(0.0 < health.largest_ratios["airspeed"] < 1.0 for health in backend.health)
        assert vehicle.in_contact.all()
        np.testing.assert_allclose(vehicle.state.position[:, :2], start[:, :2], atol=3.0)
        assert (vehicle.state.rotation[:, 2, 2] > 0.99).all()
    # It flies on its wings for more than half a minute.
    assert ((np.array(lifts) < 1.0).sum(axis=0) > 30.0 * 250.0).all()
    path = np.array(recorder.position) - start
    for entry in waypoints[1:-1]:
        for copy in range(count):
            assert distance(path[:, copy], entry["waypoint"]["position"]).min() < 30.0


@pytest.mark.parametrize("model", ["tiltrotor", "tailsitter"])
def test_vtols_that_tilt(real, model):
    """Tilt servos or elevons would move the wrong way, or airspeed be measured across the flight."""
    scenario, _ = load_scenario("px4_vtol")
    waypoints = scenario.vehicles[0].backends[0]["waypoints"]
    backend, speeds = real(waypoints=waypoints), []
    with Simulation("flat", seed=1) as simulation:
        vehicle = simulation.add(Multirotor(model, backends=[backend]))
        fly_until(simulation, lambda: backend.armed[0], limit=30.0)
        for _ in simulation.stepping(200.0):
            speeds.append(float(np.linalg.norm(vehicle.state.velocity[0])))
            if not backend.armed[0]:
                break
        assert backend.reached == [len(waypoints)]
        assert 0.0 < backend.health[0].largest_ratios["airspeed"] < 1.0
        assert vehicle.in_contact.all()
        np.testing.assert_allclose(vehicle.state.position[0, :2], 0.0, atol=3.0)
    # On its wings it is three times as fast as a multirotor of PX4.
    assert (np.array(speeds) > 13.0).sum() > 30.0 * 250.0


@pytest.mark.parametrize(
    ("model", "flight"),
    [
        ("plane", "px4_plane"),
        ("flying_wing", "px4_plane"),
        ("standard_vtol", "px4_vtol"),
        ("tiltrotor", "px4_vtol"),
    ],
)
def test_derived_parameters(real, model, flight):
    """PX4 would turn over a machine whose outputs are in another order, or turned round."""
    scenario, _ = load_scenario(flight)
    waypoints = scenario.vehicles[0].backends[0]["waypoints"]
    spec, _ = load_vehicle(model)
    backend = real(waypoints=waypoints)
    with Simulation("flat", seed=1) as simulation:
        names = [channel.name for channel in Multirotor(spec).channels]
        channels = {}
        for k, name in enumerate(names):
            output, sign = (3 * k + 7) % 10, (-1.0) ** k
            if "tilt" in name:
                channels[name] = {"output": output, "scale": sign * 0.785398, "offset": 0.785398}
            else:
                channels[name] = {
                    "output": output,
                    "scale": None if name.startswith("rotor") else sign * 0.53,
                }
        if "brake" in channels:
            channels["brake"] = None
        px4 = PX4Spec.model_validate({"channels": channels})
        vehicle = simulation.add(Multirotor(spec.model_copy(update={"px4": px4}), backends=[backend]))
        fly_until(simulation, lambda: backend.armed[0], limit=30.0)
        fly_until(simulation, lambda: not backend.armed[0], limit=220.0)
        assert backend.reached == [len(waypoints)]
        assert max(backend.health[0].largest_ratios.values()) < 1.0
        assert vehicle.in_contact.all()
        assert float(vehicle.state.rotation[0, 2, 2]) > 0.95
        assert abs(float(vehicle.state.position[0, 1])) < 20.0


def test_the_omnicopter(real):
    """PX4 would not reverse the rotors of the omnicopter, and tumble."""
    backend, recorder = real(HOVER), Recorder()
    with Simulation("flat", seed=3) as simulation:
        vehicle = simulation.add(Multirotor("omnicopter", backends=[backend, recorder]))
        fly_until(simulation, lambda: vehicle.state.position[0, 2] > 4.5, limit=40.0)
        simulation.run(5.0)
        upright, speeds = [], []
        for _ in simulation.stepping(15.0):
            upright.append(float(vehicle.state.rotation[0, 2, 2]))
            speeds.append(vehicle.state.rotor_speed[0].copy())
        assert backend.armed[0]
    # Its GPS and barometer wander.
    held = recorder.between(simulation.time - 15.0, np.inf)[:, 0]
    np.testing.assert_allclose(held[:, 2], 5.0, atol=1.5)
    assert np.abs(held[:, :2]).max() < 1.5
    assert min(upright) > 0.98
    assert (np.sign(np.mean(speeds, axis=0)) == [1, -1, -1, 1, 1, -1, -1, 1]).all()
