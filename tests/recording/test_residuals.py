"""Tests of the residuals of models over recorded flights, by formulas and by files of our own flights."""

import json
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

import yaml

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.step_math import Vec3
from pegasus.control import GeometricController, trajectories
from pegasus.core.model_wrench import MotionSamples, measured_wrench, model_wrench
from pegasus.environment import UsStandardAtmosphere1976
from pegasus.recording import read_neurobem, wrench_residuals
from pegasus.recording.flight_data import NEUROBEM_COLUMNS

# An offset centre of mass, a tilted rotor, heavy propellers.
VEHICLE = {
    "name": "odd",
    "mass": 0.8,
    "inertia": [0.003, 0.0025, 0.005, 0.0002, -0.0001, 0.0003],
    "center_of_mass": [0.01, -0.006, 0.004],
    "propeller": {"diameter": 0.13, "inertia": 2e-5},
    "rotors": [
        {"position": [0.08, 0.1, 0.02], "direction": "cw", "axis": [0.1, 0.0, 1.0]},
        {"position": [-0.08, 0.1, 0.02], "direction": "ccw"},
        {"position": [-0.08, -0.1, 0.02], "direction": "cw"},
        {"position": [0.08, -0.1, 0.02], "direction": "ccw"},
    ],
    "motor": {
        "model": "first_order",
        "time_constant_up": 0.03,
        "time_constant_down": 0.03,
        "max_speed": 3000.0,
    },
    "thrust_curve": {
        "model": "polynomial",
        "coefficients": [0.0, 0.0, 1.6e-6],
        "inflow_linear": -4e-5,
        "moment_ratio": 0.013,
    },
    "drag": {"model": "quadratic", "areas": [0.01, 0.012, 0.02], "angular_coefficients": [1e-4, 1e-4, 2e-4]},
    "sensors": {},
}
DENSITY = float(UsStandardAtmosphere1976().air(np.array([95.0])).density[0])
"""Air density of the flight, 5 m over an origin at 90 m [kg/m^3]."""
COLUMN_OF_ROTOR = (3, 2, 0, 1)
"""Column of `mot 1` to `mot 4` of each rotor above: back right, front right, back left, front left."""


def wrench_by_hand(samples, density):
    """Return force and torque about the centre of mass by the formulas of docs/vehicles.md, body frame."""
    c = np.array(VEHICLE["center_of_mass"])
    w = samples.angular_velocity
    air = samples.velocity + np.cross(w, c)
    speed = np.linalg.norm(air, axis=1, keepdims=True)
    force = -0.5 * density * np.array(VEHICLE["drag"]["areas"]) * speed * air
    turning = np.linalg.norm(w, axis=1, keepdims=True)
    torque = -np.array(VEHICLE["drag"]["angular_coefficients"]) * turning * w
    momentum, change = np.zeros_like(w), np.zeros_like(w)
    for k, rotor in enumerate(VEHICLE["rotors"]):
        axis = np.array(rotor.get("axis", [0.0, 0.0, 1.0]))
        axis /= np.linalg.norm(axis)
        spin = 1.0 if rotor["direction"] == "ccw" else -1.0
        arm = np.array(rotor["position"]) - c
        inflow = (air + np.cross(w, arm)) @ axis
        thrust = 1.6e-6 * samples.rotor_speed[:, k] ** 2 - 4e-5 * inflow * samples.rotor_speed[:, k]
        force = force + thrust[:, None] * axis
        torque = torque + np.cross(arm, thrust[:, None] * axis) - spin * 0.013 * thrust[:, None] * axis
        momentum += 2e-5 * spin * samples.rotor_speed[:, k, None] * axis
        change += 2e-5 * spin * samples.rotor_acceleration[:, k, None] * axis
    return force, torque - np.cross(w, momentum) - change


