"""Entry point with a unique module name, which reports conflicts with another package called `pegasus`.

The extension `pegasus.simulator` of the Pegasus Simulator contains a package of the same name. Python imports
one of the two, and the other one fails without an explanation.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

_NAME = "pegasus"
_EXIT_INPUT = 2
_OTHER_EXTENSION = "pegasus.simulator"


def main() -> None:
    """Run the command `pegasus`, or report the conflicting package in one line."""
    if not _imports_own():
        print("pegasus:", other_package(), file=sys.stderr)
        sys.exit(_EXIT_INPUT)
    from pegasus.__main__ import main as command

    command()


def other_package() -> str | None:
    """Return an error message about another package of this name, with a remedy; None without conflict."""
    own = Path(__file__).resolve().parent / _NAME
    others = [place for place in _places() if place.resolve() != own and not (place / "isaac").is_dir()]
    if not others:
        return None
    lost = f"{_OTHER_EXTENSION} of the first" if _imports_own() else "this Pegasus, the second,"
    return (
        f"the Python package {_NAME} is at {others[0]} and at {own}, and {lost} cannot be imported;"
        f" disable the extension {_OTHER_EXTENSION}, or uninstall the package pegasus-simulator"
    )


def _places() -> list[Path]:
    """Return the folders on the import path with a package of this name, the imported one first."""
    loaded = sys.modules.get(_NAME)
    folders = [Path(path) for path in getattr(loaded, "__path__", ())]
    for entry in sys.path:
        folder = Path(entry or ".") / _NAME
        if (folder / "__init__.py").is_file() or (folder / "simulator" / "__init__.py").is_file():
            folders.append(folder)
    return list(dict.fromkeys(folders))


def _imports_own() -> bool:
    """Return whether `import pegasus` gives this Pegasus."""
    spec = find_spec(_NAME)
    return spec is not None and (Path(spec.origin or ".").parent / "isaac" / "extension.py").is_file()


if "omni.kit.app" in sys.modules and not _imports_own():
    # Kit imports this module before the extension's main module, whose import is about to fail.
    import logging

    logging.getLogger(__name__).error(other_package())
