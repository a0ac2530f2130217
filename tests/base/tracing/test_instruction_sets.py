"""Traced laws have the bits of Python on older processors too: with registers of 128 and of 256 bits."""

import platform
from typing import Any

import pytest

from pegasus.base.tracing import launches
from tests.base.tracing.comparison import differences
from tests.base.tracing.test_bits import elementary_functions, own, shipped

X86 = platform.machine().lower() in ("x86_64", "amd64")


@pytest.mark.skipif(not X86, reason="instructions of x86")
@pytest.mark.parametrize(("processor", "target"), [("sse2", "no-sse3"), ("avx2", "no-avx512f")])
def test_laws_have_the_same_bits_on_older_processors(
    processor: str, target: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A seed would fly another path on another processor, or warn before each flight."""
    made = launches.kernel_of_text

    def older(key: str, text: str) -> Any:
        """Return the kernel with functions that use no newer instructions."""
        attribute = f'target("{target}")'
        body = "#define px_body [&]() __attribute__((noinline))"
        assert text.count(body) == 1
        text = text.replace("__attribute__((always_inline))", f"__attribute__((always_inline, {attribute}))")
        text = text.replace(body, body.replace("noinline", f"noinline, {attribute}"))
        return made(f"{key}_{processor}", text)

    monkeypatch.setattr(launches, "kernel_of_text", older)
    for laws in (own, elementary_functions, shipped):
        assert differences(laws()) == []
    assert "warning" not in capfd.readouterr().err
