"""The simulation as a whole: physics against closed forms, lockstep, determinism, and its controls."""

import signal
import threading
import time

import numpy as np
import pytest

from pegasus import Backend, ConfigError, Multirotor, Playback, Simulation
from pegasus.aerodynamics import QuadraticDrag
from pegasus.control import GeometricController, trajectories
from pegasus.propulsion import IdealMotor
from pegasus.recording import EnergyAudit
from pegasus.scenario import OriginSpec, load_world
from pegasus.sensors import IMU, Barometer
from pegasus.sensors.imu import Accelerometer, Gyroscope

HIGH = (0.0, 0.0, 50.0)


class Constant(Backend):
    """Command the same rotor speed for ever, and remember what is published."""

    drives = True

    def __init__(self, speed):
        self.speed, self.seen = speed, []

    def bind(self, vehicle):
        self.answer = np.full((vehicle.count, vehicle.rotor_count), float(self.speed))

    def publish(self, t, state, readings):
        self.seen.append((t, state.copy(), dict(readings)))

    def command(self, t):
        return self.answer


class Listener(Backend):
    """Remember what is published, and the calls that frame it."""

    def __init__(self):
        self.seen, self.calls = [], []

    def start(self):
        self.calls.append("start")

    def publish(self, t, state, readings):
        self.seen.append((t, state.copy(), dict(readings)))

    def stop(self):
        self.calls.append("stop")


def quiet_imu():
    """Return an IMU without any error."""
    silent = {"noise_density": 0.0, "bias_random_walk": 0.0, "turn_on_bias": 0.0}
    return IMU(gyroscope=Gyroscope(**silent), accelerometer=Accelerometer(**silent))


def hovering(**kwargs):
    kwargs.setdefault("position", HIGH)
    controller = GeometricController(trajectories.hold(height=kwargs["position"][2]), spin_up=0.0)
    return Multirotor("iris", backends=[controller], **kwargs)


def test_free_fall_with_gravity_over_altitude():
    """Gravity of another altitude, or taken twice, would show within a second of falling."""
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("iris", position=(0, 0, 1000.0), drag=QuadraticDrag(areas=(0, 0, 0))))
        sim.step(500)
        radius, g0 = 6378137.0, 9.80665
        gravity = g0 * (radius / (radius + 90.0 + 990.0)) ** 2
        assert vehicle.state.velocity[0, 2] == pytest.approx(-2.0 * gravity, rel=1e-5)
        assert vehicle.state.position[0, 2] == pytest.approx(1000 - 2.0 * gravity, abs=1e-4)


def test_terminal_velocity():
    """A body that falls long enough must reach the speed at which drag carries its weight."""
    drag = QuadraticDrag(areas=(0.05, 0.05, 0.08), drag_coefficient=1.1)
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("iris", position=(0, 0, 1500.0), drag=drag, sensors={}))
        sim.step(250 * 15)
        density = sim.environment.air_density(vehicle.state.position)[0]
        gravity = -sim.environment.gravity_vector(vehicle.state.position)[0, 2]
        terminal = np.sqrt(2 * 1.5 * gravity / (density * 1.1 * 0.08))
        assert -vehicle.state.velocity[0, 2] == pytest.approx(terminal, rel=5e-3)


def test_hover_equilibrium():
    """At the speed whose thrust is the weight, an Iris neither climbs nor sinks."""
    with Simulation("flat") as sim:
        gravity = -sim.environment.gravity_vector(np.array([HIGH]))[0, 2]
        # The Iris's four rotors are not quite symmetric about its centre of mass: make them so.
        spec = Multirotor("iris").spec.model_dump(exclude_unset=True)
        vehicle = Multirotor(
            spec | {"rotors": {"count": 4, "radius": 0.25}},
            position=HIGH,
            motor=IdealMotor(),
            backends=[Constant(np.sqrt(1.5 * gravity / 4 / 8.54858e-6))],
        )
        sim.add(vehicle)
        sim.step(2500)
        np.testing.assert_allclose(vehicle.state.position[0], HIGH, atol=1e-6)
        np.testing.assert_allclose(vehicle.state.angular_velocity[0], 0.0, atol=1e-9)


