"""Checks of generated stages by OpenUSD's validators."""

import pytest
from pxr import Usd

WHOLE_SINCE = (0, 26, 3)
"""Wheels of usd-core before this release lack validators, or the shader definitions that they need."""


def complaints(stage: Usd.Stage) -> list[tuple[str, str]]:
    """Return the names and messages of all errors that OpenUSD's validators find in a stage."""
    if Usd.GetVersion() < WHOLE_SINCE:
        pytest.skip("validators are incomplete in usd-core before 26.3")
    from pxr import UsdValidation

    rules = UsdValidation.ValidationContext(UsdValidation.ValidationRegistry().GetOrLoadAllValidators())
    return [(error.GetName(), error.GetMessage()) for error in rules.Validate(stage)]
