"""Tests of the examples, each run in short form: they fly, and their output is correct."""

import ast
import functools
import json
import math
import os

import numpy as np
import pytest
import yaml

from pegasus import read_log
from pegasus.base.components import build
from pegasus.base.system import resource
from pegasus.dynamics import MOTORS, Motor
from pegasus.environment import WINDS, Wind
from pegasus.sensors import IMU
from pegasus.sensors.imu import Accelerometer, Gyroscope
from tests.dynamics.by_law import motor_speed
from tests.example_rig import EXAMPLES, load_example
from tests.flyers import PLAIN_IRIS

NO_PX4, NO_ARDUPILOT = (
    pytest.mark.skipif(name not in os.environ, reason=f"needs {program}: set {name} to a built one")
    for name, program in (("PX4_DIR", "PX4"), ("ARDUPILOT_DIR", "ArduPilot"))
)
PROGRAMS = (
    *("body_rate_racing", "brake_before_wall", "clicked_points", "dead_reckoning", "follow_leader"),
    *("forked_flights", "landing_sweep", "log_to_pandas", "push_recovery", "replanned_flight"),
)
"""Programs for common tasks."""


@pytest.fixture
def example(monkeypatch):
    """Return an example's module by its name."""
    return lambda name: load_example(EXAMPLES / f"{name}.py", monkeypatch)


def test_every_example_has_its_test():
    """An example without a test would stop working unnoticed."""
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {path.stem for path in EXAMPLES.glob("*.py")} <= tested


def test_first_flight(example, tmp_path):
    """The Iris would not fly the script's figure of eight, or the log would differ from the flight."""
    log = tmp_path / "flight.mcap"
    iris = example("first_flight").main(duration=22.0, log=log)
    state = read_log(log)["iris/state"]
    np.testing.assert_allclose(state.time[-1], 22.0, atol=0.011)
    np.testing.assert_allclose(iris.state.position[0], state.position[-1, 0], atol=0.05)
    # After some 6 s of spin-up and climb, the reference is x = 5 sin q, y = 5 sin q cos q.
    flown = state.position[state.time > 7.0, 0]
    q = np.linspace(0, 2 * np.pi, 2000)
    curve = np.stack([5 * np.sin(q), 5 * np.sin(q) * np.cos(q), np.full_like(q, 3.0)], axis=-1)
    aside = np.sqrt(((flown[::20, None] - curve) ** 2).sum(axis=-1)).min(axis=1)
    assert aside.max() < 0.15
    assert flown[:, 0].max() > 4.8
    assert flown[:, 0].min() < -3.0


def test_clicked_points(example):
    """The vehicle would hold elsewhere than at the points."""
    module = example("clicked_points")
    np.testing.assert_allclose(module.main(), module.CLICKS, atol=0.15)


def test_replanned_flight(example):
    """The planner would miss a point, or the velocities lead elsewhere."""
    nearest = example("replanned_flight").main()
    assert len(nearest) == 3
    assert max(nearest) <= 0.2


def test_body_rate_racing(example):
    """The body rates or the thrust would lead off the circle."""
    assert example("body_rate_racing").main(laps=1.0) < 0.3


def test_follow_leader(example):
    """The formation would fall apart, or its vehicles fly through each other."""
    assert example("follow_leader").main() < 0.2


def test_moving_landing(example):
    """The vehicle would miss the platform, or slide on it once its rotors have stopped."""
    assert example("moving_landing").main() < 1e-4


def test_brake_before_wall(example):
    """The vehicle would fly into a wall, or stand far from it."""
    module = example("brake_before_wall")
    np.testing.assert_allclose(module.main(), module.CLEARANCE, atol=0.1)


def test_push_recovery(example):
    """A controller would not come back, or not have been pushed."""
    found = example("push_recovery").main()
    assert found.keys() == {"geometric", "pid"}
    for moved, back in found.values():
        # 8 N on 1.5 kg over 0.3 s are 0.24 m, and 1.6 m/s, without a controller.
        assert 0.15 < moved < 0.6
        assert 0.3 < back < 3.0


def test_forked_flights(example):
    """Forks would not go on as the flight that they are of, or all have the same gusts."""
    module = example("forked_flights")
    ends, lightened = module.main()
    with module.made(seed=0) as whole:
        whole.step(1000)
        np.testing.assert_array_equal(ends[0], whole.vehicles["iris"].position[0])
    assert len({tuple(end) for end in ends.tolist()}) == 8
    assert 0.05 < lightened[2] - ends[0, 2] < 0.5


