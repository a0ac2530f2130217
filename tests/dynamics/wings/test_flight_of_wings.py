"""Flights of aircraft against closed forms: phugoid, short period, turn, stall, trim and energy."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.linalg import logm
from scipy.optimize import fsolve, minimize_scalar

from pegasus import ConfigError, Environment, Multirotor, Simulation
from pegasus.base.step_math import Quat, Vec3, dot, magnitude
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.base.tracing.launches import program_of
from pegasus.config.files import load_vehicle
from pegasus.config.settings import names
from pegasus.core.steady_loads import Conditions
from pegasus.design import linearized, stall_speed, trim
from pegasus.step.loads import NO_VECTOR, flow_of, loads_of
from pegasus.step.pose import posed
from pegasus.step.values import Air, no_effects
from tests.dynamics.wings.aerosonde import RHO
from tests.dynamics.wings.flown import HEIGHT, RATE, Held, angle_of_attack, book_rates, book_state, flown

CONDITIONS = Conditions.of(Environment(), np.array([[0.0, 0.0, HEIGHT]]))
DENSITY, G = CONDITIONS.density, CONDITIONS.gravity


class AtHeight(Environment):
    """Environment whose air and gravity are those of the flights, at any place."""

    def altitude(self, position):
        return super().altitude(position * 0.0) + HEIGHT


class OfTheBook(AtHeight):
    """Environment with the air of the book."""

    def air_density(self, position):
        return np.full(len(position), RHO)


AIR = AtHeight()


def aerosonde(law=None, **changes):
    """Return the shipped Aerosonde with the commands of a law, and other fields."""
    spec, _file = load_vehicle("aerosonde")
    backends = [] if law is None else [Held(law)]
    return Multirotor(spec.model_copy(update=changes), backends=backends)


def held(found):
    """Return the law that holds the commands of a trim."""
    return lambda _t, _state: found.command


@pytest.mark.parametrize(
    ("airspeed", "climb", "turn_rate"), [(35.0, 0.0, 0.0), (25.0, 0.1, 0.0), (25.0, -0.05, 0.3)]
)
def test_trim_by_the_equations_of_the_book(airspeed, climb, turn_rate):
    """The trim would not be steady flight by the book's own equations, forward, right and down."""
    found = trim(aerosonde(), airspeed, climb, turn_rate, environment=AIR)
    state, controls = book_state(found)
    # The book's thrust falls with the airspeed, ours with its part along the propeller's axis.
    airspeed_part = 0.5 * RHO * 0.2027 * (airspeed**2 - state[0] ** 2) / 13.5
    rates = book_rates(state, controls, DENSITY, g=G)
    rates[0] += airspeed_part
    np.testing.assert_allclose(rates, 0.0, atol=1e-7)
    assert state[:3] @ state[:3] == pytest.approx(airspeed**2)


def test_trim_of_the_book_at_35():
    """Level trim at 35 m/s would differ from the solution of the book's equations by more than rounding."""

    def left(x):
        alpha, elevator, throttle = x
        state = [35.0 * math.cos(alpha), 0.0, 35.0 * math.sin(alpha), 0.0, 0.0, 0.0, 0.0, alpha]
        return book_rates(np.array(state), [elevator, 0.0, 0.0, throttle], RHO, g=G)[[0, 2, 4]]

    alpha, elevator, throttle = np.asarray(fsolve(left, [0.05, 0.0, 0.4], xtol=1e-12)).tolist()
    found = trim(aerosonde(), 35.0, environment=OfTheBook())
    ours = [found.angle_of_attack, *found.command[1:], found.command[0] / 800.0]
    # To the four decimals of the book's parameters: its thrust falls with the airspeed, ours with the inflow.
    assert ours == pytest.approx([alpha, elevator, 0.0, 0.0, 0.0, throttle], abs=5e-5)
    assert ours[1] == pytest.approx((-0.02338 - 0.38 * alpha) / 0.5, abs=1e-6)


def linear_book(found):
    """Return the rates of the longitudinal states u, w, q and theta by these, by the book's equations."""
    state, controls = book_state(found)
    steps = np.eye(8)[[0, 2, 4, 7]] * 1e-4
    columns = [
        (book_rates(state + d, controls, DENSITY, g=G) - book_rates(state - d, controls, DENSITY, g=G)) / 2e-4
        for d in steps
    ]
    return np.stack(columns, axis=1)[[0, 2, 4, 7]]


def longitudinal(matrix):
    """Return period [s] and damping ratio of the short period, then of the phugoid."""
    roots = np.linalg.eigvals(matrix)
    roots = sorted(roots[roots.imag > 0], key=abs, reverse=True)
    return [number for root in roots for number in (2 * math.pi / root.imag, -root.real / abs(root))]


