"""Tests of the consistency of filters: their errors and innovations are as large as they say."""

import numpy as np
import pytest
from scipy.stats import chi2

from pegasus.estimation import EKF, Consistency, chi_square_bounds

COPIES = 100


def gathered(flight, duration, *, count=COPIES, start=12.0, seed=4, **options):
    """Return the consistency of the filters of copies with noise of their own, which fly on them."""
    simulation, vehicle = flight(count=count, seed=seed, **options)
    consistency = Consistency(vehicle, start=start)
    simulation.add_observer(consistency)
    simulation.run(duration)
    return consistency


@pytest.mark.parametrize(("freedom", "count"), [(15, 100), (1, 100), (6, 17000), (3, 20)])
def test_bounds_are_quantiles_of_chi_square(freedom, count):
    """A filter would be called right or wrong by wrong bounds."""
    low, high = chi_square_bounds(freedom, count)
    exact = chi2.ppf([0.025, 0.975], freedom * count) / count
    np.testing.assert_allclose([low, high], exact, rtol=2e-3)


def test_errors_and_innovations_of_100_seeds_are_within_their_bounds(flight):
    """The covariance would be too small or too large, so that sensors are weighted wrongly."""
    consistency = gathered(flight, 40.0)
    low, high = chi_square_bounds(15, COPIES)
    by_time = consistency.nees.mean(axis=1)
    assert len(by_time) == 140
    assert low < by_time.mean() < high
    assert np.mean((low < by_time) & (by_time < high)) >= 0.95
    # Of the errors of one copy over time, five in a hundred are beyond the quantile of 95 %.
    beyond = np.mean(consistency.nees > chi2.ppf(0.95, 15))
    assert 0.03 < beyond < 0.07
    for name, mean, bounds in consistency.report()[1:]:
        freedom = {"gps": 6, "barometer": 1, "magnetometer": 3}[name]
        nis = consistency.nis(name)
        assert nis.shape[1] == COPIES
        assert len(nis) > 25 * {"gps": 10, "barometer": 50, "magnetometer": 50}[name]
        assert bounds.low < mean < bounds.high, name
        inside = chi_square_bounds(freedom, COPIES)
        by_reading = nis.mean(axis=1)
        assert np.mean((inside.low < by_reading) & (by_reading < inside.high)) > 0.92, name


def test_wrong_noise_is_seen(flight):
    """The test of the bounds would pass for any filter."""
    consistency = gathered(flight, 16.0, count=20, estimator=EKF(vibration_noise_density=0.05))
    low, _ = chi_square_bounds(15, 20)
    assert consistency.nees.mean() < low
    gps = consistency.report()[1]
    assert gps[1] < gps[2].low