def test_a_yaw_torque_turns_against_the_rotors():
    """With the counter-clockwise rotors faster, the airframe must turn clockwise, at torque by inertia."""
    with Simulation("flat") as sim:
        flyer = Constant(656.0)
        vehicle = sim.add(Multirotor("iris", position=HIGH, motor=IdealMotor(), backends=[flyer], drag=None))
        flyer.answer[0, :2] += 20.0
        sim.step(10)
        squares = 8.54858e-6 * 0.06 * flyer.answer[0] ** 2
        torque = -squares[0] - squares[1] + squares[2] + squares[3]
        assert torque < 0
        assert vehicle.state.angular_velocity[0, 2] == pytest.approx(torque / 0.055225 * 0.04, rel=1e-2)


def test_power_balance_in_flight():
    """Thrust and drag must account for every joule that the vehicle gains or loses in the air."""
    audit = EnergyAudit()
    flight = trajectories.lemniscate(radius=5.0, height=5.0, speed=4.0)
    with Simulation("flat", observers=[audit]) as sim:
        sim.add(Multirotor("iris", position=(0, 0, 5.0), backends=[GeometricController(flight, spin_up=0.0)]))
        sim.run(15.0)
    balance = audit.balances()["iris"]
    assert balance.drag < -5.0
    assert abs(balance.residual) < 1e-4 * balance.gross
    assert balance.contacts == 0.0


def test_at_rest_the_imu_feels_gravity_and_in_free_fall_nothing():
    """A contact force missing from the IMU, or gravity not taken out, would show at once."""
    with Simulation("flat") as sim:
        lying = sim.add(Multirotor("iris", sensors={"imu": quiet_imu()}))
        falling = sim.add(Multirotor("iris", position=(20, 0, 500), sensors={"imu": quiet_imu()}))
        falling.drag = None
        sim.step(500)
        np.testing.assert_allclose(lying.readings["imu"].specific_force[0], [0, 0, 9.8064], atol=1e-3)
        np.testing.assert_allclose(falling.readings["imu"].specific_force[0], 0.0, atol=1e-6)


def test_no_spike_on_teleport():
    """Differencing across a teleport would read as thousands of g."""
    with Simulation("flat") as sim:
        vehicle = sim.add(hovering(sensors={"imu": quiet_imu()}))
        sim.step(500)
        vehicle.teleport((30.0, -20.0, 80.0), heading=1.0, velocity=(5.0, 0.0, 0.0))
        forces = []
        for _ in range(3):
            sim.step()
            forces.append(np.linalg.norm(vehicle.readings["imu"].specific_force[0]))
        assert max(forces) < 3 * 9.81
        np.testing.assert_allclose(vehicle.state.position[0], [30.0, -20.0, 80.0], atol=0.2)


def test_barometer_counts_from_the_worlds_origin():
    """Counted from the spawn point, a vehicle on a roof would read the pressure of the street."""
    world = load_world("flat")[0].model_copy(
        update={
            "origin": OriginSpec(altitude=500.0),
            "usd": load_world("flat")[1].parent / "../../data/worlds/flat.usda",
        }
    )
    still = {"noise_density": 0.0, "drift_sigma": 0.0}
    with Simulation(world) as sim:
        low = sim.add(Multirotor("iris", sensors={"baro": Barometer(**still)}))
        high = sim.add(Multirotor("iris", position=(5, 0, 100.1), sensors={"baro": Barometer(**still)}))
        sim.step()
        expected = sim.environment.air(np.array([[0, 0, 0.1], [0, 0, 100.1]])).pressure
        measured = [float(v.readings["baro"].pressure[0]) for v in (low, high)]
        np.testing.assert_allclose(measured, expected, rtol=1e-12)
        assert 94000 < measured[1] < measured[0] < 95500


