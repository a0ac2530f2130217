"""Rotors driven by torques: published motors, the whole model by DOP853, conservation, battery, same bits."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Backend, ConfigError, Multirotor, Simulation
from pegasus.config.scenario import WorldSpec
from pegasus.core.plant import Plant
from pegasus.dynamics import (
    Battery,
    ElectricMotor,
    FirstOrderMotor,
    LinearDrag,
    PolynomialThrust,
    QuadraticThrust,
)
from pegasus.environment.wind import ConstantWind
from pegasus.model.multirotor import hub_inertia
from tests.core.plain_step import advance_in_python, observe_in_python
from tests.flyers import PLAIN_IRIS, Constant

WIND = np.array([3.0, -2.0, 1.0])
CURVE = PolynomialThrust(
    coefficients=(0.0, 0.0, 1.5e-5), inflow_linear=-2.5e-4, moment_ratio=0.015, moment_linear=1e-5
)
DRAG = LinearDrag(coefficients=(0.5, 0.3, 0.2))
COM = np.array([0.03, -0.02, 0.05])
INERTIA = np.array([[0.03, 0.002, -0.001], [0.002, 0.04, 0.003], [-0.001, 0.003, 0.06]])
ROTORS = [
    {"position": [0.2, -0.2, 0.02], "direction": "ccw", "axis": [0.0, 0.2, 1.0]},
    {"position": [-0.2, 0.2, 0.02], "direction": "ccw"},
    {"position": [0.2, 0.2, 0.04], "direction": "cw", "axis": [0.1, 0.0, 2.0]},
    {"position": [-0.2, -0.2, 0.04], "direction": "cw"},
    {"position": [0.0, 0.3, 0.0], "direction": "cw"},
]
SPEC = {
    "name": "odd",
    "mass": 2.0,
    "inertia": [0.03, 0.04, 0.06, 0.002, -0.001, 0.003],
    "center_of_mass": COM.tolist(),
    "propeller": {"diameter": 0.2, "inertia": 4e-5},
    "rotors": ROTORS,
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
    "sensors": {},
}
ROTOR_INERTIA = 5e-5
MOTOR = ElectricMotor(
    torque_constant=0.011,
    resistance=0.15,
    viscous_friction=2e-6,
    nominal_voltage=12.0,
    max_speed=800.0,
    inertia=1e-5,
    regenerative=True,
)
CLOSED = dataclasses.replace(
    MOTOR, speed_control="closed_loop", proportional_gain=0.004, integral_gain=0.05, nominal_voltage=40.0
)
COMMANDS = np.random.default_rng(5).uniform(250.0, 780.0, (50, 5))
"""One command every 20 ms, held; the rates below divide this time."""
AXES = np.array([r.get("axis", [0.0, 0.0, 1.0]) for r in ROTORS])
AXES /= np.linalg.norm(AXES, axis=1, keepdims=True)
SPINS = np.array([1.0 if rotor["direction"] == "ccw" else -1.0 for rotor in ROTORS])
NO_DRAG = LinearDrag(coefficients=(0.0, 0.0, 0.0))
NO_AIR = QuadraticThrust(thrust_constant=1e-30, torque_constant=0.0)


class Violent(Backend):
    """Commands far apart, changed every 20 ms."""

    drives = True

    def bind(self, vehicle):
        self.count = vehicle.count

    def command(self, t):
        return np.tile(COMMANDS[min(int(t / 0.02 + 1e-6), 49)], (self.count, 1))


def flat(acceleration=9.8):
    """Return a flat world with uniform gravity."""
    gravity = {"model": "uniform", "acceleration": acceleration}
    return WorldSpec(name="flat", generator={"model": "flat"}, gravity=gravity)


def motor_torque(motor, speeds, integrals, command):
    """Return torque and rate of the integral of each motor, written down anew."""
    if motor is MOTOR:
        voltage, rates = 12.0 * command / 800.0, np.zeros(5)
    else:
        voltage = 0.011 * command + 0.004 * (command - speeds) + integrals
        assert (voltage > 0).all()
        assert (voltage < 40).all()
        rates = 0.05 * (command - speeds)
    return 0.011 * (voltage - 0.011 * speeds) / 0.15 - 2e-6 * speeds, rates


def reference(motor, start, duration):
    """Return the whole state after a time by DOP853 to 1e-12: body, rotors and integrals.

    The accelerations of body and rotors are one linear system, solved as it stands.
    """

    def rate(_, y, command):
        quaternion, velocity, spin, speeds, integrals = y[3:7], y[7:10], y[10:13], y[13:18], y[18:]
        rotation = Rotation.from_quat(quaternion).as_matrix()
        center = rotation.T @ (velocity - WIND)
        arms = np.array([rotor["position"] for rotor in ROTORS]) - COM
        inflow = ((center + np.cross(spin, arms)) * AXES).sum(axis=1)
        thrust = 1.5e-5 * speeds**2 - 2.5e-4 * inflow * speeds
        air = 0.015 * thrust + 1e-5 * speeds
        force = thrust @ AXES - np.array([0.5, 0.3, 0.2]) * center
        torque = np.cross(arms, thrust[:, None] * AXES).sum(axis=0) - (SPINS * air) @ AXES
        driving, rates = motor_torque(motor, speeds, integrals, command)
        momentum = INERTIA @ spin + ROTOR_INERTIA * (SPINS * speeds) @ AXES
        system, right = np.zeros((8, 8)), np.zeros(8)
        system[:3, :3] = INERTIA
        system[:3, 3:] = ROTOR_INERTIA * (SPINS[:, None] * AXES).T
        system[3:, :3] = ROTOR_INERTIA * SPINS[:, None] * AXES
        system[3:, 3:] = ROTOR_INERTIA * np.eye(5)
        right[:3] = torque - np.cross(spin, momentum)
        right[3:] = driving - air
        x, y_, z, w = quaternion
        p, q, r = spin
        turning = 0.5 * np.array(
            [w * p + y_ * r - z * q, w * q + z * p - x * r, w * r + x * q - y_ * p, -x * p - y_ * q - z * r]
        )
        change = np.linalg.solve(system, right)
        return np.concatenate([velocity, turning, rotation @ force / 2.0 - [0, 0, 9.8], change, rates])

    y = start
    for k in range(round(duration / 0.02)):
        y = solve_ivp(rate, (0, 0.02), y, "DOP853", args=(COMMANDS[k],), rtol=1e-12, atol=1e-12).y[:, -1]
    return y


def flown(motor, rate):
    """Return the state at the start and after a second of commands far apart."""
    with Simulation(flat(), rate=rate) as sim:
        sim.environment.wind = ConstantWind(mean_velocity=tuple(WIND))
        models = {"motor": motor, "thrust_curve": CURVE, "drag": DRAG}
        drone = sim.add(Multirotor(SPEC, **models, backends=[Violent()], position=(0, 0, 99)))
        sim.play()
        spin, speeds = np.array([2.0, -1.0, 3.0]), np.array([400.0, 380.0, 420.0, 390.0, 410.0])
        drone.place((0, 0, 99), velocity=(8.0, -6.0, 2.0), angular_velocity=tuple(spin))
        drone.columns["rotor_speed"][...] = speeds

        def state():
            now, rotation = drone.state, drone.state.rotation[0]
            center = now.position[0] + rotation @ COM
            velocity = now.velocity[0] + rotation @ np.cross(now.angular_velocity[0], COM)
            integrals = drone.columns["motor_state"][0, :, 0]
            parts = (center, now.orientation[0], velocity, now.angular_velocity[0], now.rotor_speed[0])
            return np.concatenate([*parts, integrals])

        start = state()
        np.testing.assert_array_equal(start[13:18], speeds)
        sim.run(1.0)
        return start, state()


@pytest.mark.parametrize("motor", [MOTOR, CLOSED], ids=["open loop", "closed loop"])
def test_body_and_rotors_follow_the_model_to_fourth_order(motor):
    """Torques of the air held over the step would make the flight first order in the step."""
    errors = []
    for rate in (250.0, 500.0, 1000.0):
        start, found = flown(motor, rate)
        expected = reference(motor, start, 1.0)
        turn = Rotation.from_quat(expected[3:7]).inv() * Rotation.from_quat(found[3:7])
        speeds = np.linalg.norm(found[13:18] - expected[13:18])
        errors.append([np.linalg.norm(found[:3] - expected[:3]), turn.magnitude(), speeds])
    errors = np.array(errors)
    orders = np.log2(errors[:-1] / errors[1:])
    assert errors[0, 0] < 1e-5
    assert errors[0, 2] < 1e-2
    assert orders.min() > 3.7, (errors, orders)


HECTOR = ElectricMotor(
    torque_constant=0.007242179827506,
    resistance=0.201084219222241,
    voltage_gain=0.5492623447779,
    voltage_offset=0.104863758313889,
    nominal_voltage=12.0,
    max_speed=12.0,
    inertia=2.5730480633e-5,
)
"""Motor of the epp1045 propeller in Hector's parameter files; a command of 1 rad/s is 1 V."""
EPP1045 = PolynomialThrust(
    coefficients=(0.0, 0.0, 1.538190483976698e-5),
    inflow_linear=-2.5224e-4,
    moment_ratio=0.015336864714397,
    moment_linear=-7.011631909766668e-5,
)


