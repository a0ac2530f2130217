"""The command `pegasus dataset`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_EXIT_INTERRUPTED = 130


def dataset(
    scenario: Annotated[str, typer.Argument(help="Name of a scenario, or a YAML file.")],
    out: Annotated[Path, typer.Option(help="Folder that the dataset goes to.")],
    frames: Annotated[int, typer.Option(help="Number of frames.")] = 100,
    writer: Annotated[str, typer.Option(help="Layout: basic, coco or kitti.")] = "basic",
    photo: Annotated[bool, typer.Option("--photo", help="Draw path-traced pictures.")] = False,
    workers: Annotated[
        int | None, typer.Option(help="Number of processes (default: one for each processor).")
    ] = None,
    ray: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster, or local, in place of processes.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the dataset (default: the scenario's).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the dataset that is there.")] = False,
) -> None:
    """Make a labelled dataset from flights through randomised scenes."""
    from pegasus.cli import import_from_beside
    from pegasus.dataset.engine import make_dataset

    import_from_beside(scenario)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("frames"),
        TimeRemainingColumn(),
    )
    terminal = Console(stderr=True)
    ready, told = 0, 0
    with Progress(*columns, console=terminal, disable=not terminal.is_terminal) as bar:
        task = bar.add_task(out.name, total=frames)

        def show(done: int, total: int) -> None:
            nonlocal ready, told
            ready = done
            bar.update(task, completed=done, total=total)
            if not terminal.is_terminal and (quarter := 4 * done // total) > told:
                told = quarter
                print(f"pegasus: {done} of {total} frames", file=sys.stderr)

        try:
            made = make_dataset(
                scenario,
                out,
                frames=frames,
                writer=writer,
                photo=photo,
                workers=workers,
                ray=ray,
                seed=seed,
                resume=resume,
                progress=show,
            )
        except KeyboardInterrupt:
            bar.stop()
            print(f"pegasus: interrupted; go on with --resume --out {out}", file=sys.stderr)
            raise typer.Exit(_EXIT_INTERRUPTED) from None
    print(f"{made.folder}: {made.frame_count} frames, {made.made} of them made now")
