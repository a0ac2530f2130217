"""Simulation: adding and removing vehicles, run control, and invalid input."""

import signal
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest
from flyers import HIGH, Constant, Listener, hovering

from pegasus import Backend, ConfigError, Multirotor, Playback, Simulation
from pegasus.base.step_math import Real, Vec3, sqrt
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import Battery, IdealMotor, ThrustCurve
from pegasus.sensors import IMU, Magnetometer
from tests.waits import LIMIT, wait_until


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
    """State left from an earlier use would refuse or disturb the vehicle."""
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
        with pytest.raises(ConfigError, match="name = 'iris': is taken"):
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


def test_backends_are_told_the_speed_before_they_start():
    """An autopilot would wait for a ground station by the clock of another speed."""

    class Told(Backend):
        def start(self):
            told.append(self.real_time_factor)

    told = []
    with Simulation() as simulation:
        simulation.add(Multirotor("iris", backends=[Told()]))
        simulation.run(0.02, speed=50.0)
        simulation.add(Multirotor("iris", backends=[Told()], position=(3.0, 0.0, 0.1)))
        simulation.stop()
        simulation.run(0.02)
    assert told == [50.0, 50.0, None, None]


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


def test_pause_from_another_thread_holds_still_and_resumes():
    """A pause that is not honoured, or that loses steps, would break every panel."""
    with Simulation("flat") as sim:
        vehicle = sim.add(hovering())
        runner = threading.Thread(target=lambda: sim.run(4.0))
        sim.play()
        sim.pause()
        runner.start()
        wait_until(lambda: sim.playback is Playback.PLAYING)
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
        runner.join(timeout=LIMIT)
        assert not runner.is_alive()
        assert sim.step_count == 1000


def test_stop_from_another_thread_ends_the_run():
    """A run that does not see the stop would hang the panel that asked for it."""
    with Simulation("flat") as sim:
        sim.add(hovering())
        runner = threading.Thread(target=lambda: sim.run(1e6))
        runner.start()
        wait_until(lambda: sim.step_count > 10)
        sim.stop()
        runner.join(timeout=LIMIT)
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


class Watcher:
    """An observer that does nothing."""

    def start(self, simulation):
        pass

    def record(self, simulation):
        pass

    def stop(self):
        pass


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
            r"command of Faulty for vehicle 'iris' at t = 0.1 s, copy 1, channel rotor_2 = nan: "
            r"must be finite: rotor_2 \[rad/s\], 0 to 718"
        )
        with pytest.raises(ConfigError, match=message):
            sim.run(1.0)
        assert sim.step_count == 25
        assert np.isfinite(sim.vehicles["iris"].state.position).all()


