"""Tests of identification: known parameters from noisy logs, uncertainty, and what a log does not tell."""

from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import ConfigError
from pegasus.base.frames import (
    conjugate,
    multiply,
    quaternion_from_rotation_vector,
    rotation_vector_from_quaternion,
)
from pegasus.core.aircraft import Aircraft
from pegasus.environment import Environment
from pegasus.fleet import FlightRecord, Measured, identify
from pegasus.fleet.fitted import Fitted
from pegasus.fleet.shooting import Shooting, Windows
from tests.fleet.identification_rig import RATE, clean, fly, noisy, record_of
from tests.flyers import PLAIN_IRIS

HOVER = 655.0
"""Rotor speed at which the plain Iris hovers [rad/s]."""
WRONG_IRIS = {
    "extends": str(PLAIN_IRIS),
    "name": "guess",
    "thrust_curve": {"thrust_constant": 7.3e-6, "moment_ratio": 0.075},
    "drag": {"coefficients": [0.3, 0.5, 0.0]},
    "motor": {"time_constant_up": 0.02, "time_constant_down": 0.02},
}
WRONG_CRAZYFLIE = {
    "extends": "crazyflie",
    "name": "guess",
    "inertia": [14e-6, 19e-6, 25e-6],
    "thrust_curve": {
        "thrust_coefficient": [0.1308, 0.1130, 0.0927, 0.0696, 0.0435, 0.0145],
        "power_coefficient": [0.1388, 0.1366, 0.1321, 0.1244, 0.1128, 0.0958],
    },
    "motor": {"time_constant_up": 0.022, "time_constant_down": 0.04},
}


@pytest.fixture(scope="module")
def iris_log(tmp_path_factory):
    """Return the log of a plain Iris with noisy sensors."""
    return fly(tmp_path_factory.mktemp("logs") / "iris.mcap", PLAIN_IRIS, seconds=8.0)


def test_known_parameters_from_a_noisy_log(iris_log):
    """Constants, drag and lag of a quadratic rotor, 15 % to 65 % wrong at first, are found within 1 %."""
    record = record_of(iris_log, WRONG_IRIS)
    assert {m.label for m in record.measured} == {
        *(f"odometry {q}" for q in ("position", "orientation", "velocity", "angular_velocity")),
        *(f"imu {q}" for q in ("angular_velocity", "specific_force")),
    }
    found = identify(record, WRONG_IRIS, ["thrust_constant", "torque_constant", "drag", "lag"], rate=RATE)
    truth = {
        "thrust_constant": 8.54858e-6,
        "moment_ratio": 0.06,
        "drag.coefficients.x": 0.5,
        "drag.coefficients.y": 0.3,
        "time_constant_up": 0.0125,
        "time_constant_down": 0.025,
    }
    for name, value in truth.items():
        assert found[name].value == pytest.approx(value, rel=0.01), name
        assert found[name].sigma < 0.01 * value
    assert found["drag.coefficients.z"].value < 4.0 * found["drag.coefficients.z"].sigma
    # The noise of the sensors is found as well: 2e-4 m/sqrt(Hz) at 100 Hz.
    assert found.noise["odometry position"] == pytest.approx(0.002, rel=0.05)
    assert found.left_out == 0
    assert not found.notes


def test_known_parameters_of_another_structure(tmp_path):
    """A measured rotor in oblique flow, its lags and the inertia of a Crazyflie are found within 1 %."""
    log = fly(tmp_path / "crazyflie.mcap", "crazyflie", seconds=8.0, seed=4)
    names = ["thrust_constant", "torque_constant", "lag", "inertia"]
    found = identify(record_of(log, WRONG_CRAZYFLIE), WRONG_CRAZYFLIE, names, rate=RATE)
    truth = {
        "thrust_coefficient": 0.1454,
        "power_coefficient": 0.1157,
        "time_constant_up": 0.03,
        "time_constant_down": 0.03,
        "inertia.xx": 16.8e-6,
        "inertia.yy": 16.8e-6,
        "inertia.zz": 29.8e-6,
    }
    for name, value in truth.items():
        assert found[name].value == pytest.approx(value, rel=0.01), name
    found.write(tmp_path / "fitted.yaml", extends="crazyflie")
    written = Aircraft(tmp_path / "fitted.yaml")
    assert written.thrust_curve.thrust_coefficient[0] == found["thrust_coefficient"].value
    assert written.inertia[0, 0] == found["inertia.xx"].value
    assert written.mass == Aircraft("crazyflie").mass


