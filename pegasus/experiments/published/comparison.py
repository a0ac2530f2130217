"""Published figures beside ours: entries, curves, their table and plot."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
Curve = tuple[str, Array, Array]
"""Label, abscissae and ordinates."""


@dataclass(frozen=True)
class Entry:
    """A figure beside that of a paper."""

    quantity: str
    """What is compared."""
    unit: str
    """Unit, empty for a number."""
    published: float | None
    """Published figure; None where there is none."""
    ours: float
    """Figure computed here."""
    note: str = ""
    """How the two differ in what they are; empty if they are the same quantity."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves over one abscissa."""

    title: str
    x_label: str
    y_label: str
    published: Sequence[Curve]
    """Published curves, drawn as points."""
    ours: Sequence[Curve]
    """Curves computed here, drawn as lines."""
    equal_axes: bool = False
    """Draw a metre along both axes as long."""


@dataclass(frozen=True, eq=False)
class PublishedComparison:
    """Figures and curves of one source beside ours."""

    title: str
    """Title with the source."""
    entries: Sequence[Entry]
    panels: Sequence[Panel]

    def __rich__(self) -> "Table":
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for title in ("quantity", "unit"):
            table.add_column(title)
        for title in ("published", "ours"):
            table.add_column(title, justify="right")
        table.add_column("note")
        for entry in self.entries:
            published = "-" if entry.published is None else f"{entry.published:.6g}"
            table.add_row(entry.quantity, entry.unit, published, f"{entry.ours:.6g}", entry.note)
        return table


def plot_comparison(comparison: PublishedComparison, path: Path) -> None:
    """Draw the curves of a comparison as PNG.

    Args:
        comparison: The comparison.
        path: File to write.

    Raises:
        ConfigError: If the file cannot be written.
        ModuleNotFoundError: If matplotlib is not installed.
    """
    # Slow to import.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(2, len(comparison.panels))
    rows = -(-len(comparison.panels) // columns)
    figure = Figure(figsize=(6.5 * columns, 4.5 * rows), dpi=100, layout="constrained", facecolor="white")
    canvas = FigureCanvasAgg(figure)
    figure.suptitle(comparison.title)
    for k, panel in enumerate(comparison.panels):
        axes = figure.add_subplot(rows, columns, k + 1)
        for (label, x, y), color in zip(panel.ours, _COLORS, strict=False):
            axes.plot(x, y, color=color, label=label)
        for (label, x, y), color in zip(panel.published, _COLORS, strict=False):
            axes.plot(
                x, y, "o", markersize=4, color=color, markeredgecolor="black", label=f"published: {label}"
            )
        axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
        axes.grid(alpha=0.3)
        if panel.equal_axes:
            axes.set_aspect("equal", adjustable="datalim")
        axes.legend(fontsize="small")
    try:
        canvas.print_png(path)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror}", file=path, remedy="give a file in an existing folder"
        ) from None
