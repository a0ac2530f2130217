"""Precompiled headers of Warp, kept for later processes; uses an undocumented name of Warp.

Warp reads its headers once per process, which takes 1.2 s of each process that compiles, and deletes what it
made of them at the end. Where a version has other names, it goes on doing so.
"""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any


def share_headers(warp: Any) -> Path | None:
    """Keep precompiled headers in Warp's cache, and return their folder; None if this version cannot.

    The compiler replaces each file at once, and makes damaged ones anew. The folder is that of one Warp and
    one kind of processor.

    Args:
        warp: The module of Warp, after its start.
    """
    runtime: Any = getattr(getattr(getattr(warp, "_src", None), "context", None), "runtime", None)
    target = getattr(warp, "get_cpu_kernel_cache_key", None)
    if target is None or not hasattr(runtime, "get_clang_pch_dir") or runtime.llvm is None:
        return None
    known = hashlib.sha256(f"{warp.__file__} {target()}".encode()).hexdigest()[:12]
    folder = Path(str(warp.config.kernel_cache_dir), f"headers-{known}")
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        return None
    runtime.get_clang_pch_dir = lambda: str(folder)
    return folder
