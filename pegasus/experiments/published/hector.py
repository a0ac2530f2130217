"""Hector (Meyer et al. 2012): motor, propeller and drag of its parameter files, beside a wind tunnel."""

import math
from itertools import pairwise

import numpy as np

from pegasus.base.arrays import Array
from pegasus.config.scenario import WorldSpec
from pegasus.core.aircraft import Aircraft
from pegasus.core.model_wrench import MotionSamples, model_wrench
from pegasus.core.plant import Plant
from pegasus.core.simulation import Simulation
from pegasus.dynamics import Drag, ElectricMotor, LinearDrag, PolynomialThrust, QuadraticDrag
from pegasus.experiments.published.comparison import Entry, Panel, PublishedComparison

MASS, GRAVITY = 1.477, 9.81
"""Mass of the vehicle [kg], and the acceleration of free fall that it was tuned with [m/s^2]."""
EPP1045 = PolynomialThrust(
    coefficients=(0.0, 0.0, 1.538190483976698e-5),
    inflow_linear=-2.5224e-4,
    moment_ratio=0.015336864714397,
    moment_linear=-7.011631909766668e-5,
)
EPP1245 = PolynomialThrust(
    coefficients=(0.0, 0.0, 2.744543453e-5),
    inflow_linear=-4.53124519352203e-4,
    moment_ratio=0.01732804081,
)
MOTOR = ElectricMotor(
    torque_constant=0.007242179827506,
    resistance=0.201084219222241,
    voltage_gain=0.5492623447779,
    voltage_offset=0.104863758313889,
    nominal_voltage=12.0,
    max_speed=12.0,
    inertia=2.5730480633e-5,
)
"""Motor with the propeller EPP 10x4.5; a command of 1 rad/s is 1 V."""
STEADY = {8.0: (526.77, 4.268, 3.939), 10.0: (609.56, 5.715, 6.202), 12.0: (687.40, 7.268, 8.737)}
"""Speed [rad/s], thrust [N] and current [A] of a motor by its voltage [V], by the parameter files."""
FORCE_DRAG, TORQUE_DRAG = (0.12, 0.12, 0.1), (0.074156208, 0.074156208, 0.050643264)
"""Drag by squared velocity [N s^2/m^2] and by squared angular velocity [N m s^2] (paper, eq. 2)."""
TUNNEL = np.array(
    [
        *((0.0, 0.1185), (0.142, 0.0994), (0.177, 0.0944), (0.216, 0.0885), (0.255, 0.0829)),
        *((0.289, 0.0770), (0.325, 0.0719), (0.361, 0.0652), (0.399, 0.0582), (0.438, 0.0502)),
        *((0.468, 0.0441), (0.510, 0.0343), (0.534, 0.0288), (0.577, 0.0178), (0.612, 0.0083)),
    ]
)
"""Advance ratio and C_T of an APC Slow Flyer 10x4.7 at 4014 rpm, and at rest (UIUC propeller database)."""
_DIAMETER, _DENSITY = 0.254, 1.225
_STEP = 0.001
_TIMES = tuple(0.5 * k for k in range(17))
_HEIGHT = 9.0
_SIMILAR = "published: UIUC, APC SF 10x4.7; ours: EPP 10x4.5 of Hector's file"


def compare_hector() -> PublishedComparison:
    """Return speed, thrust and current over voltage, thrust over inflow, and drag, beside the published."""
    states, rise, course = _bench()
    coasting = _coasting()
    entries = [
        Entry(f"{name} at {voltage:g} V", unit, published, ours)
        for voltage, figures in STEADY.items()
        for (name, unit), published, ours in zip(
            (("rotor speed", "rad/s"), ("thrust of a rotor", "N"), ("current of a motor", "A")),
            figures,
            states[voltage],
            strict=True,
        )
    ]
    weight = np.array([[MASS * GRAVITY / 4]])
    hover = float(EPP1045.rotor_speed(weight, np.array([[_DENSITY]]))[0, 0])
    moving = TUNNEL[TUNNEL[:, 0] > 0]
    entries += [
        Entry("63 % of a step from 8 to 10 V", "s", 0.058, rise),
        Entry("rotor speed in hover", "rad/s", 485.28, hover),
        Entry("C_T at rest", "", float(TUNNEL[0, 1]), _coefficient(0.0), _SIMILAR),
        Entry("dC_T/dJ", "", _slope(moving), _coefficient(1.0) - _coefficient(0.0), _SIMILAR),
        *_drag_entries(float(coasting[-1])),
    ]
    return PublishedComparison(
        "Hector (Meyer et al. 2012), propulsion and drag", entries, _panels(states, course, coasting)
    )