def test_uncertainty_covers_the_truth():
    """Errors over many seeds of noise have the told standard deviation: chi-squared of 0.01 to 99.99 %."""
    flight = clean(str(PLAIN_IRIS), 3.0, 1.0, HOVER)
    truth = {"thrust_constant": 8.54858e-6, "moment_ratio": 0.06, "time_constant_up": 0.0125}
    errors = []
    for seed in range(10):
        found = identify(
            noisy(flight, seed), PLAIN_IRIS, ["thrust_constant", "torque_constant", "lag"], rate=RATE
        )
        errors += [(found[name].value - value) / found[name].sigma for name, value in truth.items()]
    assert 8.0 < float(np.square(errors).sum()) < 69.0
    assert abs(np.mean(errors)) < 3.5 / np.sqrt(len(errors))


def test_gusts_do_not_bias_the_drag(tmp_path):
    """In a wind of 3 m/s with turbulence drag is within three standard deviations, of at most 35 %."""
    wind = [{"model": "constant", "mean_velocity": [2.5, -1.5, 0.3]}, {"model": "dryden"}]
    log = fly(tmp_path / "wind.mcap", PLAIN_IRIS, seconds=7.0, wind=wind, seed=4)
    found = identify(
        record_of(log, PLAIN_IRIS), PLAIN_IRIS, ["thrust_constant", "drag"], rate=RATE, gusts=True
    )
    assert found["thrust_constant"].value == pytest.approx(8.54858e-6, rel=0.01)
    for name, value in (("drag.coefficients.x", 0.5), ("drag.coefficients.y", 0.3)):
        assert abs(found[name].value - value) < 3.0 * found[name].sigma, name
        assert found[name].sigma < 0.35 * value


def test_delay_and_wind_are_found():
    """A delay of 22 ms, no multiple of the step, and a steady wind are found."""
    time, commands, motion = clean(str(PLAIN_IRIS), 4.0, 1.0, HOVER)
    # What the vehicle obeyed at t was sent at t - 22 ms: the log holds it by the time at which it was sent.
    record = noisy((time, commands, motion), 3)
    sent = FlightRecord("late", record.command_time - 0.022, record.command, record.measured)
    found = identify(sent, PLAIN_IRIS, ["delay", "thrust_constant", "wind"], rate=RATE)
    assert found["delay"].value == pytest.approx(0.022, abs=4.0 * found["delay"].sigma)
    assert found["delay"].sigma < 2e-4
    assert abs(found["wind.x"].value) < 4.0 * found["wind.x"].sigma


def test_what_a_log_does_not_tell_is_named():
    """Motion knows no mass beside thrust, torque, inertia and drag: the last one stays, and is named."""
    record = noisy(clean(str(PLAIN_IRIS), 4.0, 1.0, HOVER), 1)
    names = ["thrust_constant", "torque_constant", "drag", "inertia", "mass"]
    found = identify(record, PLAIN_IRIS, names, rate=RATE)
    assert not found["mass"].told
    assert found["mass"].value == 1.5
    assert "thrust_curve.thrust_constant" in found["mass"].beside
    line = next(line for line in found.notes if line.startswith("mass"))
    assert line.startswith(
        "mass stays 1.5: the log does not tell it: it is only known together with thrust_curve"
    )
    assert "mass" not in found.content


def test_a_hover_tells_no_drag():
    """Without speed there is no drag to be told: one line names it."""
    record = noisy(clean(str(PLAIN_IRIS), 3.0, 0.0, HOVER), 2)
    with pytest.raises(
        ConfigError, match=r"does not tell drag.coefficients.x, .*: nothing in the flight depends"
    ):
        identify(record, PLAIN_IRIS, ["drag"], rate=RATE)


def test_windows_that_do_not_fit_are_left_out():
    """A second in which something else pushes the vehicle does not change the result, and is told."""
    time, commands, motion = clean(str(PLAIN_IRIS), 4.0, 1.0, HOVER)
    record = noisy((time, commands, motion), 5)
    shifted = []
    for m in record.measured:
        values = m.values.copy()
        late = m.time > 2.7
        if m.quantity in ("position", "velocity"):
            values[late, 0] += 0.5
        shifted.append(Measured(m.source, m.quantity, m.time, values))
    found = identify(FlightRecord("pushed", record.command_time, record.command, shifted), PLAIN_IRIS,
                     ["thrust_constant"], rate=RATE, window=0.5)  # fmt: skip
    assert found.left_out == 1
    assert found["thrust_constant"].value == pytest.approx(8.54858e-6, rel=0.01)
    assert found.notes == ["1 of 7 windows left out: they do not fit"]


