"""Find Isaac Sim and start it: as another process, or within a script that its Python runs."""

import argparse
import atexit
import importlib.util
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pegasus.errors import ConfigError
from pegasus.folders import resource, user_cache

_log = logging.getLogger(__name__)

EXTENSION_NAME = "pegasus.multirotor"
"""Name of the extension wherever the repository lies: Kit takes the name of the folder, so it gets a link."""
FRAME_RATE = 30.0
"""Frames drawn per simulated second where a script has a window [Hz]."""

FRAME_RATE_SETTING, SCENARIO_SETTING, PLAY_SETTING, OUT_SETTING = (
    f"/pegasus/{name}" for name in ("frameRate", "scenario", "play", "out")
)
"""Settings of Kit by which a start says what it wants."""

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
_LONGEST_ANSWER = 120.0
"""How long Isaac Sim's Python may take to say which packages it has [s]."""
_LAUNCHER_FOLDER = "~/.local/share/ov/pkg"
_MISSING = """
import sys
from importlib.metadata import PackageNotFoundError, distribution
for name in sys.argv[1:]:
    try:
        distribution(name)
    except PackageNotFoundError:
        print(name)
"""
_OPENUSD = "usd-core"
_LINKED = ("config", "data", "docs", "CHANGELOG.md", "README.md")


@dataclass(frozen=True)
class Installation:
    """An Isaac Sim on this machine."""

    place: str
    """Folder, or the package that it is."""
    python: tuple[str, ...]
    """Command of its Python."""
    window: tuple[str, ...]
    """Command that opens its window."""


def inside_isaac_sim() -> bool:
    """Return whether this process runs in Isaac Sim."""
    return "omni.usd" in sys.modules


def find(option: str | Path | None = None, *, environment: Mapping[str, str] | None = None) -> Installation:
    """Return the Isaac Sim of this machine.

    It is the option, else what ISAACSIM_PATH or ISAAC_SIM_PATH say, else the package `isaacsim` of this
    Python, else what lies in one of the usual folders.

    Args:
        option: Folder of Isaac Sim.
        environment: Environment variables; those of this process when None.

    Raises:
        ConfigError: If there is none, or the folder that was given holds none.
    """
    variables = os.environ if environment is None else environment
    given = [("--isaac-sim", str(option) if option is not None else None)]
    given += [(name, variables.get(name)) for name in _VARIABLES]
    for source, folder in given:
        if folder:
            found = _in_folder(Path(folder).expanduser())
            if found is None:
                raise ConfigError(
                    f"no Isaac Sim is there: it has no {_script('python')}",
                    field=source,
                    value=folder,
                    remedy="give the folder that Isaac Sim was unpacked or built into",
                )
            return found
    if importlib.util.find_spec("isaacsim") is not None:
        window = shutil.which("isaacsim", path=str(Path(sys.executable).parent)) or "isaacsim"
        return Installation("the package isaacsim", (sys.executable,), (window, "isaacsim.exp.full"))
    launcher = Path(_LAUNCHER_FOLDER).expanduser()
    newest_first = sorted(launcher.glob("isaac*sim-*"), key=_version_of, reverse=True)
    for place in (*(Path(usual).expanduser() for usual in _USUAL), *newest_first):
        if (found := _in_folder(place)) is not None:
            return found
    raise ConfigError(
        "Isaac Sim not found",
        remedy="install it (https://docs.isaacsim.omniverse.nvidia.com), and set ISAACSIM_PATH to its folder",
    )


def script_command(installation: Installation, arguments: Sequence[str]) -> list[str]:
    """Return the command that flies a scenario by Isaac Sim's Python.

    Args:
        installation: The Isaac Sim.
        arguments: Those of `pegasus run`, and `--headless`.
    """
    return [*installation.python, "-m", "pegasus.isaac", *arguments]


def window_command(
    installation: Installation, folder: Path, *, scenario: str | None = None, play: bool = False
) -> list[str]:
    """Return the command that opens Isaac Sim's window with the extension.

    Args:
        installation: The Isaac Sim.
        folder: Folder that holds the extension's folder.
        scenario: Name of a scenario to load, or its file; none when None.
        play: Whether it flies at once.
    """
    command = [*installation.window, "--ext-folder", str(folder), "--enable", EXTENSION_NAME]
    command.append(f"--{OUT_SETTING}={Path('runs').resolve()}")
    if scenario is not None:
        # Isaac Sim's working folder is its own.
        path = Path(scenario).expanduser()
        command.append(f"--{SCENARIO_SETTING}={path.resolve() if path.suffix else scenario}")
        command += [f"--{PLAY_SETTING}=true"] if play else []
    return command


def extension_folder() -> Path:
    """Return a folder that holds the extension under its right name, whatever the repository's folder is.

    Raises:
        ConfigError: If the links cannot be made.
    """
    folder = user_cache() / "isaac_sim" / "extensions"
    place = folder / EXTENSION_NAME
    package = Path(__file__).resolve().parents[1]
    targets = {"pegasus": package} | {name: resource(name) for name in _LINKED if resource(name).exists()}
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, target in targets.items():
            link = place / name
            if link.is_symlink() and link.resolve() == target.resolve():
                continue
            link.unlink(missing_ok=True)
            link.symlink_to(target, target_is_directory=target.is_dir())
    except OSError as error:
        raise ConfigError(
            f"cannot be linked: {error.strerror}",
            file=place,
            remedy=f"name the repository's folder {EXTENSION_NAME}, and enable that in Isaac Sim",
        ) from None
    return folder