def test_commands_act_in_the_step_they_answer():
    """A command that acts a step late would leave the velocity after one step at free fall."""
    with Simulation("flat") as sim:
        vehicle = sim.add(
            Multirotor("iris", position=HIGH, motor=IdealMotor(), backends=[Constant(900.0)], drag=None)
        )
        sim.step()
        gravity = -sim.environment.gravity_vector(np.array([HIGH]))[0, 2]
        lift = 4 * 8.54858e-6 * 900.0**2 / 1.5
        assert vehicle.state.velocity[0, 2] == pytest.approx((lift - gravity) * sim.dt, rel=1e-3)


@pytest.mark.parametrize("rate", [250, 333, 1000])
def test_state_readings_and_time_are_of_the_same_step(rate):
    """A reading of an older state than the one published beside it would put estimators out of step."""
    flyer = Constant(700.0)
    with Simulation("flat", rate=rate) as sim:
        sim.add(Multirotor("iris", position=HIGH, backends=[flyer]))
        sim.step(rate)
    times = np.array([t for t, _, _ in flyer.seen])
    np.testing.assert_allclose(times, np.arange(rate) / rate, rtol=1e-15)
    counts = {
        name: sum(name in readings for _, _, readings in flyer.seen) for name in ("imu", "gps", "barometer")
    }
    assert counts == {"imu": 250, "gps": 10, "barometer": 50}
    assert all(reading.stamp == t for t, _, readings in flyer.seen for reading in readings.values())


def states_of(listener):
    return np.array(
        [
            np.concatenate([s.position, s.orientation, s.velocity, s.angular_velocity], axis=1)
            for _, s, _ in listener.seen
        ]
    )


def readings_of(listener, name):
    return [vars(readings[name]) for _, _, readings in listener.seen if name in readings]


def fly(others=(), *, seed=3, later=()):
    listener = Listener()
    flight = trajectories.lemniscate(radius=3.0, height=2.0)
    with Simulation("courtyard", seed=seed) as sim:
        for make in others:
            sim.add(make())
        sim.add(Multirotor("iris", name="watched", backends=[GeometricController(flight), listener]))
        sim.step(500)
        for make in later:
            sim.add(make())
        sim.step(1000)
    return listener


def assert_same_bits(a, b):
    np.testing.assert_array_equal(states_of(a), states_of(b))
    for name in ("imu", "gps", "barometer", "magnetometer"):
        for first, second in zip(readings_of(a, name), readings_of(b, name), strict=True):
            for key in first:
                np.testing.assert_array_equal(first[key], second[key])


def test_same_seed_same_bits_and_another_seed_others():
    """A global random state, or anything of the wall clock, would make two runs differ."""
    first, again, other = fly(), fly(), fly(seed=4)
    assert_same_bits(first, again)
    assert (
        readings_of(first, "imu")[10]["specific_force"] != readings_of(other, "imu")[10]["specific_force"]
    ).all()


def test_every_sensor_and_vehicle_has_its_own_noise():
    """One stream for all would make two vehicles err alike."""
    with Simulation("flat") as sim:
        first, second = (
            sim.add(Multirotor("iris", name=n, position=(3 * i, 0, 0.1))) for i, n in enumerate("ab")
        )
        sim.step()
        errors = [v.readings["imu"].angular_velocity for v in (first, second)]
        assert (errors[0] != errors[1]).all()


def test_the_wind_blows_alike_after_a_reset():
    """A gust field drawn anew on reset would make the second flight another one."""
    gusty = load_world("flat")[0].model_copy(
        update={
            "wind": {"model": "gusts", "mean_velocity": [4, 0, 0], "intensity": 1.0},
            "usd": load_world("flat")[1].parent / "../../data/worlds/flat.usda",
        }
    )
    with Simulation(gusty, seed=2) as sim:
        vehicle = sim.add(Multirotor("iris", position=(0, 0, 100)))
        positions = []
        for _ in range(2):
            sim.step(200)
            positions.append(vehicle.state.position.copy())
            sim.reset()
        np.testing.assert_array_equal(*positions)
        assert abs(positions[0][0, 0]) > 0.1


