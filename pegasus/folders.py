"""Folders of shipped files, of the user's own files and of the cache; needs the standard library alone."""

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_resources"
_ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
_CONFIG_VARIABLE = "PEGASUS_CONFIG_DIR"
_CACHE_VARIABLE = "PEGASUS_CACHE_DIR"


def resource(*parts: str) -> Path:
    """Return the path of a shipped file or folder.

    Args:
        parts: Path below the repository root, such as "config", "vehicles", "iris.yaml".
    """
    return _ROOT.joinpath(*parts)


def user_config() -> Path:
    """Return the folder of the user's `settings.yaml` and own `vehicles`, `worlds` and `scenarios`.

    It is the environment variable PEGASUS_CONFIG_DIR where that is set, else where the system keeps such
    things, such as ~/.config/pegasus.
    """
    if moved := os.environ.get(_CONFIG_VARIABLE):
        return at_home(Path(moved))
    if sys.platform == "win32":
        return _local_data() / "pegasus"
    if sys.platform == "darwin":
        return at_home(Path("~/Library/Application Support/pegasus"))
    return at_home(Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config")) / "pegasus"


def user_cache() -> Path:
    """Return the folder of what can be made again: generated worlds, unpacked textures, decomposed meshes.

    It is the environment variable PEGASUS_CACHE_DIR where that is set, else where the system keeps such
    things, such as ~/.cache/pegasus.
    """
    if moved := os.environ.get(_CACHE_VARIABLE):
        return at_home(Path(moved))
    if sys.platform == "win32":
        return _local_data() / "pegasus" / "Cache"
    if sys.platform == "darwin":
        return at_home(Path("~/Library/Caches/pegasus"))
    return at_home(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")) / "pegasus"


def at_home(path: Path) -> Path:
    """Return a path whose ~ stands for the user's home; one whose user is unknown stays as it is.

    Args:
        path: The path.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _local_data() -> Path:
    """Return where Windows keeps data of programs."""
    return at_home(Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local"))
