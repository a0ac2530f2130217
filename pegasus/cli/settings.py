"""The argument SCENARIO, the option --set, and errors in options and their values."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError
from typer.core import TyperGroup

from pegasus.base.errors import ConfigError
from pegasus.base.validation import first_problem
from pegasus.config.changes import CHANGES


def _scenario_names() -> list[str]:
    from pegasus.config import settings

    return settings.names("scenarios")


ScenarioName = Annotated[
    str, typer.Argument(help="Name of a scenario, or a YAML file.", autocompletion=_scenario_names)
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set a field of the scenario, such as world.wind.mean_velocity=[4,0,0]; repeatable.",
    ),
]


def parse_settings(settings: Sequence[str] | None) -> dict[str, Any]:
    """Return the values of --set by path; relative paths of files are those of the current folder.

    Raises:
        ConfigError: If one is not PATH=VALUE, or the value is not YAML.
    """
    found: dict[str, Any] = {}
    for setting in settings or ():
        path, equals, value = setting.partition("=")
        try:
            found[path.strip()] = yaml.safe_load(value)
        except yaml.YAMLError:
            equals = ""
        if not (equals and path.strip()):
            remedy = "such as --set seed=3 or --set 'world.wind.mean_velocity=[4,0,0]'"
            raise ConfigError("must be PATH=VALUE", field="--set", value=setting, remedy=remedy)
    if not found:
        return found
    # Not at the top: reading files of scenarios takes longer than many commands.
    from pegasus.config.files import placed_changes

    return placed_changes(found, Path.cwd())


class Commands(TyperGroup):
    """Group of commands that reports values of a wrong type like those of files."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command of a context."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if not isinstance(error.__cause__, ValidationError) or error.param is None:
                raise
            problem, value = first_problem(error.__cause__)
            raise ConfigError(problem, field=error.param.opts[0], value=value) from None


@contextmanager
def naming_options(options: Mapping[str, str] | None = None) -> Iterator[None]:
    """Name the option in errors about changes of a scenario.

    Args:
        options: Options by the paths of the fields that they set, other than --set.
    """
    try:
        yield
    except ConfigError as error:
        if error.file != CHANGES:
            raise
        option = (options or {}).get(str(error.field), f"--set {error.field}")
        raise error.about(option) from None
