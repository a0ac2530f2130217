"""Arguments of recorded launches, set without Warp's conversion of them.

Since Warp 1.13 the arguments of a kernel on the CPU are passed in one structure. Packed once here, a launch
takes 1 us in place of 3. Other versions, and launches on a GPU, use Warp's public functions.
"""

import ctypes
import functools
from collections.abc import Callable
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

    def setter(self, k: int) -> Callable[[int], None]:
        """Return the function that sets argument k of the kernel, a whole number."""
        if self._packed is None:
            return functools.partial(self._command.set_param_at_index, k)
        set_argument: Callable[..., None] = getattr(type(self._packed), _NAMES[k]).__set__
        return functools.partial(set_argument, self._packed)


_NAMES = tuple(f"argument_{k}" for k in range(8))


@functools.cache
def _structure(*kinds: type) -> Any:
    """Return the structure in which arguments of some types are passed."""
    return type("Arguments", (ctypes.Structure,), {"_fields_": list(zip(_NAMES, kinds, strict=False))})
