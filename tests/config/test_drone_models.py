"""Tests of vehicles from TOML files of drone-models, against its formulas."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import ConfigError
from pegasus.cli.main import main
from pegasus.config.drone_models import read_drone_model
from pegasus.core.aircraft import Aircraft
from pegasus.environment import Environment, UniformGravity
from pegasus.fleet import Fleet

# cf21B_500 of drone-models 0.1 (MIT License, Learning Systems and Robotics Lab).
TEXT = """
[cf21B_500]
gravity_vec = [0.0, 0.0, -9.81]
mass = 0.04338
L = 0.035355
J = [
    [25e-6, 0.0,   0.0],
    [0.0,   28e-6, 0.0],
    [0.0,   0.0,   49e-6]
]
rpm2thrust = [0.0, -3.133427287299859e-7, 4.407354891648379e-10]
rpm2torque = [0.0, 1.65886356219615e-9, 2.4693477924534137e-12]
thrust2torque = 0.00593893393599368
rotor_dyn_coef = [13.996001897562685, 0.00011093207920685363, 5.933168530682111, 0.00031951312393561264]
mixing_matrix = [[-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.0]]
drag_matrix = [[-0.02149163, 0.0, 0.0], [0.0, -0.02149163, 0.0], [0.0, 0.0, -0.02359736]]
thrust_min = 0.02136263065537499
thrust_max = 0.2
prop_radius = 27.5e-3
prop_inertia = 38.93e-9
"""
MIXING = np.array([[-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.0]])
LAG = (13.996001897562685, 0.00011093207920685363, 5.933168530682111, 0.00031951312393561264)


def rates(x, command):
    """Return the rates of position, attitude, velocity, body rates and rotor speeds [rpm] of drone-models.

    The gyroscopic torque is -w x h.
    """
    turn, w, rpm = Rotation.from_quat(x[3:7]), x[10:13], x[13:]
    thrust = -3.133427287299859e-7 * rpm + 4.407354891648379e-10 * rpm**2
    torque = 1.65886356219615e-9 * rpm + 2.4693477924534137e-12 * rpm**2
    a, b = np.where(command > rpm, LAG[0], LAG[2]), np.where(command > rpm, LAG[1], LAG[3])
    spin_up = a * (command - rpm) + b * (command**2 - rpm**2)
    drag = turn.apply(np.array([-0.02149163, -0.02149163, -0.02359736]) * turn.inv().apply(x[7:10]))
    force = turn.apply([0.0, 0.0, thrust.sum()]) + drag
    inertia, turns = np.array([25e-6, 28e-6, 49e-6]), np.pi / 30.0
    momentum = np.array([0.0, 0.0, -38.93e-9 * turns * (MIXING[2] @ rpm)])
    moment = (MIXING @ thrust) * [0.035355, 0.035355, 0.0] + [0.0, 0.0, MIXING[2] @ torque]
    moment = moment + np.array([0.0, 0.0, 38.93e-9 * turns * (MIXING[2] @ spin_up)])
    turning = (moment - np.cross(w, inertia * w + momentum)) / inertia
    qx, qy, qz, qw = x[3:7]
    spin = 0.5 * np.array(
        [
            qw * w[0] + qy * w[2] - qz * w[1],
            qw * w[1] + qz * w[0] - qx * w[2],
            qw * w[2] + qx * w[1] - qy * w[0],
            -(qx * w[0] + qy * w[1] + qz * w[2]),
        ]
    )
    return np.concatenate([x[7:10], spin, force / 0.04338 + [0.0, 0.0, -9.81], turning, spin_up])


def test_motion_is_that_of_the_formulas(tmp_path):
    """Half a second of manoeuvre with rising and falling rotors ends where the formulas end, within 1e-6."""
    (tmp_path / "params.toml").write_text(TEXT)
    gravity = Environment(gravity=UniformGravity(9.81))
    fleet = Fleet(str(tmp_path / "params.toml"), 1, rate=1000, dtype="float64", environment=gravity)
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [[0.0, 0, 5], Rotation.from_euler("xyz", [0.2, -0.1, 0.5]).as_quat(), [2.0, -1, 0.5], [0.5, -1, 2]]
    )
    x = np.concatenate([x, rng.uniform(14000, 17000, 4)])
    turns = np.pi / 30.0
    fleet.reset(position=x[:3], orientation=x[3:7], velocity=x[7:10], angular_velocity=x[10:13],
                rotor_speed=x[13:] * turns)  # fmt: skip
    parts = 4
    dt = 1e-3 / parts
    for _ in range(10):
        command = rng.uniform(13000, 18000, 4)
        fleet.step(command * turns, 50)
        for _ in range(50 * parts):
            k1 = rates(x, command)
            k2 = rates(x + 0.5 * dt * k1, command)
            k3 = rates(x + 0.5 * dt * k2, command)
            k4 = rates(x + dt * k3, command)
            x = x + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
            x[3:7] /= np.linalg.norm(x[3:7])
    state = fleet.state
    assert np.abs(state.velocity[0] - x[7:10]).max() > 0.0
    np.testing.assert_allclose(state.rotor_speed[0] / turns, x[13:], rtol=1e-7)
    np.testing.assert_allclose(state.angular_velocity[0], x[10:13], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(state.velocity[0], x[7:10], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(state.position[0], x[:3], rtol=1e-6, atol=1e-6)


def test_one_of_several_is_named(tmp_path):
    """A file with several vehicles needs a name, which may follow a colon."""
    path = tmp_path / "params.toml"
    path.write_text(TEXT + TEXT.replace("cf21B_500", "other").replace("0.04338", "0.05"))
    assert Aircraft(f"{path}:other").mass == 0.05
    assert Aircraft(f"{path}:cf21B_500").mass == 0.04338
    with pytest.raises(
        ConfigError, match=r"params.toml: holds several vehicles; name one, as FILE.toml:cf21B_500"
    ):
        Aircraft(str(path))
    with pytest.raises(ConfigError, match=r"params.toml: othr: holds no such vehicle; did you mean other"):
        Aircraft(f"{path}:othr")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("mass = 0.04338\n", ""), "mass: is required; add it"),
        (("mass = 0.04338", 'mass = "light"'), "mass = 'light': must hold finite numbers"),
        (("mass =", "masss ="), "mass: is required"),
        (("thrust_min", "thrust_least"), "thrust_least: is no field of drone-models"),
        (
            ("[-1.0, 1.0, -1.0, 1.0]]", "[-1.0, 1.0, -1.0, 0.5]]"),
            "mixing_matrix = .*: must have a column for each",
        ),
        (("[[-0.02149163, 0.0,", "[[-0.02149163, 0.1,"), "drag_matrix = .*: must be a diagonal matrix"),
        (("[[-0.02149163", "[[0.02149163"), "drag_matrix = .*: must not be above 0"),
        (("rpm2torque = [0.0,", "rpm2torque = [1.0,"), "rpm2torque = .*: must not hold a torque at rest"),
        (("[cf21B_500]", "[cf21B_500"), "cannot be read"),
        (
            (TEXT, "[a]\nacc_coef = 0.0\nrpy_coef = [1.0]\n"),
            "mass: has fitted attitude dynamics .* without rotors",
        ),
    ],
)
def test_wrong_files_are_refused_in_one_line(tmp_path, change, line):
    """A missing or unknown field, and a value of another form, are named."""
    path = tmp_path / "params.toml"
    path.write_text(TEXT.replace(*change))
    with pytest.raises(ConfigError, match=line) as error:
        Aircraft(str(path))
    assert str(error.value).startswith(str(path))


def test_make_vehicle_writes_a_file_and_names_what_is_ignored(tmp_path, monkeypatch, capsys):
    """The file flies as the TOML does; each field without effect is printed."""
    (tmp_path / "params.toml").write_text(TEXT + "cmd_f_coef = 0.97\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["pegasus", "make", "vehicle", "cf21B_500", "--from", "params.toml"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    shown = capsys.readouterr().out
    for field in ("gravity_vec", "thrust2torque", "thrust_min", "cmd_f_coef"):
        assert f"{field} is ignored: " in shown
    made, given = Aircraft("cf21B_500.yaml"), Aircraft("params.toml")
    assert made.motor == given.motor
    assert made.thrust_curve == given.thrust_curve
    np.testing.assert_array_equal(made.layout.position, given.layout.position)
    assert read_drone_model("params.toml").content["name"] == "cf21B_500"