def on_a_stand(motor, curve, **options):
    """Return the plant of one heavy vehicle at rest in still air."""
    heavy = {"extends": "iris", "battery": None, "mass": 1e6, "inertia": [1e3, 1e3, 1e3]}
    vehicle = Multirotor(heavy, motor=motor, thrust_curve=curve, drag=NO_DRAG, sensors={}, **options)
    made = Plant()
    made.arrange([vehicle])
    made.columns["air_density"][...] = 1.2
    made.columns["highest_speed"][...] = motor.max_speed
    return made, vehicle


def test_hector_steady_states_and_step_response():
    """The published speed, thrust and current at 8, 10 and 12 V fix every term of motor and propeller."""
    made, _ = on_a_stand(HECTOR, EPP1045)
    columns = made.columns
    published = {8.0: (526.77, 4.268, 3.939), 10.0: (609.56, 5.715, 6.202), 12.0: (687.40, 7.268, 8.737)}
    settled = 0.0
    for voltage, (speed, thrust, current) in published.items():
        columns["command"][...] = voltage
        course = []
        for _ in range(3000):
            made.advance(0.001)
            course.append(columns["rotor_speed"][0, 0])
        if voltage == 10.0:
            share = (np.array(course) - settled) / (course[-1] - settled)
            assert np.argmax(share > 1 - np.exp(-1)) + 1 == pytest.approx(58, abs=1)
        settled = course[-1]
        assert columns["rotor_speed"][0] == pytest.approx(speed, abs=0.01)
        assert columns["rotor_force"][0, 2] / 4 == pytest.approx(thrust, abs=0.001)
        assert columns["electrical_power"][0] / 4 / voltage == pytest.approx(current, abs=0.001)


