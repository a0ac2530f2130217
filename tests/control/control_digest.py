"""Print digests of trajectories, allocations and controllers as JSON, for `test_processors`."""

import hashlib
import json
import math
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from pegasus import Aircraft, Simulation
from pegasus.base.elementary import cos, sin
from pegasus.base.tracing import uniform, uniform_values
from pegasus.contracts.state import VehicleState
from pegasus.control import (
    Allocation,
    CascadedPIDController,
    GeometricController,
    PlaneController,
    Reference,
    VtolController,
    trajectories,
)
from pegasus.control.trajectories.spline import Spline, bridge
from pegasus.dynamics import IdealMotor, PropellerThrust
from pegasus.environment import Environment
from pegasus.model.airframe import Airframe
from pegasus.model.multirotor import rotor_channels

POINTS = ((0.0, 0.0, 1.0), (5.0, 0.0, 2.0), (5.0, 6.0, 2.0), (-1.0, 4.0, 3.0), (0.0, 0.0, 1.5))
GATES = [
    trajectories.Gate((0.0, 0.0, 2.0), 0.3, radius=1.0),
    trajectories.Gate((6.0, 3.0, 2.5), 1.2, radius=0.9),
]


def ring(count):
    """Return points of a wavy ring, the same ones on every processor."""
    angles = [2 * math.pi * k / count for k in range(count)]
    return tuple((8 * cos(a), 5 * sin(2 * a), 3 + sin(3 * a)) for a in angles)


def wave(t):
    """Return a place on a curve, the same one on every processor."""
    return 3 * cos(t), 2 * sin(1.7 * t), 2 + 0.3 * sin(0.6 * t)


