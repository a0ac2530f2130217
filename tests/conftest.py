"""Where tests keep what is made once, and what is said of those that were skipped."""

import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator

import pytest

REQUIRABLE = ("browser", "px4", "ardupilot")
"""Markers of tests that need what is not installed with the package."""


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of this run's own: nothing of the user's is read or written."""
    before = os.environ.get("PEGASUS_CACHE_DIR")
    os.environ["PEGASUS_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["PEGASUS_CACHE_DIR"]
    else:
        os.environ["PEGASUS_CACHE_DIR"] = before


def required() -> set[str]:
    """Return the markers whose tests may not be skipped: those that PEGASUS_REQUIRE names."""
    return set(filter(None, os.environ.get("PEGASUS_REQUIRE", "").split(",")))


def pytest_configure() -> None:
    # What a shell runs in the background ignores Ctrl-C, and under nohup SIGHUP; tests would hand that on.
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    if unknown := required() - set(REQUIRABLE):
        raise pytest.UsageError(
            f"PEGASUS_REQUIRE: {', '.join(sorted(unknown))}: must be among {', '.join(REQUIRABLE)},"
            " separated by commas"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that was skipped although it is required."""
    report = yield
    if report.skipped and (kinds := sorted(kind for kind in required() if item.get_closest_marker(kind))):
        report.outcome = "failed"
        report.longrepr = f"PEGASUS_REQUIRE={','.join(kinds)}, but it was skipped: {_reason(report)}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say plainly what was not tested here, and what it takes."""
    skipped = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    for reason, count in skipped.most_common():
        terminalreporter.write_line(f"{count} test{'s were' if count > 1 else ' was'} skipped: {reason}")


def _reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")
