"""Flight physics against closed forms: fall, hover, drag, energy, specific force."""

import numpy as np
import pytest
from flyers import HIGH, PLAIN_IRIS, Constant, hovering, quiet_imu

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.config.files import load_world
from pegasus.config.scenario import OriginSpec
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import IdealMotor, QuadraticDrag
from pegasus.recording import EnergyAudit
from pegasus.sensors import Barometer


def test_free_fall_with_gravity_over_altitude():
    """Gravity of another altitude, or taken twice, would show within a second of falling."""
    with Simulation("flat") as sim:
        vehicle = sim.add(
            Multirotor(PLAIN_IRIS, position=(0, 0, 1000.0), drag=QuadraticDrag(areas=(0, 0, 0)))
        )
        sim.step(500)
        radius, g0 = 6378137.0, 9.80665
        gravity = g0 * (radius / (radius + 90.0 + 990.0)) ** 2
        assert vehicle.state.velocity[0, 2] == pytest.approx(-2.0 * gravity, rel=1e-5)
        assert vehicle.state.position[0, 2] == pytest.approx(1000 - 2.0 * gravity, abs=1e-4)


def test_terminal_velocity():
    """A body that falls long enough must reach the speed at which drag carries its weight."""
    drag = QuadraticDrag(areas=(0.05, 0.05, 0.08), drag_coefficient=1.1)
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor(PLAIN_IRIS, position=(0, 0, 1500.0), drag=drag, sensors={}))
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
        spec = Multirotor(PLAIN_IRIS).spec.model_dump(exclude_unset=True)
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
        vehicle = Multirotor(PLAIN_IRIS, position=HIGH, motor=IdealMotor(), backends=[flyer], drag=None)
        sim.add(vehicle)
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
    assert balance.drag < -2.0
    assert abs(balance.residual) < 1e-4 * balance.gross
    assert balance.contacts == 0.0


def test_at_rest_the_imu_feels_gravity_and_in_free_fall_nothing():
    """A contact force missing from the IMU, or gravity not taken out, would show at once."""
    with Simulation("flat") as sim:
        lying = sim.add(Multirotor("iris", sensors={"imu": quiet_imu()}))
        falling = sim.add(Multirotor(PLAIN_IRIS, position=(20, 0, 500), sensors={"imu": quiet_imu()}))
        falling.drag = None
        sim.step(500)
        np.testing.assert_allclose(lying.readings["imu"].specific_force[0], [0, 0, 9.8064], atol=1e-3)
        np.testing.assert_allclose(falling.readings["imu"].specific_force[0], 0.0, atol=1e-6)


def test_no_spike_on_teleport():
    """Differencing across a teleport would read as thousands of g."""
    with Simulation("flat") as sim:
        vehicle = sim.add(hovering(sensors={"imu": quiet_imu()}))
        sim.step(500)
        vehicle.place((30.0, -20.0, 80.0), heading=1.0, velocity=(5.0, 0.0, 0.0))
        forces = []
        for _ in range(3):
            sim.step()
            forces.append(np.linalg.norm(vehicle.readings["imu"].specific_force[0]))
        assert max(forces) < 3 * 9.81
        np.testing.assert_allclose(vehicle.state.position[0], [30.0, -20.0, 80.0], atol=0.2)


def test_barometer_counts_from_the_worlds_origin():
    """Counted from the spawn point, a vehicle on a roof would read the pressure of the street."""
    world = load_world("flat")[0].model_copy(update={"origin": OriginSpec(altitude=500.0)})
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
            Multirotor(PLAIN_IRIS, position=HIGH, motor=IdealMotor(), backends=[Constant(900.0)], drag=None)
        )
        sim.step()
        gravity = -sim.environment.gravity_vector(np.array([HIGH]))[0, 2]
        lift = 4 * 8.54858e-6 * 900.0**2 / 1.5
        assert vehicle.state.velocity[0, 2] == pytest.approx((lift - gravity) * sim.dt, rel=1e-3)


