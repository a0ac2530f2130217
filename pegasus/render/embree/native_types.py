"""Types that native functions of kernels return."""

import sys


def native_result(name: str, kind: type) -> type:
    """Return a type, after Warp was told its name.

    Warp 1.8 to 1.13 look up the type that a native function returns among the names of their own compiler.

    Args:
        name: Name of the type in annotations.
        kind: The type.
    """
    for module in ("warp.codegen", "warp._src.codegen"):
        if module in sys.modules:
            setattr(sys.modules[module], name, kind)
    return kind
