"""Stand-ins for Warp arrays on a GPU, and for the Warp calls that copy them.

Copies between a GPU and page-locked memory are carried out only at a synchronisation, as can happen on a
real GPU: without one, the former values are read. Warp itself handles arrays on the CPU.
"""

import inspect

import numpy as np
import warp as wp

from tests.isaac.fakes.arrays import Device

_NUMPY = {wp.float32: np.float32, wp.float64: np.float64, wp.int32: np.int32}


class GpuArray:
    """Stand-in of a contiguous `wp.array` on a GPU."""

    def __init__(self, values, dtype, device):
        self.values, self.dtype, self.device = values, dtype, device
        self.shape, self.is_contiguous = values.shape, True

    def __getitem__(self, index):
        assert isinstance(index, int), "other slices of a GPU array are not contiguous"
        return GpuArray(self.values[index], self.dtype, self.device)

    def numpy(self):
        finish()
        return self.values.copy()

    def __array__(self, dtype=None, copy=None):
        raise TypeError("an array on a GPU does not turn into one of NumPy by itself: copy it to the host")


_waiting = []
_originals = {}


def is_pending(array):
    """Return whether a copy into an array is pending."""
    return any(np.shares_memory(target, array.values) for target, _ in _waiting)


def finish():
    """Carry out the pending copies."""
    while _waiting:
        target, source = _waiting.pop(0)
        target[...] = source


def empty(shape=None, dtype=float, device=None, pinned=False):
    if not _is_gpu(device):
        made = _originals["empty"](shape, dtype=dtype, device=device)
        made.is_pinned_stand_in = pinned
        return made
    return GpuArray(np.full(shape, -77, _NUMPY[dtype]), dtype, device)


def zeros(shape=None, dtype=float, device=None):
    if not _is_gpu(device):
        return _originals["zeros"](shape, dtype=dtype, device=device)
    return GpuArray(np.zeros(shape, _NUMPY[dtype]), dtype, device)


def from_numpy(arr, dtype=None, shape=None, device=None):
    if not _is_gpu(device):
        return _originals["from_numpy"](arr, dtype=dtype, shape=shape, device=device)
    made = GpuArray(np.full(arr.shape, -77, _NUMPY[dtype]), dtype, device)
    _waiting.append((made.values, arr.astype(_NUMPY[dtype])))
    return made


def copy(dest, src):
    if not isinstance(dest, GpuArray) and not isinstance(src, GpuArray):
        _originals["copy"](dest, src)
        return
    assert dest.shape == src.shape, f"copy of {src.shape} into {dest.shape}"
    assert dest.dtype == src.dtype, f"copy of {src.dtype} into {dest.dtype}"
    memory = [a.values if isinstance(a, GpuArray) else a.numpy() for a in (dest, src)]
    _waiting.append(tuple(memory))
    host = src if isinstance(dest, GpuArray) else dest
    if not getattr(host, "is_pinned_stand_in", True):
        finish()


def synchronize_stream(stream_or_device=None):
    assert _is_gpu(stream_or_device), "there is nothing to wait for on the CPU"
    finish()


CALLS = (empty, zeros, from_numpy, copy, synchronize_stream)


def install():
    """Replace Warp's functions by the fakes."""
    for call in CALLS:
        _originals[call.__name__] = getattr(wp, call.__name__)
        known = inspect.signature(_originals[call.__name__]).parameters
        assert set(inspect.signature(call).parameters) <= set(known), call.__name__
        setattr(wp, call.__name__, call)


def uninstall():
    """Restore Warp's functions."""
    _waiting.clear()
    for name, original in _originals.items():
        setattr(wp, name, original)
    _originals.clear()


def _is_gpu(device):
    return isinstance(device, Device) and device.is_cuda
