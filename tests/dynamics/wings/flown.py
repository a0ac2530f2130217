"""Flights of aircraft in a simulation, far above the ground, and an independent Aerosonde."""

import math
from types import SimpleNamespace

import numpy as np

from pegasus import Backend, Simulation
from tests.dynamics.wings.aerosonde import RHO, book_wrench

HEIGHT = 400.0
RATE = 250.0


class Held(Backend):
    """Backend that commands channels by a function of time and state, and records the states."""

    drives = True

    def __init__(self, law):
        self.law, self.seen = law, []

    def publish(self, t, state, readings):
        self.state = state
        kept = {name: getattr(state, name)[0].copy() for name in ("position", "velocity", "angular_velocity")}
        self.seen.append(SimpleNamespace(t=t, rotation=state.rotation[0].copy(), **kept))

    def command(self, t):
        return np.asarray(self.law(t, self.seen[-1]), dtype=np.float64)[None]


def flown(vehicle, found, duration, *, speed=0.0, rate=(0.0, 0.0, 0.0)):
    """Fly a vehicle, whose backend is a `Held`, from its trim and return the states at each step.

    Args:
        vehicle: The vehicle.
        found: Its trim.
        duration: Time [s].
        speed: Airspeed beyond that of the trim [m/s].
        rate: Angular velocity beyond that of the trim [rad/s].
    """
    with Simulation("flat", rate=RATE) as sim:
        sim.add(vehicle)
        rotors = vehicle.rotor_count
        vehicle.columns["rotor_speed"][:] = found.command[:rotors]
        vehicle.columns["joint_angle"][:] = found.command[rotors:]
        path = np.array([math.cos(found.climb), 0.0, math.sin(found.climb)])
        vehicle.place(
            (0.0, 0.0, HEIGHT),
            orientation=found.orientation,
            velocity=(found.airspeed + speed) * path,
            angular_velocity=found.angular_velocity + rate,
        )
        sim.run(duration)
    (driver,) = vehicle.backends
    return driver.seen


def angle_of_attack(state):
    """Return the angle of attack of a state [rad]."""
    x, _y, z = state.rotation.T @ state.velocity
    return math.atan2(-z, x)


def book_rates(x, controls, density, mass=13.5, g=9.80665):
    """Return the rates of u, v, w, p, q, r, phi, theta by the book's chapters 3 and 4, forward, right, down.

    Args:
        x: These states.
        controls: Elevator, aileron, rudder [rad] and throttle.
        density: Air density [kg/m^3]; the thrust is that at the book's.
        mass: Mass [kg].
        g: Acceleration of free fall [m/s^2].
    """
    velocity, (p, q, r), phi, theta = x[:3], x[3:6], x[6], x[7]
    turned = np.array([1, -1, -1])
    wrench = book_wrench(velocity * turned, x[3:6] * turned, controls[:3]) * density / RHO
    force, torque = wrench[:3] * turned, wrench[3:] * turned
    airspeed = math.sqrt(velocity @ velocity)
    force[0] += 0.5 * RHO * 0.2027 * ((80.0 * controls[3]) ** 2 - airspeed**2)
    weight = [-math.sin(theta), math.cos(theta) * math.sin(phi), math.cos(theta) * math.cos(phi)]
    J = np.array([[0.8244, 0.0, -0.1204], [0.0, 1.135, 0.0], [-0.1204, 0.0, 1.759]])
    linear = force / mass + g * np.array(weight) - np.cross(x[3:6], velocity)
    angular = np.linalg.solve(J, torque - np.cross(x[3:6], J @ x[3:6]))
    level = p + math.tan(theta) * (q * math.sin(phi) + r * math.cos(phi))
    return np.array([*linear, *angular, level, q * math.cos(phi) - r * math.sin(phi)])


def book_state(found):
    """Return states and controls of `book_rates` of a trim of the Aerosonde."""
    throttle, elevator, left, right, rudder = found.command / [800.0, 1, 1, 1, 1]
    turned = np.array([1, -1, -1])
    state = [*found.velocity * turned, *found.angular_velocity * turned, found.roll, found.pitch]
    return np.array(state), np.array([elevator, 0.5 * (left - right), rudder, throttle])
