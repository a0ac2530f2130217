"""Errors in user input: one line with the field, the value, the allowed values and the remedy."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

_EXTRAS = {
    "ai_edge_litert": ("ai-edge-litert", "tflite", "a TensorFlow Lite file"),
    "coacd": ("coacd", "meshes", "the decomposition of meshes into convex parts"),
    "fastcrc": ("fastcrc", "px4", "MAVLink, which PX4 and ArduPilot speak,"),
    "foundation_policy": ("foundation-policy", "policy", "the policy RAPTOR"),
    "gymnasium": ("gymnasium", "gym", "an environment for learners"),
    "matplotlib": ("matplotlib", "plot", "the plot"),
    "mujoco": ("mujoco", "standalone", "the standalone simulator"),
    "onnx": ("onnx", "gym", "the file of a policy"),
    "onnxruntime": ("onnxruntime", "policy", "a policy"),
    "pandas": ("pandas", "pandas", "a data frame"),
    "pymavlink": ("pymavlink", "px4", "MAVLink, which PX4 and ArduPilot speak,"),
    "pettingzoo": ("pettingzoo", "learn", "an environment of several agents"),
    "pxr": ("usd-core", "standalone", "the standalone simulator"),
    "pyulog": ("pyulog", "ulog", "a ULog"),
    "stable_baselines3": ("stable-baselines3", "learn", "training"),
    "torch": ("torch", "learn", "training"),
    "warp": ("warp-lang", "standalone", "the standalone simulator"),
    "xarray": ("xarray", "xarray", "a data set"),
}
"""Packages by their modules, with the extra that installs each and what needs it."""
_VERY_CLOSE = 0.8
"""Similarity from which on a name is taken for misspelt, whatever its words."""
_FAMILY = 3
"""Largest number of names with the same first word that are asked for."""


class ConfigError(ValueError):
    """Error in user input that the user can fix.

    The message is one line: ``file: field = value: problem; remedy``. Unknown parts are omitted.

    Args:
        problem: The fault and the allowed values.
        file: File with the value.
        field: Dotted path of the field in that file, or the name of the argument.
        value: The invalid value; omitted from the message when None.
        remedy: The remedy.
        quoted: The last part of the field is a name from the file, which may be confidential.
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
        """Return the error without content of its file, for users who may not read that file."""
        if self.file is None:
            return self
        field = self.field
        if self.quoted and field is not None:
            field = field.rpartition(".")[0] or None
        return type(self)(self.problem, file=self.file, field=field, remedy=self.remedy)

    def within(self, *, file: str | Path | None = None, field: str | None = None) -> "ConfigError":
        """Return the same error with its file, and with a prefix of its field.

        An error that already has a file is returned unchanged: the innermost file is the one to fix.

        Args:
            file: File with the value.
            field: Dotted path of the parent of the error's field.
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

    def about(self, field: str) -> "ConfigError":
        """Return the same error about another field.

        Args:
            field: Path of that field.
        """
        return ConfigError(self.problem, field=field, value=self.value, remedy=self.remedy)


class AutopilotError(ConfigError):
    """Error of an autopilot that does not start: its program ended, or it did not respond in time."""


class UnknownNameError(ConfigError, KeyError):
    """Error of a mapping that has no entry of a name."""

    __str__ = ValueError.__str__  # That of KeyError quotes the message.


def unknown_name(what: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Return the error for a name that is not known, with the known ones.

    Args:
        what: Noun of what was looked up, such as "sensor".
        name: The name.
        known: The known names.
    """
    names = list(known)
    remedy = " ".join(did_you_mean(str(name), names))
    problem = f"no such {what}; there are {', '.join(names) or 'none'}"
    return UnknownNameError(problem, field=what, value=name, remedy=remedy or None)


def package_error(error: ModuleNotFoundError) -> ConfigError:
    """Return the error for a missing package of an extra.

    Raises:
        ModuleNotFoundError: If it is another package.
    """
    found = _EXTRAS.get((error.name or "").partition(".")[0])
    if found is None:
        raise error
    package, extra, user = found
    remedy = f"pip install 'pegasus-multirotor[{extra}]'"
    if extra == "standalone":
        remedy += ", or fly in Isaac Sim by pegasus isaac"
    return ConfigError(f"{user} needs the package {package}, which is not installed", remedy=remedy)


def did_you_mean(name: str, known: Iterable[str]) -> list[str]:
    """Return, in a list, the question for the known names most like a wrong one; [] if none is alike.

    Unless a spelling is very close, names with the same first word go first: motor_loss for motor_failure.
    """
    import difflib  # Imported on use: no command without a misspelling needs it.

    plain = {other.lower().replace("-", "_"): other for other in sorted(known)}
    wrong = name.lower().replace("-", "_")
    family = [other for other in plain if "_" in wrong and other.partition("_")[0] == wrong.partition("_")[0]]
    alike = difflib.get_close_matches(wrong, plain, n=1, cutoff=_VERY_CLOSE)
    alike = alike or difflib.get_close_matches(wrong, family, n=_FAMILY, cutoff=0.0)
    alike = alike or difflib.get_close_matches(wrong, plain, n=1)
    return [f"did you mean {', or '.join(plain[other] for other in alike)}?"] if alike else []