def _stand(drag: Drag, **models: object) -> Aircraft:
    """Return a vehicle that is too heavy to move."""
    heavy = {"extends": "iris", "battery": None, "mass": 1e6, "inertia": [1e3, 1e3, 1e3]}
    return Aircraft(heavy, drag=drag, sensors={}, **models)  # type: ignore[arg-type]


def _bench() -> tuple[dict[float, tuple[float, float, float]], float, Array]:
    """Return the steady states by voltage, the rise time [s], and time and speed of the step to 10 V."""
    plant = Plant()
    plant.arrange([_stand(LinearDrag(coefficients=(0.0, 0.0, 0.0)), motor=MOTOR, thrust_curve=EPP1045)])
    columns = plant.columns
    columns["air_density"][...] = _DENSITY
    columns["highest_speed"][...] = MOTOR.max_speed
    states, rise, course = {}, math.nan, np.empty((0, 2))
    before = 0.0
    for voltage in STEADY:
        columns["command"][...] = voltage
        speeds = []
        for _ in range(3000):
            plant.advance(_STEP)
            speeds.append(float(columns["rotor_speed"][0, 0]))
        if voltage == 10.0:
            share = (np.array(speeds) - before) / (speeds[-1] - before)
            rise = float(np.interp(1 - math.exp(-1), share, _STEP * np.arange(1, len(share) + 1)))
            course = np.column_stack([_STEP * np.arange(1, 301), speeds[:300]])
        before = speeds[-1]
        thrust = float(columns["rotor_force"][0, 2]) / 4
        states[voltage] = (before, thrust, float(columns["electrical_power"][0]) / 4 / voltage)
    return states, rise, course


def _coefficient(ratio: float) -> float:
    """Return C_T of the EPP 10x4.5 as a propeller's, at an advance ratio v / (n D)."""
    turns = 100.0
    inflow = ratio * turns * _DIAMETER
    speed = np.array([[2 * math.pi * turns]])
    thrust, _ = EPP1045.thrust(speed, np.array([[inflow]]), np.array([[_DENSITY]]))
    return float(thrust[0, 0]) / (_DENSITY * turns**2 * _DIAMETER**4)


def _slope(table: Array) -> float:
    """Return the slope of the line through points with the least squares."""
    x, y = table[:, 0] - table[:, 0].mean(), table[:, 1] - table[:, 1].mean()
    return float((x * y).sum() / (x * x).sum())


def _drag(density: float) -> QuadraticDrag:
    """Return the drag whose areas give the published coefficients at an air density [kg/m^3]."""
    return QuadraticDrag(
        areas=tuple(2 * c / density for c in FORCE_DRAG),  # type: ignore[arg-type]
        angular_coefficients=TORQUE_DRAG,
    )


def _drag_entries(left: float) -> list[Entry]:
    """Return force and torque of the drag, and the speed that it leaves in a flight of eight seconds."""
    samples = MotionSamples(
        position=np.zeros((1, 3)),
        orientation=np.array([[0.0, 0.0, 0.0, 1.0]]),
        velocity=np.array([[6.0, 0.0, 8.0]]),
        angular_velocity=np.array([[0.0, 3.0, 4.0]]),
        rotor_speed=np.zeros((1, 4)),
        rotor_acceleration=np.zeros((1, 4)),
    )
    force, torque = model_wrench(_stand(_drag(_DENSITY), thrust_curve=EPP1045), samples, air_density=_DENSITY)
    return [
        Entry("drag at (6, 0, 8) m/s along x", "N", -0.12 * 10 * 6, float(force[0, 0])),
        Entry("drag at (6, 0, 8) m/s along z", "N", -0.1 * 10 * 8, float(force[0, 2])),
        Entry("drag torque at (0, 3, 4) rad/s about y", "N m", -0.074156208 * 5 * 3, float(torque[0, 1])),
        Entry("drag torque at (0, 3, 4) rad/s about z", "N m", -0.050643264 * 5 * 4, float(torque[0, 2])),
        Entry("speed left of 10 m/s after 8 s, no lift", "m/s", float(_left(np.array([8.0]))[0]), left),
    ]


