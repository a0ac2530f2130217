"""Flights with the PX4 peer, launched like PX4, over real TCP."""

import logging
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from px4_rig import Elsewhere, Recorder, distance, fly_until, free_instance, iris, open_files, phases, says

from pegasus import ConfigError, Simulation
from pegasus.backends import PX4, GuidedPX4
from pegasus.backends.mavlink.autopilot_line import PX4_DIALECT
from pegasus.backends.mavlink.ports import bind_udp

pytestmark = pytest.mark.usefixtures("nothing_left")
HEIGHT = 5.0


def test_a_square(px4):
    """A first flight with PX4 would fail: arm, take off, hover at 5 m, fly a square, land, disarm."""
    backend, recorder = px4("--mission square --ready 2 --hover-time 3"), Recorder()
    with Simulation(seed=1) as simulation:
        simulation.add(iris(backend, recorder, heading=0.7))
        start = recorder.vehicle.state.position[0].copy()
        fly_until(simulation, lambda: any(backend.armed))
        fly_until(simulation, lambda: not any(backend.armed))
        at = phases(backend.run_folder / f"px4_{backend.first_instance}.log")
    assert list(at) == [
        "CONNECTED", "ARMED", "TAKEOFF", "HOVER", "SQUARE", "LAND", "LANDED", "DISARMED",
    ]  # fmt: skip
    start = recorder.between(0.0, at["TAKEOFF"])[-1, 0]
    hover = recorder.between(at["HOVER"], at["SQUARE"])[:, 0] - start
    assert distance(hover, [0, 0, HEIGHT]).max() < 0.2
    square = recorder.between(at["SQUARE"], at["LAND"])[:, 0] - start
    for corner in ((5, 0), (5, 5), (0, 5), (0, 0)):
        assert distance(square, [*corner, HEIGHT]).min() < 0.2
    assert distance(recorder.position[-1][0] - start, 0) < 0.2


@pytest.mark.parametrize("vehicle_count", [1, 5])
def test_five_at_once(px4, vehicle_count):
    """Five copies, or five vehicles, would not each fly with a PX4 of their own."""
    first = free_instance(5)
    backends = [
        px4("--mission hover --ready 1", instance=first + i if vehicle_count > 1 else None)
        for i in range(vehicle_count)
    ]
    recorders = [Recorder() for _ in backends]
    copies = 5 // vehicle_count
    with Simulation(seed=2) as simulation:
        for i, pair in enumerate(zip(backends, recorders, strict=True)):
            simulation.add(iris(*pair, count=copies, position=(0.0, 5.0 * i, 0.1)))
        simulation.run(1.2)
        assert [backend.armed for backend in backends] == [[True] * copies] * vehicle_count
        fly_until(simulation, lambda: all(says(b, "HOVER", i) for b in backends for i in range(copies)))
        hover = simulation.time
        simulation.run(2.0)
        numbers = [b.first_instance + i for b in backends for i in range(copies)]
    assert len(set(numbers)) == 5
    for recorder in recorders:
        away = recorder.between(hover, np.inf) - recorder.position[0] - [0, 0, HEIGHT]
        # They take off from their rest positions, some centimetres below their start.
        assert distance(away, 0).max() < 0.2
    run = backends[0].run_folder
    for number in numbers:
        assert (run / f"px4_{number}" / "environment").is_file()
        assert "HOVER" in phases(run / f"px4_{number}.log")


def test_one_comes_and_goes_while_others_fly(px4):
    """A vehicle that joins or leaves would disturb others, or have no PX4 of its own."""
    first, second = (px4("--mission hover --ready 1") for _ in range(2))
    recorder, late = Recorder(), Recorder()
    with Simulation(seed=3) as simulation:
        simulation.add(iris(first, recorder))
        fly_until(simulation, lambda: says(first, "HOVER"))
        hover = simulation.time
        simulation.add(iris(second, late, position=(5.0, 0.0, 0.1)))
        fly_until(simulation, lambda: says(second, "HOVER"))
        arrived = simulation.time
        simulation.run(1.0)
        (process,) = second._processes
        assert process.alive
        simulation.remove("iris1")
        assert not process.alive
        simulation.run(0.5)
    # The clock of its PX4 starts when the vehicle joins.
    assert arrived - hover < 10.0
    above = recorder.position[0] + [0, 0, HEIGHT]
    assert distance(recorder.between(hover, np.inf), above).max() < 0.2
    assert distance(late.between(arrived, np.inf), late.position[0] + [0, 0, HEIGHT]).max() < 0.2


def test_a_pause(px4, caplog):
    """A pause longer than the answer limit would look like a hanging autopilot."""
    backend = px4("--mission hover --ready 1", step_timeout=0.2)
    with Simulation(seed=5) as simulation:
        vehicle = simulation.add(iris(backend))
        fly_until(simulation, lambda: says(backend, "HOVER"))
        simulation.pause()
        time.sleep(1.0)
        simulation.play()
        simulation.run(1.0)
        assert vehicle.state.position[0, 2] == pytest.approx(HEIGHT + 0.1, abs=0.2)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_reset(px4):
    """After a reset the old PX4 would still run, or the new one's clock not begin at zero."""
    backend = px4("--mission hover --ready 1")
    with Simulation(seed=6) as simulation:
        vehicle = simulation.add(iris(backend))
        flights = []
        for _ in range(2):
            fly_until(simulation, lambda: vehicle.state.position[0, 2] > 1.0)
            flights.append((simulation.time, backend._processes[0].pid))
            simulation.reset()
            assert simulation.time == 0
            assert vehicle.state.position[0, 2] < 0.2
        simulation.stop()
        assert backend._processes == []
    (first, pid), (second, other) = flights
    assert first == second
    assert pid != other
    log = backend.run_folder / f"px4_{backend.first_instance}.log"
    assert [line.split()[0] for line in log.read_text().splitlines()].count("ARMED") == 2