def test_derivatives_of_windows_against_differences():
    """Derivatives of a flown window by its first state and by parameters are those of central differences."""
    vehicle, rng, count, steps = Aircraft(PLAIN_IRIS), np.random.default_rng(0), 3, 20
    fitted = Fitted(
        vehicle, ["thrust_constant", "torque_constant", "lag", "mass", "inertia", "center_of_mass"]
    )
    shooting = Shooting(vehicle, RATE, Environment(), fitted, count, steps, pushed=True)
    attitude = rng.normal((0, 0, 0, 1), 0.2, (count, 4))
    start = {
        "position": rng.normal(0, 1, (count, 3)),
        "orientation": attitude / np.linalg.norm(attitude, axis=1, keepdims=True),
        "velocity": rng.normal(0, 4, (count, 3)),
        "angular_velocity": rng.normal(0, 1, (count, 3)),
        "rotor_speed": HOVER * rng.uniform(0.9, 1.1, (count, 4)),
    }
    command = HOVER * rng.uniform(0.85, 1.15, (count, steps, 4))
    windows = Windows(
        start, command, np.zeros_like(command), np.zeros(3), rng.normal(0, 1, (count, steps, 3))
    )
    flown = shooting.fly(windows)
    by_state, by_parameter, by_force = shooting.derivatives(windows, flown, np.arange(count))
    # Drag takes a little of it away.
    assert np.abs(by_force[:, :, 6:9]).max() == pytest.approx(1.0 / RATE / 1.5, rel=1e-4)
    chain = np.zeros((count, shooting.width, shooting.width + len(fitted.parameters)))
    chain[:, :, : shooting.width] = np.eye(shooting.width)
    for k in range(steps):
        chain = by_state[:, k] @ chain
        chain[:, :, shooting.width :] += by_parameter[:, k]

    def ends(first):
        last = shooting.fly(Windows(first, command, windows.command_slope, windows.wind, windows.push))
        return {name: last[name][:, -1] for name in shooting.layout}

    def slope(high, low, step):
        parts = []
        for name in shooting.layout:
            if name == "orientation":
                turn = multiply(conjugate(low[name]), high[name])
                parts.append(rotation_vector_from_quaternion(turn))
            else:
                parts.append(high[name] - low[name])
        return np.concatenate(parts, axis=1) / (2 * step)

    for k, p in enumerate(fitted.parameters):
        pair = []
        for sign in (1.0, -1.0):
            theta = fitted.start
            theta[k] += sign * 1e-4 * p.size
            shooting.use(theta)
            pair.append(ends(start))
        shooting.use(fitted.start)
        expected = slope(*pair, 1e-4 * p.size)
        error = np.abs(chain[:, :, shooting.width + k] - expected).max()
        assert error < 1e-5 * np.abs(expected).max(), p.name
    for k in range(shooting.width):
        pair = []
        for sign in (1e-5, -1e-5):
            first = {name: values.copy() for name, values in start.items()}
            name = next(n for n, place in shooting.layout.items() if place.start <= k < place.stop)
            change = np.zeros((count, shooting.width))
            change[:, k] = sign
            part = change[:, shooting.layout[name]]
            if name == "orientation":
                first[name] = multiply(first[name], quaternion_from_rotation_vector(part))
            else:
                first[name] += part
            pair.append(ends(first))
        expected = slope(*pair, 1e-5)
        assert np.abs(chain[:, :, k] - expected).max() < 1e-6 * (1.0 + np.abs(expected).max()), k


