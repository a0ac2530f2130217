"""Estimation of a vehicle's state by its own sensors."""

from pegasus.contracts.estimator import ESTIMATORS, Estimator
from pegasus.estimation.consistency import Bounds, Consistency, chi_square_bounds
from pegasus.estimation.ekf import EKF
from pegasus.estimation.published import FilterEstimate

__all__ = [
    "EKF",
    "ESTIMATORS",
    "Bounds",
    "Consistency",
    "Estimator",
    "FilterEstimate",
    "chi_square_bounds",
]