def test_dead_reckoning(example):
    """The readings would not be the means that an integration needs, or their noise would not show."""
    module = example("dead_reckoning")
    quiet = {"noise_density": 0.0, "bias_random_walk": 0.0, "turn_on_bias": 0.0}
    exact = IMU(gyroscope=Gyroscope(**quiet), accelerometer=Accelerometer(**quiet))
    assert module.main(exact)[28] < 0.02
    drift = module.main()
    assert drift[28] > 100 * drift[0] > 1.0


def test_log_to_pandas(example, tmp_path, capsys):
    """The frame would have other columns, or values of other units, than the example takes from it."""
    pytest.importorskip("pandas", reason="needs pandas: pip install pandas")
    tilt = example("log_to_pandas").main(tmp_path / "flight.mcap")
    frame = read_log(tmp_path / "flight.mcap").to_pandas("iris/state")
    w = np.abs(2 * (frame.orientation_x**2 + frame.orientation_y**2) - 1)
    assert tilt == pytest.approx(np.degrees(np.arccos(w)).max(), abs=1e-6)
    assert 3.0 < tilt < 40.0
    assert "largest tilt" in capsys.readouterr().out
    assert len((EXAMPLES / "log_to_pandas.py").read_text().splitlines()) <= 40


def test_notebook_flight(tmp_path, monkeypatch):
    """A cell of the notebook would fail, or show neither the flight in 3D nor its plot."""
    pytest.importorskip("pandas", reason="needs pandas: pip install pandas")
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install matplotlib")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "notebook_flight.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)
    assert sum(len(cell["source"]) for cell in cells) <= 40
    names, shown = {}, []
    for cell in cells:
        # The value of a cell is that of its last expression, as in Jupyter.
        tree = ast.parse("".join(cell["source"]))
        value = ast.Expression(tree.body.pop().value)
        exec(compile(tree, "cell", "exec"), names)
        shown.append(eval(compile(value, "cell", "eval"), names))
    simulation, gps, log, figure, table = shown
    assert "<polyline" in simulation._repr_html_()
    assert "deg, altitude=" in repr(gps)
    assert log._repr_html_().count("<svg") == 2
    assert len(figure.axes) == 4
    assert table.loc["mean", "position_z"] == pytest.approx(2.0, abs=0.1)


def test_batch_of_256(example):
    """All copies would fly with the same gains, or a restart would disturb copies that track well."""
    stiffness, error, restarts = example("batch_of_256").main()
    assert len(stiffness) == 256
    assert len(set(error)) == 256
    assert restarts.sum() >= 20
    assert stiffness[restarts > 0].max() < 3.0
    # The error by drag is inversely proportional to the stiffness.
    assert np.median(error[stiffness > 8.0]) < 0.6 * np.median(error[stiffness < 3.0]) < 0.2
    assert len((EXAMPLES / "batch_of_256.py").read_text().splitlines()) <= 40


def test_own_controller(example):
    """A sign error would crash the vehicle. Without an integral term, only drag may cause a steady error."""
    tracking = example("own_controller").main(side=4.0)
    assert list(tracking.segments) == ["takeoff", "transfer", "square", "land"]
    # Steady error of a PD controller by the Iris's drag at 2 m/s: D v / (m k_p).
    assert 0.02 < tracking.segments["square"].maximum < 0.5 * 2.0 / (1.5 * 6.0) * 1.1
    # In a climb of 1 m/s each rotor loses rho n D^3 times the slope of C_T at rest.
    loss = 4 * 1.214 * 483.2 / (2 * math.pi) * 0.254**3 * (0.1230 - 0.1070) / 0.12
    assert 0.5 * loss / (1.5 * 6.0) < tracking.segments["takeoff"].maximum < loss / (1.5 * 6.0)


def test_own_control_law(example):
    """The compiled control law would track worse than the same law in NumPy."""
    tracking = example("own_control_law").main(side=4.0)
    assert {"takeoff", "transfer", "square"} < set(tracking.segments)
    assert 0.02 < tracking.segments["square"].maximum < 0.5 * 2.0 / (1.5 * 6.0) * 1.1
    assert tracking.segments["takeoff"].maximum < 0.1


def test_own_sensor(example):
    """The altimeter would hit its own vehicle, miss the terrace, or measure another height than its 0.9 m."""
    north, height = example("own_sensor").main().T
    for there, truth in ((north < 21.0, 0.0), (north > 23.1, 0.9)):
        assert there.sum() > 20
        # White noise of 1 cm: five sigma for each reading, and for the mean of all.
        assert np.abs(height[there] - truth).max() < 0.05
        assert abs(height[there].mean() - truth) < 0.05 / np.sqrt(there.sum())