def energies(drone, inertia):
    """Return kinetic energy [J] and angular momentum in the world [N m s] of body and rotors."""
    w, v, rotation = drone.state.angular_velocity[0], drone.state.velocity[0], drone.state.rotation[0]
    speeds, spin, axis = drone.state.rotor_speed[0], drone.layout.spin, drone.layout.axis
    center = v + rotation @ np.cross(w, drone.center_of_mass)
    absolute = speeds + spin * (axis @ w)
    hub = hub_inertia(drone.layout, drone.parameters[0])
    energy = 0.5 * (w @ hub @ w + inertia * absolute @ absolute + drone.mass * center @ center)
    return energy, rotation @ (hub @ w + inertia * (spin * absolute) @ axis)


def test_coasting_rotors_and_a_tumbling_body_keep_energy_and_momentum():
    """A rotor that does not feel the turning of its axis changes the energy by parts in ten thousand."""
    free = ElectricMotor(torque_constant=0.01, resistance=0.1, nominal_voltage=12.0, max_speed=1e4)
    spec = {**SPEC, "propeller": {"diameter": 0.2, "inertia": 1e-3}}
    with Simulation(flat(0.0), rate=500) as sim:
        models = {"motor": free, "thrust_curve": NO_AIR, "drag": NO_DRAG}
        drone = sim.add(Multirotor(spec, **models, position=(0, 0, 50), backends=[Constant(np.zeros(5))]))
        sim.play()
        drone.place((0, 0, 50), angular_velocity=(6.0, -2.0, 4.0))
        drone.columns["rotor_speed"][...] = [300.0, 100.0, 200.0, 50.0, 400.0]
        energy, momentum = energies(drone, 1e-3)
        for _ in range(5):
            sim.run(1.0)
            now, turning = energies(drone, 1e-3)
            assert now == pytest.approx(energy, rel=2e-6)
            np.testing.assert_allclose(turning, momentum, atol=2e-6 * np.linalg.norm(momentum))
        assert np.ptp(drone.state.rotor_speed[0] - [300.0, 100.0, 200.0, 50.0, 400.0]) > 1.0


