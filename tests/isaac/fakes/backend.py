"""`isaacsim.core.experimental.utils.backend`."""

import contextlib

from tests.isaac.fakes.application import kit


@contextlib.contextmanager
def use_backend(backend, *, raise_on_unsupported=False, raise_on_fallback=False):
    if backend not in ("usd", "tensor"):
        raise RuntimeError(f"'{backend}' needs the Fabric Scene Delegate, which this fake has not")
    stack = kit().backends
    stack.append((backend, raise_on_unsupported, raise_on_fallback))
    try:
        yield
    finally:
        stack.pop()


def get_current_backend(supported_backends, *, raise_on_unsupported=None):
    if not kit().backends:
        return supported_backends[0]
    backend, strict, _ = kit().backends[-1]
    if backend in supported_backends:
        return backend
    if strict if raise_on_unsupported is None else raise_on_unsupported:
        raise RuntimeError(f"Unsupported backend: '{backend}'. Supported backends: {supported_backends}")
    return supported_backends[0]


def is_backend_set():
    return bool(kit().backends)


def should_raise_on_unsupported():
    return bool(kit().backends) and kit().backends[-1][1]


def should_raise_on_fallback():
    return bool(kit().backends) and kit().backends[-1][2]
