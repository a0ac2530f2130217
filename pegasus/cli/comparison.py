"""Reports of `pegasus compare`, `pegasus residuals` and `pegasus published`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from pegasus.base.components import require
from pegasus.cli.terminal import console
from pegasus.recording import read_neurobem, wrench_residuals
from pegasus.recording.comparison import TEXT_SUFFIXES, compare_tracks, read_track


def report_comparison(
    first: Path, second: Path, *, vehicles: tuple[str | None, str | None], align: Any, as_json: bool
) -> None:
    """Print the distances of two flown paths.

    Args:
        first: Log, folder of a run, or text file.
        second: The same, of the other flight.
        vehicles: Vehicles of both logs; may be None where a log has only one, and for text files.
        align: Alignment; see `pegasus.recording.comparison.Alignment`.
        as_json: Print one line of JSON instead of a table.

    Raises:
        ConfigError: If a file cannot be read, or an argument is not allowed.
    """
    tracks = [
        read_track(path, vehicle=None if path.suffix.lower() in TEXT_SUFFIXES else vehicle)
        for path, vehicle in zip((first, second), vehicles, strict=True)
    ]
    distances = compare_tracks(*tracks, align=align)
    if as_json:
        print(orjson.dumps(asdict(distances)).decode())
        return
    out = console()
    for track in tracks:
        out.print(
            f"{track.name}: {track.length:.2f} m in {track.duration:.2f} s", highlight=False, soft_wrap=True
        )
    out.print(distances)


def report_residuals(files: Sequence[Path], *, vehicle: str, air_density: float, as_json: bool) -> None:
    """Print the residuals of a vehicle's models over recorded flights, beside published ones.

    Args:
        files: Files in the format of NeuroBEM.
        vehicle: Name of a shipped vehicle, or the path of a file.
        air_density: Air density [kg/m^3].
        as_json: Print one line of JSON instead of a table.

    Raises:
        ConfigError: If a file cannot be read, or an argument is not allowed.
    """
    residuals = wrench_residuals(vehicle, [read_neurobem(file) for file in files], air_density=air_density)
    if as_json:
        figures = {"count": residuals.count, "rmse": residuals.rmse, "measured": residuals.size}
        print(orjson.dumps(figures | {"mean": residuals.mean}).decode())
        return
    out = console()
    out.print(f"{residuals.count} instants", highlight=False)
    out.print(residuals)
    for name, unit in (("force", "N"), ("torque", "N m")):
        x, y, z = residuals.mean[name]
        out.print(f"mean residual {name}: {x:.4f}, {y:.4f}, {z:.4f} {unit}", highlight=False)


def report_published(name: str, *, plot: Path | None, as_json: bool) -> None:
    """Print published figures beside those computed here.

    Args:
        name: Name of the comparison.
        plot: PNG file of its curves to write; none if None.
        as_json: Print one line of JSON instead of a table.

    Raises:
        ConfigError: If the name is unknown, or the file cannot be written.
    """
    # Not at the top: it imports the simulation, which two logs are compared without.
    from pegasus.experiments.published import PUBLISHED, plot_comparison

    require(name in PUBLISHED, "NAME", name, f"must be one of {', '.join(PUBLISHED)}")
    comparison = PUBLISHED[name]()
    if as_json:
        print(orjson.dumps([asdict(entry) for entry in comparison.entries]).decode())
    else:
        out = console()
        out.print(comparison.title, highlight=False)
        out.print(comparison)
    if plot is not None:
        plot_comparison(comparison, plot)