def test_motors_turn_the_body_by_their_reaction_alone():
    """Motor torque that reaches the body twice, or not at all, would break the angular momentum."""
    with Simulation(flat(0.0), rate=500) as sim:
        models = {"motor": MOTOR, "thrust_curve": NO_AIR, "drag": NO_DRAG}
        drone = sim.add(Multirotor(SPEC, **models, position=(0, 0, 50), backends=[Violent()]))
        sim.play()
        drone.place((0, 0, 50), angular_velocity=(1.0, -2.0, 0.5))
        _, momentum = energies(drone, ROTOR_INERTIA)
        sim.run(2.0)
        _, turning = energies(drone, ROTOR_INERTIA)
        np.testing.assert_allclose(turning, momentum, atol=1e-6)
        assert drone.state.rotor_speed[0].max() > 500.0


def test_windings_heat_makes_up_the_energy_of_a_powered_flight():
    """Energy of the battery that is neither in motion, heat nor air would be made or lost by the step."""
    motor = dataclasses.replace(MOTOR, viscous_friction=0.0)
    made, _ = on_a_stand(motor, CURVE)
    columns = made.columns
    drawn = shaft = heat = 0.0
    for k in range(2000):
        columns["command"][...] = 400.0 + 300.0 * np.sin(0.01 * k)
        before = columns["rotor_speed"].copy()
        made.advance(0.001)
        middle = 0.5 * (before + columns["rotor_speed"])
        voltage = 12.0 * columns["command"] / 800.0
        current = [(voltage - 0.011 * w) / 0.15 for w in (before, middle, columns["rotor_speed"])]
        squares = (current[0] ** 2 + 4 * current[1] ** 2 + current[2] ** 2) / 6.0
        heat += 0.15 * squares.sum() * 0.001
        drawn += columns["electrical_power"][0] * 0.001
        shaft += columns["shaft_power"][0] * 0.001
    stored = 0.5 * 1e-5 * (columns["rotor_speed"] ** 2).sum()
    assert drawn == pytest.approx(heat + shaft + stored, rel=1e-4)
    assert stored > 2.0


def test_battery_gives_the_current_of_the_motors_and_takes_it_back():
    """A battery that takes shaft power by an efficiency would not feel a stalled or braking motor."""
    pack = Battery(cell_count=4, capacity=0.5, resistance=0.02, charge=0.6, avionics_power=5.0)
    made, _ = on_a_stand(dataclasses.replace(MOTOR, inertia=5e-4), CURVE, battery=pack)
    columns = made.columns
    columns["rotor_speed"][...] = 600.0
    columns["command"][...] = 600.0
    for _ in range(1500):
        made.advance(0.004)
    power = columns["electrical_power"][0] + 5.0
    assert columns["current"][0] == pytest.approx(power / columns["voltage"][0], rel=1e-3)
    assert columns["highest_speed"][0] == MOTOR.max_speed
    charge = columns["charge"][0]
    columns["rotor_speed"][...] = 780.0
    columns["command"][...] = 350.0
    for _ in range(10):
        made.advance(0.004)
    assert columns["current"][0] < -1.0
    assert columns["charge"][0] > charge


def test_sagging_voltage_slows_an_open_loop():
    """A throttle that does not see the voltage under load would keep full thrust to the end."""
    speeds = []
    for resistance in (1e-4, 0.08):
        pack = Battery(cell_count=3, capacity=3.0, resistance=resistance)
        made, _ = on_a_stand(MOTOR, CURVE, battery=pack)
        made.columns["command"][...] = 800.0
        for _ in range(500):
            made.advance(0.004)
        speeds.append(made.columns["rotor_speed"][0, 0])
    assert speeds[1] < 0.9 * speeds[0]


