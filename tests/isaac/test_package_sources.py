"""Tests of the comparison of the contract with the sources of Isaac Sim's packages."""

import pytest

from tests.isaac.contract import load
from tests.isaac.package_sources import faults

STORAGE = "exts/isaacsim.storage.native/isaacsim/storage/native/nucleus.py"
SETTINGS = "kit/kernel/py/carb/settings/_settings.pyi"
RIGHT = {
    STORAGE: """
def get_assets_root_path(*, skip_check: bool = False, accept_unsupported: bool = True) -> str: ...
async def get_assets_root_path_async(*, skip_check: bool = False, accept_unsupported: bool = True) -> str: ...
def check_server(server, path, timeout=10.0, *, accept_unsupported=False): ...
async def check_server_async(server, path, timeout=10.0, *, accept_unsupported=False): ...
""",
    SETTINGS: """
class ISettings:
    def set_bool(self, arg0: str, arg1: bool) -> None: ...
    def get(*args, **kwargs): ...
""",
}


def said(tmp_path, **changed):
    """Return the differences from small sources, in which a text is replaced, of what they hold."""
    for number, (file, text) in enumerate(RIGHT.items()):
        place = tmp_path / file
        place.parent.mkdir(parents=True, exist_ok=True)
        before, after = changed.get(("storage", "settings")[number], ("", ""))
        assert before in text
        place.write_text(text.replace(before, after))
    compared = ("isaacsim.storage.native", "carb.settings:ISettings.")
    return [fault for fault in faults(load("6.2.0"), tmp_path) if fault.startswith(compared)]


def test_what_agrees_is_not_said(tmp_path):
    """Every member would have to be compared by hand again for a new version."""
    assert said(tmp_path) == []


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"storage": ("skip_check: bool", "skip: bool")}, "get_assets_root_path(*, skip_check=False"),
        (
            {"storage": ("def get_assets_root_path(", "def root_path(")},
            "isaacsim.storage.native has no get_assets",
        ),
        (
            {"settings": ("arg1: bool", "arg1: bool, arg2: int")},
            "ISettings.set_bool(path, value, /) is (arg0, arg1, arg2)",
        ),
    ],
)
def test_a_difference_is_said(tmp_path, changed, fault):
    """A call that a new version refuses would pass for supported."""
    assert any(fault in each for each in said(tmp_path, **changed))
