"""Import Pegasus by a name of its own, and tell of another package called `pegasus` that comes before it.

The extension `pegasus.simulator` of the Pegasus Simulator has a package of that name too. Python imports one
of the two, and the other one fails without a word on the reason.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

_NAME = "pegasus"
_EXIT_INPUT = 2
_OTHER_EXTENSION = "pegasus.simulator"


def main() -> None:
    """Run the command `pegasus`, or say in one line which other package comes before it."""
    if not _imports_own():
        print("pegasus:", other_package(), file=sys.stderr)
        sys.exit(_EXIT_INPUT)
    from pegasus.__main__ import main as command

    command()


def other_package() -> str | None:
    """Return what to say about another package of the same name: both places and the remedy; else None."""
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
    """Return the folders that Python may take for the package, the one that it has taken first."""
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
    # Kit imports this module before the extension's own, which fails now; nothing of the package can say why.
    import logging

    logging.getLogger(__name__).error(other_package())
