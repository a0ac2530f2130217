"""The command `pegasus isaac` among the others; `python -m pegasus isaac` does without their packages."""

import typer

from pegasus.isaac import command


def isaac(context: typer.Context) -> None:
    """Fly a scenario in Isaac Sim; further options are those of pegasus run."""
    raise typer.Exit(command.run(context.args))