def _left(time: Array) -> Array:
    """Return the speed that the drag leaves of 10 m/s along x, v / (1 + C v t / m) [m/s], shape (T,)."""
    left: Array = 10.0 / (1 + FORCE_DRAG[0] * 10.0 * time / MASS)
    return left


def _coasting() -> Array:
    """Return the speeds at `_TIMES` of a flight from 10 m/s without gravity, in simulation [m/s]."""
    still = {"model": "uniform", "acceleration": 0.0}
    world = WorldSpec(name="flat", generator={"model": "flat"}, gravity=still)
    with Simulation(world, rate=250) as sim:
        altitude = np.array([sim.environment.origin.altitude + _HEIGHT])
        drag = _drag(float(sim.environment.atmosphere.air(altitude).density[0]))
        model = {"extends": "iris", "battery": None, "mass": MASS}
        parts = {"drag": drag, "thrust_curve": EPP1045}
        vehicle = sim.add(Aircraft(model, **parts, sensors={}, position=(0, 0, _HEIGHT)))  # type: ignore[arg-type]
        sim.play()
        vehicle.place((0, 0, _HEIGHT), velocity=(10.0, 0.0, 0.0))
        found = [10.0]
        for before, time in pairwise(_TIMES):
            sim.run(time - before)
            found.append(float(vehicle.state.velocity[0, 0]))
    return np.array(found)


def _panels(states: dict[float, tuple[float, float, float]], course: Array, coasting: Array) -> list[Panel]:
    ratio = np.linspace(-0.2, 0.7, 46)
    voltages = np.array(list(STEADY))
    travelled = ratio * _DIAMETER / (2 * math.pi)
    published = [
        c + d * travelled
        for c, d in ((1.538190483976698e-5, -2.5224e-4), (2.744543453e-5, -4.53124519352203e-4))
    ]
    speed, still = np.full((1, len(ratio)), 600.0), np.array([[_DENSITY]])
    ours = [
        curve.thrust(speed, 600.0 * travelled[None], still)[0][0] / 600.0**2 for curve in (EPP1045, EPP1245)
    ]
    per_turn = _DENSITY * _DIAMETER**4 / (2 * math.pi) ** 2
    times = np.array(_TIMES)
    return [
        Panel(
            "Thrust by squared speed over v / w (paper, eq. 8 and fig. 2a)",
            "v / w [m/rad]",
            "F / w^2 [N/(rad/s)^2]",
            [
                ("eq. 8, EPP 10x4.5", travelled[::5], published[0][::5]),
                ("eq. 8, EPP 12x4.5", travelled[::5], published[1][::5]),
                ("UIUC, APC SF 10x4.7", TUNNEL[:, 0] * _DIAMETER / (2 * math.pi), TUNNEL[:, 1] * per_turn),
            ],
            [("EPP 10x4.5", travelled, ours[0]), ("EPP 12x4.5", travelled, ours[1])],
        ),
        Panel(
            "Steady states of motor and propeller",
            "voltage [V]",
            "thrust [N], current [A]",
            [
                ("thrust", voltages, np.array([s[1] for s in STEADY.values()])),
                ("current", voltages, np.array([s[2] for s in STEADY.values()])),
            ],
            [
                ("thrust", voltages, np.array([states[v][1] for v in STEADY])),
                ("current", voltages, np.array([states[v][2] for v in STEADY])),
            ],
        ),
        Panel(
            "Step from 8 to 10 V",
            "time [s]",
            "rotor speed [rad/s]",
            [("63 %", np.array([0.058]), np.array([526.77 + (1 - math.exp(-1)) * (609.56 - 526.77)]))],
            [("EPP 10x4.5", course[:, 0], course[:, 1])],
        ),
        Panel(
            "Speed in free flight without lift (paper, eq. 2a)",
            "time [s]",
            "speed [m/s]",
            [("closed form", times, _left(times))],
            [("simulation", times, coasting)],
        ),
    ]
