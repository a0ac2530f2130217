"""Native C++ code of kernels, from the headers in `native/`."""

import re
from pathlib import Path

_FOLDER = Path(__file__).with_name("native")
_INCLUDE = re.compile(r'^ *#include "(\w+)\.h"$', re.MULTILINE)


def native_code(name: str) -> str:
    """Return the body of a function for `warp.func_native`: a header with its includes expanded.

    Warp's cache of compiled code depends on this text, but not on files that its compiler reads.
    """
    text = (_FOLDER / f"{name}.h").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda include: native_code(include[1]), text)
