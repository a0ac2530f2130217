"""Pegasus for Isaac Sim's Python: missing packages, the folder of the extension, and PYTHONPATH."""

import logging
import os
import shlex
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pegasus.base.errors import ConfigError
from pegasus.base.system import resource, user_cache
from pegasus.isaac.installation import Installation

EXTENSION_NAME = "pegasus"
"""Name of the extension: Kit takes that of its folder, which is that of a clone and of a folder of links."""

_CHECK = "pegasus_multirotor.py"
_LINKED = ("config", "data", "docs", "CHANGELOG.md", "README.md")


def wheels() -> Path:
    """Return the cache folder for wheels of packages that Isaac Sim lacks; it may not exist."""
    return user_cache() / "isaac_sim" / "wheels"


def extension_folder() -> Path:
    """Return the parent folder of the extension, with links to this installation under its name.

    Raises:
        ConfigError: If the links cannot be created.
    """
    folder = user_cache() / "isaac_sim" / "extensions"
    place = folder / EXTENSION_NAME
    package = Path(__file__).resolve().parents[1]
    targets = {"pegasus": package, _CHECK: package.parent / _CHECK, "wheels": wheels()}
    targets |= {name: resource(name) for name in _LINKED if resource(name).exists()}
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, target in targets.items():
            link = place / name
            if link.is_symlink() and link.resolve() == target.resolve():
                continue
            link.unlink(missing_ok=True)
            link.symlink_to(target, target_is_directory=not target.suffix)
    except OSError as error:
        raise ConfigError(
            f"link cannot be created: {error.strerror}",
            file=place,
            remedy=f"name the folder of the repository {EXTENSION_NAME}, and enable it in Isaac Sim",
        ) from None
    return folder


def python_path() -> str:
    """Return the PYTHONPATH for another Python to find this Pegasus and no other package.

    Raises:
        ConfigError: If it is installed among other packages, and a link to it cannot be created.
    """
    own = Path(__file__).resolve().parents[2]
    if not (own / "pyproject.toml").is_file():
        # Else packages of this Python, such as OpenUSD, would hide those of Isaac Sim.
        own = extension_folder() / EXTENSION_NAME
    return os.pathsep.join([str(own), *filter(None, [os.environ.get("PYTHONPATH")])])


_log = logging.getLogger(__name__)

_LONGEST_ANSWER = 120.0
"""Timeout of Isaac Sim's Python for its list of packages [s]."""
_LONGEST_INSTALLATION = 600.0
"""Timeout of pip [s]."""
_OF_THE_COMMAND = {
    "annotated_doc": "annotated-doc==0.0.6",
    "markdown_it": "markdown-it-py==4.3.0",
    "mdurl": "mdurl==0.1.2",
    "pygments": "Pygments==2.21.0",
    "rich": "rich==14.3.4",
    "shellingham": "shellingham==1.5.4",
    "typer": "typer==0.29.1",
}
"""Requirements by module that `pegasus run` needs and the window does not."""
_OF_ISAAC_SIM = ("PIL", "numpy", "pydantic", "yaml")
"""Modules that Isaac Sim includes."""
_OPENUSD = "usd-core"
_LOOK = """
import importlib.metadata, importlib.util, sys
for name in sys.argv[2:]:
    if importlib.util.find_spec(name) is None:
        print(name)
try:
    importlib.metadata.distribution(sys.argv[1])
    print(sys.argv[1])
except importlib.metadata.PackageNotFoundError:
    pass
"""


@dataclass(frozen=True)
class Missing:
    """Packages that Isaac Sim's Python lacks."""

    requirements: Sequence[str]
    """Requirements for pip."""
    of_isaac_sim: Sequence[str]
    """Modules that a complete Isaac Sim includes."""
    second_openusd: bool
    """A second OpenUSD is installed next to Isaac Sim's own."""


