"""Fly an Iris in gusts with many seeds and wind speeds, on all processors, and plot where it lands."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pegasus.experiments import Row, sweep

FLIGHT = [{"takeoff": {"height": 5.0}}, {"hold": {"duration": 2.0}}, {"land": {}}]


def main(
    seeds: int = 20,
    winds: tuple[float, ...] = (3.0, 6.0, 9.0),
    jobs: int | None = None,
    plot: Path = Path("landings.png"),
) -> list[Row]:
    """Return a row for each flight, and plot the landings of each wind speed."""
    means = [(speed, 0.0, 0.0) for speed in winds]
    settings = {
        "world": "flat",
        "vehicles.iris.backends.geometric.trajectory": [FLIGHT],
        "vehicles.iris.model.mass": "normal(1.5, 0.05)",
        "world.wind.model": "gusts",
        "world.wind.intensity": 1.5,
        "world.wind.mean_velocity": means,
    }
    rows = sweep("first_flight", seeds=seeds, settings=settings, jobs=jobs)
    figure = Figure()
    axes = figure.subplots(subplot_kw={"aspect": "equal", "xlabel": "x [m]", "ylabel": "y [m]"})
    for wind in means:
        place = np.array(
            [(row["iris.x"], row["iris.y"]) for row in rows if row["world.wind.mean_velocity"] == wind]
        )
        axes.plot(*place.T, "o", label=f"{wind[0]:g} m/s")
        print(f"{wind[0]:g} m/s: landings scatter by {place.std(axis=0).max():.3f} m")
    axes.legend(title="mean wind")
    figure.savefig(plot)
    return rows


if __name__ == "__main__":
    main()
