"""The compiled step: the same bits as plain Python, for any count, order and company."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Backend, ConfigError, Multirotor, Simulation
from pegasus.base import frames
from pegasus.base.step_math import Real, Reals, Vec3, maximum, minimum
from pegasus.core.plant import Plant
from pegasus.core.plant_energy import ENTRIES
from pegasus.dynamics import (
    Drag,
    FirstOrderMotor,
    GroundEffect,
    IdealMotor,
    LinearDrag,
    Motor,
    PolynomialThrust,
    PropellerThrust,
    QuadraticDrag,
    QuadraticThrust,
    ThrustCurve,
)
from pegasus.dynamics.thrust_curves import QuadraticCoefficients, quadratic_thrust
from pegasus.environment import Environment, InverseSquareGravity
from tests.core.plain_step import advance_in_python, audit_in_python, observe_in_python

LAG = FirstOrderMotor(time_constant_up=0.02, time_constant_down=0.04, max_speed=900.0, min_speed=-100.0)
QUADRATIC = QuadraticThrust(thrust_constant=8e-6, moment_ratio=0.05)
POLYNOMIAL = PolynomialThrust(
    coefficients=(0.1, 1e-4, 8e-6, 1e-10), inflow_linear=-2e-4, inflow_quadratic=1e-3, moment_ratio=0.02
)
PROPELLER = PropellerThrust(
    diameter=0.25,
    advance_ratio=(-0.5, 0.0, 0.3, 0.7),
    thrust_coefficient=(0.2, 0.11, 0.07, 0.0),
    power_coefficient=(0.05, 0.045, 0.04, 0.02),
)
LINEAR = LinearDrag(coefficients=(0.5, 0.3, 0.1))
AREAS = QuadraticDrag(areas=(0.01, 0.02, 0.03), angular_coefficients=(1e-3, 2e-3, 3e-3))


def empty(name):
    """Return a shipped vehicle without a battery, which is not part of the functions that are compared."""
    return {"extends": name, "battery": None}


TILTING = {
    "extends": "iris",
    "battery": None,
    "center_of_mass": [0.01, 0.0, 0.02],
    "motor": {
        "model": "electric",
        "kv": 800.0,
        "resistance": 0.1,
        "nominal_voltage": 12.0,
        "max_speed": 718.0,
    },
    "propeller": {"diameter": 0.254, "inertia": 1e-4},
    "rotors": [
        {"position": [0.2, -0.2, 0.1], "direction": "ccw", "joint": "right"},
        {"position": [0.2, 0.2, 0.1], "direction": "cw", "joint": "left"},
        {"position": [-0.4, 0.0, 0.1], "direction": "cw"},
        {"position": [-0.6, 0.0, 0.2], "axis": [1, 0, 0], "direction": "cw", "propulsion": "pusher"},
    ],
    "propulsion": {
        "pusher": {
            "motor": {"model": "ideal", "max_speed": 1500.0},
            "thrust_curve": {
                "model": "gazebo",
                "thrust_constant": 5e-6,
                "moment_ratio": 0.01,
                "rotor_drag": 1e-4,
            },
        }
    },
    "joints": {
        "right": {"position": [0.2, -0.2, 0.0], "servo": {"low": -0.1, "high": 1.6, "rate_limit": 4.0}},
        "left": {"position": [0.2, 0.2, 0.0], "servo": {"low": -0.1, "high": 1.6, "time_constant": 0.05}},
        "flap": {},
    },
    "surfaces": {
        "wing": {
            "model": "lift_drag",
            "area": 0.2,
            "cla": 4.0,
            "controls": ["flap"],
            "control_joint_rad_to_cl": -0.5,
            "slipstream": [0, 1],
        }
    },
}
"""Rotors on tilting joints that turn freely, another one of another kind, and a wing in the streams."""

VEHICLES = [
    {"model": empty("iris"), "motor": LAG, "thrust_curve": QUADRATIC, "drag": LINEAR},
    {
        "model": empty("pegasus"),
        "motor": IdealMotor(max_speed=900.0),
        "thrust_curve": POLYNOMIAL,
        "drag": AREAS,
    },
    {"model": empty("coaxial_x8"), "motor": LAG, "thrust_curve": PROPELLER, "ground_effect": GroundEffect()},
    {"model": empty("typhoon_h"), "motor": LAG, "thrust_curve": PROPELLER},
    {"model": empty("plane")},
    {"model": TILTING},
]
"""Every motor, thrust curve and drag, with and without ground effect, offset mass, wings and joints."""


def scattered(seed, models=VEHICLES):
    """Return the rows and the vehicles of a plant with random states and inputs."""
    rng = np.random.default_rng(seed)
    vehicles = [Multirotor(**options, count=2, sensors={}, name=f"{k}") for k, options in enumerate(models)]
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
    columns["joint_angle"][...] = rng.uniform(-0.5, 0.5, columns["joint_angle"].shape)
    columns["wake"][...] = rng.normal(size=columns["wake"].shape)
    columns["gust_rate"][...] = rng.normal(size=columns["gust_rate"].shape)
    columns["ground_offset"][...] = columns["position"][:, None, 2] - rng.uniform(0.05, 0.5)
    return made, vehicles


def fail(columns):
    """Set random effects of faults."""
    rng = np.random.default_rng(5)
    for name in ("drive", "kept_speed", "thrust_share", "torque_share"):
        columns[name][...] = rng.uniform(0.2, 1.0, columns[name].shape)
    for name in ("wind_shock", "fault_force", "fault_torque"):
        columns[name][...] = rng.normal(size=columns[name].shape)
    columns["override"][::2, 1] = 321.0


@pytest.mark.parametrize(("local_air", "faults"), [(False, False), (True, False), (False, True)])
def test_python_and_the_compiled_step_give_the_same_bits(local_air, faults):
    """If this fails, a flight cannot be debugged in Python."""
    compiled, failing = scattered(1)
    plain, vehicles = scattered(1)
    if faults:
        fail(compiled.columns)
        fail(plain.columns)
    free = [name for name in plain.columns if name.startswith("free_")]
    for _ in range(5):
        compiled.advance(0.004, local_air=local_air, failing=failing if faults else ())
        compiled.observe(0.004)
        others = vehicles if faults else ()
        advance_in_python(vehicles, plain.columns, 0.004, local_air=local_air, failing=others)
        observe_in_python(plain.count, plain.columns, 250.0)
        for made in (compiled, plain):
            for name in free:
                made.columns[name.removeprefix("free_")][...] = made.columns[name]
    for name, values in compiled.columns.items():
        np.testing.assert_array_equal(values, plain.columns[name], err_msg=name)
    assert np.abs(compiled.columns["force"]).min() > 0


def test_faults_that_act_on_others_change_no_bit():
    """Copies that do not fail would fly otherwise as soon as one of their batch does."""
    alone, _ = scattered(1)
    beside, vehicles = scattered(1)
    alone.advance(0.004)
    beside.advance(0.004, failing=vehicles)
    for name, values in alone.columns.items():
        np.testing.assert_array_equal(values, beside.columns[name], err_msg=name)


def test_gust_rate_is_that_of_a_turning_body_of_air():
    """Rotors and drag would not feel the gradients p, q and r over the airframe, or about another point."""
    made = []
    for turning in (True, False):
        plant_of_air, vehicles = scattered(2, VEHICLES[:4])
        columns = plant_of_air.columns
        first = 0
        for vehicle in vehicles:
            rows = slice(first, first + vehicle.count)
            first += vehicle.count
            rotation = frames.matrix_from_quaternion(columns["orientation"][rows])
            arms = np.einsum("nij,rj->nri", rotation, vehicle.layout.position)
            wake = np.cross(columns["gust_rate"][rows][:, None], arms)
            columns["wake"][rows, : vehicle.rotor_count] = 0.0 if turning else wake
        if not turning:
            columns["gust_rate"][...] = 0.0
        # So short that the arms do not turn.
        plant_of_air.advance(1e-9, local_air=True)
        made.append(columns)
    turned, blown = made
    for name in ("rotor_force", "drag_force", "drag_torque", "rotor_torque"):
        np.testing.assert_allclose(turned[name], blown[name], rtol=1e-6, atol=1e-6, err_msg=name)
    still, _ = scattered(2, VEHICLES[:4])
    still.advance(1e-9)
    for name in ("rotor_force", "drag_force"):
        assert (np.abs(still.columns[name] - turned[name]).max(axis=1) > 1e-3).any()


def test_python_and_the_compiled_energy_balance_give_the_same_bits():
    """If this fails, an audit of the same flight depends on how it was run."""
    compiled, _ = scattered(2)
    plain, vehicles = scattered(2)
    compiled.audit(Environment())
    plain.audit(Environment())
    changed = ["position", "velocity", "angular_velocity", "orientation"]
    changed += [f"{part}{kind}" for part in ("", "rotor_", "drag_") for kind in ("force", "torque")]
    rng = np.random.default_rng(4)
    for _ in range(5):
        moved = {name: rng.normal(size=plain.columns[name].shape) for name in changed}
        for made in (compiled, plain):
            for name, values in moved.items():
                made.columns[name][...] = values
            made.columns["touched"][::2] = 1
        compiled.observe(0.004)
        audit_in_python(vehicles, plain.columns, InverseSquareGravity(), 90.0, 250.0)
    for name, values in compiled.columns.items():
        np.testing.assert_array_equal(values, plain.columns[name], err_msg=name)
    for entry in ENTRIES:
        busy = slice(None, None, 2) if entry == "contacts" else slice(1, None, 2)
        assert np.abs(compiled.columns[f"energy_{entry}"][busy]).min() > 1e-3


class Swing(Backend):
    """Commands that differ from copy to copy and rotor to rotor."""

    drives = True

    def __init__(self, number):
        self.number = number

    def bind(self, vehicle):
        self.shape = vehicle.count, vehicle.rotor_count

    def command(self, t):
        phase = self.number + np.arange(self.shape[0] * self.shape[1]).reshape(self.shape)
        return 650.0 + 60.0 * np.sin(7.0 * t + phase)


def flight(models, *, among=None):
    """Return the states of vehicles after a second, by name."""
    with Simulation("flat") as sim:
        for k, model in enumerate(models):
            place = (10.0 * list(MODELS).index(model), 0.0, 50.0)
            sim.add(
                Multirotor(model, name=model, position=place, sensors={}, backends=[Swing(MODELS[model])])
            )
            if among == k:
                far = (0.0, 500.0, 50.0)
                sim.add(Multirotor("octorotor", count=7, position=far, sensors={}, backends=[Swing(9)]))
        sim.run(1.0)
        return {
            name: np.concatenate(
                [sim.vehicles[name].state.position[0], sim.vehicles[name].state.orientation[0],
                 sim.vehicles[name].state.rotor_speed[0]]
            )
            for name in models
        }  # fmt: skip


MODELS = {"iris": 1, "x500": 2, "tilted_hexarotor": 3}


def test_company_and_order_do_not_change_a_flight():
    """If this fails, a run cannot be repeated with one vehicle more."""
    expected = flight(["iris", "x500"])
    for models, among in ((["x500", "iris"], None), (["iris", "x500"], 0), (["x500", "iris"], 1)):
        for name, state in flight(models, among=among).items():
            np.testing.assert_array_equal(state, expected[name], err_msg=name)


def test_copies_fly_like_single_vehicles():
    """If this fails, a batch of a thousand is another flight than a thousand vehicles."""
    places = [(0.0, 9.0 * k, 40.0) for k in range(5)]

    class Same(Swing):
        def command(self, t):
            return np.tile(650.0 + 60.0 * np.sin(7.0 * t + np.arange(4)), (self.shape[0], 1))

    with Simulation("flat") as many, Simulation("flat") as few:
        batch = many.add(Multirotor("iris", count=5, position=places, sensors={}, backends=[Same(0)]))
        single = few.add(Multirotor("iris", position=places[3], sensors={}, backends=[Same(0)]))
        many.run(1.0)
        few.run(1.0)
        np.testing.assert_array_equal(batch.state.position[3], single.state.position[0])
        np.testing.assert_array_equal(batch.state.orientation[3], single.state.orientation[0])


def test_a_reset_repeats_the_flight():
    """If this fails, state of the step is kept outside of its rows."""
    with Simulation("flat") as sim:
        drone = sim.add(Multirotor("iris", sensors={}, backends=[Swing(0)], position=(0, 0, 30)))
        sim.run(0.5)
        first = drone.state.copy()
        sim.reset()
        assert not drone.state.rotor_speed.any()
        sim.run(0.5)
        for name in ("position", "orientation", "velocity", "rotor_speed", "acceleration"):
            np.testing.assert_array_equal(getattr(drone.state, name), getattr(first, name))


def slew(p: "Slew", speed: Real, state: Vec3, command: Real, voltage: Real, dt: Real) -> tuple[Real, Vec3]:
    """Change the speed at a limited rate; count the seconds in the motor's own state."""
    change = minimum(maximum(command - speed, -p.rate * dt), p.rate * dt)
    return speed + change, Vec3(state[0] + dt, voltage, state[2])


