"""Choose the variant of Mitsuba that this machine can run."""

import importlib
import logging
from typing import Any

from pegasus.errors import ConfigError

_LOG = logging.getLogger(__name__)

VECTORIZED = "llvm_ad_rgb"
"""Many rays at once, compiled by LLVM for this processor."""
SCALAR = "scalar_rgb"
"""One ray at a time; needs nothing that a wheel does not bring."""

# Rendering with an older LLVM ends the process.
_OLDEST_LLVM = (17,)
_REMEDY = "install LLVM 17 or later, such as `apt install libllvm19`"


def load_mitsuba() -> tuple[Any, Any]:
    """Return the modules mitsuba and drjit, with the fastest variant that works set.

    Raises:
        ConfigError: If they are not installed.
    """
    try:
        mitsuba = importlib.import_module("mitsuba")
        drjit = importlib.import_module("drjit")
    except ImportError:
        raise ConfigError(
            "needs mitsuba, which is not installed",
            field="renderer",
            value="mitsuba",
            remedy="pip install pegasus-multirotor[photo]",
        ) from None
    if mitsuba.variant() not in (VECTORIZED, SCALAR):
        mitsuba.set_variant(_usable_variant(mitsuba, drjit))
    return mitsuba, drjit


def _usable_variant(mitsuba: Any, drjit: Any) -> str:
    try:
        mitsuba.set_variant(VECTORIZED)
        version = tuple(drjit.detail.llvm_version())
    except (ImportError, AttributeError, RuntimeError):
        version = ()
    if version >= _OLDEST_LLVM:
        return VECTORIZED
    found = f"LLVM {'.'.join(map(str, version))} is too old" if version else "LLVM was not found"
    _LOG.warning("%s: pictures take some five times as long; %s", found, _REMEDY)
    return SCALAR
