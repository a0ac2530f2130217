"""Put the extension where Kit finds it under its own name, and this Pegasus where another Python finds it."""

import os
from pathlib import Path

from pegasus.errors import ConfigError
from pegasus.folders import resource, user_cache

EXTENSION_NAME = "pegasus.multirotor"
"""Name of the extension wherever the repository lies: Kit takes the name of the folder, so it gets a link."""

_CHECK = "pegasus_multirotor.py"
_LINKED = ("config", "data", "docs", "CHANGELOG.md", "README.md")


def wheels() -> Path:
    """Return the folder that keeps the wheels of packages that Isaac Sim lacks; it may not exist."""
    return user_cache() / "isaac_sim" / "wheels"


def extension_folder() -> Path:
    """Return a folder that holds the extension under its right name, whatever the repository's folder is.

    Raises:
        ConfigError: If the links cannot be made.
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
