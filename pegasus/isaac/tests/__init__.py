"""Tests for Kit itself; they need Isaac Sim and are found and run there."""

try:
    from pegasus.isaac.tests.test_in_kit import TestExtension, TestFlight, TestGpu, TestWindow
except ModuleNotFoundError as error:
    # Kit imports this module with the extension, also where nothing is to be tested.
    if error.name != "omni.kit.test":
        raise
else:
    __all__ = ["TestExtension", "TestFlight", "TestGpu", "TestWindow"]