def test_flying_into_a_wall_and_the_ground():
    """A vehicle driven into the courtyard's wall must be stopped by it, and must not gain energy."""
    with Simulation("courtyard") as sim:
        vehicle = sim.add(Multirotor("iris", position=(0, 0, 2.0), sensors={}))
        sim.play()
        vehicle.place((15.0, 15.0, 2.0), velocity=(12.0, 9.0, 2.0))
        speeds = []
        for _ in range(1000):
            sim.step()
            speeds.append(float(np.linalg.norm(vehicle.state.velocity)))
        assert np.abs(vehicle.state.position[0, :2]).max() < 45.0
        assert vehicle.state.position[0, 2] > 0.0
        assert max(speeds) < 18.0
        assert vehicle.in_contact[0]


def test_a_vehicle_that_lands_with_speed_slides_flat():
    """The skids would hop by centimetres and tilt the vehicle by tens of degrees."""
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("iris", sensors={}))
        vehicle.drag = None
        sim.step(250)
        (friction,) = {item.material.dynamic_friction for item in sim.scene.colliders}
        height = vehicle.state.position[0, 2]
        vehicle.place(vehicle.state.position[0], velocity=(6.0, 0.0, 0.0))
        start = vehicle.state.position[0].copy()
        for _ in range(750):
            sim.step()
            assert abs(vehicle.state.position[0, 2] - height) < 1e-5
            assert vehicle.state.rotation[0, 2, 2] > 1 - 1e-6
        gravity = -sim.environment.gravity_vector(start[None])[0, 2]
        slid = vehicle.state.position[0] - start
        np.testing.assert_allclose(slid, [18.0 / (friction * gravity), 0.0, 0.0], atol=5e-3)
        assert vehicle.in_contact[0]


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


def test_a_disturbance_pushes_and_turns_until_it_ends():
    """A push would act in another frame or on another copy, go on for ever, or not be felt by the IMU."""
    audit = EnergyAudit()
    with Simulation("flat", observers=[audit]) as sim:
        vehicle = sim.add(
            Multirotor(PLAIN_IRIS, count=2, position=[(0, 0, 500), (9, 0, 500)], sensors={"imu": quiet_imu()})
        )
        vehicle.drag = None
        sim.play()
        vehicle.place([(0, 0, 500), (9, 0, 500)], heading=np.pi / 2)
        vehicle.disturb(force=[(3.0, 0.0, 0.0), (0.0, 0.0, 0.0)], torque=[(0, 0, 0), (0.0, 0.0, 0.055225)])
        sim.step(250)
        np.testing.assert_allclose(vehicle.state.velocity[:, 0], [2.0, 0.0], atol=1e-9)
        np.testing.assert_allclose(vehicle.state.angular_velocity[:, 2], [0.0, 1.0], atol=1e-9)
        # Pushed to the east, which is to the right of a vehicle that heads north.
        np.testing.assert_allclose(vehicle.readings["imu"].specific_force[0], [0.0, -2.0, 0.0], atol=1e-6)
        np.testing.assert_allclose(vehicle.applied_force, [[3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        vehicle.disturb()
        sim.step(250)
        np.testing.assert_allclose(vehicle.state.velocity[:, 0], [2.0, 0.0], atol=1e-9)
        # 3 N over a metre, and 0.055225 N m over half a radian.
        assert audit.balances()["iris"].others == pytest.approx(3.0 + 0.055225 / 2, rel=1e-9)
        vehicle.disturb(force=(5.0, 0.0, 0.0))
        sim.reset()
        sim.step()
        np.testing.assert_array_equal(vehicle.applied_force, 0.0)
        with pytest.raises(ConfigError, match=r"^force = .* must be finite"):
            vehicle.disturb(force=(np.nan, 0.0, 0.0))
        with pytest.raises(
            ConfigError, match=r"^torque = .* must be numbers that broadcast to shape \(2, 3\)"
        ):
            vehicle.disturb(torque=(1.0, 0.0))
