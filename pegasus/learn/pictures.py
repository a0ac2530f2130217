"""Pictures of learnt flights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.learn.flights import Flights
from pegasus.learn.task import Task
from pegasus.learn.verdict import Referee


def draw_flights(
    policy: Callable[[Array], Array], task: Task, file: Path, *, count: int = 12, seed: int = 1
) -> None:
    """Draw flights of a policy in a fleet: paths from above, and distances to the goal and speeds by time.

    Gates of a race are those of the first episode.

    Args:
        policy: Function of observations that returns actions.
        task: The task.
        file: Picture, such as `flights.png`.
        count: Number of episodes, rounded up to whole groups of the task.
        seed: Seed of their beginnings.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    count += -count % task.group
    flights, referee = Flights(task, count, seed=seed), Referee(task, count)
    flights.begin(np.ones(count, dtype=bool))
    places: list[Array] = []
    speeds: list[Array] = []
    distances: list[Array] = []
    times: list[float] = []
    for _ in range(referee.steps):
        flights.step(policy(flights.observe()))
        episodes, over = flights.episodes, ~referee.going
        for values, seen in (
            (places, episodes.motion.position[:, :2]),
            (speeds, episodes.speed),
            (distances, episodes.distance),
        ):
            values.append(np.where(over[:, None] if seen.ndim > 1 else over, np.nan, seen))
        times.append(float(episodes.time[0]))
        referee.see(episodes, flights.broken)
    figure = Figure(figsize=(10.0, 4.0), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False)[0]
    above, (far, fast) = left.subplots(), right.subplots(2, 1, sharex=True)
    path, speed = np.array(places), np.array(speeds)
    pieces: Any = None
    for row in range(count):
        segments = np.stack([path[:-1, row], path[1:, row]], axis=1)
        pieces = LineCollection(list(segments), array=speed[1:, row], linewidth=1.2)
        pieces.set_clim(0.0, float(np.nanmax(speed)))
        above.add_collection(pieces)
    left.colorbar(pieces, ax=above, label="speed [m/s]")
    for edge in task.landmarks(flights.episodes):
        above.plot(edge[:, 0], edge[:, 1], color="black", linewidth=2.5)
    above.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title=f"{count} flights from above")
    above.autoscale_view()
    far.plot(times, np.array(distances), linewidth=0.8)
    fast.plot(times, speed, linewidth=0.8)
    success, measure = referee.result
    name, unit = task.measured
    title = f"{100 * success:.0f} % succeed, median {name} {measure:.3g} {unit}"
    far.set(ylabel="distance to the goal [m]", title=title)
    fast.set(xlabel="time [s]", ylabel="speed [m/s]")
    for axes in (above, far, fast):
        axes.grid(alpha=0.3)
    figure.savefig(file, dpi=110)
