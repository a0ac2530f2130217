"""Commands `test` and `repro`: scenarios judged by what they expect, and failures repeated."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from pegasus.base.system import LOCAL, PORT
from pegasus.cli.settings import naming_options
from pegasus.cli.terminal import import_from_beside, resumable, showing_preparation, showing_progress
from pegasus.cli.view import Host, Port, require_viser, shown_in_browser

_EXIT_FAILED = 1


def fly_tests(
    scenarios: Annotated[
        list[str],
        typer.Argument(help="Folders with scenarios, their files, or names.", metavar="FOLDER|SCENARIO..."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("verdicts"),
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes (default: one per processor).")
    ] = None,
    ray: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster, or local, in place of processes.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Fly only what has not been flown into the folder.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="JUnit XML (default: junit.xml in the folder of the results).")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(help="Figures to compare with (default: baseline.json of the scenarios' folder)."),
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Write the figures to the baseline.")] = False,
    tolerance: Annotated[float, typer.Option(help="Relative difference that a figure may have.")] = 0.05,
) -> None:
    """Fly scenarios, judge them by what they expect, and write JUnit XML and a page of HTML."""
    from pegasus.experiments.verdict_reports import write_junit, write_page
    from pegasus.experiments.verdict_suite import fly_suite

    for scenario in scenarios:
        import_from_beside(scenario)
    with naming_options(), showing_progress(str(out), "scenarios") as progress, resumable(out):
        rows = fly_suite(
            scenarios,
            out=out,
            jobs=jobs,
            ray=ray,
            resume=resume,
            baseline=baseline,
            update=update,
            tolerance=tolerance,
            progress=progress,
        )
        write_junit(junit or out / "junit.xml", rows)
        write_page(out / "report.html", rows)
    for row in rows:
        print(f"{'passed' if row['passed'] else 'failed'}  {row['scenario']}")
    failed = [row for row in rows if not row["passed"]]
    for row in failed:
        for problem in row["problems"]:
            print(f"pegasus: {row['scenario']}: {problem}", file=sys.stderr)
    print(f"{len(rows) - len(failed)} of {len(rows)} passed; {out / 'report.html'}")
    if failed:
        raise typer.Exit(_EXIT_FAILED)


def repro(
    bundle: Annotated[
        Path, typer.Argument(help="repro.zip of a run that failed, or its folder.", metavar="BUNDLE")
    ],
    view: Annotated[
        bool, typer.Option("--view", help="Show the failure in the browser, in real time.")
    ] = False,
    before: Annotated[float, typer.Option(help="Time that is shown before the failure [s].")] = 10.0,
    host: Host = LOCAL,
    port: Port = PORT,
) -> None:
    """Repeat a failed flight from its bundle, and compare the state at the failure bit by bit."""
    from pegasus.experiments.bundle import read_bundle
    from pegasus.experiments.repro import flight_of, repeat

    with naming_options():
        if view:
            require_viser()
        found = read_bundle(bundle)
        import_from_beside(found.file)
        with showing_preparation(f"repeating {found.failure.time:.2f} s"):
            repetition = repeat(found)
    for name, (then, now) in repetition.versions.items():
        print(f"pegasus: {name} was {then}, is {now}", file=sys.stderr)
    for verdict in repetition.verdicts:
        if not verdict.passed:
            print(verdict.line())
    for line in repetition.differences:
        print(f"pegasus: {line}", file=sys.stderr)
    same = not repetition.differences
    result = "repeated bit for bit" if same else "not repeated"
    print(f"{result}: the failure at {found.failure.time:.3f} s")
    if view:
        with TemporaryDirectory() as folder:
            flight = flight_of(found, Path(folder))
            with flight.simulation as simulation, shown_in_browser(flight, host=host, port=port):
                if (start := found.failure.time - before) > 0:
                    simulation.run(start)
                simulation.run(found.failure.time - simulation.time + 1.0, speed=1.0)
    if not same:
        raise typer.Exit(_EXIT_FAILED)
