"""Runs the extension's Kit tests on the fakes."""

import ast
import asyncio
import importlib
import json

import numpy as np
import pytest

from tests.isaac import square
from tests.isaac.test_imports import PACKAGE


def found():
    """Return (module, class, method) of each test by parsing, since importing them needs Kit."""
    for path in sorted((PACKAGE / "tests").glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                for part in node.body:
                    if isinstance(part, ast.AsyncFunctionDef) and part.name.startswith("test_"):
                        yield path.stem, node.name, part.name


@pytest.mark.parametrize(("module", "kind", "method"), list(found()))
def test_a_test_for_kit_passes_on_the_fakes(window, module, kind, method):
    """A Kit test with a fault of its own would only fail on a user's machine."""
    window()  # Kit runs them with the extension enabled.
    case = getattr(importlib.import_module(f"pegasus.isaac.tests.{module}"), kind)(method)

    async def run():
        await case.setUp()
        try:
            await getattr(case, method)()
        finally:
            await case.tearDown()

    asyncio.run(run())


def test_there_are_tests_for_kit():
    """Without Kit tests, the list above would be empty and pass."""
    assert {kind for _, kind, _ in found()} >= {"TestExtension", "TestFlight", "TestGpu", "TestWindow"}


def test_the_recorded_square_is_that_of_mujoco(isaac):
    """Flights in Kit would be compared with those of a former version."""
    isaac()
    recorded = json.loads(square.FILE.read_text(encoding="utf-8"))
    assert recorded["rate"] == square.RATE
    np.testing.assert_allclose(recorded["position"], square.flight(), atol=1e-6)