def test_a_vehicle_far_away_changes_no_bit():
    """Streams by order of creation, or a solver over all bodies, would change a vehicle's log."""
    far = [
        lambda: Multirotor(
            "iris",
            position=(25, 25, 0.1),
            count=3,
            backends=[GeometricController(trajectories.hold(height=2.0))],
        )
    ]
    alone = fly()
    assert_same_bits(alone, fly(others=far))
    assert_same_bits(alone, fly(later=far))


def test_adding_and_removing_while_flying():
    """Rows mixed up on removal would make the remaining vehicle jump."""
    with Simulation("flat") as sim:
        first = sim.add(hovering(name="first"))
        second = sim.add(hovering(name="second", position=(10, 0, 50)))
        sim.step(250)
        third = sim.add(hovering(name="third", position=(20, 0, 50)))
        sim.step(250)
        sim.remove(first)
        kept = first.state.position.copy()
        sim.step(250)
        np.testing.assert_allclose(second.state.position[0], [10, 0, 50], atol=0.02)
        np.testing.assert_allclose(third.state.position[0], [20, 0, 50], atol=0.02)
        np.testing.assert_array_equal(first.state.position, kept)
        assert [vehicle.name for vehicle in sim.vehicles] == ["second", "third"]
        assert sim.vehicles["third"] is third
        with pytest.raises(ConfigError, match="no such vehicle; there are second, third"):
            sim.vehicles["first"]


def test_a_removed_vehicle_may_come_back():
    """State left over from an earlier life would refuse or disturb it."""
    with Simulation("flat") as sim:
        vehicle = sim.add(hovering())
        sim.step(100)
        sim.remove("iris")
        sim.add(vehicle)
        sim.step(1)
        np.testing.assert_allclose(vehicle.state.position[0], HIGH, atol=1e-3)


def test_names():
    """Two vehicles of one name would share topics and streams."""
    with Simulation("flat") as sim:
        names = [sim.add(Multirotor("iris", position=(3 * k, 0, 0.1))).name for k in range(3)]
        assert names == ["iris", "iris1", "iris2"]
        with pytest.raises(ConfigError, match="vehicle name = 'iris': is taken"):
            sim.add(Multirotor("iris", name="iris"))
        with pytest.raises(ConfigError, match="name = 'a/b'"):
            Multirotor("iris", name="a/b")


def test_backends_start_and_stop_once_whatever_happens():
    """A backend left running would leave processes and sockets behind."""
    listener, late = Listener(), Listener()

    def fail():
        with Simulation("flat") as sim:
            sim.add(Multirotor("iris", backends=[listener]))
            sim.step()
            sim.add(Multirotor("iris", position=(5, 0, 0.1), backends=[late]))
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        fail()
    assert listener.calls == late.calls == ["start", "stop"]


def test_a_backend_that_fails_to_stop_does_not_keep_others_from_stopping():
    """One failing stop must not leave the other vehicles' autopilots running."""

    class Stubborn(Listener):
        def stop(self):
            raise RuntimeError("will not")

    other = Listener()
    sim = Simulation("flat")
    sim.add(Multirotor("iris", backends=[Stubborn(), other]))
    sim.step()
    with pytest.raises(RuntimeError, match="will not"):
        sim.close()
    assert other.calls == ["start", "stop"]


def test_reset_gives_the_same_flight_again():
    """A sensor or controller not reset would fly, or measure, another flight the second time."""
    listener, flights = Listener(), []
    with Simulation("flat", seed=5) as sim:
        sim.add(Multirotor("iris", backends=[GeometricController(trajectories.hold(height=2.0)), listener]))
        for restart in (sim.reset, sim.stop, sim.pause):
            sim.step(600)
            assert sim.time == pytest.approx(2.4)
            flights.append(listener.seen)
            listener.seen = []
            playing = sim.playback
            restart()
            assert sim.step_count == (600 if restart == sim.pause else 0)
            assert sim.playback is {sim.reset: playing, sim.stop: Playback.STOPPED}.get(
                restart, Playback.PAUSED
            )
    for flight in flights[1:]:
        for (ta, a, ra), (tb, b, rb) in zip(flights[0], flight, strict=True):
            assert ta == tb
            np.testing.assert_array_equal(a.position, b.position)
            assert ra.keys() == rb.keys()
            if "imu" in ra:
                np.testing.assert_array_equal(ra["imu"].specific_force, rb["imu"].specific_force)


