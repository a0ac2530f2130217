"""Errors that a user can mend: one line that names the place, the value, what is allowed, and the remedy."""

from pathlib import Path
from typing import Any

_STANDALONE = {"coacd": "coacd", "mujoco": "mujoco", "pxr": "usd-core"}
"""Packages of the extra [standalone] by their modules."""


class ConfigError(ValueError):
    """Report input that a user wrote and can mend.

    The message is one line: ``file: field = value: problem; remedy``. Parts that are not known are left out.

    Args:
        problem: What is wrong and what is allowed.
        file: File in which the value stands.
        field: Dotted path of the field in that file, or the name of the argument.
        value: The offending value; left out of the message when None.
        remedy: What to do about it.
        quoted: Whether the last part of the field is a name that only the file knows.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        field: str | None = None,
        value: Any = None,
        remedy: str | None = None,
        quoted: bool = False,
    ) -> None:
        self.problem, self.file, self.field, self.value, self.remedy = problem, file, field, value, remedy
        self.quoted = quoted
        place = f"{file}: " if file is not None else ""
        subject = field or ""
        if value is not None:
            shown = repr(value)
            shown = shown if len(shown) <= 120 else shown[:117] + "..."
            subject = f"{subject} = {shown}" if subject else shown
        message = place + (f"{subject}: " if subject else "") + problem + (f"; {remedy}" if remedy else "")
        super().__init__(" ".join(message.split()))

    def without_content(self) -> "ConfigError":
        """Return the error without what only its file holds, for readers who may not read that file."""
        if self.file is None:
            return self
        field = self.field
        if self.quoted and field is not None:
            field = field.rpartition(".")[0] or None
        return type(self)(self.problem, file=self.file, field=field, remedy=self.remedy)

    def within(self, *, file: str | Path | None = None, field: str | None = None) -> "ConfigError":
        """Return the same error with its file, and with a field put in front of its own.

        One that names its file already is returned as it is: the innermost file is the one to mend.

        Args:
            file: File that the value came from.
            field: Dotted path that the error's own field stands under.
        """
        if self.file is not None:
            return self
        path = ".".join(part for part in (field, self.field) if part)
        return type(self)(
            self.problem,
            file=file,
            field=path or None,
            value=self.value,
            remedy=self.remedy,
            quoted=self.quoted,
        )


class AutopilotError(ConfigError):
    """Report an autopilot that does not start: its program has ended, or it was not heard in time."""


def standalone_error(error: ModuleNotFoundError) -> ConfigError:
    """Return what to do about a package of the extra [standalone] that is not installed.

    Args:
        error: The import that failed.

    Raises:
        ModuleNotFoundError: If it is another package.
    """
    package = _STANDALONE.get((error.name or "").partition(".")[0])
    if package is None:
        raise error
    return ConfigError(
        f"the standalone simulator needs the package {package}, which is not installed",
        remedy="pip install 'pegasus-multirotor[standalone]', or fly in Isaac Sim by pegasus isaac",
    )
