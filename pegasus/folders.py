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
    mac = "~/Library/Application Support/pegasus"
    xdg = "XDG_CONFIG_HOME", "~/.config"
    return _user_folder(_CONFIG_VARIABLE, windows="pegasus", mac=mac, xdg=xdg)


def user_cache() -> Path:
    """Return the folder of what can be made again: generated worlds, unpacked textures, decomposed meshes.

    It is the environment variable PEGASUS_CACHE_DIR where that is set, else where the system keeps such
    things, such as ~/.cache/pegasus.
    """
    mac = "~/Library/Caches/pegasus"
    xdg = "XDG_CACHE_HOME", "~/.cache"
    return _user_folder(_CACHE_VARIABLE, windows="pegasus/Cache", mac=mac, xdg=xdg)


def at_home(path: Path) -> Path:
    """Return a path whose ~ stands for the user's home; one whose user is unknown stays as it is.

    Args:
        path: The path.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _user_folder(variable: str, *, windows: str, mac: str, xdg: tuple[str, str]) -> Path:
    """Return the folder that an environment variable names, else that of the system."""
    if moved := os.environ.get(variable):
        return at_home(Path(moved))
    if sys.platform == "win32":
        return at_home(Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")) / windows
    if sys.platform == "darwin":
        return at_home(Path(mac))
    return at_home(Path(os.environ.get(xdg[0]) or xdg[1])) / "pegasus"
