"""Terminal output during the preparation of a command, and the search path of user modules."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C."""
_WIDE = 10_000
_MAKER = "pegasus.scene.generator"
"""Logger that reports the generation of a world, which may take minutes."""


class _ProgressHandler(logging.Handler):
    """Log handler that updates a progress bar, or prints lines without one."""

    def __init__(self, terminal: Console, bar: Progress | None) -> None:
        super().__init__(logging.INFO)
        self._terminal, self._bar = terminal, bar

    def emit(self, record: logging.LogRecord) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=record.getMessage())
        else:
            self._terminal.print(f"pegasus: {escape(record.getMessage())}", soft_wrap=True, highlight=False)


def console() -> Console:
    """Return the console for results, without line wrapping if the output is not a terminal."""
    found = Console()
    return found if found.is_terminal else Console(width=_WIDE)


@contextmanager
def showing_preparation(text: str) -> Iterator[None]:
    """Show the current activity and its duration; the line disappears at the end."""
    terminal, logger = Console(stderr=True), logging.getLogger(_MAKER)
    level, propagates = logger.level, logger.propagate
    with ExitStack() as undo:
        bar = None
        if terminal.is_terminal:
            columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
            bar = undo.enter_context(Progress(*columns, console=terminal, transient=True))
            bar.add_task(text, total=None)
        handler = _ProgressHandler(terminal, bar)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagates


@contextmanager
def showing_progress(text: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of the numbers of finished and of all units: a bar, or a line at each quarter."""
    terminal, reported = Console(stderr=True), 0
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=terminal, disable=not terminal.is_terminal) as bar:
        task = bar.add_task(text, total=None)

        def show(done: int, total: int) -> None:
            nonlocal reported
            bar.update(task, completed=done, total=total)
            if not terminal.is_terminal and (quarter := 4 * done // total) > reported:
                reported = quarter
                print(f"pegasus: {done} of {total} {unit}", file=sys.stderr)

        yield show


@contextmanager
def resumable(out: object) -> Iterator[None]:
    """End the command at Ctrl-C with its code, and say how to continue.

    Args:
        out: Value of `--out` with which it continues.
    """
    try:
        yield
    except KeyboardInterrupt:
        print(f"pegasus: interrupted; continue with --resume --out {out}", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED) from None


def import_from_beside(name: str) -> None:
    """Add a file's folder and the current one to the import path, for `model: module:Class`."""
    for folder in Path(name).expanduser().resolve().parent, Path.cwd():
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