def scattered():
    """Return a plant of electric and other vehicles with random states and inputs."""
    rng = np.random.default_rng(3)
    battery = Battery(cell_count=4, capacity=1.0, resistance=0.02)
    lag = FirstOrderMotor(time_constant_up=0.02, time_constant_down=0.04, max_speed=900.0)
    reversible = dataclasses.replace(CLOSED, min_speed=-500.0, max_current=30.0, no_load_current=0.3)
    vehicles = [
        Multirotor(PLAIN_IRIS, motor=lag, count=2, sensors={}, name="lag"),
        Multirotor(SPEC, motor=reversible, thrust_curve=CURVE, count=2, name="closed"),
        Multirotor("typhoon_h", motor=MOTOR, thrust_curve=CURVE, battery=battery, count=2, name="open"),
    ]
    made = Plant()
    made.arrange(vehicles)
    columns = made.columns
    for name in ("position", "velocity", "angular_velocity", "wind", "push", "twist", "orientation"):
        columns[name][...] = rng.normal(scale=3.0, size=columns[name].shape)
    columns["orientation"][...] /= np.linalg.norm(columns["orientation"], axis=1, keepdims=True)
    columns["gravity"][:, 2] = -9.8
    columns["air_density"][...] = 1.2
    columns["rotor_speed"][...] = rng.uniform(0, 700, columns["rotor_speed"].shape)
    columns["command"][...] = rng.uniform(-200, 1200, columns["command"].shape)
    return made, vehicles


def test_python_and_the_compiled_step_give_the_same_bits():
    """If this fails, a flight with electric motors cannot be debugged in Python."""
    compiled, _ = scattered()
    plain, vehicles = scattered()
    free = [name for name in plain.columns if name.startswith("free_")]
    compiled.prepare(0.004)
    compiled._batteries = None
    for _ in range(5):
        compiled.advance(0.004)
        compiled.observe(0.004)
        advance_in_python(vehicles, plain.columns, 0.004)
        observe_in_python(plain.count, plain.columns, 250.0)
        for made in (compiled, plain):
            for name in free:
                made.columns[name.removeprefix("free_")][...] = made.columns[name]
    for name, values in compiled.columns.items():
        np.testing.assert_array_equal(values, plain.columns[name], err_msg=name)
    assert np.abs(compiled.columns["electrical_power"][2:]).min() > 0


def flight(*names, count=1):
    """Return the states of the vehicles `lag` and `electric` by name after a flight of those named."""
    motors = {
        "lag": FirstOrderMotor(time_constant_up=0.02, time_constant_down=0.04, max_speed=800.0),
        "electric": CLOSED,
    }
    with Simulation(flat()) as sim:
        drones = [
            sim.add(
                Multirotor(SPEC, name=name, count=count, motor=motors[name], thrust_curve=CURVE, spacing=4.0,
                           position=(0, 90.0 * (name == "lag"), 50), backends=[Violent()])
            )
            for name in names
        ]  # fmt: skip
        sim.run(0.5)
        return {
            drone.name: np.concatenate(
                [drone.state.orientation[0], drone.state.velocity[0], drone.state.rotor_speed[0]]
            )
            for drone in drones
        }


def test_company_and_copies_change_no_bit():
    """A kernel that treats neighbours otherwise would make a flight depend on who else flies."""
    electric, lag = flight("electric")["electric"], flight("lag")["lag"]
    together = flight("lag", "electric")
    np.testing.assert_array_equal(together["electric"], electric)
    np.testing.assert_array_equal(together["lag"], lag)
    np.testing.assert_array_equal(flight("electric", count=7)["electric"], electric)


def test_rotor_without_inertia_is_refused():
    """The acceleration of a rotor without inertia would be infinite."""
    weightless = dataclasses.replace(MOTOR, inertia=0.0)
    with (
        Simulation(flat()) as sim,
        pytest.raises(ConfigError, match=r"propeller\.inertia = 0.*motor.inertia"),
    ):
        sim.add(Multirotor("iris", motor=weightless, thrust_curve=CURVE))


def test_rotors_heavier_than_their_vehicle_are_refused():
    """The inertia of the airframe alone would be negative."""
    spec = {**SPEC, "propeller": {"diameter": 0.2, "inertia": 0.02}}
    with Simulation(flat()) as sim, pytest.raises(ConfigError, match=r"propeller\.inertia = .*airframe"):
        sim.add(Multirotor(spec, motor=MOTOR))


def test_motor_too_fast_for_the_step_is_refused_with_the_rate_needed():
    """A motor that settles within a part of the step would diverge in the first second."""
    light = dataclasses.replace(MOTOR, inertia=1e-7)
    with Simulation(flat(), rate=100) as sim:
        sim.add(Multirotor("iris", motor=light, thrust_curve=CURVE, sensors={}))
        with pytest.raises(ConfigError, match=r"raise the physics rate to \d+ Hz"):
            sim.step()
