"""Arguments of recorded launches, set without Warp's conversion of them.

Since Warp 1.13 the arguments of a kernel on the CPU are passed in one structure. Packed once here, a launch
takes 1 us in place of 3. Other versions, and launches on a GPU, use Warp's public functions.
"""

import ctypes
import functools
from typing import Any


class Command:
    """Recorded launch whose plain numbers can be set.

    Args:
        kernel: Kernel of Warp.
        command: Launch of it that Warp has recorded.
    """

    def __init__(self, kernel: Any, command: Any) -> None:
        self._command, self._packed = command, None
        self.run = command.launch
        packs = hasattr(kernel, "_invoke_cache") and getattr(command, "block_dim", 1) == 1
        if packs and str(command.device) == "cpu":
            bounds, *arguments = command.params
            self._packed = _structure(*map(type, arguments))(*arguments)
            forward = command.hooks.forward
            self.run = functools.partial(forward, ctypes.byref(bounds), ctypes.byref(self._packed))

    def set(self, k: int, value: int) -> None:
        """Set argument k of the kernel, a whole number."""
        if self._packed is None:
            self._command.set_param_at_index(k, value)
        else:
            setattr(self._packed, f"argument_{k}", value)


@functools.cache
def _structure(*kinds: type) -> Any:
    """Return the structure in which arguments of some types are passed."""
    return type(
        "Arguments", (ctypes.Structure,), {"_fields_": [(f"argument_{k}", t) for k, t in enumerate(kinds)]}
    )
