"""Image formation: exposure, vignetting, sensor noise, white balance, tone curve and depth noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, namespace
from pegasus.base.components import require

Light = npt.NDArray[np.float32]
"""Linear light or signal, shape (H, W, 3)."""

_CURVE_STEPS = 65535
_LUMINANCE = (0.2126, 0.7152, 0.0722)  # ITU-R BT.709
_METERED_PIXELS = 20_000


def automatic_exposure(radiance: Light, *, percentile: float, level: float) -> float:
    """Return the exposure that brings a percentile of the luminance to a level; 1 without any light.

    If the percentile is black, that of the lit pixels is used.

    Args:
        radiance: Linear light, shape (H, W, 3).
        percentile: Percentile of the pixels, 0 to 100.
        level: Target level, as a fraction of full brightness.
    """
    pixels = radiance.reshape(-1, 3)
    # A sparse sample of the image meters as well as all of it.
    luminance = pixels[:: max(1, len(pixels) // _METERED_PIXELS)] @ np.array(_LUMINANCE, np.float32)
    bright = float(np.percentile(luminance, percentile))
    if bright == 0 and (lit := luminance[luminance > 0]).size:
        bright = float(np.percentile(lit, percentile))
    return level / bright if math.isfinite(bright) and bright > 0 else 1.0


def falloff(cosine: Array, *, exponent: float, coefficients: Sequence[float]) -> Array:
    """Return the fraction of light that reaches a pixel: cos^n(a) (1 + c1 a^2 + c2 a^4 + c3 a^6).

    A thin lens has n = 4 (Kingslake 1992, "Optics in photography", ch. 6); the polynomial describes a
    measured vignetting.

    Args:
        cosine: Cosine of the angle a off the axis, NaN outside the image circle, shape (...).
        exponent: n.
        coefficients: c1 to c3.
    """
    xp = namespace(cosine)
    inside = xp.where(cosine > -1.0, xp.clip(cosine, -1.0, 1.0), 1.0)
    squared = xp.acos(inside) ** 2
    c1, c2, c3 = coefficients
    polynomial = 1 + squared * (c1 + squared * (c2 + squared * c3))
    part: Array = xp.maximum(inside, 0.0) ** exponent if exponent else xp.ones_like(inside)
    remaining: Array = part * xp.maximum(polynomial, 0.0)
    return remaining


def sensed(signal: Light, *, full_well: float, read_noise: float, samples: Light) -> Light:
    """Return the reading of a sensor: the saturated signal with shot and read noise.

    The Poisson distribution of electrons is approximated by a normal one: the variance is that of
    `signal * full_well` electrons and of the read noise (EMVA 1288, release 4.0, sec. 2.2).

    Args:
        signal: Light of full brightness 1, shape (H, W, 3).
        full_well: Electrons at full brightness, infinite for no shot noise.
        read_noise: Standard deviation of the read noise, as a fraction of full brightness.
        samples: Standard normal numbers, shape (H, W, 3).
    """
    xp = namespace(signal)
    signal = xp.minimum(xp.maximum(signal, 0.0), 1.0)
    noisy: Light = signal + xp.sqrt(signal / full_well + read_noise * read_noise) * samples
    return xp.minimum(xp.maximum(noisy, 0.0), 1.0)  # type: ignore[no-any-return]


def srgb_encoded(linear: Array) -> Array:
    """Return the sRGB encoding of linear values from 0 to 1 (IEC 61966-2-1), shape (...).

    Args:
        linear: Linear values, shape (...).
    """
    xp = namespace(linear)
    power = 1.055 * xp.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055
    encoded: Array = xp.where(linear <= 0.0031308, 12.92 * linear, power)
    return encoded


@dataclass(frozen=True, kw_only=True)
class Imaging:
    """Conversion of light to 8-bit colours; noise-free by default."""

    exposure: float | None = None
    """Factor from the light of the scene to full brightness; automatic when None."""
    metered_percentile: float = 95.0
    """Percentile of the luminance that the automatic exposure meters, 0 to 100."""
    metered_level: float = 0.8
    """Linear level of that percentile, as a fraction of full brightness; above 1 it is overexposed."""
    falloff_exponent: float = 0.0
    """Exponent of cosine vignetting off the optical axis: 4 for a thin lens."""
    vignetting: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Polynomial vignetting by the angle a off the axis [rad]: 1 + c1 a^2 + c2 a^4 + c3 a^6."""
    full_well: float | None = None
    """Full-well capacity [electrons], which sets the shot noise; no shot noise when None."""
    read_noise: float = 0.0
    """Standard deviation of the read noise, as a fraction of full brightness."""
    white_balance: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Gains of red, green and blue."""
    gamma: float | None = None
    """Exponent of the tone curve, such as 2.2; the sRGB curve when None."""

    def __post_init__(self) -> None:
        for name in ("exposure", "full_well", "gamma"):
            value = getattr(self, name)
            require(value is None or 0 < value < math.inf, name, value, "must be above 0 and finite")
        percentile, level = self.metered_percentile, self.metered_level
        require(0 < percentile <= 100, "metered_percentile", percentile, "must be above 0 and at most 100")
        require(0 < level < math.inf, "metered_level", level, "must be above 0 and finite")
        exponent = self.falloff_exponent
        require(0 <= exponent < math.inf, "falloff_exponent", exponent, "must be at least 0 and finite")
        finite = all(map(math.isfinite, self.vignetting))
        require(finite, "vignetting", self.vignetting, "must hold three finite numbers")
        require(0 <= self.read_noise < 1, "read_noise", self.read_noise, "must be at least 0 and below 1")
        positive = all(0 < gain < math.inf for gain in self.white_balance)
        require(positive, "white_balance", self.white_balance, "must hold three numbers above 0")

    @property
    def noisy(self) -> bool:
        """Whether the colours have noise."""
        return self.full_well is not None or self.read_noise > 0

    @property
    def vignettes(self) -> bool:
        """Whether there is vignetting."""
        return self.falloff_exponent > 0 or any(self.vignetting)

    @cached_property
    def _curve(self) -> npt.NDArray[np.uint8]:
        linear = np.arange(_CURVE_STEPS + 1) / _CURVE_STEPS
        encoded = srgb_encoded(linear) if self.gamma is None else linear ** (1 / self.gamma)
        return np.round(encoded * 255).astype(np.uint8)

    def exposure_for(self, radiance: Light) -> float:
        """Return the exposure of an image: the fixed one, or the automatic one.

        Args:
            radiance: Linear light, shape (H, W, 3).
        """
        if self.exposure is not None:
            return self.exposure
        return automatic_exposure(radiance, percentile=self.metered_percentile, level=self.metered_level)

    def develop(
        self, radiance: Light, *, exposure: float, cosine: Array | None, samples: Light | None
    ) -> npt.NDArray[np.uint8]:
        """Return the 8-bit colours of an image, shape (H, W, 3).

        Args:
            radiance: Linear light, shape (H, W, 3).
            exposure: Factor to full brightness; see `exposure_for`.
            cosine: Cosine off the optical axis of each pixel, shape (H, W); used for vignetting only.
            samples: Standard normal numbers, shape (H, W, 3); used for noise only.
        """
        signal: Light = radiance * np.float32(exposure)
        if self.vignettes and cosine is not None:
            part = falloff(cosine, exponent=self.falloff_exponent, coefficients=self.vignetting)
            signal *= part[..., None].astype(np.float32)
        if self.noisy and samples is not None:
            full_well = math.inf if self.full_well is None else self.full_well
            signal = sensed(signal, full_well=full_well, read_noise=self.read_noise, samples=samples)
        if self.white_balance != (1.0, 1.0, 1.0):
            # A saturated sensor stays white whatever the balance.
            signal = np.minimum(signal, 1.0) * np.array(self.white_balance, np.float32)
        np.clip(signal, 0.0, 1.0, out=signal)
        signal *= _CURVE_STEPS
        signal += 0.5
        return self._curve[signal.astype(np.uint16)]


def depth_sigma(depth: Array, *, sigma: float, quadratic: float) -> Array:
    """Return the standard deviation of measured depths [m], shape (...).

    For triangulation, by two lenses or a projected pattern, a disparity error of sigma_d pixels gives a depth
    error of z^2 sigma_d / (f b) (Khoshelham and Elberink 2012, "Accuracy and resolution of
    Kinect depth data for indoor mapping applications").

    Args:
        depth: Distances from the image plane [m], shape (...).
        sigma: Standard deviation at a depth of zero [m].
        quadratic: sigma_d / (f b) [1/m].
    """
    return sigma + quadratic * depth * depth


@dataclass(frozen=True, kw_only=True)
class DepthNoise:
    """Depth noise of an RGB-D camera; exact by default."""

    sigma: float = 0.0
    """Standard deviation of the noise at a depth of zero [m]."""
    quadratic: float = 0.0
    """Growth of the standard deviation with the square of depth [1/m]."""
    dropout: float = 0.0
    """Probability that a pixel has no depth."""
    min_depth: float = 0.0
    """Minimum depth [m]."""
    max_depth: float | None = None
    """Maximum depth [m]; unlimited when None."""

    def __post_init__(self) -> None:
        for name in ("sigma", "quadratic", "min_depth"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")
        require(0 <= self.dropout <= 1, "dropout", self.dropout, "must be a probability, from 0 to 1")
        far = self.max_depth
        allowed = f"must be above min_depth of {self.min_depth:g} m"
        require(far is None or far > self.min_depth, "max_depth", far, allowed)

    @property
    def exact(self) -> bool:
        """Whether distances are exact."""
        return self == DepthNoise()

    def measured(
        self, distance: npt.NDArray[np.float32], directions: Array, generator: np.random.Generator
    ) -> npt.NDArray[np.float32]:
        """Return measured distances along the rays [m], infinite where none is measured, shape (H, W).

        Errors apply to the depth along the optical axis; rays beside or behind the camera are not measured.
        Each pixel has its own random numbers, whatever the scene.

        Args:
            distance: True distances along the rays [m], infinite for nothing, shape (H, W).
            directions: Unit directions of the pixels, optical frame, shape (H, W, 3).
            generator: Random stream of this image.
        """
        error = generator.standard_normal(distance.shape)
        kept = generator.random(distance.shape) >= self.dropout
        seen = np.isfinite(distance) & (directions[..., 2] > 0)
        cosine = np.where(seen, directions[..., 2], 1.0)
        depth = np.where(seen, distance, 1.0) * cosine
        depth = depth + depth_sigma(depth, sigma=self.sigma, quadratic=self.quadratic) * error
        far = math.inf if self.max_depth is None else self.max_depth
        seen &= kept & (depth > 0) & (depth >= self.min_depth) & (depth <= far)
        return np.where(seen, depth / cosine, np.inf).astype(np.float32)