def test_pause_from_another_thread_holds_still_and_resumes():
    """A pause that is not honoured, or that loses steps, would break every panel."""
    with Simulation("flat") as sim:
        vehicle = sim.add(hovering())
        runner = threading.Thread(target=lambda: sim.run(4.0))
        sim.play()
        sim.pause()
        runner.start()
        wait_for(lambda: sim.playback is Playback.PLAYING)
        sim.pause()
        held = sim.step_count
        position = vehicle.state.position.copy()
        for _ in range(20):
            time.sleep(0.01)
            assert sim.step_count == held
        np.testing.assert_array_equal(vehicle.state.position, position)
        sim.step()
        assert sim.step_count == held + 1
        sim.play()
        runner.join(timeout=60)
        assert not runner.is_alive()
        assert sim.step_count == 1000


def test_stop_from_another_thread_ends_the_run():
    """A run that does not see the stop would hang the panel that asked for it."""
    with Simulation("flat") as sim:
        sim.add(hovering())
        runner = threading.Thread(target=lambda: sim.run(1e6))
        runner.start()
        wait_for(lambda: sim.step_count > 10)
        sim.stop()
        runner.join(timeout=60)
        assert not runner.is_alive()
        assert sim.step_count == 0


def test_pacing():
    """Paced to five times real time, two simulated seconds must not take less than 0.4 s of wall time."""
    with Simulation("flat") as sim:
        sim.add(hovering())
        began = time.perf_counter()
        sim.run(2.0, speed=5.0)
        assert time.perf_counter() - began >= 0.39


def test_interrupt_falls_between_two_steps():
    """An interrupt within a step would tear the log and the state."""
    with Simulation("flat") as sim:
        sim.add(hovering())

        class Interrupter(Listener):
            def publish(self, t, state, readings):
                if len(self.seen) == 50:
                    signal.raise_signal(signal.SIGINT)
                super().publish(t, state, readings)

        listener = Interrupter()
        sim.add(Multirotor("iris", position=(9, 0, 0.1), backends=[listener]))
        with pytest.raises(KeyboardInterrupt):
            sim.run(10.0)
        assert sim.step_count == len(listener.seen) == 51
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def wait_for(condition, limit=30.0):
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "condition not met in time"
        time.sleep(0.005)


class Faulty(Constant):
    def command(self, t):
        answer = self.answer.copy()
        if t >= 0.1:
            answer[1, 2] = np.nan
        return answer


def test_a_nan_command_is_refused_with_its_place():
    """NaN let through would turn the whole world to NaN a step later."""
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", position=HIGH, count=2, backends=[Faulty(600.0)]))
        message = (
            r"command of Faulty for vehicle 'iris' at t = 0.1 s, copy 1, rotor 2 = nan: .* must be finite"
        )
        with pytest.raises(ConfigError, match=message):
            sim.run(1.0)
        assert sim.step_count == 25
        assert np.isfinite(sim.vehicles["iris"].state.position).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Simulation("nowhere"), "world = 'nowhere': no such world"),
        (lambda: Simulation("flat", rate=0.0), "rate = 0.0: must be above 0"),
        (lambda: Simulation("flat", rate=float("nan")), "rate = nan: must be above 0"),
        (lambda: Simulation("flat", seed=-1), "seed = -1: must be a whole number"),
        (lambda: Simulation("flat", engine="bullet"), "engine = 'bullet': must be auto or mujoco"),
        (lambda: Multirotor("iris", count=0), "count = 0: must be a whole number"),
        (lambda: Multirotor("iris", position=(0, 0, float("inf"))), "position = .* must be finite"),
        (lambda: Multirotor("iris", position=[(0, 0, 1)] * 3), "position = .* must be of shape"),
        (lambda: Multirotor("iris", count=4, spacing=0.2), "spacing = 0.2: must be above"),
        (
            lambda: Multirotor("iris", count=2, heading=[0, 1, 2]),
            "heading = .* one number or one per vehicle",
        ),
        (lambda: Multirotor("iris", backends=[Constant(1), Constant(2)]), "at most one backend may drive"),
    ],
)
def test_bad_arguments_fail_at_the_door(make, message):
    """Each of these would otherwise fail somewhere deep inside a flight."""
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_sensor_faster_than_the_physics_is_refused():
    """A rate that cannot be kept must not be cut silently."""
    with Simulation("flat", rate=100) as sim:
        with pytest.raises(
            ConfigError, match=r"sensors.imu.rate_hz = 250.0: .* at most the physics rate of 100 Hz"
        ):
            sim.add(Multirotor("iris"))
        assert len(sim.vehicles) == 0


