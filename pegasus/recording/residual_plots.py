"""Plots of what an identification leaves unexplained: residuals of each source over time."""

from pathlib import Path

import numpy as np

from pegasus.base.errors import ConfigError
from pegasus.fleet.estimates import Identification

_POINTS = 4000
"""Most points of a curve."""
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def plot_residuals(found: Identification, path: str | Path) -> None:
    """Draw the residuals of an identification by their noise over time, one panel for each source.

    Args:
        found: The identification.
        path: PNG file.

    Raises:
        ConfigError: If it cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 1.0 + 1.6 * len(found.residuals)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(found.residuals), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (label, (time, values)) in zip(panels, found.residuals.items(), strict=True):
        step = max(1, len(time) // _POINTS)
        for k, column in enumerate(values.T):
            panel.plot(time[::step], column[::step], ".", ms=2, color=_COLORS[k % len(_COLORS)])
        panel.axhspan(-2.0, 2.0, color="#dbe9f6", zorder=0)
        high = float(np.quantile(np.abs(values), 0.999)) if values.size else 1.0
        panel.set(ylim=(-max(4.0, high), max(4.0, high)), ylabel="by sigma")
        panel.set_title(f"{label}, sigma {found.noise[label]:.3g}", fontsize=9, loc="left")
    panels[-1].set_xlabel("time [s]")
    figure.suptitle(f"{found.vehicle}: residuals of {found.record}")
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot be written: {error}", file=path, remedy="give a .png file in a writable folder"
        ) from None