def test_a_command_beyond_all_sense_is_the_highest_speed():
    """A finite command whose sum overflows would be an IndexError in the search for what is not finite."""
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", position=HIGH, backends=[Constant(1e308)]))
        sim.step(100)
        np.testing.assert_allclose(iris.state.rotor_speed, iris.motor.max_speed, rtol=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Simulation("nowhere"), "world = 'nowhere': no such world"),
        (lambda: Simulation("flat", rate=0.0), "rate = 0.0: must be a rate, from 1 to 100000 steps"),
        (lambda: Simulation("flat", rate=0.004), "must be a rate, .*; a step of 0.004 s has the rate 250"),
        (lambda: Simulation("flat", rate=float("nan")), "rate = nan: must be a rate"),
        (lambda: Simulation("flat", seed=-1), "seed = -1: must be a whole number"),
        (
            lambda: Simulation("flat", engine="bullet"),
            "engine = 'bullet': must be one of auto, mujoco, isaac",
        ),
        (lambda: Simulation("flat").step(0.01), r"count = 0.01: must be a whole number of steps; sim.run"),
        (lambda: Simulation("flat", wind=(1, 0, 0)), r"^wind = \(1, 0, 0\): must be a mapping"),
        (lambda: Simulation("flat", wind={"model": "gust"}), "^wind.model = 'gust': must be one of .*gusts"),
        (lambda: Simulation({"extends": "flat", "wnd": {}}), "^wnd: unknown field; did you mean wind"),
        (lambda: Multirotor("iris", count=0), "count = 0: must be a whole number"),
        (
            lambda: Multirotor(
                "iris", count=-1, battery=Battery(cell_count=3, capacity=5.0, resistance=0.02)
            ),
            "count = -1: must be a whole number",
        ),
        (lambda: Multirotor("iris", position=(0, 0, float("inf"))), "position = .* must be finite"),
        (
            lambda: Multirotor("iris", position=[(0, 0, 1)] * 3),
            r"position = .* must be numbers that broadcast to shape \(1, 3\)",
        ),
        (lambda: Multirotor("iris", count=4, spacing=0.2), "spacing = 0.2: must be above"),
        (
            lambda: Multirotor("iris", count=2, heading=[0, 1, 2]),
            r"heading = .* must be numbers that broadcast to shape \(2,\)",
        ),
        (lambda: Multirotor("iris", backends=[Constant(1), Constant(2)]), "at most one backend may drive"),
        (lambda: Multirotor("iris", backends=Constant(1)), r"must be a list; write backends=\[...\]"),
        (lambda: Multirotor("iris", backends=[Constant]), r"backends.0 = .* must be a Backend; give an inst"),
        (lambda: Multirotor("iris", sensors=[IMU()]), "sensors = .*: must be sensors by name"),
        (lambda: Multirotor("iris", extra_sensors={"a": IMU}), "extra_sensors.a = .* must be a Sensor; give"),
        (lambda: Multirotor("iris", drag=0.5), "drag = 0.5: must be a Drag; give an instance"),
        (lambda: Multirotor("iris", motor=IdealMotor), "motor = .*: must be a Motor; give an instance"),
    ],
)
def test_bad_arguments_fail_at_the_door(make, message):
    """Each of these would otherwise fail somewhere deep inside a flight."""
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_world_may_be_described_in_a_script():
    """A script would need a file for a world that differs by its wind."""
    wind = {"mean_velocity": [4.0, 0.0, 0.0]}
    described = {"extends": "flat", "wind": wind}
    for simulation in (Simulation(described), Simulation("flat", wind=wind)):
        with simulation:
            assert simulation.world_name == "flat"
            np.testing.assert_array_equal(simulation.environment.wind.mean_velocity, wind["mean_velocity"])


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
    offsets = vehicle.start.position[:, None] - vehicle.start.position[None]
    distance = np.linalg.norm(offsets, axis=-1) + 10 * np.eye(10)
    assert distance.min() > 2 * (np.hypot(0.138, 0.207) + 0.127)
    np.testing.assert_allclose(vehicle.start.position[:, :2].mean(axis=0), [5, 5])
    assert (vehicle.start.position[:, 2] == 1).all()


def test_vehicle_in_no_simulation_says_so():
    """A method that needs a simulation must not fail with an attribute error."""
    with pytest.raises(RuntimeError, match="is in no simulation"):
        Multirotor("iris").place((0, 0, 1))


def test_a_part_belongs_to_one_vehicle():
    """A controller or sensor shared by two vehicles would fly the one with the state of the other."""
    shared, imu = GeometricController(trajectories.hold(height=2.0)), IMU()
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", name="a", backends=[shared], extra_sensors={"spare": imu}))
        for parts in ({"backends": [shared]}, {"sensors": {"imu": imu}}):
            with pytest.raises(
                ConfigError, match="of vehicle 'b': already belongs to vehicle 'a'; make one for"
            ):
                sim.add(Multirotor("iris", name="b", position=(5, 0, 0.1), **parts))
        assert len(sim.vehicles) == 1


def test_a_start_inside_something_is_refused():
    """Physics would shoot the vehicle out of the ground at the first step."""
    with Simulation("courtyard") as sim:
        with pytest.raises(
            ConfigError, match=r"position = \[\[0.0, 0.0, -1.0\]\]: starts 1.* m deep in an obstacle"
        ):
            sim.add(Multirotor("iris", position=(0, 0, -1.0)))
        assert len(sim.vehicles) == 0
        sim.add(Multirotor("iris", position=(0, 0, 0.1)))
        with pytest.raises(ConfigError, match="deep in an obstacle"):
            sim.add(Multirotor("iris", position=(0.1, 0, 0.1)))


@pytest.mark.parametrize(
    "arguments",
    [{"position": (0, 0, np.nan)}, {"position": (1, 2)}, {"position": (0, 0, 1), "velocity": (0, np.inf, 0)}],
)
def test_teleport_checks_its_numbers(arguments, tmp_path, monkeypatch):
    """A NaN let into the engine would poison every later step."""
    monkeypatch.chdir(tmp_path)
    with Simulation("flat") as sim:
        vehicle = sim.add(hovering())
        sim.step()
        with pytest.raises(ConfigError, match=r"position|velocity"):
            vehicle.place(**arguments)
        sim.step()
    assert not list(tmp_path.iterdir())