def test_wrench_of_the_models_against_formulas():
    """A rotor, a lever arm, a sign of the spin or the momentum of the rotors would be wrong at an instant."""
    rng = np.random.default_rng(3)
    samples = MotionSamples(
        position=rng.normal(size=(40, 3)),
        orientation=Rotation.random(40, random_state=1).as_quat(),
        velocity=rng.normal(0, 8, (40, 3)),
        angular_velocity=rng.normal(0, 5, (40, 3)),
        rotor_speed=rng.uniform(300, 2500, (40, 4)),
        rotor_acceleration=rng.normal(0, 1e4, (40, 4)),
    )
    vehicle = Multirotor(VEHICLE, count=40)
    found = model_wrench(vehicle, samples, air_density=1.1)
    for ours, by_hand in zip(found, wrench_by_hand(samples, 1.1), strict=True):
        np.testing.assert_allclose(ours, by_hand, rtol=1e-11, atol=1e-11)
    # Newton and Euler about the origin of the body frame: the measured wrench moved there.
    specific, turning = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    force, torque = measured_wrench(vehicle, samples, specific, turning)
    c, w = vehicle.center_of_mass, samples.angular_velocity
    about_origin = vehicle.inertia + vehicle.mass * ((c @ c) * np.eye(3) - np.outer(c, c))
    expected = (
        turning @ about_origin.T + np.cross(w, w @ about_origin.T) + vehicle.mass * np.cross(c, specific)
    )
    np.testing.assert_allclose(torque + np.cross(c, force), expected, rtol=1e-11, atol=1e-12)


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Return a folder with a flight of our own in the published format, and vehicle files."""
    folder = tmp_path_factory.mktemp("flight")
    (folder / "flight.csv").write_text(flight_text(rate=2000, duration=4.0))
    (folder / "odd.yaml").write_text(yaml.safe_dump(VEHICLE))
    (folder / "heavier.yaml").write_text(yaml.safe_dump(VEHICLE | {"mass": 0.9}))
    return folder


def flight_text(*, rate, duration):
    """Fly a lemniscate of 5 m/s; return every fifth instant, with accelerations by central differences."""
    names = ("position", "orientation", "velocity", "angular_velocity", "rotor_speed")
    states = []
    with Simulation("flat", rate=rate) as sim:
        path = trajectories.lemniscate(radius=3.0, height=5.0, speed=5.0, acceleration=4.0)
        controller = GeometricController(path, relative=False)
        drone = sim.add(Multirotor(VEHICLE, position=(0, 0, 5.0), backends=[controller]))
        gravity = sim.environment.gravity_vector(np.array([[0.0, 0.0, 5.0]]))[0]
        for _ in range(round(duration * rate) + 3):
            sim.step()
            states.append((sim.time, *(getattr(drone.state, name)[0].copy() for name in names)))
    column = np.argsort(COLUMN_OF_ROTOR)
    lines = [",".join(NEUROBEM_COLUMNS)]
    for before, (t, x, q, v, w, speeds), after in list(zip(states, states[1:], states[2:], strict=False))[
        ::5
    ]:
        acceleration, turning, rates = (0.5 * rate * (after[k] - before[k]) for k in (3, 4, 5))
        turn = Rotation.from_quat(q)
        forces, body_velocity = turn.inv().apply(acceleration - gravity), turn.inv().apply(v)
        values = [t, *turning, *w, *q, *forces, *body_velocity, *x, *speeds[column], *rates[column], 16.0]
        lines.append(",".join(f"{value:.12g}" for value in values))
    return "\n".join(lines) + "\n"


def test_our_own_flight_leaves_no_residual(flown):
    """Reader, order of rotors, a frame or the reaction of the rotors would not be those of the flight."""
    flight = read_neurobem(flown / "flight.csv")
    found = wrench_residuals(flown / "odd.yaml", [flight], air_density=DENSITY)
    assert found.count == 1601
    assert found.size["F"] > 4.0
    assert found.size["M"] > 0.01
    # Central differences over 0.5 ms, and 12 digits.
    assert found.rmse["F"] < 1e-5 * found.size["F"]
    assert found.rmse["M"] < 1e-4 * found.size["M"]
    twice = wrench_residuals(flown / "odd.yaml", [flight, flight], air_density=DENSITY)
    assert twice.count == 2 * found.count
    assert twice.rmse == pytest.approx(found.rmse, rel=1e-9)


def test_residual_of_a_wrong_mass_is_that_of_the_mass(flown):
    """A mass 0.1 kg too large would not show as the force that accelerates 0.1 kg."""
    flight = read_neurobem(flown / "flight.csv")
    found = wrench_residuals(flown / "heavier.yaml", [flight], air_density=DENSITY)
    w, turning = flight.samples.angular_velocity, flight.angular_acceleration
    c = np.array(VEHICLE["center_of_mass"])
    at_center = flight.specific_force + np.cross(turning, c) + np.cross(w, np.cross(w, c))
    np.testing.assert_allclose(found.force, 0.1 * at_center, atol=2e-3)
    assert found.rmse["Fz"] == pytest.approx(0.1 * math.sqrt((at_center[:, 2] ** 2).mean()), rel=1e-4)
    assert found.rmse["F"] == pytest.approx(math.sqrt((0.01 * at_center**2).mean()), rel=1e-4)
    assert found.rmse["M"] < 1e-4 * found.size["M"]


def test_files_without_a_header_and_columns_in_another_order(flown, tmp_path):
    """The files of `predictions`, or a table with renamed quaternions, would be misread."""
    lines = (flown / "flight.csv").read_text().splitlines()
    (tmp_path / "bare.csv").write_text("\n".join(lines[1:]))
    (tmp_path / "predictions.csv").write_text(
        "\n".join(f"{line},{','.join(['9'] * 12)}" for line in lines[1:])
    )
    turned = [",".join(["note", *reversed(lines[0].replace("quat ", "q").split(","))])]
    turned += [",".join(["text", *reversed(line.split(","))]) for line in lines[1:]]
    (tmp_path / "turned.csv").write_text("\n".join(turned))
    whole = read_neurobem(flown / "flight.csv")
    for name in ("bare", "predictions", "turned"):
        other = read_neurobem(tmp_path / f"{name}.csv")
        assert (other.time == whole.time).all()
        assert (other.specific_force == whole.specific_force).all()
        for field in vars(whole.samples):
            assert (getattr(other.samples, field) == getattr(whole.samples, field)).all(), field


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:1], "must have at least two lines"),
        (lambda lines: [lines[0].replace("mot 3,", "engine 3,"), *lines[1:]], "has no column 'mot 3'"),
        (lambda lines: [lines[0], lines[1].replace("16", "16,1")], r"line 2 = '30 columns': must have 29"),
        (lambda lines: [lines[0], "x" + lines[1]], r"t of line 2 = 'x.*': must be a finite number"),
        (lambda lines: [*lines[:2], "nan" + lines[2][lines[2].index(",") :]], "t of line 3 = 'nan'"),
        (lambda lines: [*lines[:3], lines[1]], "t of line 4 = .*: must be later than the line before"),
        (
            lambda lines: [line.rpartition(",")[0] for line in lines[1:]],
            "line 1 = '28 columns': must have 29",
        ),
    ],
)
def test_wrong_files(flown, tmp_path, change, message):
    """A damaged file would be read with wrong figures, or end in a traceback."""
    lines = (flown / "flight.csv").read_text().splitlines()
    (tmp_path / "bad.csv").write_text("\n".join(change(lines[:6])))
    with pytest.raises(ConfigError, match=message) as error:
        read_neurobem(tmp_path / "bad.csv")
    assert str(error.value).startswith(str(tmp_path / "bad.csv"))
    assert "\n" not in str(error.value)


def test_wrong_quaternions_and_missing_files(flown, tmp_path):
    """A quaternion that is no rotation would scale all forces."""
    lines = (flown / "flight.csv").read_text().splitlines()[:3]
    cells = lines[2].split(",")
    cells[7:11] = ["0.5", "0.5", "0.5", "0.9"]
    (tmp_path / "bent.csv").write_text("\n".join([*lines[:2], ",".join(cells)]))
    with pytest.raises(ConfigError, match=r"quat x to w of line 3 = \[0.5.*: must be a unit quaternion"):
        read_neurobem(tmp_path / "bent.csv")
    with pytest.raises(ConfigError, match=r"none.csv: cannot be read: No such file"):
        read_neurobem(tmp_path / "none.csv")


def test_wrong_vehicles(flown):
    """Rotors would be mixed up where the vehicle has others than the flight, or a model be left out."""
    flight = read_neurobem(flown / "flight.csv")
    with pytest.raises(ConfigError, match=r"rotors = '6 rotors at .*: must have four rotors: front left"):
        wrench_residuals("typhoon_h", [flight])
    with pytest.raises(ConfigError, match=r"air_density = 0.0: must be above 0 kg/m\^3"):
        wrench_residuals("iris", [flight], air_density=0.0)


def test_other_laws_of_motor_and_thrust_curve(flown):
    """A vehicle whose laws are compiled in for it would have another wrench than by its own curve."""
    flight = read_neurobem(flown / "flight.csv")
    curve = {
        "model": "rotor",
        "diameter": 0.13,
        "flapping": 0.1,
        "induced_drag": 0.2,
        "advance_ratio": [0.0, 0.4, 0.8],
        "thrust_coefficient": [0.1, 0.07, 0.02],
        "power_coefficient": [0.05, 0.045, 0.03],
    }
    motor = {
        "model": "electric",
        "kv": 2000,
        "resistance": 0.1,
        "nominal_voltage": 16.0,
        "max_speed": 2500.0,
        "inertia": 1e-5,
    }
    level = {
        **VEHICLE,
        "rotors": [{k: v for k, v in rotor.items() if k != "axis"} for rotor in VEHICLE["rotors"]],
    }
    drone = Multirotor({**level, "motor": motor, "thrust_curve": curve, "drag": None}, count=len(flight.time))
    force, torque = model_wrench(drone, flight.samples, air_density=1.2)
    law, p = type(drone.thrust_curve).law, drone.thrust_curve.parameters()
    for k in (0, 700, 1600):
        w, air = flight.samples.angular_velocity[k], flight.samples.velocity[k]
        total = np.zeros(3)
        for arm, speed in zip(drone.layout.position, flight.samples.rotor_speed[k], strict=True):
            at_rotor = Vec3(*(air + np.cross(w, arm)).tolist())
            total += np.array(list(law(p, float(speed), at_rotor, 1.2)[0]))
        np.testing.assert_allclose(force[k], total, rtol=1e-10)
    # Propeller and motor, 3e-5 kg m^2 each, turn with the recorded rates.
    quiet = MotionSamples(
        **vars(flight.samples) | {"rotor_acceleration": 0 * flight.samples.rotor_acceleration}
    )
    without = model_wrench(drone, quiet, air_density=1.2)[1]
    spin = drone.layout.spin
    np.testing.assert_allclose(
        torque[:, 2] - without[:, 2], -3e-5 * flight.samples.rotor_acceleration @ spin, rtol=1e-9, atol=1e-15
    )


def test_the_command(flown, capsys, monkeypatch):
    """The command would print other figures than the function, or lack the published ones."""
    from pegasus.cli.main import main

    arguments = ["pegasus", "residuals", str(flown / "flight.csv"), "--vehicle", str(flown / "heavier.yaml")]
    found = wrench_residuals(flown / "heavier.yaml", [read_neurobem(flown / "flight.csv")])
    for extra in ([], ["--json"]):
        monkeypatch.setattr("sys.argv", [*arguments, *extra])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
        out = capsys.readouterr().out
        if extra:
            assert json.loads(out)["rmse"] == found.rmse
        else:
            assert f"{found.rmse['Fz']:.4f}" in out
            assert "1.2650" in out
