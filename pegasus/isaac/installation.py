"""Search for Isaac Sim: an unpacked folder, or the package `isaacsim` of a Python environment."""

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pegasus.base.errors import ConfigError

_VARIABLES = ("ISAACSIM_PATH", "ISAAC_SIM_PATH")
_USUAL = (
    "~/isaacsim",
    "~/isaac-sim",
    "~/isaac_sim",
    "~/isaacsim/_build/linux-x86_64/release",
    "~/IsaacSim/_build/linux-x86_64/release",
    "/isaac-sim",
    "/opt/isaacsim",
    "/opt/isaac-sim",
    "C:/isaacsim",
    "C:/isaac-sim",
)
_LAUNCHER_FOLDER = "~/.local/share/ov/pkg"
_PACKAGE = "isaacsim"
_FULL_APP = "isaacsim.exp.full"
_WHERE = f"from importlib.util import find_spec as f; s = f({_PACKAGE!r}); print(s and s.origin or '')"
_LONGEST_ANSWER = 60.0
"""Timeout of a Python that is asked for the location of its package [s]."""
# The call of the console script `isaacsim`, whose location differs between systems.
_OPEN_PACKAGE = ("-c", "from isaacsim import main; main()")


@dataclass(frozen=True)
class Installation:
    """Installation of Isaac Sim on this machine."""

    place: Path
    """Folder with its `apps`: the unpacked folder, or that of the package `isaacsim`."""
    python: tuple[str, ...]
    """Command that runs its Python."""
    packaged: bool = False
    """It is the package of a Python environment, not an unpacked folder."""

    def window(self, app: str | None = None) -> list[str]:
        """Return the command that opens an app of Isaac Sim.

        Args:
            app: Name of the app, or path of its .kit file; the full app if None.

        Raises:
            ConfigError: If there is no such app.
        """
        file = self.app_file(app or _FULL_APP)
        shipped = file.parent == self.place / "apps"
        if self.packaged:
            # By its name: the package passes a path to Kit twice.
            return [*self.python, *_OPEN_PACKAGE, file.stem if shipped else str(file)]
        # The app's own script sets up ROS 2 before it starts Kit.
        script = self.place / _script(f"isaac-sim{file.stem.removeprefix(_FULL_APP)}")
        if shipped and file.stem.startswith(_FULL_APP) and script.is_file():
            return [str(script)]
        return [str(self.place / "kit" / ("kit.exe" if os.name == "nt" else "kit")), str(file)]

    def app_file(self, app: str) -> Path:
        """Return the .kit file of an app; see `find_app`."""
        return find_app(app, self.place / "apps")


def find_app(app: str, folder: Path) -> Path:
    """Return the .kit file of an app.

    Args:
        app: Name of the app, or path of its .kit file.
        folder: Folder with the apps of Isaac Sim.

    Raises:
        ConfigError: If there is no such app.
    """
    shipped = folder / f"{app.removesuffix('.kit')}.kit"
    given = Path(app).expanduser()
    if given.suffix == ".kit" and given.is_file():
        return given.resolve()
    if shipped.is_file() and given.name == app:
        return shipped
    known = ", ".join(sorted(path.stem for path in folder.glob("*.kit")))
    raise ConfigError(
        f"no such app; there are {known or 'none'}",
        field="--app",
        value=app,
        remedy="give one of these, or the path of a .kit file",
    )


def find(option: str | Path | None = None) -> Installation:
    """Return the Isaac Sim of this machine.

    Searched in this order: the option, ISAACSIM_PATH and ISAAC_SIM_PATH, the installation of this Python, and
    the usual folders.

    Args:
        option: Folder of Isaac Sim, its Python, or a Python environment or package folder with it.

    Raises:
        ConfigError: If there is none, or none at the given place.
    """
    given = [("--isaac-python", str(option) if option is not None else None)]
    given += [(name, os.environ.get(name)) for name in _VARIABLES]
    for source, path in given:
        if path:
            # Not resolved: the Python of a virtual environment is a link.
            found = _at(Path(path).expanduser().absolute())
            if found is None:
                raise ConfigError(
                    f"is not an Isaac Sim: it has no {_script('python')}, and no Python with isaacsim",
                    field=source,
                    value=path,
                    remedy="give the folder of Isaac Sim, or the Python that has the package isaacsim",
                )
            return found
    if (found := _around(Path(sys.executable))) is not None:
        return found
    if (package := own_package()) is not None:
        return Installation(package, (sys.executable,), packaged=True)
    launcher = Path(_LAUNCHER_FOLDER).expanduser()
    newest_first = sorted(launcher.glob("isaac*sim-*"), key=_version_of, reverse=True)
    for place in (*(Path(usual).expanduser() for usual in _USUAL), *newest_first):
        if (found := _in_folder(place)) is not None:
            return found
    raise ConfigError(
        "Isaac Sim not found",
        remedy="install it (https://docs.isaacsim.omniverse.nvidia.com), and set ISAACSIM_PATH to its folder",
    )


def own_package() -> Path | None:
    """Return the folder of the package `isaacsim` that this Python imports; None if it has none."""
    spec = importlib.util.find_spec(_PACKAGE)
    # A folder named isaacsim in the working folder is a namespace package, without origin.
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _at(path: Path) -> Installation | None:
    """Return the Isaac Sim at a path: a folder, a package, an environment or a Python."""
    if path.is_file():
        if path.name == _script("python"):
            return _in_folder(path.parent)
        return _of_python(path)
    return _in_folder(path) or _of_package(path) or _of_environment(path)


def _in_folder(folder: Path) -> Installation | None:
    python = folder / _script("python")
    return Installation(folder, (str(python),)) if python.is_file() else None


def _around(python: Path) -> Installation | None:
    """Return the unpacked Isaac Sim that a Python belongs to."""
    for kit in python.parents:
        if kit.name == "kit" and (found := _in_folder(kit.parent)) is not None:
            return found
    return None


def _of_package(folder: Path) -> Installation | None:
    """Return the installation of a package folder such as lib/python3.12/site-packages/isaacsim."""
    if folder.name != _PACKAGE or folder.parent.name != "site-packages":
        return None
    for root in folder.parents[1:4]:
        if (found := _of_environment(root)) is not None:
            return found
    return None


def _of_environment(folder: Path) -> Installation | None:
    """Return the installation of an environment of venv, uv or conda."""
    for name in ("bin/python", "Scripts/python.exe", "python.exe"):
        if (folder / name).is_file():
            return _of_python(folder / name)
    return None


def _of_python(python: Path) -> Installation | None:
    """Return the installation of a Python that has the package `isaacsim` or belongs to a folder."""
    if (found := _around(python)) is not None:
        return found
    try:
        asked = subprocess.run(
            [python, "-c", _WHERE], capture_output=True, text=True, timeout=_LONGEST_ANSWER, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    origin = asked.stdout.strip().rpartition("\n")[2]
    return Installation(Path(origin).parent, (str(python),), packaged=True) if origin else None


def _script(name: str) -> str:
    return f"{name}.bat" if os.name == "nt" else f"{name}.sh"


def _version_of(folder: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", folder.name))