def python_path() -> str:
    """Return the value of PYTHONPATH by which another Python finds this Pegasus, and nothing beside it.

    Raises:
        ConfigError: If it is installed among other packages, and a link to it cannot be made.
    """
    own = Path(__file__).resolve().parents[2]
    if not (own / "pyproject.toml").is_file():
        # Packages of another Python, OpenUSD among them, would come before those of Isaac Sim.
        own = extension_folder() / EXTENSION_NAME
    return os.pathsep.join([str(own), *filter(None, [os.environ.get("PYTHONPATH")])])


def require_packages(installation: Installation) -> None:
    """Refuse to go on with a Python that lacks what Pegasus needs.

    Args:
        installation: The Isaac Sim whose Python is asked.

    Raises:
        ConfigError: If packages are missing, with how to install them, or that Python does not answer.
    """
    with resource("config", "extension.toml").open("rb") as file:
        wanted: list[str] = tomllib.load(file)["python"]["pipapi"]["requirements"]
    lines = {re.split(r"[<>=!~ \[]", line)[0]: line for line in wanted}
    try:
        asked = subprocess.run(
            [*installation.python, "-c", _MISSING, *lines, _OPENUSD],
            capture_output=True,
            text=True,
            check=True,
            timeout=_LONGEST_ANSWER,
        )
    except OSError as error:
        raise ConfigError(
            f"cannot be run: {error.strerror}", field="Isaac Sim", value=installation.place
        ) from None
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"its Python did not answer within {_LONGEST_ANSWER:g} s",
            field="Isaac Sim",
            value=installation.place,
            remedy="see whether it starts by hand",
        ) from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip() or "no message").splitlines()[-1]
        raise ConfigError(
            f"its Python does not run: {said}", field="Isaac Sim", value=installation.place
        ) from None
    absent = asked.stdout.split()
    if _OPENUSD not in absent:
        _log.warning(
            "the Python of Isaac Sim has the package %s beside Isaac Sim's own OpenUSD; if it crashes: %s",
            _OPENUSD,
            shlex.join([*installation.python, "-m", "pip", "uninstall", _OPENUSD]),
        )
    missing = [name for name in absent if name in lines]
    if missing:
        names = " ".join(f"'{lines[name]}'" for name in missing)
        raise ConfigError(
            f"the Python of Isaac Sim lacks {', '.join(missing)}",
            remedy=f"{shlex.join(installation.python)} -m pip install {names}",
        )


def start(*, headless: bool = True) -> Any:
    """Start Isaac Sim in this process, which its Python runs, and return its application.

    To be called before anything of OpenUSD is imported; `import pegasus` imports nothing of it.

    Args:
        headless: Whether it has no window.

    Raises:
        ConfigError: If this is not Isaac Sim's Python, or it is too late.
    """
    if inside_isaac_sim():
        return None
    if importlib.util.find_spec("isaacsim") is None:
        raise ConfigError(
            "this is not the Python of Isaac Sim",
            field="engine",
            value="isaac",
            remedy=f"run the script by Isaac Sim's {_script('python')}, or a scenario by pegasus isaac",
        )
    if "pxr" in sys.modules:
        raise ConfigError(
            "OpenUSD was imported before Isaac Sim was started",
            field="engine",
            value="isaac",
            remedy="start it before worlds and vehicles are made",
        )
    from isaacsim import SimulationApp

    arguments = [] if headless else [f"--{FRAME_RATE_SETTING}={FRAME_RATE}"]
    application = SimulationApp({"headless": headless, "extra_args": arguments})
    atexit.register(application.close)
    return application


def start_if_asked(arguments: list[str] | None = None) -> None:
    """Start Isaac Sim if the command line of a script asks for it, and take that out of the command line.

    It knows `--engine isaac` and, for Isaac Sim without a window, `--headless`; `--engine mujoco` and `auto`
    start nothing.

    Args:
        arguments: The command line, which is changed; that of this process when None.

    Raises:
        ConfigError: If Isaac Sim is asked for and this is not its Python.
    """
    line = sys.argv if arguments is None else arguments
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--engine", choices=("auto", "mujoco", "isaac"), default="auto")
    parser.add_argument("--headless", action="store_true")
    known, line[1:] = parser.parse_known_args(line[1:])
    if known.engine == "isaac":
        start(headless=known.headless)


def _in_folder(folder: Path) -> Installation | None:
    python, window = folder / _script("python"), folder / _script("isaac-sim")
    return Installation(str(folder), (str(python),), (str(window),)) if python.is_file() else None


def _script(name: str) -> str:
    return f"{name}.bat" if os.name == "nt" else f"{name}.sh"


def _version_of(folder: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", folder.name))
