"""Assertion that a filter is as wrong as it says, for tests of its sensors."""

import numpy as np
from scipy.stats import chi2

from pegasus.estimation import Consistency, chi_square_bounds


def require_consistent(consistency: Consistency, freedom: dict[str, int]) -> None:
    """Assert that errors and innovations lie within their chi-square bounds.

    Args:
        consistency: Gathered errors and innovations.
        freedom: Count of measured numbers of each sensor that corrects the filter.
    """
    errors, *innovations = consistency.report()
    assert errors[2].low < errors[1] < errors[2].high
    assert 0.03 < np.mean(consistency.nees > chi2.ppf(0.95, 15)) < 0.08
    assert len(innovations) == len(freedom)
    for name, mean, _ in innovations:
        # A hundred readings of each copy at the least: 99.9 % of the means.
        bounds = chi_square_bounds(freedom[name], consistency.nis(name).size)
        wide = (bounds.high - bounds.low) * 0.84
        assert freedom[name] - wide < mean < freedom[name] + wide, name