@dataclass(frozen=True, kw_only=True)
class Slew(Motor):
    law: ClassVar[Any] = staticmethod(slew)
    rate: float


def sideways(p: "Sideways", speed: Real, air_velocity: Vec3, air_density: Real) -> tuple[Vec3, Vec3]:
    """Push along x and y with the air velocity at the rotor, and tilt about x."""
    thrust = p.constant * speed * speed
    force = Vec3(-p.side * air_velocity[0] * speed, -p.side * air_velocity[1] * speed, thrust)
    return force, Vec3(p.side * speed, 0.0, 0.02 * thrust)


@dataclass(frozen=True, kw_only=True)
class Sideways(ThrustCurve):
    law: ClassVar[Any] = staticmethod(sideways)
    constant: float = 8.5e-6
    side: float = 0.0


def rotor_drag(
    p: "RotorDrag", air_velocity: Vec3, angular_velocity: Vec3, rotor_speeds: Reals, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Resist in proportion to the velocity, and to the speeds of the rotors."""
    total = 1.0
    for j in range(4):
        total += p.by_speed * rotor_speeds[j]
    return air_velocity * (-p.strength * total), angular_velocity * -p.turning


@dataclass(frozen=True, kw_only=True)
class RotorDrag(Drag):
    law: ClassVar[Any] = staticmethod(rotor_drag)
    strength: float
    turning: float = 0.01
    by_speed: float = 1.0


def hovered(steps=100, **models):
    """Return the state of an Iris after some steps beside a shipped one, and its rotors' own state."""
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", name="other", position=(50, 0, 30), sensors={}, backends=[Swing(1)]))
        drone = sim.add(
            Multirotor("iris", name="own", position=(0, 0, 30), sensors={}, backends=[Swing(1)], **models)
        )
        sim.play()
        drone.place((0, 0, 30), velocity=(4.0, 1.0, 0.0), angular_velocity=(0.3, 0.2, 0.1))
        sim.step(steps)
        return drone.state.copy(), drone.columns["motor_state"].copy()


def test_a_custom_motor_is_compiled_and_keeps_its_own_state():
    """If this fails, a user's motor is ignored, or shares its state with others."""
    state, own = hovered(motor=Slew(rate=3000.0, max_speed=1000.0))
    command = np.arange(100)[:, None] / 250.0
    expected = np.zeros(4)
    for asked in 650.0 + 60.0 * np.sin(7.0 * command + 1.0 + np.arange(4)):
        for _ in range(2):
            expected += (asked - expected).clip(-3000.0 * 0.002, 3000.0 * 0.002)
    np.testing.assert_allclose(state.rotor_speed[0], expected, rtol=1e-12)
    np.testing.assert_allclose(own[0, :, 0], 0.4, rtol=1e-12)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(state.position, hovered()[0].position, atol=1e-6)


@dataclass(frozen=True, kw_only=True)
class ByStep(Slew):
    def step(self, speed, command, dt):
        return np.full_like(speed, 123.0)


@dataclass(frozen=True, kw_only=True)
class ByThrust(QuadraticThrust):
    def thrust(self, rotor_speed, inflow, air_density):
        return rotor_speed, rotor_speed


@dataclass(frozen=True, kw_only=True)
class ByWrench(Drag):
    def wrench(self, velocity, angular_velocity, air_density):
        return -velocity, None


@pytest.mark.parametrize(
    ("field", "model", "method"),
    [
        ("motor", ByStep(rate=10.0, max_speed=1000.0), "step"),
        ("thrust_curve", ByThrust(thrust_constant=8e-6, moment_ratio=0.05), "thrust"),
        ("drag", ByWrench(), "wrench"),
    ],
)
def test_a_model_in_numpy_is_refused_with_what_to_do(field, model, method):
    """If this fails, the method of a derived class is silently ignored."""
    with pytest.raises(ConfigError, match=rf"{field}.*{method} in NumPy.*law.*wrench"):
        Multirotor("iris", **{field: model})


def test_a_wrench_in_numpy_pushes_like_a_law():
    """If this fails, a user's own aerodynamics turn wrong, act twice, or not at all."""

    def wrench(vehicle, t):
        velocity = frames.rotate_inverse(vehicle.state.rotation, vehicle.state.velocity)
        return -0.5 * velocity, -0.01 * vehicle.state.angular_velocity

    held, _ = hovered(wrench=wrench, drag=RotorDrag(strength=0.0, turning=0.0))
    drag, _ = hovered(drag=RotorDrag(strength=0.5, turning=0.01, by_speed=0.0))
    without, _ = hovered(drag=RotorDrag(strength=0.0, turning=0.0))
    # Held over each step, it errs by a part of a step.
    np.testing.assert_allclose(held.velocity, drag.velocity, atol=2e-3)
    np.testing.assert_allclose(held.angular_velocity, drag.angular_velocity, atol=2e-3)
    assert np.abs(without.velocity - drag.velocity).max() > 0.1
    with pytest.raises(ConfigError, match=r"force by the wrench of vehicle 'own' = \(2,\).*shape"):
        hovered(wrench=lambda _vehicle, _t: (np.zeros(2), np.zeros(3)))


def test_a_custom_thrust_curve_answers_with_a_force_off_the_axis():
    """If this fails, a curve sees the inflow only, or its force is turned wrong."""
    plain, _ = hovered(thrust_curve=Sideways())
    pushed, _ = hovered(thrust_curve=Sideways(side=1e-4))
    assert pushed.velocity[0, 0] < plain.velocity[0, 0] - 0.05
    assert np.abs(pushed.angular_velocity - plain.angular_velocity).max() > 0.01


def repeated(
    p: QuadraticCoefficients, speed: Real, air_velocity: Vec3, air_density: Real
) -> tuple[Vec3, Vec3]:
    """Return what the shipped law does."""
    return quadratic_thrust(p, speed, air_velocity, air_density)


@dataclass(frozen=True, kw_only=True)
class Repeated(QuadraticThrust):
    law: ClassVar[Any] = staticmethod(repeated)


def test_a_custom_thrust_curve_flies_in_the_bits_of_the_same_shipped_one():
    """If this fails, forces found before they are added up are not those that are added at once."""
    custom, _ = hovered(thrust_curve=Repeated(thrust_constant=8e-6, moment_ratio=0.05))
    shipped, _ = hovered(thrust_curve=QUADRATIC)
    for name in ("position", "orientation", "velocity", "angular_velocity", "rotor_speed"):
        np.testing.assert_array_equal(getattr(custom, name), getattr(shipped, name))


def test_a_custom_drag_sees_the_rotor_speeds():
    """If this fails, a user's drag is ignored, or sees rotors at rest."""
    drag, _ = hovered(drag=RotorDrag(strength=1e-4))
    steady, _ = hovered(drag=RotorDrag(strength=1e-4 * (1.0 + 4 * 650.0), by_speed=0.0))
    assert drag.velocity[0, 0] < 4.0
    np.testing.assert_allclose(drag.velocity[0, :2], steady.velocity[0, :2], atol=0.05)
    assert not np.array_equal(drag.velocity, steady.velocity)


def unknown(p: "Unknown", air_velocity: Vec3, angular_velocity: Vec3, rotor_speeds: Reals, air_density: Real):
    """Use a function that cannot be compiled."""
    return air_velocity * np.sin(p.strength), angular_velocity


@dataclass(frozen=True, kw_only=True)
class Unknown(Drag):
    law: ClassVar[Any] = staticmethod(unknown)
    strength: float


def test_a_law_that_cannot_be_compiled_is_one_line_that_names_it():
    """If this fails, a user gets a page of a compiler's words."""
    with pytest.raises(
        ConfigError, match=r"test_compiled_step.py:\d+: `return air_velocity \* np.sin"
    ) as caught:
        hovered(steps=1, drag=Unknown(strength=1.0))
    assert "\n" not in str(caught.value)
    assert "pegasus.base.step_math" in str(caught.value)


def constant_upwash(
    p: "Cushion", heights: Reals, apart: Reals, j: int, count: int, radius: Real, span: Real
) -> Real:
    """Lift alike below a height, and not above."""
    if heights[j] < p.below:
        return 0.1 + 0.0 * span
    return 0.0 * span


@dataclass(frozen=True, kw_only=True)
class Cushion(GroundEffect):
    law: ClassVar[Any] = staticmethod(constant_upwash)
    below: float = 0.5


def test_a_custom_ground_effect_is_compiled():
    """If this fails, a user's ground effect is taken for the shipped one."""
    with Simulation("flat") as sim:
        for name, height in (("low", 0.3), ("high", 2.0)):
            sim.add(
                Multirotor(
                    "iris", name=name, position=(3 * height, 0, height), sensors={}, ground_effect=Cushion(),
                    backends=[Swing(0)],
                )
            )  # fmt: skip
        sim.step(2)
        low, high = (sim.vehicles[name].rotor_force[0, 2] for name in ("low", "high"))
        assert low / high == pytest.approx(1 / 0.9, rel=0.02)
