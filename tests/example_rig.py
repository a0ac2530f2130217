"""Loader of the examples as modules, for their tests."""

import importlib.util
import sys
from pathlib import Path

from pegasus.base.registry import Registry

EXAMPLES = Path(__file__).parents[1] / "examples"


def load_example(path, monkeypatch):
    """Load an example as a module, which stays in `sys.modules` until the test ends.

    Args:
        path: Path of the example.
        monkeypatch: pytest's fixture.
    """
    add = Registry.register

    def register(registry, name, kind):
        """Add a class until the test ends."""
        monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))
        add(registry, name, kind)

    monkeypatch.setattr(Registry, "register", register)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module
