"""Step of a vehicle as a function of state, rotor speeds and commands, with the rest as literals."""

from typing import Any

import numpy as np

from pegasus import Multirotor
from pegasus.base.step_math import Quat, Real, Reals, Vec3
from pegasus.base.tracing import Trace, column, trace
from pegasus.step.integrator import advance
from pegasus.step.values import Air, Inputs, State

STATE = ("position", "orientation", "velocity", "angular_velocity")
KINDS = {"position": Vec3, "orientation": Quat, "velocity": Vec3, "angular_velocity": Vec3}


def step_of(vehicle: Multirotor, dt: float) -> Any:
    """Return the step of a vehicle as a function of its state, rotor speeds and commands."""
    (machine,) = vehicle.machines
    zero = Vec3(0.0, 0.0, 0.0)
    fastest = vehicle.motor.max_speed

    def step(
        position: Vec3, orientation: Quat, velocity: Vec3, turning: Vec3, speeds: Reals, command: Reals
    ) -> tuple[Vec3, Quat, Vec3, Vec3, Reals]:
        state = State(position, orientation, velocity, turning, speeds, (zero,) * len(speeds), ())
        inputs = Inputs(command, 0.0, fastest, 0.0, Vec3(0.0, 0.0, -9.80665), zero, zero)
        end = advance(machine, state, inputs, Air(zero, 1.225), None, None, None, Real(dt))
        return (
            end.free_position,
            end.free_orientation,
            end.free_velocity,
            end.free_angular_velocity,
            end.rotor_speed,
        )

    return step


def step_trace(vehicle: Multirotor, dt: float) -> Trace:
    """Return the trace of the step of a vehicle, whose outputs are the next inputs."""
    rotors = vehicle.rotor_count
    speeds = [column("rotor_speed", float, rotors), column("command", float, rotors)]
    arguments = [*(column(name, KINDS[name]) for name in STATE), *speeds]
    return trace(step_of(vehicle, dt), *arguments, outputs=(*STATE, "rotor_speed"))


def flying(vehicle: Multirotor, count: int, seed: int = 1) -> dict[str, Any]:
    """Return columns of vehicles in flight near hover."""
    rng, rotors = np.random.default_rng(seed), vehicle.rotor_count
    weight = np.full((1, 1), vehicle.mass * 9.80665 / rotors)
    hover = vehicle.thrust_curve.rotor_speed(weight, np.full((1, 1), 1.225))[0, 0]
    attitude = rng.normal(np.array([0.0, 0.0, 0.0, 1.0]), 0.1, (count, 4))
    return {
        "position": rng.normal(np.array([0.0, 0.0, 50.0]), 1.0, (count, 3)),
        "orientation": attitude / np.linalg.norm(attitude, axis=1, keepdims=True),
        "velocity": rng.normal(0.0, 1.0, (count, 3)),
        "angular_velocity": rng.normal(0.0, 0.5, (count, 3)),
        "rotor_speed": hover * rng.uniform(0.8, 1.2, (count, rotors)),
        "command": hover * rng.uniform(0.95, 1.05, (count, rotors)),
    }