def test_phugoid_and_short_period():
    """The Aerosonde would swing at another period, or damp otherwise, than the linear one of its book."""
    found = trim(aerosonde(), 25.0, environment=AIR)
    state, _ = book_state(found)
    before, after = [], []
    for speed, rate in ((0.2, (0.0, 0.0, 0.0)), (0.0, (0.0, -0.02, 0.0))):
        seen = flown(aerosonde(held(found)), found, 8.0, speed=speed, rate=rate)[::25]
        turned = [s.rotation.T @ s.velocity for s in seen]
        pitch = [math.asin(s.rotation[2, 0]) for s in seen]
        x = [[v[0], -v[2], -s.angular_velocity[1], a] for v, s, a in zip(turned, seen, pitch, strict=True)]
        x = np.array(x) - state[[0, 2, 4, 7]]
        before.append(x[:-1])
        after.append(x[1:])
    transition = np.linalg.lstsq(np.concatenate(before), np.concatenate(after), rcond=None)[0].T
    expected = longitudinal(linear_book(found))
    assert len(expected) == 4
    np.testing.assert_allclose(longitudinal(np.asarray(logm(transition)) / 0.1), expected, rtol=0.05)


def test_modes():
    """Modes of the linear model would not be those of the book's equations, or be named otherwise."""
    found = trim(aerosonde(), 25.0, environment=AIR)
    state, controls = book_state(found)
    columns = [
        (book_rates(state + d, controls, DENSITY, g=G) - book_rates(state - d, controls, DENSITY, g=G)) / 2e-4
        for d in np.eye(8) * 1e-4
    ]
    expected = np.linalg.eigvals(np.stack(columns, axis=1))
    modes = linearized(aerosonde(), found, environment=AIR).modes
    assert [mode.name for mode in modes] == ["roll", "Dutch roll", "short period", "phugoid", "spiral"]
    for mode in modes:
        nearest = expected[np.argmin(np.abs(expected - mode.root))]
        # The thrusts differ by the inflow in place of the airspeed.
        assert abs(mode.root - nearest) < 0.01 * abs(nearest)


def test_coordinated_turn():
    """An aircraft in a coordinated turn would fly another circle than V^2 / (g tan phi)."""
    found = trim(aerosonde(), 35.0, 0.0, 0.25, environment=AIR)
    seen = flown(aerosonde(held(found)), found, 25.0)[::25]
    x, y = np.array([s.position[:2] for s in seen]).T
    fit = np.linalg.lstsq(np.stack([x, y, np.ones_like(x)], 1), x * x + y * y, rcond=None)[0]
    radius = math.sqrt(fit[2] + 0.25 * (fit[0] ** 2 + fit[1] ** 2))
    speed = np.mean([np.linalg.norm(s.velocity) for s in seen])
    roll = np.mean([math.atan2(s.rotation[2, 1], s.rotation[2, 2]) for s in seen])
    assert roll < -0.5  # To the left.
    assert fit[1] > 0.0
    assert radius == pytest.approx(speed**2 / (G * math.tan(-roll)), rel=0.01)


def aerosonde_lift(alpha):
    """Return the lift coefficient at an angle of attack with the elevator that holds the moment, and that."""
    elevator = (-0.02338 - 0.38 * alpha) / 0.5
    low, high = math.exp(-50.0 * (alpha - 0.4712)), math.exp(50.0 * (alpha + 0.4712))
    sigma = (1 + low + high) / ((1 + low) * (1 + high))
    plate = 2.0 * math.copysign(1.0, alpha) * math.sin(alpha) ** 2 * math.cos(alpha)
    return (1.0 - sigma) * (0.28 + 3.45 * alpha) + sigma * plate - 0.36 * elevator, elevator


def test_stall():
    """An aircraft that slows down in level flight would stall at another speed than by its largest lift."""
    peak = minimize_scalar(lambda a: -aerosonde_lift(a)[0], bounds=(0.2, 0.6), method="bounded").x
    expected = math.sqrt(2.0 * 13.5 * G / (DENSITY * 0.55 * aerosonde_lift(peak)[0]))

    def law(t, state):
        """Raise the angle of attack slowly by the elevator, without thrust."""
        alpha, wanted = angle_of_attack(state), 0.25 + 0.02 * t
        elevator = aerosonde_lift(alpha)[1] + 3.0 * (alpha - wanted) - 1.5 * state.angular_velocity[1]
        return [0.0, np.clip(elevator, -0.5236, 0.5236), 0.0, 0.0, 0.0]

    # Its propeller would brake: this one has no force at rest.
    still = {"model": "quadratic", "thrust_constant": 1e-3, "moment_ratio": 0.0}
    vehicle = aerosonde(law, thrust_curve=still)
    found = trim(vehicle, 18.0, environment=AIR)
    seen = flown(vehicle, found, 12.0)
    velocity = np.array([s.velocity for s in seen])
    speed = np.linalg.norm(velocity, axis=1)
    pull = np.gradient(velocity, 1 / RATE, axis=0) + np.array([0.0, 0.0, G])
    across = pull - (pull * velocity).sum(axis=1, keepdims=True) * velocity / speed[:, None] ** 2
    lift = np.linalg.norm(across, axis=1)
    # Speed at the largest lift coefficient by the root of the load factor: the stall speed at 1 g.
    flown_speed = (speed / np.sqrt(lift / G))[int(RATE) :].min()
    assert flown_speed == pytest.approx(expected, rel=0.01)
    assert max(angle_of_attack(s) for s in seen) > peak
    assert stall_speed(vehicle, environment=AIR) == pytest.approx(expected, rel=1e-3)


