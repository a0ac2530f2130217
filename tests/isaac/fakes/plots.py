"""Fakes of the plots and images of `omni.ui`."""

from enum import Enum

import numpy as np

from tests.isaac.fakes.interface import Widget


class Type(Enum):
    LINE = 0
    HISTOGRAM = 1


class IwpFillPolicy(Enum):
    IWP_STRETCH = 0
    IWP_PRESERVE_ASPECT_FIT = 1
    IWP_PRESERVE_ASPECT_CROP = 2


class Plot(Widget):
    """A curve of equally spaced values between two limits."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        assert isinstance(self._settings.get("type", Type.LINE), Type)
        self.scale_min, self.scale_max = self._settings["scale_min"], self._settings["scale_max"]
        self.set_data(*self._settings.get("args", ()))

    def set_data(self, *args):
        # The bindings accept Python numbers only.
        assert all(type(value) is float for value in args), args
        self._data = list(args)


class ByteImageProvider:
    """An RGBA image in memory, row by row; its size is width and height."""

    def __init__(self):
        self._bytes, self._size = np.zeros(0, np.uint8), (0, 0)

    def set_data_array(self, bytes, sizes, /):
        width, height = sizes
        # The bindings would convert values of another type, and read memory without its strides.
        assert type(bytes) is np.ndarray
        assert bytes.dtype == np.uint8
        assert bytes.flags.c_contiguous
        assert bytes.size == 4 * width * height
        self._bytes, self._size = bytes.ravel().copy(), (width, height)


class ImageWithProvider(Widget):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._provider = self._settings["provider"]
        assert isinstance(self._provider, ByteImageProvider)
        policy = self._settings.get("fill_policy")
        assert policy is None or isinstance(policy, IwpFillPolicy)
