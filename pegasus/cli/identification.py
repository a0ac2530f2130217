"""Command `identify`: parameters of a vehicle from the log of a flight."""

import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer

from pegasus.base.errors import ConfigError
from pegasus.cli.settings import naming_options
from pegasus.cli.terminal import console, showing_preparation


def identify(
    log: Annotated[
        Path, typer.Argument(help="Log or folder of a run, ULog of PX4, CSV of NeuroBEM or of columns.")
    ],
    vehicle: Annotated[str, typer.Option(help="Name or file of the vehicle that flew.")],
    fit: Annotated[
        str, typer.Option(help="Parameters, separated by commas, such as thrust_constant,drag,lag.")
    ] = "thrust_constant,torque_constant,drag,lag",
    out: Annotated[
        Path | None, typer.Option(help="Vehicle file to write (default: VEHICLE_fitted.yaml).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    start: Annotated[float, typer.Option(help="Time from which on the log counts [s].")] = 0.0,
    end: Annotated[float | None, typer.Option(help="Time up to which it does [s].")] = None,
    window: Annotated[float, typer.Option(help="Length of a window [s].")] = 1.0,
    rate: Annotated[float, typer.Option(help="Steps per second [Hz].")] = 500.0,
    gusts: Annotated[bool, typer.Option("--gusts", help="Allow for forces by gusts.")] = False,
    source: Annotated[
        str | None, typer.Option(help="Of a log of Pegasus: sensors, or state for the true state.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Vehicle in the log, if it has several.")] = None,
    plot: Annotated[Path | None, typer.Option(help="PNG file of the residuals.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Fit parameters of a vehicle to the log of a flight, and write a vehicle file with them."""
    from pegasus.backends.px4 import read_ulog
    from pegasus.core.aircraft import Aircraft
    from pegasus.fleet.identification import identify as identified
    from pegasus.recording.flight_records import read_flight
    from pegasus.recording.residual_plots import plot_residuals

    path = out or Path(f"{Path(vehicle).stem}_fitted.yaml")
    if path.exists() and not force:
        raise ConfigError(
            "exists", field="--out", value=str(path), remedy="add --force, or give another file"
        )
    if source not in (None, "sensors", "state"):
        raise ConfigError("must be sensors or state", field="--source", value=source)
    with naming_options():
        with showing_preparation(f"reading {log}"):
            model = Aircraft(vehicle)
            if log.suffix.lower() == ".ulg":
                record = read_ulog(log, model)
            else:
                record = read_flight(log, model, name=name, source=source)  # type: ignore[arg-type]
        if start > 0 or end is not None:
            record = record.between(start, record.end if end is None else end)
        names = [part.strip() for part in fit.split(",") if part.strip()]
        with showing_preparation(f"fitting {', '.join(names)}"):
            found = identified(record, model, names, window=window, rate=rate, gusts=gusts)
    found.write(path)
    if plot is not None:
        plot_residuals(found, plot)
    if json:
        estimates = [
            {
                "name": e.name,
                "before": e.before,
                "value": e.value,
                "sigma": e.sigma,
                "unit": e.unit,
                "told": e.told,
            }
            for e in found.estimates
        ]
        print(orjson.dumps({"estimates": estimates, "noise": dict(found.noise)}).decode())
    else:
        console().print(found)
    for line in found.notes:
        print(f"pegasus: {line}", file=sys.stderr)
    if not json:
        print(f"{path}: fly it by this path; {found.windows} windows of {window:g} s fitted")