GAINING = {"tailsitter": 0.02}
"""Largest shares of states in which formulas of Gazebo give energy: `lift_drag` with `cm_delta`."""


@cache
def winged():
    """Return the shipped vehicles with surfaces, by name."""
    made = {name: Multirotor(name) for name in names("vehicles")}
    return {name: vehicle for name, vehicle in made.items() if vehicle.machines[0].surfaces}


def power(machine, velocity, rate, angles):
    """Return the power of all loads in still air with rotors at rest [W], and the sum of its parts' sizes."""
    effects = no_effects(len(machine.elements), len(machine.channels))
    level, speeds = Quat(0.0, 0.0, 0.0, 1.0), (0.0,) * len(machine.elements)
    flow = flow_of(machine, Air(NO_VECTOR, 1.2), effects, level, velocity)
    shares = effects.thrust_share, effects.torque_share
    turned = posed(machine, angles)
    loads = loads_of(turned, *shares, None, flow, NO_VECTOR, level, rate, speeds, angles)
    pushed = dot(loads.rotor_force + loads.drag_force, velocity)
    turning = dot(loads.rotor_torque + loads.drag_torque, rate)
    return pushed + turning, magnitude(pushed) + magnitude(turning)


@pytest.mark.parametrize("name", sorted(winged()))
def test_still_air_gives_no_energy(name):
    """An aircraft with resting rotors would gain energy from still air, in any motion."""
    machine = winged()[name].machines[0]
    count, rng = 10_000, np.random.default_rng(3)
    velocity = rng.normal(size=(count, 3)) * np.exp(rng.uniform(-1.0, 3.0, (count, 1)))
    rate = rng.normal(size=(count, 3)) * np.exp(rng.uniform(-4.0, 1.5, (count, 1)))
    limits = [machine.channels[joint.channel] for joint in machine.joints]
    angles = rng.uniform([c.low for c in limits], [c.high for c in limits], (count, len(limits)))
    model = uniform("machine", machine)
    inputs = column("velocity", Vec3), column("rate", Vec3), column("angles", float, len(limits))
    results = {"gained": np.zeros((count, 1)), "size": np.zeros((count, 1))}
    arrays = {"velocity": velocity, "rate": rate, "angles": angles, **uniform_values(model), **results}
    program_of(power, model, *inputs, outputs=tuple(results), count=count).launch(arrays, count)()
    assert np.median(results["size"]) > 1e-3
    gains = results["gained"] > 1e-12 * results["size"]
    assert gains.mean() <= GAINING.get(name, 0.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"center_of_mass": (0.0, 2.0, 0.0)},
            r"surfaces: cannot be trimmed at any airspeed; at .* m/s .* upward",
        ),
        (
            {"mass": 1e5},
            "surfaces: cannot be trimmed at any airspeed; at 300 m/s the wings lift .* N at most",
        ),
    ],
)
def test_aircraft_that_cannot_fly(fields, message):
    """An aircraft that can be trimmed at no speed would join a simulation, and fall."""
    with pytest.raises(ConfigError, match=message), Simulation("flat") as sim:
        sim.add(aerosonde(**fields))


def test_a_heavy_nose_glides():
    """An aircraft that only a fast glide with its elevator at the limit carries would be refused."""
    with Simulation("flat") as sim:
        sim.add(aerosonde(center_of_mass=(0.3, 0.0, 0.0)))


def test_speeds_that_cannot_be_trimmed():
    """A speed below stall, or without enough thrust, would give a trim, or no reason."""
    plane = Multirotor("plane")
    with pytest.raises(
        ConfigError,
        match=r"'plane': cannot be trimmed at 5 m/s: the wings lift 5.569 N at most, it weighs 14.91 N",
    ):
        trim(plane, 5.0)
    with pytest.raises(ConfigError, match=r"at 26 m/s: .* N too little force along the flight"):
        trim(plane, 26.0)
    with pytest.raises(ConfigError, match=r"at 25 m/s: the wings lift .* N at most, the turn needs .* N"):
        trim(aerosonde(), 25.0, 0.0, 2.0)