def test_a_run_repeats_itself(px4):
    """The same seed would give different flights, dependent on the arrival time of answers."""
    flights = []
    for _ in range(2):
        recorder = Recorder()
        with Simulation(seed=7) as simulation:
            simulation.add(iris(px4("--mission hover --ready 1"), recorder, count=2))
            simulation.run(3.0)
        flights.append(np.array(recorder.position))
    np.testing.assert_array_equal(*flights)
    assert flights[0][-1, :, 2].min() > 1.0


def test_one_that_does_not_arm(px4, tree, monkeypatch, caplog):
    """A vehicle that does not arm would cause no message with the reason and the log's path."""
    monkeypatch.setattr("pegasus.backends.px4.px4.PX4_DIALECT", PX4_DIALECT._replace(patience=0.4))
    complaint = "WARN  [health_and_arming_checks] Preflight Fail:"
    said = [f'echo "{complaint} {reason}"' for reason in ("no compass", "no GPS", "no compass")]
    tree.binary.write_text(tree.binary.read_text().replace("exec", "\n".join([*said, "exec"])))
    with Simulation(seed=8) as simulation:
        simulation.add(iris(px4(trajectory=[{"takeoff": {"height": 1.0}}, "land"])))
        simulation.run(1.6)
    (line,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.endswith("of vehicle 'iris' has not armed within 0.4 s: no compass; no GPS")


def test_guided_one_that_does_not_arm(tree):
    """A take-off that PX4 refuses would end without PX4's reasons, or be asked for before its command."""
    complaint = "WARN  [health_and_arming_checks] Preflight Fail:"
    tree.binary.write_text(tree.binary.read_text().replace("exec", f'echo "{complaint} no compass"\nexec'))
    tree.say("--mission none")
    backend = GuidedPX4(tree.folder)
    with Simulation(seed=8) as simulation:
        simulation.add(iris(backend))
        with pytest.raises(TimeoutError, match=r"takeoff: iris, copy 0, is not done .*: no compass"):
            backend.takeoff().wait(simulation, timeout=1.5)
        simulation.reset()
        simulation.step()
        # A reset forgets the command.
        assert backend.guided.finished


def test_folder_of_its_own(tree, tmp_path, monkeypatch):
    """Without a run folder, PX4 would leave files in the current folder or forever in a temporary one."""
    scratch, kept = tmp_path / "tmp", tmp_path / "kept"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    for working_directory in (None, kept):
        with Simulation() as simulation:
            backend = PX4(tree.folder, working_directory=working_directory)
            simulation.add(iris(backend))
            simulation.run(0.2)
            (folder,) = scratch.iterdir()
            names = sorted(path.name for path in folder.iterdir())
            number = backend.first_instance
            assert names == [f"px4_{number}", f"px4_{number}.log"][working_directory is not None :]
        assert list(scratch.iterdir()) == []
        assert kept.exists() == (working_directory is not None)
    assert (kept / f"px4_{number}" / "environment").is_file()


@pytest.mark.parametrize("before", [True, False])
def test_a_px4_that_runs_already(tmp_path, own_settings, before):
    """A PX4 started by hand would not be found, before or after the simulation starts."""
    number = free_instance()
    (own_settings / "settings.yaml").write_text(f"px4: {{instance: {number}}}")
    # It holds its own ports, which must not make the search skip the instance.
    with Elsewhere(tmp_path, number, "--outputs", "0.3,0.3,0.3,0.3", "--controller", "none"):
        if before:
            time.sleep(0.5)
        with bind_udp("127.0.0.1", 14580 + number), Simulation() as simulation:
            backend = PX4(launch=False)
            vehicle = simulation.add(iris(backend))
            assert backend.first_instance == number
            simulation.run(0.3)
            assert backend.armed == [True]
            np.testing.assert_allclose(vehicle.rotor_command, 260.9, rtol=1e-6)


def test_a_px4_that_does_not_come():
    """A simulation would fly without PX4, or wait for it forever without a message."""
    with Simulation() as simulation:
        backend = PX4(launch=False, start_timeout=0.3)
        simulation.add(iris(backend))
        begin = time.monotonic()
        with pytest.raises(ConfigError) as caught:
            simulation.run(1.0)
    assert 0.3 < time.monotonic() - begin < 2.0
    assert str(caught.value).startswith(f"PX4 {backend.first_instance} of vehicle 'iris': has not connected")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to look at memory and open files")
def test_a_long_run(px4):
    """Long runs would exhaust memory or open files; benchmarks/endurance_px4.py runs a day."""
    backend = px4("--controller none")
    with Simulation(seed=11) as simulation:
        simulation.add(iris(backend))
        simulation.step(4000)
        before, files = resident(), len(open_files())
        simulation.step(20_000)
        assert resident() - before < 2 * 2**20
        assert len(open_files()) == files


def resident():
    """Return the resident memory of this process [byte]."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
