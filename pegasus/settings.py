"""Where things are: shipped resources, and the user's own files that take precedence over them."""

from pathlib import Path

import platformdirs

from pegasus.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_resources"
_ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent

USER_CONFIG = Path(platformdirs.user_config_dir("pegasus", appauthor=False))
"""Folder of the user's own `vehicles`, `worlds` and `scenarios`."""


def resource(*parts: str) -> Path:
    """Return the path of a shipped file or folder.

    Args:
        parts: Path below the repository root, such as "config", "vehicles", "iris.yaml".
    """
    return _ROOT.joinpath(*parts)


def names(kind: str) -> list[str]:
    """Return the names of the shipped and the user's own files of a kind, sorted.

    Args:
        kind: `vehicles`, `worlds` or `scenarios`.
    """
    return sorted({path.stem for folder in _folders(kind) for path in folder.glob("*.yaml")})


def find(kind: str, name: str | Path) -> Path:
    """Return the YAML file of a name, or the path itself when one is given.

    Args:
        kind: `vehicles`, `worlds` or `scenarios`.
        name: Name of a shipped or user's own file, or the path of one (it has a suffix or a separator).

    Raises:
        ConfigError: If there is no such name or file.
    """
    path = Path(name).expanduser()
    singular = kind.removesuffix("s")
    if path.suffix or path.name != str(name):
        if not path.is_file():
            raise ConfigError("no such file", field=singular, value=str(name), remedy="check the path")
        return path
    for folder in _folders(kind):
        if (candidate := folder / f"{name}.yaml").is_file():
            return candidate
    raise ConfigError(
        f"no such {singular}; known are {', '.join(names(kind))}",
        field=singular,
        value=str(name),
        remedy=f"or give the path of a file, or put one into {USER_CONFIG / kind}",
    )


def _folders(kind: str) -> list[Path]:
    return [USER_CONFIG / kind, resource("config", kind)]
