"""Errors of the distances that RGB-D cameras measure."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.components import require


def depth_sigma(depth: Array, *, sigma: float, quadratic: float) -> Array:
    """Return the standard deviation of measured depths [m], shape (...).

    Of a camera that triangulates, by two lenses or by a projected pattern, an error of sigma_d pixels of its
    disparity moves a depth by z^2 sigma_d / (f b) (Khoshelham and Elberink 2012, "Accuracy and resolution of
    Kinect depth data for indoor mapping applications").

    Args:
        depth: Distances from the image plane [m], shape (...).
        sigma: Standard deviation at a depth of zero [m].
        quadratic: sigma_d / (f b) [1/m].
    """
    return sigma + quadratic * depth * depth


@dataclass(frozen=True, kw_only=True)
class DepthNoise:
    """Errors of the distances of an RGB-D camera; none unless they are given."""

    sigma: float = 0.0
    """Standard deviation of the noise at a depth of zero [m]."""
    quadratic: float = 0.0
    """What the standard deviation grows by with the square of depth [1/m]."""
    dropout: float = 0.0
    """Probability that a pixel has no depth."""
    min_depth: float = 0.0
    """Shortest depth that is measured [m]."""
    max_depth: float | None = None
    """Longest depth that is measured [m]; without a limit when None."""

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
        """Whether there are no errors."""
        return self == DepthNoise()

    def measured(
        self, distance: npt.NDArray[np.float32], directions: Array, generator: np.random.Generator
    ) -> npt.NDArray[np.float32]:
        """Return the distances along the rays that are measured [m], infinite where none is, shape (H, W).

        The errors are those of the depth along the optical axis; what lies beside or behind a fisheye has
        none. Every pixel has its own numbers, whatever it shows.

        Args:
            distance: True distances along the rays [m], infinite for nothing, shape (H, W).
            directions: Unit directions of the pixels, optical frame, shape (H, W, 3).
            generator: Random numbers of this picture alone.
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
