"""Fixtures and hooks of all tests: cache, stages, order of files, required and skipped tests."""

import functools
import gc
import importlib.util
import os
import signal
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PACKAGES = {
    "learn": ("gymnasium", "onnx", "onnxruntime"),
    "train": ("torch", "stable_baselines3"),
    "swarm": ("pettingzoo",),
    "rsl": ("rsl_rl", "tensordict", "tensorboard", "git"),
}
"""Packages that tests need, by marker."""
REQUIRABLE = ("browser", "photo", "px4", "ardupilot", *PACKAGES)
"""Markers of tests that need programs which are not installed with the package."""

TESTS = Path(__file__).parent
LONG = (
    "worlds/test_every_world.py",
    "panel/viser/test_web_browser.py",
    "test_examples.py",
    "fleet/test_fleet_bits.py",
    "fleet/test_fleet_levels.py",
    "fleet/test_fleet_derivatives.py",
    "engines/test_mujoco_contacts.py",
    "estimation/test_anchors_and_rtk.py",
    "test_docs.py",
    "backends/px4/test_px4_faults.py",
    "dataset/test_workers.py",
    "cli/test_interrupt.py",
    "engines/test_mujoco_tangles.py",
    "estimation/test_relative.py",
    "dataset/test_bad_input.py",
    "test_packaging.py",
    "experiments/test_sweep.py",
    "estimation/test_scale_factors.py",
    "backends/px4/test_px4.py",
    "cli/test_cli.py",
    "control/test_steps.py",
    "experiments/test_published.py",
    "engines/test_mujoco_engine.py",
    "core/test_variation.py",
    "core/test_compiled_step.py",
    "control/trajectories/test_race_line.py",
    "control/test_differing_batches.py",
    "backends/ardupilot/test_ardupilot_frames.py",
    "core/test_gpu.py",
    "control/test_starts_that_differ.py",
    "test_determinism.py",
    "estimation/test_published_estimates.py",
    "engines/test_mujoco_geoms.py",
    "isaac/test_rtx.py",
    "worlds/test_outdoors.py",
    "control/test_feasibility.py",
    "estimation/test_consistency.py",
    "panel/viser/test_web_pilot.py",
    "isaac/test_world_stage.py",
    "backends/test_autopilot_failures.py",
    "isaac/test_mishaps.py",
    "isaac/test_isaac_examples.py",
    "panel/viser/test_web_clients.py",
    "core/test_flight_processors.py",
    "control/test_ground_check.py",
    "labels/test_bent_boxes.py",
    "render/test_mitsuba_renderer.py",
)
"""Test files that take 10 s or more, slowest first; workers start with them: none idles at the end."""


# Searching the objects of all libraries and tests for garbage would take 7 % of the time of the suite.
gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def cache() -> Path:
    """Return the cache of this run, shared by its workers: worlds, textures and kernels are made once."""
    return Path(os.environ["PEGASUS_CACHE_DIR"])


@pytest.fixture
def stage() -> Any:
    """Return an empty stage in metres with z up."""
    from pxr import Usd, UsdGeom

    empty = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(empty, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(empty, 1.0)
    return empty


@pytest.fixture
def area_and_volume() -> Callable[..., tuple[float, float]]:
    """Return a function for the area and, by the divergence theorem, the signed volume of triangles."""

    def measure(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, float]:
        a, b, c = (np.asarray(vertices, dtype=np.float64)[faces[:, k]] for k in range(3))
        cross = np.cross(b - a, c - a)
        return float(np.sqrt((cross**2).sum(axis=1)).sum() / 2), float((a * cross).sum() / 6)

    return measure


@pytest.fixture
def in_world() -> Callable[..., np.ndarray]:
    """Return a function that gives the vertices of a geometry in the world frame."""

    def carry(geometry: Any, transform: np.ndarray) -> np.ndarray:
        return geometry.vertices.astype(np.float64) @ transform[:3, :3].T + transform[:3, 3]

    return carry


def required() -> set[str]:
    """Return the markers in PEGASUS_REQUIRE, whose tests must not be skipped."""
    return set(filter(None, os.environ.get("PEGASUS_REQUIRE", "").split(",")))


def pytest_configure(config: pytest.Config) -> None:
    # By default pytest-xdist starts with the files that have most tests, and leaves slow ones to the end.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    if missing := [name for name in LONG if not (TESTS / name).is_file()]:
        raise pytest.UsageError(
            f"tests/conftest.py: LONG: {', '.join(missing)}: no such test file; correct it"
        )
    # Background jobs of a shell ignore Ctrl-C, and under nohup SIGHUP; child processes would inherit that.
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, default)
    if unknown := required() - set(REQUIRABLE):
        raise pytest.UsageError(
            f"PEGASUS_REQUIRE: {', '.join(sorted(unknown))}: must be among {', '.join(REQUIRABLE)},"
            " separated by commas"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Set caches before test files are imported: Warp keeps the folder that is set at its start."""
    config = session.config
    if hasattr(config, "workerinput"):
        return
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    folder = config._tmp_path_factory.mktemp("cache", numbered=False)
    patch.setenv("PEGASUS_CACHE_DIR", str(folder))
    # Tests compile more than they fly; tests/core/test_flight_processors.py shows that the bits are the same.
    if "PEGASUS_COMPILE_QUICKLY" not in os.environ:
        patch.setenv("PEGASUS_COMPILE_QUICKLY", "1")
    # Some containers forbid to keep compiled modules: each process that a test starts would compile all.
    patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the files for pytest-xdist: slow ones first, then those with most tests."""
    if not hasattr(config, "workerinput"):
        return
    counts = Counter(item.path for item in items)
    first = {TESTS / name: rank for rank, name in enumerate(LONG)}
    items.sort(key=lambda item: (first.get(item.path, len(LONG)), -counts[item.path], item.path))


def pytest_collection_finish() -> None:
    """Keep the half million objects of modules and tests out of each search for garbage."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of photo mode where it cannot render, and one whose packages are not installed."""
    if item.get_closest_marker("photo") and (missing := _missing_for_photos()):
        pytest.skip(missing)
    for kind in PACKAGES:
        if item.get_closest_marker(kind) and (absent := _absent(kind)):
            pytest.skip(f"not installed: {', '.join(absent)}")


@functools.cache
def _absent(kind: str) -> list[str]:
    """Return the packages that tests with a marker need and that are not installed."""
    return [name for name in PACKAGES[kind] if importlib.util.find_spec(name) is None]


@functools.cache
def _missing_for_photos() -> str | None:
    """Return what photo mode lacks on this machine, and the command that installs it."""
    from pegasus.base.errors import ConfigError
    from pegasus.render.photo.renderer import load_mitsuba

    try:
        load_mitsuba()
    except ConfigError as error:
        return f"photo mode {error.problem}; {error.remedy}"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a skipped test as failed if PEGASUS_REQUIRE names its marker."""
    report = yield
    if report.skipped and (kinds := sorted(kind for kind in required() if item.get_closest_marker(kind))):
        report.outcome = "failed"
        report.longrepr = f"PEGASUS_REQUIRE={','.join(kinds)}, but it was skipped: {_reason(report)}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the reasons of skipped tests."""
    skipped = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    for reason, count in skipped.most_common():
        terminalreporter.write_line(f"{count} test{'s were' if count > 1 else ' was'} skipped: {reason}")


def _reason(report: pytest.TestReport) -> str:
    """Return the reason why a test was skipped."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")
