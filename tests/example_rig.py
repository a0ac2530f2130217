"""Examples as modules, for their tests."""

import importlib.util
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def load_example(path, monkeypatch):
    """Return the module of an example, which is known by its name as long as the test runs.

    Args:
        path: Its file.
        monkeypatch: The fixture of that name.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module
