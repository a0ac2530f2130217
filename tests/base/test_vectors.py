"""Tests of vector parameters of components: invalid ones are rejected at construction, by name."""

import math

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.base.components import require_vector
from pegasus.dynamics import LinearDrag, PolynomialThrust, QuadraticDrag
from pegasus.environment import ConstantWind, DiscreteGust, Gusts, UniformField
from pegasus.sensors import GPS, IMU, Airspeed, Magnetometer, Odometry, OpticalFlow, Rangefinder

VECTORS = {
    "coefficients": lambda v: LinearDrag(coefficients=v),
    "areas": lambda v: QuadraticDrag(areas=v),
    "angular_coefficients": lambda v: QuadraticDrag(areas=(1, 1, 1), angular_coefficients=v),
    "mean_velocity": lambda v: ConstantWind(v),
    "mean_velocity of gusts": lambda v: Gusts(mean_velocity=v),
    "amplitude": lambda v: DiscreteGust(amplitude=v, start=0.0, rise_time=1.0),
    "vector": lambda v: UniformField(v),
    "position": lambda v: IMU(position=v),
    "orientation": lambda v: IMU(orientation=v),
    "position_error_sigma": lambda v: GPS(position_error_sigma=v),
    "hard_iron": lambda v: Magnetometer(hard_iron=v),
    "soft_iron": lambda v: Magnetometer(soft_iron=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), v)),
    "direction": lambda v: Rangefinder(direction=v),
    "position of a rangefinder": lambda v: Rangefinder(position=v),
    "axis": lambda v: Airspeed(axis=v),
    "position of a camera": lambda v: OpticalFlow(position=v),
    "position_drift_sigma": lambda v: Odometry(position_drift_sigma=v),
}


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("value", [0.5, (0.5, 0.3), (0.001, math.nan, 0.001), (0.001, 0.0, math.inf), "abc"])
def test_what_is_no_vector_is_named(name, value):
    """A scalar would act on all axes, or a wrong length or NaN only fail during a flight."""
    with pytest.raises(ConfigError, match=rf"^{name.split()[0]}.*: must hold [34] finite numbers"):
        VECTORS[name](value)


def test_lists_and_arrays_are_vectors():
    """NumPy arrays would be rejected."""
    for value in ([0.5, 0.3, 0.1], np.array([0.5, 0.3, 0.1]), (1, 0, 2)):
        require_vector("v", value)
        assert ConstantWind(value).velocity(np.zeros((2, 3)), 0.0).shape == (2, 3)


def test_signs_and_lengths():
    """A negative value or NaN would be accepted, or a vector of another length rejected."""
    require_vector("v", (-1.0, 2.0), length=2)
    with pytest.raises(ConfigError, match=r"^v = \(0.1, -0.1, 0.0\): must not be negative"):
        require_vector("v", (0.1, -0.1, 0.0), negative_allowed=False)
    with pytest.raises(ConfigError, match=r"^coefficients = .*: must hold 3 finite numbers"):
        PolynomialThrust(coefficients=(0.0, math.nan, 1e-5))
