"""Memory of `pegasus view` over simulated time, with browsers that connect and disconnect.

Two Chromium browsers at a time: one opens every tab, the other reloads and changes the view. An hour takes
about ten minutes on two cores: python -m benchmarks.panel_endurance [SECONDS]
"""

import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.panel.browser import Page, wait_for

TABS = ("Vehicle", "Fly", "Telemetry", "View", "World")
SCENARIO = """
name: endurance
world: courtyard
speed: 20
vehicles:
  - model: iris
    count: 10
    backends:
      - model: geometric
        trajectory:
          - takeoff: {height: 3.0}
          - lemniscate: {radius: 5.0, height: 3.0, speed: 3.0, laps: 10000}
"""


def memory(process: int) -> float:
    """Return the resident memory of a process [MB]; needs Linux."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def file_count(process: int) -> int:
    """Return the number of open files and sockets of a process."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def thread_count(process: int) -> int:
    """Return the number of threads of a process."""
    return len(list(Path(f"/proc/{process}/task").iterdir()))


def simulated_time(page: Page) -> float:
    """Return the simulation time that a page shows [s]."""
    found: list[str] = []

    def shown() -> bool:
        found[:] = re.findall(r"playing, (\d+\.\d) s", page.text)
        return bool(found)

    wait_for(shown, what="the simulation's time")
    return float(found[0])


def visit(address: str, stay: float) -> float:
    """Open two browsers, use and close them, and return the simulation time that they show [s].

    Args:
        address: Address of the page.
        stay: Additional wall time for which they stay open [s].
    """
    with Page(address) as first:
        first.wait_for_text("playing")
        first.close_notices()
        with Page(address) as second:
            second.wait_for_text("playing")
            for tab in TABS:
                first.press(tab)
            second.reload()
            second.wait_for_text("playing")
            second.close_notices()
            second.press("View")
            second.choose("Camera", "chase")
            second.choose("Camera", "free")
            time.sleep(stay)
        return simulated_time(first)


def main(duration: float) -> None:
    """Run, and print a row after each visit."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder, "endurance.yaml")
        scenario.write_text(SCENARIO)
        command = [sys.executable, "-m", "pegasus", "view", str(scenario), "--port", "0", "--out", folder]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            said = server.stdout.readline()
            found = re.search(r"http://\S+?(?=;)", said)
            if found is None:
                raise RuntimeError(f"pegasus view has not said where it is: {said!r}")
            titles = ("visits", "simulated [s]", "wall [s]", "memory [MB]", "files", "threads")
            print(" ".join(f"{title:>13}" for title in titles))
            begin, visits, simulated = time.perf_counter(), 0, 0.0
            while simulated < duration:
                simulated, visits = visit(found[0], stay=5.0), visits + 1
                wall, used = time.perf_counter() - begin, memory(server.pid)
                row = (visits, simulated, wall, used, file_count(server.pid), thread_count(server.pid))
                print(" ".join(f"{value:>13.6g}" for value in row), flush=True)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0)