def recorded():
    """Return the track of a file with positions and headings rounded to millimetres and milliradians."""
    rows = [(0.01 * k, *wave(0.01 * k), 0.8 * sin(0.01 * k)) for k in range(600)]
    lines = [",".join(f"{value:.3f}" for value in row) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "track.csv"
        file.write_text("time,x,y,z,yaw\n" + "\n".join(lines))
        return trajectories.csv(file)


def flights():
    """Return what is sampled, by name."""
    return {
        "waypoints": trajectories.waypoints(POINTS, yaw="forward"),
        "many waypoints": trajectories.waypoints(ring(140)),
        "minimum_snap": trajectories.minimum_snap(POINTS),
        "two points": trajectories.minimum_snap(POINTS[:2]),
        "ring": trajectories.minimum_snap(ring(7), closed=True, yaw="forward"),
        "velocities": trajectories.minimum_snap(POINTS, velocities=(None, (1.0, 3.0, 0.0), None, None, None)),
        "race_line": trajectories.race_line(GATES),
        "circle": trajectories.circle(radius=3.0, yaw="forward"),
        "lemniscate": trajectories.lemniscate(radius=3.0),
        "relay": trajectories.relay(heading=0.7, yaw="forward"),
        "headings": trajectories.waypoints(POINTS, stop=True, yaw="forward"),
        "square": trajectories.square(side=3.0),
        "function": trajectories.function(wave, duration=6.0),
        "recorded": recorded(),
    }


def motion_of(flight):
    times = np.array([flight.duration * k / 97 for k in range(98)])
    return [flight.samples(times)[0], *(flight.complete(t).motion for t in times.tolist())]


def allocations():
    """Return thrusts of random wrenches on random airframes, one row at a time and together."""
    rng = np.random.default_rng(1)
    together, alone = [], []
    for _ in range(20):
        count = int(rng.integers(4, 9))
        angles = [2 * math.pi * (k + rng.uniform(-0.2, 0.2)) / count for k in range(count)]
        layout = SimpleNamespace(
            position=np.array([[0.3 * cos(a), 0.3 * sin(a), 0.02] for a in angles]),
            axis=np.tile([0.0, 0.0, 1.0], (count, 1)),
            spin=np.where(np.arange(count) % 2, 1.0, -1.0),
        )
        products = np.array([[0.03, 0.001, 0.002], [0.001, 0.03, -0.001], [0.002, -0.001, 0.05]])
        allocation = Allocation(layout, rng.uniform(-0.01, 0.01, 3), 0.05, products)
        wanted = np.concatenate(
            [np.zeros((5, 2)), rng.uniform([5, -1, -1, -1], [30, 1, 1, 1], (5, 4))], axis=1
        )
        together.append(allocation.allocate(wanted, np.full((5, 1), 0.1), np.full((5, 1), 6.0)))
        one = np.full((1, 1), 0.1), np.full((1, 1), 6.0)
        alone.append(np.concatenate([allocation.allocate(row[None], *one) for row in wanted]))
    return together, alone


def control(rows):
    """Return the rotor speeds of every shipped controller for some of five vehicles, over several steps."""
    rng = np.random.default_rng(2)
    spins = np.where(np.arange(6) % 2, 1.0, -1.0)
    angles = [math.pi / 3 * k for k in range(6)]
    vehicle = SimpleNamespace(
        name="iris",
        count=len(rows),
        rotor_count=6,
        channels=rotor_channels(IdealMotor(max_speed=900.0), 6),
        mass=1.5,
        inertia=np.array([[0.03, 0.001, 0.002], [0.001, 0.03, -0.001], [0.002, -0.001, 0.05]]),
        center_of_mass=np.array([0.01, -0.005, 0.0]),
        layout=SimpleNamespace(
            position=np.array([[0.3 * cos(a), 0.3 * sin(a), 0.02] for a in angles]),
            axis=np.tile([0.0, 0.0, 1.0], (6, 1)),
            spin=spins,
        ),
        thrust_curve=PropellerThrust(diameter=0.25, thrust_coefficient=0.11, power_coefficient=0.05),
        motor=IdealMotor(max_speed=900.0),
        parameters=[SimpleNamespace(rotor_inertia=0.0, airframe=Airframe())],
        environment=Environment(),
        drag=None,
        file=None,
        estimator=None,
    )
    found = []
    for kind in (GeometricController, CascadedPIDController):
        controller = kind(trajectories.hold(height=1.0))
        controller.bind(vehicle)
        for _ in range(20):
            state, reference = VehicleState.at_rest(5, 6), Reference.hold(np.zeros((5, 3)), np.zeros(5))
            for array in (state.position, state.velocity, state.angular_velocity, reference.acceleration):
                array[:] = rng.uniform(-2.0, 2.0, (5, 3))
            reference.yaw[:] = rng.uniform(-3.0, 3.0, 5)
            state.orientation[:] = [0.1, -0.3, 0.1, 0.9433981132056604]
            chosen = VehicleState(**{name: array[rows].copy() for name, array in vars(state).items()})
            wanted = Reference(**{n: a[rows].copy() for n, a in vars(reference).items() if n != "segment"})
            found.append(controller.rotor_speed(chosen, wanted, 0.004))
    return found


def winged():
    """Return the figures and gains of planes and VTOLs."""
    pilots = {
        "plane": PlaneController(),
        "variable_pitch_plane": PlaneController(),
        "tailsitter": VtolController(),
    }
    with Simulation("flat") as sim:
        for k, (name, pilot) in enumerate(pilots.items()):
            sim.add(Aircraft(name, sensors={}, position=(0.0, 20.0 * k, 0.5), backends=[pilot]))
    numbers = [uniform("p", made) for pilot in pilots.values() for made in (pilot.figures, pilot.gains)]
    return [array for made in numbers for array in uniform_values(made).values()]


def digest(values):
    return hashlib.sha256(
        b"".join(np.ascontiguousarray(v, dtype=np.float64).tobytes() for v in values)
    ).hexdigest()


def found():
    """Return the digests by name."""
    together, alone = allocations()
    made = {name: digest(motion_of(flight)) for name, flight in flights().items()}
    rows = bridge(
        [(0, 0, 1), (1, 0, 0), (0, 0.5, 0), (0, 0, 0)],
        [(6, 2, 2), (0, 1, 0), (0, 0, 0), (0, 0, 1)],
        speed=2,
        acceleration=2,
    )
    made["bridge"] = digest([rows.at(rows.duration * k / 50) for k in range(51)])
    table = Spline(ring(30), np.full(29, 0.1), free_ends=True)
    made["free ends"] = digest([table.at(table.duration * k / 50) for k in range(51)])
    made |= {"allocated together": digest(together), "allocated alone": digest(alone)}
    alone = [control([row]) for row in range(5)]
    made |= {
        "controlled together": digest(control(list(range(5)))),
        "controlled alone": digest(np.concatenate(step) for step in zip(*alone, strict=True)),
        "controlled in another order": digest(step[::-1] for step in control([4, 3, 2, 1, 0])),
    }
    made["winged"] = digest(winged())
    return made


if __name__ == "__main__":
    print(json.dumps(found()))
