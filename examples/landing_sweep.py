"""Fly an Iris in gusts with many seeds and intensities, on all processors, and plot where it lands."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pegasus.experiments import Row, sweep

FLIGHT = [{"takeoff": {"height": 5.0}}, {"hold": {"duration": 2.0}}, {"land": {}}]


def main(
    seeds: int = 20,
    gusts: tuple[float, ...] = (0.5, 1.5, 3.0),
    jobs: int | None = None,
    plot: Path = Path("landings.png"),
) -> list[Row]:
    """Return a row for each flight, and plot the landings of each intensity of the gusts."""
    settings = {
        "world": "flat",
        "vehicles.iris.backends.geometric.trajectory": [FLIGHT],
        "vehicles.iris.model.mass": "normal(1.5, 0.05)",
        "world.wind.model": "gusts",
        "world.wind.mean_velocity": [(5.0, 0.0, 0.0)],
        "world.wind.intensity": list(gusts),
    }
    rows = sweep("first_flight", seeds=seeds, settings=settings, jobs=jobs)
    figure = Figure()
    axes = figure.subplots(subplot_kw={"aspect": "equal", "xlabel": "x [m]", "ylabel": "y [m]"})
    for strength in gusts:
        landed = [row for row in rows if row["world.wind.intensity"] == strength]
        place = np.array([(row["iris.x"], row["iris.y"]) for row in landed])
        axes.plot(*place.T, "o", label=f"{strength:g} m/s")
        print(f"gusts of {strength:g} m/s: landings scatter by {place.std(axis=0).max():.3f} m")
    axes.legend(title="intensity of the gusts")
    figure.savefig(plot)
    return rows


if __name__ == "__main__":
    main()
