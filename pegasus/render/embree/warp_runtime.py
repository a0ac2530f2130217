"""Loading of the compiled kernels."""

import threading

import warp as wp

from pegasus.base.compiler import compiled_once, start_warp
from pegasus.base.errors import ConfigError

_LOCK = threading.Lock()


def load_kernels() -> None:
    """Initialize Warp and load the kernels, compiled on first use.

    Raises:
        ConfigError: If they cannot be compiled or cached.
    """
    with _LOCK:
        start_warp()
        from pegasus.render.embree import (
            lamp_choice,
            lamp_kernels,
            light_kernels,
            object_kernels,
            packet_kernels,
            ray_kernels,
            return_kernels,
            shadow_kernels,
            surface_kernels,
        )

        try:
            for module in (
                packet_kernels,
                ray_kernels,
                object_kernels,
                surface_kernels,
                return_kernels,
                lamp_kernels,
                lamp_choice,
                shadow_kernels,
                light_kernels,
            ):
                with compiled_once(module.__name__):
                    wp.load_module(module, device="cpu")
        except Exception as error:
            raise ConfigError(
                f"kernels cannot be compiled: {error}",
                field="renderer",
                value="embree",
                remedy=f"make {wp.config.kernel_cache_dir} writable, or reinstall warp-lang",
            ) from error
