"""Packages that Isaac Sim's Python lacks: find them missing, and install them."""

import logging
import shlex
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pegasus.errors import ConfigError
from pegasus.folders import resource
from pegasus.isaac.extension_folder import wheels
from pegasus.isaac.installation import Installation

_log = logging.getLogger(__name__)

_LONGEST_ANSWER = 120.0
"""How long Isaac Sim's Python may take to say which packages it has [s]."""
_LONGEST_INSTALLATION = 600.0
"""How long pip may take [s]."""
_OF_THE_COMMAND = {
    "annotated_doc": "annotated-doc==0.0.6",
    "markdown_it": "markdown-it-py==4.3.0",
    "mdurl": "mdurl==0.1.2",
    "pygments": "Pygments==2.21.0",
    "rich": "rich==14.3.4",
    "shellingham": "shellingham==1.5.4",
    "typer": "typer==0.29.1",
}
"""Requirements by module of what only `pegasus run` needs, not the window."""
_OF_ISAAC_SIM = ("PIL", "matplotlib", "numpy", "packaging", "pydantic", "yaml")
"""Modules that Isaac Sim brings along."""
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
    """What pip has to install."""
    of_isaac_sim: Sequence[str]
    """Modules that Isaac Sim brings along when it is complete."""
    second_openusd: bool
    """Whether OpenUSD is installed beside Isaac Sim's own."""


def window_packages() -> dict[str, str]:
    """Return the requirements that the extension has Kit install, by their modules."""
    with resource("config", "extension.toml").open("rb") as file:
        pipapi = tomllib.load(file)["python"]["pipapi"]
    return dict(zip(pipapi["modules"], pipapi["requirements"], strict=True))


def own_packages() -> dict[str, str]:
    """Return the requirements of all that Pegasus needs and Isaac Sim lacks, by their modules."""
    return window_packages() | _OF_THE_COMMAND


def missing_packages(installation: Installation) -> Missing:
    """Return what a Python of Isaac Sim lacks to fly a scenario.

    Args:
        installation: The Isaac Sim whose Python is asked.

    Raises:
        ConfigError: If that Python does not answer.
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
    """Refuse to go on with a Python that lacks what Pegasus needs.

    Args:
        installation: The Isaac Sim whose Python is asked.

    Raises:
        ConfigError: If packages are missing, with how to install them, or that Python does not answer.
    """
    missing = missing_packages(installation)
    if missing.second_openusd:
        _log.warning(
            "the Python of Isaac Sim has the package %s beside Isaac Sim's own OpenUSD; if it crashes: %s",
            _OPENUSD,
            shlex.join([*installation.python, "-m", "pip", "uninstall", _OPENUSD]),
        )
    if missing.of_isaac_sim:
        raise ConfigError(
            f"the Python of Isaac Sim lacks {', '.join(missing.of_isaac_sim)}, which a whole Isaac Sim has",
            remedy=f"{shlex.join(installation.python)} -m pip install 'pegasus-multirotor[isaac]'",
        )
    if missing.requirements:
        raise ConfigError(
            f"the Python of Isaac Sim lacks {', '.join(missing.requirements)}",
            remedy=f"pegasus isaac --prepare --isaac-python {shlex.quote(str(installation.python[0]))}",
        )


def prepare(installation: Installation, *, environment: Mapping[str, str]) -> str:
    """Install what Isaac Sim's Python lacks, and return in one line what was done.

    The wheels are kept, so that a machine to which their folder is copied needs no network.

    Args:
        installation: The Isaac Sim.
        environment: Environment of pip.

    Raises:
        ConfigError: If they cannot be installed.
    """
    folder, wanted = wheels(), list(own_packages().values())
    missing = missing_packages(installation).requirements
    if not missing:
        return f"{installation.place}: nothing is missing"
    pip = [*installation.python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    # What they need themselves is named too: nothing of Isaac Sim's own is touched.
    quiet = ["--quiet", "--no-deps"]
    install = [*pip, "install", *quiet, "--no-index", "--find-links", str(folder), *missing]
    download = [*pip, "download", *quiet, "--only-binary", ":all:", "--dest", str(folder), *wanted]
    try:
        _ask(installation, install, _LONGEST_INSTALLATION, environment)
    except ConfigError:
        # Not all of them are in the folder.
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
    """Return what a command of Isaac Sim's Python prints."""

    def failed(problem: str, remedy: str | None = None) -> ConfigError:
        return ConfigError(problem, field="Isaac Sim", value=str(installation.place), remedy=remedy)

    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=longest, env=environment
        ).stdout
    except OSError as error:
        raise failed(f"cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        problem = f"its Python did not answer within {longest:g} s"
        raise failed(problem, "see whether it starts by hand") from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line.strip()] or ["no message"]
        telling = [line for line in lines if "rror" in line] or lines
        raise failed(f"its Python does not run: {telling[-1].strip()}") from None