def broken(_p: "Broken", speed: Real, _air_velocity: Vec3, _air_density: Real) -> tuple[Vec3, Vec3]:
    """Return a thrust that is not a number."""
    return Vec3(0.0, 0.0, sqrt(-1.0 - speed * speed)), Vec3(0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Broken(ThrustCurve):
    law = staticmethod(broken)


def test_a_thrust_curve_that_fails_is_named():
    """NaN from a user's own model must stop at the door of the engine."""
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", name="fine", position=(5, 0, 10)))
        sim.add(Multirotor("iris", name="broken", position=HIGH, thrust_curve=Broken()))
        with pytest.raises(ConfigError, match="wrench on vehicle 'broken': force and torque must be finite"):
            sim.step()


def test_after_close():
    """A closed simulation must say so, and release its vehicles."""
    vehicle = hovering()
    with Simulation("flat") as sim:
        sim.add(vehicle)
        sim.step()
    with pytest.raises(RuntimeError, match="this simulation is closed"):
        sim.add(Multirotor("iris"))
    with pytest.raises(RuntimeError, match="this simulation is closed"):
        sim.step()
    with pytest.raises(RuntimeError, match="is in no simulation"):
        vehicle.raycast(np.array([[0, 0, -1.0]]), 1.0)
    with Simulation("flat") as again:
        again.add(vehicle)
        again.step(10)
        np.testing.assert_allclose(vehicle.state.position[0], HIGH, atol=1e-2)


def test_a_command_may_be_a_list():
    """A user's controller that returns a nested list must work like one that returns an array."""

    class Plain(Backend):
        drives = True

        def command(self, t):
            return [[600.0, 600.0, 600.0, 600.0]]

    class Wrong(Plain):
        def command(self, t):
            return [600.0] * 4

    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("iris", position=HIGH, backends=[Plain()]))
        sim.step(100)
        np.testing.assert_allclose(vehicle.state.rotor_speed, 600.0, rtol=1e-3)
        sim.add(Multirotor("iris", name="other", position=(9, 0, 9), backends=[Wrong()]))
        with pytest.raises(
            ConfigError, match=r"shape of command of Wrong for vehicle 'other'.* \(4,\): must have shape"
        ):
            sim.step()


def test_running_for_ever_ends_with_a_stop():
    """An infinite duration would be an overflow in place of a run until it is stopped."""
    with Simulation("flat") as sim:
        sim.add(hovering())
        runner = threading.Thread(target=lambda: sim.run(np.inf))
        runner.start()
        wait_until(lambda: sim.step_count > 10)
        sim.stop()
        runner.join(timeout=LIMIT)
        assert not runner.is_alive()


def test_steps_end_with_a_stop():
    """Steps that another thread wanted stopped would go on with backends that have stopped."""
    with Simulation("flat") as sim:
        listener = Listener()
        sim.add(Multirotor("iris", backends=[listener]))
        runner = threading.Thread(target=lambda: sim.step(10**9))
        runner.start()
        wait_until(lambda: sim.step_count > 10)
        sim.stop()
        runner.join(timeout=LIMIT)
        assert not runner.is_alive()
        assert listener.calls == ["start", "stop"]


def test_a_stop_that_fails_still_stops():
    """The simulation would go on with stopped backends, and every further stop fail at the same place."""

    class Stubborn(Listener):
        def stop(self):
            super().stop()
            if self.calls == ["start", "stop"]:
                raise RuntimeError("will not")

    sim = Simulation("flat")
    vehicle = sim.add(Multirotor("iris", position=HIGH, backends=[Stubborn()]))
    sim.step(100)
    with pytest.raises(RuntimeError, match="will not"):
        sim.stop()
    assert sim.playback is Playback.STOPPED
    assert sim.step_count == 0
    np.testing.assert_array_equal(vehicle.state.position[0], HIGH)
    sim.step()
    sim.close()


def test_a_vehicle_of_the_same_name_elsewhere_is_not_removed():
    """Removing a vehicle of another simulation would remove the one with its name."""
    with Simulation("flat") as sim:
        here = sim.add(Multirotor("iris"))
        with pytest.raises(ConfigError, match="vehicle = 'iris': is not in this simulation"):
            sim.remove(Multirotor("iris"))
        assert list(sim.vehicles) == [here]


def test_a_backend_may_add_and_remove_vehicles():
    """A backend that removes a crashed vehicle, or adds another, would break the step."""

    class Referee(Listener):
        def publish(self, t, state, readings):
            super().publish(t, state, readings)
            if len(self.seen) == 3:
                sim.remove("crashed")
            if len(self.seen) == 5:
                sim.add(hovering(name="fresh", position=(30, 0, 20)))

    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", name="referee", backends=[Referee()]))
        crashed = Constant(650.0)
        sim.add(Multirotor("iris", name="crashed", position=(9, 0, 50), backends=[crashed]))
        sim.step(250)
        assert [vehicle.name for vehicle in sim.vehicles] == ["referee", "fresh"]
        np.testing.assert_allclose(sim.vehicles["fresh"].state.position[0], [30, 0, 20], atol=0.05)
        assert len(crashed.seen) <= 3


