"""Record MuJoCo's flight along a square, which flights in Kit are compared with.

Run `python -m tests.isaac.square` after a change of the physics.
"""

import json
from pathlib import Path

import numpy as np

import pegasus
from pegasus import Multirotor, Simulation
from tests.isaac import fakes
from tests.isaac.contract import NEWEST

FILE = Path(pegasus.__file__).parent / "isaac" / "tests" / "square.json"
RATE, SECONDS = 10, 8


def flight():
    """Return the positions of the flight, shape (K, 3); the stand-ins are installed."""
    from pegasus.isaac.tests.test_in_kit import PathNotes, square_pilot

    with Simulation("flat", engine="mujoco", rate=250, seed=1) as simulation:
        iris = simulation.add(Multirotor("iris", position=(0.0, 0.0, 0.1), backends=[square_pilot()]))
        notes = PathNotes(iris, round(250 / RATE))
        simulation.add_observer(notes)
        simulation.run(duration=SECONDS)
        return np.array(notes.path)


if __name__ == "__main__":
    fakes.install(NEWEST)
    rows = [[round(x, 6) for x in row] for row in flight().tolist()]
    lines = ",\n  ".join(map(json.dumps, rows))
    FILE.write_text(f'{{"rate": {RATE}, "position": [\n  {lines}\n]}}\n', encoding="utf-8")