RECORD = {"command_time": np.arange(5.0), "command": np.full((5, 4), HOVER)}
POSE = [
    Measured("capture", "position", np.arange(5.0), np.zeros((5, 3))),
    Measured("capture", "orientation", np.arange(5.0), np.tile([0.0, 0.0, 0.0, 1.0], (5, 1))),
]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"command_time": np.zeros(0), "command": np.zeros((0, 4))},
            "record bad: holds no commands; give a log",
        ),
        ({"measured": POSE[:1]}, "record bad = 'position': must hold measured orientations, and positions"),
        ({"command": np.full((5, 4), np.nan)}, "command of bad, at 0 s = .*: must be finite; correct or cut"),
        ({"command": np.zeros((4, 4))}, r"command of bad = \(4, 4\): must have the shape \(5, 4\)"),
        (
            {"command_time": np.array([0.0, 1, 1, 2, 3])},
            "time of command of bad = 1.0: must be later than the 1 s",
        ),
        (
            {"measured": [*POSE, Measured("capture", "speed", np.arange(5.0), np.zeros((5, 3)))]},
            "quantity = 'speed': must be one of position",
        ),
    ],
)
def test_bad_records_are_refused(changes, line):
    """Records without commands or attitudes, with infinite numbers, or in disorder, are refused."""
    with pytest.raises(ConfigError, match=line):
        FlightRecord(**({"name": "bad", "measured": POSE} | RECORD | changes))


@pytest.mark.parametrize(
    ("fit", "options", "line"),
    [
        ([], {}, "fit: must name a parameter"),
        (
            ["thrust_const"],
            {},
            "fit, thrust_const: is no parameter of this vehicle; did you mean thrust_constant",
        ),
        (["drag.area"], {}, "fit, drag.area: is no parameter of LinearDrag; name one of drag.coefficients"),
        (["mass", "mass"], {}, "fit, mass: is named twice"),
        (["mass"], {"window": 0.0}, "window = 0.0: must be from 0.05 to 60 s"),
        (["mass"], {"rate": 1.0}, "rate = 1.0: must be from 50 to 10000"),
        (
            ["mass"],
            {"window": 3.0},
            r"record bad: is too short: 4.00 s with commands and poses, 1 windows of 3 s",
        ),
    ],
)
def test_bad_arguments_are_refused(fit, options, line):
    """Unknown parameters, and a flight that is too short, are named in one line."""
    with pytest.raises(ConfigError, match=line):
        identify(FlightRecord(name="bad", measured=POSE, **RECORD), PLAIN_IRIS, fit, **options)


def test_records_of_other_vehicles_are_refused():
    """Commands of four rotors are not those of six."""
    with pytest.raises(ConfigError, match="record bad = '4 commands': must hold 6 commands: rotor_0"):
        identify(FlightRecord(name="bad", measured=POSE, **RECORD), "typhoon_h", ["mass"])


def test_motors_that_give_a_torque_are_refused():
    """A log holds neither the supply nor the inner state of such a motor: one line says so."""
    electric = {
        "model": "electric",
        "kv": 900.0,
        "resistance": 0.1,
        "nominal_voltage": 12.0,
        "max_speed": 900.0,
    }
    vehicle = {"extends": str(PLAIN_IRIS), "name": "e", "motor": electric, "propeller": {"inertia": 1e-5}}
    with pytest.raises(
        ConfigError, match="motor: has motors that give a torque, whose inner state and supply"
    ):
        identify(FlightRecord(name="bad", measured=POSE, **RECORD), vehicle, ["mass"])


def test_measured_speeds_tell_no_lag():
    """Where rotor speeds were measured in place of commands, the lag of motors cannot be told."""
    record = FlightRecord(name="speeds", measured=POSE, measured_speeds=True, **RECORD)
    with pytest.raises(ConfigError, match="fit, lag: cannot be told: the log holds measured"):
        identify(record, PLAIN_IRIS, ["lag"])


def test_contents_of_the_written_file(tmp_path, iris_log):
    """The file extends that of the vehicle by a relative path, and says what was fitted."""
    base = tmp_path / "base.yaml"
    base.write_text(Path(PLAIN_IRIS).read_text())
    found = identify(record_of(iris_log, base), base, ["thrust_constant"], rate=RATE)
    (tmp_path / "made").mkdir()
    found.write(tmp_path / "made" / "new.yaml")
    text = (tmp_path / "made" / "new.yaml").read_text()
    content = yaml.safe_load(text)
    assert content["extends"] == "../base.yaml"
    assert content["name"] == "new"
    assert "# thrust_curve.thrust_constant = 8.5" in text
    made = Aircraft(tmp_path / "made" / "new.yaml")
    assert made.thrust_curve.thrust_constant == found["thrust_constant"].value
    assert made.thrust_curve.moment_ratio == 0.06
