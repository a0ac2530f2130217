"""Command `test`: scenarios flown and judged by what they expect."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pegasus.cli.settings import naming_options
from pegasus.cli.terminal import import_from_beside, showing_progress

_EXIT_FAILED = 1
_EXIT_INTERRUPTED = 130


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
    with naming_options(), showing_progress(str(out), "scenarios") as progress:
        try:
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
        except KeyboardInterrupt:
            print(f"pegasus: interrupted; continue with --resume --out {out}", file=sys.stderr)
            raise typer.Exit(_EXIT_INTERRUPTED) from None
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
