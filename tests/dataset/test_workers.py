"""Tests of datasets made by several processes: equal bytes, in spite of interruptions."""

import re
import signal
import sys
import time
from pathlib import Path

import pytest
from dataset_runs import contents, frame_count, start, write_scenario

from pegasus.base.errors import ConfigError
from pegasus.config.files import load_scenario
from pegasus.dataset.episode import plan_of
from pegasus.dataset.generation import make_dataset, open_jobs
from pegasus.dataset.recipe import Recipe, manifest_of, write_manifest
from pegasus.dataset.workers import make_job
from tests.waits import LIMIT

pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
pytest.importorskip("warp", reason="needs warp-lang: pip install pegasus-multirotor[render]")

FRAMES = 24


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    return write_scenario(tmp_path_factory.mktemp("scenario"))


@pytest.fixture(scope="module")
def whole(scenario, tmp_path_factory):
    """The files of the dataset, made in this process in a single run, from the last scene to the first."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    spec, file = load_scenario(scenario)
    recipe = Recipe(spec, file, seed=5, frame_count=FRAMES, writer="coco", renderer="embree")
    plan = plan_of(recipe)
    write_manifest(folder, manifest_of(recipe, plan))
    for job in reversed(open_jobs(recipe, frozenset())):
        make_job(recipe, folder, plan, job)
    recipe.make_writer(folder, plan.cameras, resume=True).finish()
    return contents(folder)


def command(scenario, out, *more):
    return (scenario, "--out", out, "--frames", FRAMES, "--seed", 5, "--writer", "coco", *more)


def wait_for_frames(run, out, count):
    """Wait until a number of frames count; the run is expected not to end before."""
    limit = time.monotonic() + LIMIT
    while frame_count(out) < count:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < limit
        time.sleep(0.005)


def wait_for_the_end_of_session(number):
    """Wait until no process of a session is left, zombies aside."""
    limit = time.monotonic() + LIMIT
    while living := _living(number):
        assert time.monotonic() < limit, living
        time.sleep(0.02)


def _living(session):
    """Return the running processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        state, _, _, number = text.rpartition(")")[2].split()[:4]
        if int(number) == session and state != "Z":
            found.append(text)
    return found


def test_killed_stopped_and_resumed_is_the_same(scenario, whole, tmp_path):
    """Interrupted runs would lose, repeat or damage frames, or leave a worker running.

    The first of the runs wants fewer frames, which the next one adds.
    """
    out = tmp_path / "out"
    run = start(*command(scenario, out, "--workers", 2, "--frames", FRAMES - 7))
    wait_for_frames(run, out, 3)
    run.kill()
    run.communicate()
    wait_for_the_end_of_session(run.pid)
    ready = frame_count(out)
    assert ready < FRAMES
    run = start(*command(scenario, out, "--workers", 1, "--resume"))
    wait_for_frames(run, out, ready + 4)
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=LIMIT)
    assert run.returncode == 143
    *frames, last = errors.splitlines()
    assert last == f"pegasus: interrupted; continue with --resume --out {out}"
    assert all(re.fullmatch(r"pegasus: \d+ of \d+ frames", line) for line in frames)
    wait_for_the_end_of_session(run.pid)
    assert ready < frame_count(out) < FRAMES
    made = make_dataset(scenario, out, frames=FRAMES, workers=2, seed=5, writer="coco", resume=True)
    assert made.frame_count == FRAMES
    assert contents(out) == whole


def test_an_error_in_a_worker_is_one_line(tmp_path):
    """A worker's error would end in the tracebacks of two processes."""
    eye = {"model": "poses", "vehicles": ["target"], "extent": [1.0, 1.0], "clearance": 50.0}
    file = write_scenario(tmp_path, dataset={"randomizers": {"eye": eye}})
    with pytest.raises(
        ConfigError, match=r"tiny\.yaml: dataset\.randomizers\.eye\.extent = .*: no free"
    ) as caught:
        make_dataset(file, tmp_path / "out", frames=FRAMES, workers=1)
    assert "\n" not in str(caught.value)
    assert frame_count(tmp_path / "out") == 0


def test_ray_makes_the_same(scenario, whole, tmp_path):
    """A dataset from a cluster would differ from that of a laptop."""
    pytest.importorskip("ray", reason="needs ray: pip install pegasus-multirotor[cluster]")
    out = tmp_path / "out"
    run = start(*command(scenario, out, "--ray", "local", "--frames", 8))
    _, errors = run.communicate(timeout=LIMIT)
    if " " in sys.executable:
        assert run.returncode == 2
        assert "whose path holds a blank; install into a folder without blanks" in errors
        return
    assert run.returncode == 0, errors
    made = {name: part for name, part in contents(out).items() if name.startswith(("images", ".frames"))}
    assert len(made) == 24
    assert made == {name: whole[name] for name in made}
