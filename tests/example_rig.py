"""Loader of the examples as modules, for their tests."""

import importlib.util
import sys
from pathlib import Path

from pegasus.dynamics import DRAGS, MOTORS
from pegasus.environment import WINDS
from pegasus.sensors import SENSORS
from pegasus.worlds import GENERATORS

EXAMPLES = Path(__file__).parents[1] / "examples"


def load_example(path, monkeypatch):
    """Load an example as a module, which stays in `sys.modules` until the test ends.

    Args:
        path: Path of the example.
        monkeypatch: pytest's fixture.
    """
    # Names that an example registers are removed after its test.
    for registry in (DRAGS, GENERATORS, MOTORS, SENSORS, WINDS):
        monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module
