"""Cost of additional browsers for a simulation at full speed: python -m benchmarks.panel_clients [PAIRS].

One client is connected all the time; 50 more connect and disconnect, which read all messages or none. Periods
without and with them alternate, and medians are printed. Steps per wall time depend on other load of the
machine. The processor time of all threads except the simulation's depends on it less: the threads share the
interpreter lock, so on an idle machine the time of the others is missing from the steps.
"""

import statistics
import subprocess
import sys
import threading
import time

import msgspec
import viser

from pegasus import Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from pegasus.panel import Panel
from pegasus.panel.viser.controls import WebControls
from pegasus.panel.viser.view import WebView
from pegasus.session import Session

EXTRA = 50
WINDOW = 3.0
"""Wall time of one measurement [s]."""
CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (3.0, 3.0, 3.0),
    "fov": 1.0,
    "near": 0.1,
    "far": 100.0,
    "image_height": 480,
    "image_width": 640,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}


class Clients:
    """Clients in a separate process.

    Args:
        address: Address of the page.
        count: Number of clients.
        reads: Whether they read the messages sent to them.
    """

    def __init__(self, address: str, count: int, *, reads: bool) -> None:
        options = (str(count), str(int(reads)), f"viser-v{viser.__version__}")
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.panel_browsers", address),
                *(*options, msgspec.msgpack.encode(CAMERA).hex()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError("the clients have not connected")

    def close(self) -> None:
        """Disconnect all clients."""
        self._process.communicate()


def fleet() -> Simulation:
    """Return a simulation with a flying vehicle."""
    simulation = Simulation("flat")
    pilot = GeometricController(trajectories.lemniscate(radius=5, height=3, laps=100_000))
    simulation.add(Multirotor("iris", backends=[pilot]))
    return simulation


def others_time() -> float:
    """Return the processor time of all threads except the simulation's [s]."""
    return sum(
        time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        for thread in threading.enumerate()
        if thread.ident is not None and thread.name != "pegasus-session"
    )


def speed(session: Session) -> tuple[float, float]:
    """Return steps per second of wall time, and the load of all other threads [cores]."""
    first, wall, others = session.snapshot.step_count, time.perf_counter(), others_time()
    time.sleep(WINDOW)
    steps, wall = session.snapshot.step_count - first, time.perf_counter() - wall
    return steps / wall, (others_time() - others) / wall


def settle(view: WebView, count: int) -> None:
    """Wait until a number of clients are connected and their first messages are sent."""
    end = time.perf_counter() + 30.0
    while len(view.server.get_clients()) != count and time.perf_counter() < end:
        time.sleep(0.05)
    time.sleep(2.0)


def measure(session: Session, view: WebView, pairs: int, *, reads: bool) -> tuple[str, ...]:
    """Return a row: rates without and with additional clients, their cost, and the number still connected.

    Args:
        session: Runs the simulation.
        view: The page.
        pairs: Number of periods without and with them.
        reads: Whether the clients read the messages sent to them.
    """
    alone, together, still = [], [], 0
    for _ in range(pairs):
        alone.append(speed(session))
        extra = Clients(view.address, EXTRA, reads=reads)
        settle(view, 1 + EXTRA)
        together.append(speed(session))
        still = len(view.server.get_clients()) - 1
        extra.close()
        settle(view, 1)
    rates, parts = (
        [statistics.median(row[k] for row in rows) for rows in (alone, together)] for k in range(2)
    )
    cost = statistics.median(1.0 - b[0] / a[0] for a, b in zip(alone, together, strict=True))
    share = statistics.median((b[1] - a[1]) / (1.0 - a[1]) for a, b in zip(alone, together, strict=True))
    name = f"{EXTRA} {'reading' if reads else 'stalled'}"
    figures = (*rates, 100.0 * cost, *(100.0 * part for part in parts), 100.0 * share, still)
    return name, *(f"{value:.4g}" for value in figures)


def main(pairs: int) -> None:
    """Measure, and print a row for clients that read and one for clients that do not."""
    with Session() as session:
        panel = Panel(session)
        with WebView(lambda: session.snapshot, panel.view, port=0) as view:
            controls = WebControls(view, panel)
            session.exchange(fleet)
            panel.simulation.set_speed("max")
            panel.simulation.play()
            first = Clients(view.address, 1, reads=True)
            settle(view, 1)
            titles = (
                "clients",
                "steps/s",
                "with them",
                "cost [%]",
                "others [%]",
                "with them",
                "cost [%]",
                "left",
            )
            print(" ".join(f"{title:>11}" for title in titles), flush=True)
            for reads in (True, False):
                row = measure(session, view, pairs, reads=reads)
                print(" ".join(f"{value:>11}" for value in row), flush=True)
            first.close()
            controls.close()
        panel.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
