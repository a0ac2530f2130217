"""Warp, quiet and with its compiled kernels in the user's cache."""

import contextlib
import io
import os
import threading
from collections.abc import Iterator

import warp as wp

from pegasus.errors import ConfigError
from pegasus.folders import user_cache

_LOCK = threading.Lock()


def load_kernels() -> None:
    """Start Warp and load the kernels, which are compiled where they have not been before.

    Raises:
        ConfigError: If they cannot be compiled or kept.
    """
    with _LOCK:
        if hasattr(wp.config, "log_level"):
            wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)
        else:
            # Before Warp 1.14.
            wp.config.quiet = True  # type: ignore[attr-defined]
        if wp.config.kernel_cache_dir is None:
            wp.config.kernel_cache_dir = str(user_cache() / "kernels")
        with _muted():
            wp.init()  # type: ignore[no-untyped-call]
        from pegasus.render import lamp_kernels, light_kernels, packet_kernels, ray_kernels, surface_kernels

        try:
            for module in (packet_kernels, ray_kernels, surface_kernels, lamp_kernels, light_kernels):
                wp.load_module(module, device="cpu")
        except Exception as error:
            raise ConfigError(
                f"kernels cannot be compiled: {error}",
                field="renderer",
                value="embree",
                remedy=f"see that {wp.config.kernel_cache_dir} can be written to, or reinstall warp-lang",
            ) from error


@contextlib.contextmanager
def _muted() -> Iterator[None]:
    """Keep Warp from saying that there is no GPU: on the standard error, and 1.8 by print too."""
    kept = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
