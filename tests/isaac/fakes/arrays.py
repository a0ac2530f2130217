"""Arrays and devices as returned by Warp, limited to operations that work on a GPU."""

import numpy as np


class Device:
    """Stand-in of `wp.Device`."""

    def __init__(self, alias):
        assert alias == "cpu" or alias.startswith("cuda"), alias
        self.alias = "cuda:0" if alias == "cuda" else alias
        self.is_cpu = self.alias == "cpu"
        self.is_cuda = not self.is_cpu
        self.ordinal = -1 if self.is_cpu else int(self.alias.partition(":")[2])

    def __str__(self):
        return self.alias

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(self.alias)


class WarpArray:
    """Stand-in of `wp.array` without arithmetic; `numpy()` returns its values.

    NumPy can access the memory of a real array on the CPU but not on a GPU, so here it never can.
    """

    def __init__(self, values, device):
        self._values = np.array(values)
        self.shape, self.device, self.dtype = self._values.shape, device, self._values.dtype

    def numpy(self):
        return self._values.copy()

    def __len__(self):
        return self.shape[0]

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "call .numpy() on a Warp array: one on a GPU does not turn into a NumPy array by itself"
        )

    def __iter__(self):
        raise TypeError("a Warp array is not iterable; call .numpy() first")


def values_of(data, shape, dtype):
    """Return the data as a NumPy array broadcast to a shape, as `ops.broadcast_to` does."""
    if not isinstance(data, bool | int | float | list | tuple | np.ndarray | WarpArray):
        if type(data).__module__.partition(".")[0] != "warp":
            raise TypeError(f"Unsupported type: {type(data)}")
        data = data.numpy()
    if isinstance(data, WarpArray):
        data = data.numpy()
    return np.broadcast_to(np.asarray(data), shape).astype(dtype)


def indices_of(data, count):
    """Return the indices as `ops.resolve_indices` does."""
    if data is None:
        return np.arange(count)
    return np.ravel(data.numpy() if hasattr(data, "numpy") else np.asarray(data)).astype(np.int32)
