"""Tests of what photo mode requires: packages, and an LLVM that Dr.Jit can use."""

import builtins
import os
import subprocess
import sys
from typing import Any

import pytest

from pegasus.base.errors import ConfigError
from pegasus.render.photo import renderer as renderers
from pegasus.render.photo.renderer import VARIANT, MitsubaRenderer
from tests.waits import LIMIT


@pytest.mark.parametrize("package", ["mitsuba", pytest.param("pyoidn", marks=pytest.mark.photo)])
def test_a_missing_extra_is_one_line(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra a user would see a traceback instead of the install command."""
    importer = builtins.__import__
    module = renderers.importlib.import_module

    def refuse(name: str, *args: Any, **more: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name=package)
        return importer(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)

    def import_module(name: str, *args: Any, **more: Any) -> Any:
        return refuse(name) if name == package else module(name, *args, **more)

    monkeypatch.setattr(renderers.importlib, "import_module", import_module)
    with pytest.raises(ConfigError, match=rf"{package}.* pip install pegasus-multirotor\[photo\]"):
        MitsubaRenderer()


def test_without_llvm_the_remedy_is_one_line() -> None:
    """Without the library photos would end in a traceback of Mitsuba that names no package."""
    code = """
from pegasus.base.errors import ConfigError
from pegasus.render.photo.renderer import MitsubaRenderer
from pegasus.render.sky import EMISSION
try:
    MitsubaRenderer()
except ConfigError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"DRJIT_LIBLLVM_PATH": "/nowhere/libLLVM.so"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    assert run.stdout.startswith("renderer = 'mitsuba': needs the library libLLVM of version 17 or later")
    assert "apt install libllvm19" in run.stdout
    assert run.stdout.count("\n") == 1


@pytest.mark.parametrize("variant", [None, VARIANT])
def test_an_old_llvm_is_refused(variant: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old LLVM would end the process at the first image, or at the first one after a refusal."""
    mitsuba, drjit = pytest.importorskip("mitsuba"), pytest.importorskip("drjit")
    monkeypatch.setattr(mitsuba, "variant", lambda: variant)
    monkeypatch.setattr(mitsuba, "set_variant", lambda _: None)
    monkeypatch.setattr(drjit.detail, "llvm_version", lambda: (15, 0, 7))
    with pytest.raises(ConfigError, match=r"found LLVM 15\.0\.7.*apt install libllvm19"):
        MitsubaRenderer()
