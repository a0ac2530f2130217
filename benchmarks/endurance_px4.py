"""Memory, open files and time over a day of simulated steps with a stand-in for PX4.

A million steps take a few minutes: python benchmarks/endurance_px4.py [STEPS]
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

from pegasus import Multirotor, Simulation
from pegasus.backends import PX4

PEER = Path(__file__).parents[1] / "tests" / "backends" / "px4_peer.py"
WARM_UP = 5000
ROWS = 10


def resident_memory() -> float:
    """Return the resident memory of this process [MB]; needs Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def open_file_count() -> int:
    """Return the number of open files of this process."""
    return len(list(Path("/dev/fd").iterdir()))


def main(step_count: int) -> None:
    """Run, and print a row after every tenth of the steps."""
    backend = PX4(launch=False)
    with Simulation() as simulation:
        simulation.add(Multirotor("iris", backends=[backend]))
        command = [sys.executable, str(PEER), "--controller", "none", "-i", str(backend.first_instance)]
        peer = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            simulation.step(WARM_UP)
            print(
                f"{'steps':>10} {'simulated [h]':>14} {'wall [s]':>9} {'memory [MB]':>12} {'open files':>11}"
            )
            begin = time.perf_counter()
            for row in range(ROWS + 1):
                if row:
                    simulation.step(step_count // ROWS)
                steps, wall = simulation.step_count - WARM_UP, time.perf_counter() - begin
                hours, memory, files = simulation.time / 3600, resident_memory(), open_file_count()
                print(f"{steps:>10} {hours:>14.3f} {wall:>9.1f} {memory:>12.2f} {files:>11}", flush=True)
        finally:
            peer.kill()
            peer.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