def window_packages() -> dict[str, str]:
    """Return the requirements that Kit installs for the extension, by module."""
    with resource("config", "extension.toml").open("rb") as file:
        pipapi = tomllib.load(file)["python"]["pipapi"]
    return dict(zip(pipapi["modules"], pipapi["requirements"], strict=True))


def own_packages() -> dict[str, str]:
    """Return all requirements of Pegasus that Isaac Sim lacks, by module."""
    return window_packages() | _OF_THE_COMMAND


def missing_packages(installation: Installation) -> Missing:
    """Return the packages that Isaac Sim's Python lacks for the flight of a scenario.

    Raises:
        ConfigError: If that Python does not run.
    """
    wanted = own_packages()
    command = [*installation.python, "-c", _LOOK, _OPENUSD, *wanted, *_OF_ISAAC_SIM]
    said = _ask(installation, command, _LONGEST_ANSWER).split()
    return Missing(
        requirements=[wanted[name] for name in said if name in wanted],
        of_isaac_sim=[name for name in said if name in _OF_ISAAC_SIM],
        second_openusd=_OPENUSD in said,
    )


def require_packages(installation: Installation) -> None:
    """Require that Isaac Sim's Python has all packages that Pegasus needs.

    Raises:
        ConfigError: If packages are missing, with the remedy, or that Python does not run.
    """
    missing = missing_packages(installation)
    if missing.second_openusd:
        _log.warning(
            "the Python of Isaac Sim has the package %s next to Isaac Sim's own OpenUSD; if it crashes: %s",
            _OPENUSD,
            shlex.join([*installation.python, "-m", "pip", "uninstall", _OPENUSD]),
        )
    if missing.of_isaac_sim:
        raise ConfigError(
            f"the Python of Isaac Sim lacks {', '.join(missing.of_isaac_sim)}, which it should include",
            remedy=f"{shlex.join(installation.python)} -m pip install 'pegasus-multirotor[isaac]'",
        )
    if missing.requirements:
        raise ConfigError(
            f"the Python of Isaac Sim lacks {', '.join(missing.requirements)}",
            remedy=f"pegasus isaac --prepare --isaac-python {shlex.quote(str(installation.python[0]))}",
        )


def prepare(installation: Installation, *, environment: Mapping[str, str]) -> str:
    """Install the packages that Isaac Sim's Python lacks, and return a message with the result.

    Their wheels are kept: a machine with a copy of that folder needs no network.

    Raises:
        ConfigError: If pip fails.
    """
    folder, wanted = wheels(), list(own_packages().values())
    missing = missing_packages(installation).requirements
    if not missing:
        return f"{installation.place}: nothing is missing"
    pip = [*installation.python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    # Their own dependencies are listed too, so no package of Isaac Sim changes.
    quiet = ["--quiet", "--no-deps"]
    install = [*pip, "install", *quiet, "--no-index", "--find-links", str(folder), *missing]
    download = [*pip, "download", *quiet, "--only-binary", ":all:", "--dest", str(folder), *wanted]
    try:
        _ask(installation, install, _LONGEST_INSTALLATION, environment)
    except ConfigError:
        # Some wheels are not in the folder.
        folder.mkdir(parents=True, exist_ok=True)
        _ask(installation, download, _LONGEST_INSTALLATION, environment)
        _ask(installation, install, _LONGEST_INSTALLATION, environment)
    return f"{installation.place}: installed {', '.join(missing)}; their wheels are in {folder}"


def _ask(
    installation: Installation,
    command: Sequence[str],
    longest: float,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return the output of a command of Isaac Sim's Python."""

    def failed(problem: str, remedy: str | None = None) -> ConfigError:
        return ConfigError(problem, field="Isaac Sim", value=str(installation.place), remedy=remedy)

    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=longest, env=environment
        ).stdout
    except OSError as error:
        raise failed(f"cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        problem = f"its Python did not end within {longest:g} s"
        raise failed(problem, "try to start it manually") from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line.strip()] or ["no message"]
        telling = [line for line in lines if "rror" in line] or lines
        raise failed(f"its Python does not run: {telling[-1].strip()}") from None
