"""What the command is at before a flight: a live line on a terminal, a plain line elsewhere."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

_MAKER = "pegasus.scene.worlds.files"
"""Logger that tells of a world being made, which takes up to minutes."""


class _Teller(logging.Handler):
    """Shows what is told: in a bar where there is one, else as a line."""

    def __init__(self, terminal: Console, bar: Progress | None) -> None:
        super().__init__(logging.INFO)
        self._terminal, self._bar = terminal, bar

    def emit(self, record: logging.LogRecord) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=record.getMessage())
        else:
            self._terminal.print(f"pegasus: {escape(record.getMessage())}", soft_wrap=True, highlight=False)


@contextmanager
def telling(what: str) -> Iterator[None]:
    """Show what is being prepared, and for how long; nothing stays on a terminal.

    Args:
        what: What is shown at first.
    """
    terminal, logger = Console(stderr=True), logging.getLogger(_MAKER)
    level, propagates = logger.level, logger.propagate
    with ExitStack() as undo:
        bar = None
        if terminal.is_terminal:
            columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
            bar = undo.enter_context(Progress(*columns, console=terminal, transient=True))
            bar.add_task(what, total=None)
        teller = _Teller(terminal, bar)
        logger.addHandler(teller)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(teller)
            logger.setLevel(level)
            logger.propagate = propagates