def test_own_compiled_sensor(example):
    """The compiled sensor would read a wrong column, or lack its noise."""
    tilts = np.array(example("own_compiled_sensor").main())
    assert len(tilts) == 400
    # Before the rotors turn the vehicle is level, and the reading is noise of 0.01 rad alone.
    assert np.std(tilts[:5]) > 1e-4
    assert np.abs(tilts[:5]).max() < 0.05
    assert 0.2 < tilts.max() < 1.0


def test_own_motor(example):
    """A vehicle with a registered motor would not fly, or the motor's rate would have no effect."""
    module = example("own_motor")
    assert module.main() == pytest.approx(2.0, abs=0.1)
    motor = build(Motor, MOTORS, {"model": "slew", "rate": 100.0}, field="motor")
    assert motor_speed(motor, np.array([[5.0]]), np.array([[9.0]]), 0.01) == pytest.approx(6.0)


def test_own_drag(example):
    """The parachute would not brake to a sink rate of m g / strength."""
    time_constant = 1.5 / 4.0
    settled = 1.5 * 9.8064 / 4.0 * (1.0 - math.exp(-5.0 / time_constant))
    assert example("own_drag").main(PLAIN_IRIS) == pytest.approx(settled, rel=2e-3)


def test_own_wind(example):
    """The wind would not tilt a hovering vehicle by atan(drag / weight), or would not follow its profile."""
    module = example("own_wind")
    assert module.main(PLAIN_IRIS) == pytest.approx(math.atan(0.3 * 6.0 / (1.5 * 9.8064)), rel=0.01)
    wind = build(Wind, WINDS, {"model": "boundary_layer", "speed": 6.0}, field="wind")
    expected = 6.0 * math.log(1.0 / 0.03) / math.log(10.0 / 0.03)
    assert wind.velocity(np.array([[0.0, 0.0, 1.0]]), 0.0)[0, 0] == pytest.approx(expected)


def test_urban_wind(example):
    """A vehicle would not feel the stream before the block, or not the air that flows back behind it."""
    stream, wake = example("urban_wind").main()
    assert stream == pytest.approx(8.0)
    assert -2.4 < wake < -0.5


def test_landing_sweep(example, tmp_path):
    """A flight would have no row, or stronger gusts would not move the landings."""
    rows = example("landing_sweep").main(seeds=3, gusts=(0.5, 3.0), jobs=1, plot=tmp_path / "plot.png")
    assert [row["seed"] for row in rows] == [0, 1, 2] * 2
    assert all(row["iris.outcome"] == "landed" for row in rows)
    scatter = [np.std([row["iris.x"] for row in part]) for part in (rows[:3], rows[3:])]
    assert 0.0 < scatter[0] < scatter[1]
    assert (tmp_path / "plot.png").stat().st_size > 5_000


def test_motor_loss_campaign(example, capsys, monkeypatch):
    """A flight of the campaign would have no row, or a quadrotor without a motor would be said to survive."""
    module = example("motor_loss_campaign")
    monkeypatch.setattr(module, "sweep", functools.partial(module.sweep, jobs=1))
    rows = module.main(1, ["geometric"], ["iris"])
    assert [row["faults.0.rotor"] for row in rows] == [0, 1, 2, 3]
    assert all(row["iris.outcome"] == "crashed" and row["iris.crash_time"] > 6.0 for row in rows)
    assert "geometric" in capsys.readouterr().out


def test_own_world(example):
    """The generator would not be found by its name, or would ignore its parameter."""
    assert example("own_world").main() == 8


@pytest.mark.parametrize(
    "part", ["motor", "drag", "sensor", "compiled_sensor", "control_law", "wind", "world"]
)
def test_a_part_fits_on_a_screen(part):
    """The example of a custom part would need more than 40 lines."""
    lines = (EXAMPLES / f"own_{part}.py").read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 40


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_fits_on_a_screen(name):
    """The example of a common task would need more than 40 lines."""
    lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 40


def test_own_airframe(example, capsys):
    """An airframe of ten lines of YAML would not fly."""
    module = example("own_airframe")
    assert len(module.AIRFRAME.read_text().splitlines()) == 10
    tracking = module.main(side=3.0)
    assert "my_hexarotor: 6 rotors, 2.4 kg" in capsys.readouterr().out
    assert tracking.segments["square"].duration > 4 * 3.0 / 2.5
    assert tracking.overall.maximum < 0.15


