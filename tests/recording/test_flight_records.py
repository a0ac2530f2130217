"""Tests of readers of flights for identification: tables, the NeuroBEM dataset, logs; errors in one line."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import ConfigError, McapRecorder, Multirotor, Simulation
from pegasus.base.frames import matrix_from_quaternion, rotate_inverse
from pegasus.control import GeometricController, trajectories
from pegasus.core.aircraft import Aircraft
from pegasus.fleet import identify
from pegasus.recording import read_flight
from pegasus.recording.flight_data import NEUROBEM_COLUMNS
from tests.fleet.identification_rig import RATE, clean
from tests.flyers import PLAIN_IRIS

HOVER = 655.0


def table_of(flight, *, every=4):
    """Return a table in the format of `Log.to_pandas`, with poses in every fourth line."""
    time, commands, motion = flight
    parts = [("position", "xyz"), ("orientation", "xyzw"), ("velocity", "xyz"), ("angular_velocity", "xyz")]
    names = [
        "time",
        *(f"rotor_{k}" for k in range(4)),
        *(f"{name}_{a}" for name, axes in parts for a in axes),
    ]
    lines = [",".join(names)]
    for k, t in enumerate(time):
        cells = [f"{t:.9g}", *(f"{u:.12g}" for u in commands[k])]
        for name, axes in parts:
            cells += [f"{x:.12g}" for x in motion[name][k]] if k % every == 0 else [""] * len(axes)
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def test_a_table_gives_commands_and_measurements(tmp_path):
    """Columns are taken by name; empty cells are instants without a measurement."""
    flight = time, commands, motion = clean(str(PLAIN_IRIS), 3.0, 1.0, HOVER)
    (tmp_path / "flight.csv").write_text(table_of(flight))
    record = read_flight(tmp_path / "flight.csv", Aircraft(PLAIN_IRIS))
    np.testing.assert_allclose(record.command, commands, rtol=1e-11)
    np.testing.assert_allclose(record.command_time, time, atol=1e-9)
    assert record.held
    assert [m.label for m in record.measured] == [
        *("log position", "log orientation", "log velocity", "log angular_velocity")
    ]
    np.testing.assert_allclose(record.measured[0].values, motion["position"][::4], rtol=1e-11)
    assert len(record.measured[0].time) == len(time[::4])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda text: text.replace("rotor_2", "motor_2"),
            "header = .*: holds no commands: no column 'rotor_2'",
        ),
        (lambda text: text.replace("time,", "t,", 1), "header = .*: has no column 'time'; give a log"),
        (lambda text: text.replace("\n0.008,", "\nnan,"), "time of line 4 = 'nan': must be a finite number"),
        (lambda text: text.replace("\n0.008,", "\n0.008,7,"), "line 4 = '19 cells': must have 18 cells"),
        (lambda text: text.partition("\n")[0], "must have at least two lines below its header"),
    ],
)
def test_wrong_tables_are_refused(tmp_path, change, line):
    """A missing column, a number that is none, and a line of another length are named with file and line."""
    path = tmp_path / "flight.csv"
    path.write_text(change(table_of(clean(str(PLAIN_IRIS), 3.0, 1.0, HOVER))))
    with pytest.raises(ConfigError, match=line) as error:
        read_flight(path, Aircraft(PLAIN_IRIS))
    assert str(error.value).startswith(f"{path}: ")


def test_neurobem_tells_thrust_and_drag(tmp_path):
    """Measured rotor speeds stand for commands, velocities are turned, rotors are found by place."""
    time, _, motion = clean(str(PLAIN_IRIS), 3.0, 1.0, HOVER)
    turn = matrix_from_quaternion(motion["orientation"])
    body = rotate_inverse(turn, motion["velocity"])
    rate = np.gradient(motion["angular_velocity"], time, axis=0)
    force = rotate_inverse(
        turn, np.gradient(motion["velocity"], time, axis=0) + np.array([0.0, 0.0, 9.80665])
    )
    # Back right, front right, back left, front left: rotors 3, 0, 1, 2 of the Iris.
    speeds = motion["rotor_speed"][:, [3, 0, 1, 2]]
    parts = [time[:, None], rate, motion["angular_velocity"], motion["orientation"], force, body]
    parts += [motion["position"], speeds, np.zeros_like(speeds), np.full((len(time), 1), 16.0)]
    text = "\n".join(",".join(f"{x:.12g}" for x in row) for row in np.concatenate(parts, axis=1))
    (tmp_path / "neurobem.csv").write_text(",".join(NEUROBEM_COLUMNS) + "\n" + text + "\n")
    record = read_flight(tmp_path / "neurobem.csv", Aircraft(PLAIN_IRIS))
    np.testing.assert_allclose(record.command, motion["rotor_speed"], rtol=1e-11)
    found = identify(record, PLAIN_IRIS, ["thrust_constant", "torque_constant", "drag"], rate=RATE)
    truth = {"thrust_constant": 8.54858e-6, "moment_ratio": 0.06}
    truth |= {"drag.coefficients.x": 0.5, "drag.coefficients.y": 0.3}
    for name, value in truth.items():
        assert found[name].value == pytest.approx(value, rel=0.01), name


def test_logs_by_their_sensors_or_their_state(tmp_path):
    """A log with no odometry gives the true state; time on the ground is contact; commands may be samples."""
    with Simulation("flat", rate=RATE, observers=[McapRecorder(tmp_path / "a.mcap")]) as sim:
        path = trajectories.circle(radius=2.0, height=2.0)
        sim.add(Multirotor(PLAIN_IRIS, backends=[GeometricController(path)]))
        sim.run(duration=2.5)
    record = read_flight(tmp_path / "a.mcap", Aircraft(PLAIN_IRIS))
    assert {m.source for m in record.measured} == {"state"}
    assert not record.held
    assert record.contacts
    assert 0.0 < record.contacts[0][0] < record.contacts[-1][1] < 2.0
    with pytest.raises(ConfigError, match="source = 'sensors': must be state: the log has no odometry"):
        read_flight(tmp_path / "a.mcap", Aircraft(PLAIN_IRIS), source="sensors")
    with pytest.raises(ConfigError, match="vehicle = 'typhoon': has no recorded states; choose one of iris"):
        read_flight(tmp_path / "a.mcap", Aircraft(PLAIN_IRIS), name="typhoon")
    with pytest.raises(ConfigError, match="copy = 1: must be from 0 to 0"):
        read_flight(tmp_path / "a.mcap", Aircraft(PLAIN_IRIS), copy=1)