def test_copies_do_not_touch_at_the_start():
    """A grid with overlapping rotors would burst apart at the first step."""
    vehicle = Multirotor("iris", count=10, position=(5, 5, 1))
    offsets = vehicle.start_position[:, None] - vehicle.start_position[None]
    distance = np.linalg.norm(offsets, axis=-1) + 10 * np.eye(10)
    assert distance.min() > 2 * (np.hypot(0.138, 0.207) + 0.127)
    np.testing.assert_allclose(vehicle.start_position[:, :2].mean(axis=0), [5, 5])
    assert (vehicle.start_position[:, 2] == 1).all()


def test_n_copies_fly_like_n_vehicles():
    """A formula that mixes rows would fly a batch differently from single vehicles."""
    flight = trajectories.circle(radius=2.0, height=2.0)
    starts = [(0.0, 0.0, 0.1), (6.0, 1.0, 0.1), (-6.0, 2.0, 0.1)]
    with Simulation("flat") as sim:
        batch = sim.add(
            Multirotor("iris", count=3, position=starts, sensors={}, backends=[GeometricController(flight)])
        )
        sim.step(1500)
        together = batch.state.position.copy()
    for i, start in enumerate(starts):
        with Simulation("flat") as sim:
            single = sim.add(
                Multirotor("iris", position=start, sensors={}, backends=[GeometricController(flight)])
            )
            sim.step(1500)
            np.testing.assert_allclose(together[i], single.state.position[0], atol=1e-9)


def test_rays_from_a_vehicle():
    """A ray in the wrong frame, or stopped by its own vehicle, would measure another distance."""
    with Simulation("flat") as sim:
        vehicle = sim.add(hovering(count=2, position=(0, 0, 5)))
        sim.step(1)
        beside = vehicle.raycast(np.array([[0.0, 0, -1]]), 20.0, origin=(0.5, 0.0, 0.2))
        np.testing.assert_allclose(beside.distance, vehicle.state.position[:, 2] + 0.2, rtol=1e-4)
        hits = vehicle.raycast(np.array([[0.0, 0, -1], [0, 0, 1]]), 20.0)
        np.testing.assert_allclose(hits.distance[[0, 2]], vehicle.state.position[:, 2], rtol=1e-6)
        assert not hits.hit[[1, 3]].any()


def test_vehicle_in_no_simulation_says_so():
    """A method that needs a simulation must not fail with an attribute error."""
    with pytest.raises(RuntimeError, match="is in no simulation"):
        Multirotor("iris").teleport((0, 0, 1))


def test_flying_into_a_wall_and_the_ground():
    """A vehicle driven into the courtyard's wall must be stopped by it, and must not gain energy."""
    with Simulation("courtyard") as sim:
        vehicle = sim.add(Multirotor("iris", position=(0, 0, 2.0), sensors={}))
        sim.play()
        vehicle.teleport((15.0, 15.0, 2.0), velocity=(12.0, 9.0, 2.0))
        speeds = []
        for _ in range(1000):
            sim.step()
            speeds.append(float(np.linalg.norm(vehicle.state.velocity)))
        assert np.abs(vehicle.state.position[0, :2]).max() < 45.0
        assert vehicle.state.position[0, 2] > 0.0
        assert max(speeds) < 18.0
        assert vehicle.in_contact[0]