def test_hundred_vehicles(example, capsys):
    """A copy would leave its own curve by more than 0.25 m."""
    tracking = example("hundred_vehicles").main(duration=14.0)
    assert tracking.segments["lemniscate"].duration > 6.0
    assert tracking.overall.maximum < 0.25
    assert "100 vehicles, 14 s" in capsys.readouterr().out


def test_paper_relay(example, tmp_path, capsys):
    """The two vehicles would collide, deviate more than published, or leave no plots.

    Published errors of both vehicles with the script's gains (Pegasus Simulator's result files): at most
    0.242 m at the start of the reference, and 0.089 m in the swerve with an RMS of 0.072 m.
    """
    module = example("paper_relay")
    flights = module.main(tmp_path, rate=250.0)
    assert len(capsys.readouterr().out.splitlines()) == 2
    iris = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())
    assert (module.MASS, list(module.INERTIA)) == (iris["mass"], iris["inertia"])
    radius = max(math.hypot(*r["position"][:2]) for r in iris["rotors"]) + iris["propeller"]["diameter"] / 2
    for flight in flights.values():
        assert flight.phase.min() < -4.9
        assert flight.phase.max() > 3.5
        assert flight.separation > 2 * radius
        assert flight.contacts == 0
        assert flight.errors(-2.0, 2.0)[0] < 0.089
        assert flight.errors(-2.0, 2.0)[1] < 0.072
        assert flight.errors(-5.0, 3.6)[0] < 0.242
        assert flight.rotor_speed < module.MAX_SPEED
    published, real = flights.values()
    # The reference starts at 1 m/s; the published error peaks 0.37 s later, at 0.24 m.
    assert published.errors(-5.0, -4.0)[0] == pytest.approx(0.24, rel=0.15)
    assert real.errors(-5.0, 5.0)[0] < 0.07
    for name in ("relay.png", "relay_errors.png"):
        assert (tmp_path / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_stereo_flight(example, tmp_path, capsys):
    """The two images would be exchanged, or contradict the depth image, as measured by block matching."""
    pytest.importorskip("embreex", reason="needs the extra render")
    picture = tmp_path / "stereo.png"
    reading, estimate = example("stereo_flight").main(duration=8.0, picture=picture)
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "median error of the depth" in capsys.readouterr().out
    depth = reading.depth[0]
    compared = np.isfinite(estimate) & (depth < 30.0)
    assert compared.mean() > 0.05
    scale = reading.intrinsic_matrix[0, 0] * reading.baseline
    # Block matching is accurate to a fraction of a pixel, except where a block covers two distances.
    assert np.median(np.abs(scale / estimate[compared] - scale / depth[compared])) < 0.3


def test_lidar_map(example, tmp_path, capsys):
    """Walls would be thick or crooked, points would have wrong classes, or the files be invalid."""
    pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
    pytest.importorskip("warp", reason="needs warp-lang: pip install pegasus-multirotor[render]")
    module = example("lidar_map")
    found = module.main(tmp_path, world="box_with_cylinders", duration=5.0, pattern="vlp16")
    assert "kinds of things, in 25 scans" in capsys.readouterr().out
    points, classes = found.points, found.classes
    assert {"wall", "floor", "cylinder"} <= set(classes)
    # Six sigma of the noise, which is at most 15 mm across a surface; the room is 30 x 24 m.
    assert np.abs(points[classes == "floor"][:, 2]).max() < 6 * 0.015
    x, y, _ = np.abs(points[classes == "wall"]).T
    assert np.minimum(np.abs(x - 15.0), np.abs(y - 12.0)).max() < 6 * 0.015
    cells = np.floor(points / module.CELL)
    assert len(np.unique(cells, axis=0)) == len(points) > 10_000
    header, _, body = (tmp_path / "lidar_map.ply").read_bytes().partition(b"end_header\n")
    assert header.startswith(b"ply\nformat binary_little_endian 1.0\n")
    rows = np.frombuffer(body, dtype=[("xyz", "<f4", 3), ("rgb", "u1", 3)])
    assert f"element vertex {len(points)}\n".encode() in header
    np.testing.assert_allclose(rows["xyz"], points, atol=1e-5)
    assert (tmp_path / "lidar_map.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_drone_dataset(example, tmp_path, capsys):
    """Drones would be missing from the labels, or the labels disagree with the files."""
    pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
    pytest.importorskip("warp", reason="needs warp-lang: pip install pegasus-multirotor[render]")
    shipped = resource("config", "scenarios", "drone_dataset.yaml").read_text()
    # The town takes a minute to draw.
    small = shipped.replace("[640, 480]", "[160, 120]").replace("world: town", "world: courtyard")
    small = small.replace("samples: 4", "samples: 1")
    (tmp_path / "small.yaml").write_text(small.replace("duration: 12.0", "duration: 4.0"))
    folder, picture = tmp_path / "out", tmp_path / "out.png"
    labels = example("drone_dataset").main(tmp_path / "small.yaml", folder, 5, picture, 1)
    assert len(labels["images"]) == len(list((folder / "images").glob("*.png"))) == 5
    (drone,) = (item["id"] for item in labels["categories"] if item["name"] == "multirotor")
    found = [item for item in labels["annotations"] if item["category_id"] == drone]
    paths = {item["attributes"]["path"] for item in found}
    assert len(found) >= 5
    assert paths <= {"/World/target", "/World/hexarotor", "/World/quadrotor"}
    assert f"5 frames in {folder}, {len(found)} drones" in capsys.readouterr().out
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("controller", 0.2),
        # PX4 and ArduPilot follow GPS and barometer, which err by decimetres.
        pytest.param("px4", 2.0, marks=[pytest.mark.px4, NO_PX4]),
        pytest.param("ardupilot", 2.0, marks=[pytest.mark.ardupilot, NO_ARDUPILOT]),
    ],
)
def test_same_mission(example, name, error):
    """The same calls would lead elsewhere, or the vehicle not land and disarm."""
    module = example("same_mission")
    *reached, flown, landed = module.main(name)
    np.testing.assert_allclose(reached, module.POINTS, atol=error)
    # Two seconds towards 1 m/s to the west, and the braking.
    assert 1.2 < reached[-1][0] - flown[0] < 3.0
    assert landed[2] < 0.2
    assert len((EXAMPLES / "same_mission.py").read_text().splitlines()) <= 40


