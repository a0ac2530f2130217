"""Loss of each motor of a quad, hexa and octorotor; arguments: number of seeds, and px4 if installed."""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from rich.console import Console

from pegasus.experiments import Row, survival_table, sweep

ROTORS = {"iris": 4, "typhoon_h": 6, "octorotor": 8}
WIND = {"model": "gusts", "mean_velocity": [2.0, 0.0, 0.0], "intensity": 0.5}
HOVER = [{"takeoff": {"height": 10.0}}, {"hold": {"duration": 8.0}}]


def main(seeds: int, autopilots: Sequence[str], vehicles: Sequence[str] = tuple(ROTORS)) -> list[Row]:
    """Fly a hover in gusts, with a motor that is lost at 6 s, print who survives, and return all rows."""
    rows = []
    for vehicle in vehicles:
        scenario = {
            "name": f"{vehicle}_motor_loss",
            "world": {"extends": "flat", "wind": WIND},
            "duration": 12.0,
            "vehicles": [{"model": vehicle, "backends": [{"model": "geometric", "trajectory": HOVER}]}],
            "faults": [{"model": "motor_loss", "rotor": 0, "start": 6.0}],
        }
        with TemporaryDirectory() as folder:
            file = Path(folder) / "motor_loss.yaml"
            file.write_text(yaml.safe_dump(scenario))
            backends = [[{"model": name, "trajectory": HOVER}] for name in autopilots]
            settings = {"vehicles.0.backends": backends, "faults.0.rotor": list(range(ROTORS[vehicle]))}
            for row in sweep(file, seeds=seeds, settings=settings):
                rows.append(row | {"autopilot": row["vehicles.0.backends"][0]["model"]})
    Console().print(survival_table(rows, ["autopilot"]))
    return rows


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, ["geometric", "cascaded_pid", *sys.argv[2:]])
