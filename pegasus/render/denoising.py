"""Removal of the noise that few samples leave, by Intel's Open Image Denoise."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.errors import ConfigError

Floats = npt.NDArray[np.float32]


class Denoiser:
    """Remove noise from pictures.

    Raises:
        ConfigError: If the package for it is not installed.
    """

    def __init__(self) -> None:
        try:
            import pyoidn
        except ImportError:
            raise ConfigError(
                "needs the package pyoidn, which is not installed",
                field="renderer",
                value="mitsuba",
                remedy="pip install pegasus-multirotor[photo]",
            ) from None
        self._oidn: Any = pyoidn

    def denoised(self, radiance: Floats, albedo: Floats, normal: Floats) -> Floats:
        """Return a picture without its noise, shape (H, W, 3).

        Args:
            radiance: Linear light, shape (H, W, 3).
            albedo: Reflectance of what is seen, 0 to 1, shape (H, W, 3).
            normal: Its unit normals, zero for nothing, shape (H, W, 3).
        """
        # OIDN is made for values about one.
        scale = np.float32(1.0 / max(float(radiance.mean()), 1e-20))
        clean: Floats = self._oidn.denoise(radiance * scale, albedo=albedo, normal=normal, hdr=True)
        return np.asarray(np.maximum(clean, 0.0) / scale, dtype=np.float32)