@pytest.mark.px4
@NO_PX4
def test_px4_mission(example):
    """PX4 would not arm, fly or land by the commands of a script at its offboard port."""
    pytest.importorskip("pymavlink", reason="needs pymavlink: pip install pymavlink")
    # The GPS wanders by some 0.6 m on each axis, and PX4 follows it.
    assert (example("px4_mission").main(count=2) < 4.0).all()


@pytest.mark.px4
@NO_PX4
@pytest.mark.learn
@pytest.mark.parametrize(("observes", "distance"), [("truth", 0.05), ("estimate", 2.5)])
def test_policy_beside_px4(example, observes, distance):
    """PX4 would leave its offboard mode, or the vehicle its place, or not land at the end."""
    assert 0.0 < example("policy_beside_px4").main(observes=observes) < distance


def test_ros2_fleet(example, monkeypatch, capfd):
    """The ROS 2 process would not discover the vehicles, or would command the wrong ones."""
    pytest.importorskip("cyclonedds")
    # A domain that concurrent test runs are unlikely to use.
    monkeypatch.setenv("ROS_DOMAIN_ID", str(102 + os.getpid() % 100))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    moved = example("ros2_fleet").main(count=5)
    # 2 m up, and 2 m forward at a heading of 0.5 rad.
    wanted = [2.0 * math.cos(0.5), 2.0 * math.sin(0.5), 2.0]
    assert np.abs(moved - wanted).max() < 0.2
    assert "5 there, by " in capfd.readouterr().out


@pytest.mark.learn
def test_learnt_flight(example):
    """The policy would not fly all three vehicles, or not along the lemniscate."""
    assert max(example("learnt_flight").main(duration=6.0).values()) < 0.1


def test_identify_from_log(example, tmp_path):
    """Mass and drag would not be found from the noisy log, or the file not be written."""
    found = example("identify_from_log").main(folder=tmp_path, seconds=10.0)
    assert found["mass"].value == pytest.approx(2.0643, rel=0.01)
    for name, area in (("drag.areas.x", 0.0169), ("drag.areas.y", 0.0214)):
        assert abs(found[name].value - area) < 4.0 * found[name].sigma < 0.3 * area
    assert yaml.safe_load((tmp_path / "x500_fitted.yaml").read_text())["extends"] == "x500"


@pytest.mark.learn
@pytest.mark.train
def test_learn_to_hover(example, tmp_path):
    """Training would not run, or write no policy that the simulation takes."""
    example("learn_to_hover").main(steps=20_000, folder=tmp_path)
    assert (tmp_path / "policy.onnx").is_file()