def test_whole_numbers_of_numpy_are_whole_numbers():
    """A count or seed out of an array would be refused with a message that says what it is."""
    assert Multirotor("iris", count=np.int64(2)).count == 2
    with Simulation("flat", seed=np.int64(7)) as sim:
        assert sim.seed == 7


def test_a_teleport_may_turn_a_vehicle_over():
    """A flight could not begin upside down, or only about the vertical."""
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("iris", count=2, position=HIGH))
        over = [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]]
        vehicle.place(HIGH, orientation=over)
        np.testing.assert_allclose(vehicle.state.rotation[0], np.diag([1.0, -1.0, -1.0]), atol=1e-12)
        sim.step()
        np.testing.assert_allclose(vehicle.state.orientation, over, atol=1e-6)
        with pytest.raises(ConfigError, match=r"orientation = .* must be unit quaternions"):
            vehicle.place(HIGH, orientation=[0.0, 0.0, 0.0, 0.5])


def test_motion_that_diverges_is_named():
    """Invalid numbers would pass as readings and commands, or the fault outlast a reset."""
    with Simulation("flat", rate=100) as sim:
        sim.add(Multirotor("iris", name="fine", sensors={}))
        small = sim.add(
            Multirotor("crazyflie", count=2, position=[(5, 0, 9), (9, 0, 9)], sensors={"mag": Magnetometer()})
        )
        # A thousand times what its rotors can do.
        small.disturb(torque=[(0.0, 0.0, 0.0), (0.3, 0.2, 0.5)])
        with pytest.raises(
            ConfigError, match=r"^motion of vehicle 'crazyflie', copy 1: has diverged: .* m/s"
        ):
            sim.run(60.0)
        assert np.isfinite(sim.vehicles["fine"].state.position).all()
        with pytest.raises(ConfigError, match="has diverged"):
            sim.step()
        sim.reset()
        sim.step(3)


@pytest.mark.parametrize("how", ["observer", "publish", "command"])
@pytest.mark.parametrize("what", ["stop", "reset", "close"])
def test_a_callback_may_end_the_run(what, how):
    """The rest of the step would move a reset vehicle, or fail at a closed engine."""

    class Ender(Constant):
        def publish(self, t, state, readings):
            super().publish(t, state, readings)
            if how == "publish" and len(self.seen) == 6:
                getattr(sim, what)()

        def command(self, t):
            if how == "command" and len(self.seen) == 6 and not self.ended:
                self.ended = True
                getattr(sim, what)()
            return super().command(t)

        ended = False

    class Once(Watcher):
        ended = False

        def record(self, simulation):
            if how == "observer" and simulation.step_count == 5 and not self.ended:
                self.ended = True
                getattr(sim, what)()

    with Simulation("flat", observers=[Once()]) as sim:
        vehicle = sim.add(Multirotor("iris", position=HIGH, backends=[Ender(650.0)]))
        sim.step(10)
        if what == "reset":
            # Five steps, one that was broken off, four more.
            assert sim.playback is Playback.PLAYING
            assert sim.step_count == 4
            return
        assert sim.playback is Playback.STOPPED
        if what == "stop":
            assert sim.step_count == 0
            np.testing.assert_array_equal(vehicle.state.position[0], HIGH)
            np.testing.assert_array_equal(vehicle.state.rotor_speed, 0.0)
            sim.step(3)
            assert sim.step_count == 3


def test_a_changed_scene_is_not_that_of_later_simulations():
    """Later worlds of the process would contain what a callable added to the scene or changed in it."""

    def change(scene, _):
        for collider in scene.colliders:
            collider.position[2] += 5.0
        for geometry in scene.geometries.values():
            geometry.vertices[...] = 0.0
        scene.colliders.append(scene.colliders[0])
        scene.entities.clear()
        return scene

    def content(sim):
        scene = sim.scene
        heights = [collider.position[2] for collider in scene.colliders]
        sizes = [float(abs(geometry.vertices).sum()) for geometry in scene.geometries.values()]
        return heights, sizes, list(scene.entities)

    with Simulation("box_room") as sim:
        before = content(sim)
    with Simulation("box_room", alter_scene=change) as sim:
        assert content(sim) != before
    with Simulation("box_room") as sim:
        assert content(sim) == before


def test_after_a_step_readings_are_of_its_start():
    """The documentation would be wrong about which state a reading belongs to."""
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", position=HIGH, sensors={"imu": IMU()}))
        sim.step(10)
        assert iris.readings["imu"].stamp == pytest.approx(sim.time - sim.dt, abs=1e-12)
