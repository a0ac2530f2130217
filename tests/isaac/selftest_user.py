"""Isaac Sim for the self-test, on the fakes: `python -m tests.isaac.selftest_user VERSION CLASS ...`.

Classes are those of `pegasus.isaac.tests`, or Planted, whose tests fail in every way.
"""

import asyncio
import os
import sys
import time
import unittest
from pathlib import Path

from pegasus.isaac import selftest_in_kit
from pegasus.isaac.selftest import EVENTS_VARIABLE
from tests.isaac import fakes
from tests.isaac.user import User


class Planted:
    """Tests that pass, fail, hang and crash."""

    def __init__(self, name):
        self.figures = {}

    async def setUp(self):
        pass

    async def tearDown(self):
        pass

    async def test_passes(self):
        self.figures["figure"] = 0.125

    async def test_fails(self):
        assert self.figures

    async def test_awaits_for_ever(self):
        await asyncio.Event().wait()

    async def test_blocks(self):
        time.sleep(600.0)

    async def test_crashes(self):
        os._exit(7)

    async def test_is_skipped(self):
        raise unittest.SkipTest("lacks a part")


def main(version, *kinds):
    user = User(fakes.install(version))
    from pegasus.isaac import tests

    if "Planted" in kinds:
        tests.Planted = Planted
        selftest_in_kit._LIMIT = 1.0
    tests.__all__ = list(kinds)
    selftest_in_kit.run(Path(os.environ[EVENTS_VARIABLE]), time.monotonic())
    user.extension.on_shutdown()
    if "Planted" in kinds:
        os._exit(3)


if __name__ == "__main__":
    main(*sys.argv[1:])
