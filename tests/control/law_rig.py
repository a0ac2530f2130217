"""Rig of the laws of winged vehicles: random rows of their columns, in Python and compiled."""

from dataclasses import fields

import numpy as np

from pegasus import Aircraft, Simulation
from pegasus.base.step_math import Quat, Vec3
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.base.tracing.launches import program_of
from pegasus.contracts.state import Reference
from pegasus.control.fixed_wing.legs import Leg
from pegasus.control.mission_step import Motion, arrays_of, setpoint_arrays

STEP = 0.004
_KINDS = {(): float, (3,): lambda v: Vec3(*v), (4,): lambda v: Quat(*v)}


def bound(pilot, model):
    """Return the number of channels of a vehicle to which a controller is bound."""
    with Simulation("flat") as sim:
        return sim.add(Aircraft(model, sensors={}, backends=[pilot])).columns["command"].shape[1]


def scattered(count, kinds, seed, speed=12.0):
    """Return random rows of `Motion`, of other classes by name, and of the air.

    Args:
        count: Number of rows.
        kinds: Classes by the names of their columns.
        seed: Seed.
        speed: Speed ahead [m/s].
    """
    rng, columns = np.random.default_rng(seed), {}
    for name, kind in {"motion": Motion, **kinds}.items():
        columns |= {f"{name}.{key}": array for key, array in arrays_of(kind, count).items()}
    for array in columns.values():
        array[...] = rng.normal(size=array.shape) * 3.0
    columns["motion.velocity"] += (speed, 0.0, 0.0)
    columns["motion.orientation"] += (0.0, 0.0, 0.0, 6.0)
    columns["motion.orientation"] /= np.linalg.norm(columns["motion.orientation"], axis=1, keepdims=True)
    for name in {"leg.start", "leg.end", "motion.position"} & set(columns):
        columns[name] *= 30.0
    columns["wind"], columns["gravity"] = rng.normal(size=(count, 3)), np.tile([0.0, 0.0, -9.8], (count, 1))
    columns["air_density"] = np.full(count, 1.2)
    return columns


def row(kind, name, columns, k):
    """Return row k of the columns of a class."""
    found = {f.name: columns[f"{name}.{f.name}"] for f in fields(kind)}
    return kind(**{key: _KINDS[a.shape[1:]](a[k].tolist()) for key, a in found.items()})


def flown(law, state, pilot, columns, width):
    """Return rows of commands, ends of legs and states by name: those of Python, and those compiled.

    Args:
        law: `plane_law` or `vtol_law`.
        state: Class of its state.
        pilot: Controller with `gains` and `figures`.
        columns: Columns of `leg`, `motion`, `state`, and the air; the states are replaced.
        width: Number of channels.
    """
    count = len(columns["air_density"])
    expected = [
        law(
            *(pilot.gains, pilot.figures, row(Leg, "leg", columns, k), row(Motion, "motion", columns, k)),
            *(Vec3(*columns["wind"][k].tolist()), 1.2, Vec3(*columns["gravity"][k].tolist())),
            *(row(state, "state", columns, k), STEP),
        )
        for k in range(count)
    ]
    given = uniform("own", pilot.gains), uniform("p", pilot.figures)
    arguments = (
        *(*given, column("leg", Leg), column("motion", Motion), column("wind", Vec3), column("air_density")),
        *(column("gravity", Vec3), column("state", state), uniform("elapsed", 0.0)),
    )
    outputs = ("command", "setpoint", "state", "over", "event", "fault")
    arrays = {**columns, **setpoint_arrays(Reference.hold(np.zeros((count, 3)), np.zeros(count)))}
    arrays |= {name: value for one in given for name, value in uniform_values(one).items()}
    arrays |= {"command": np.zeros((count, width)), "over": np.zeros(count), "elapsed": np.full(1, STEP)}
    arrays |= {"event": np.zeros(1), "fault": np.zeros(1)}
    program_of(law, *arguments, outputs=outputs, count=count).launch(arrays, count).run()
    assert not arrays["fault"].any()
    python = {"command": [made[0] for made in expected], "over": [float(made[3]) for made in expected]}
    for f in fields(state):
        values = [getattr(made[2], f.name) for made in expected]
        python[f.name] = [[v[j] for j in range(3)] if isinstance(v, Vec3) else v for v in values]
    compiled = {"command": arrays["command"], "over": arrays["over"]}
    return python, compiled | {f.name: columns[f"state.{f.name}"] for f in fields(state)}
