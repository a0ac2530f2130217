"""Tests of the imaging steps from light to pixels, against closed forms."""

import math

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.cameras import Imaging
from pegasus.cameras.imaging import automatic_exposure, falloff, sensed, srgb_encoded


def flat(value, shape=(40, 50, 3)):
    return np.full(shape, value, np.float32)


def developed(imaging, radiance, **parameters):
    return imaging.develop(radiance, **{"exposure": 1.0, "cosine": None, "samples": None, **parameters})


def test_tone_curve():
    """Colours would be too dark or too bright on a screen; values of IEC 61966-2-1."""
    linear = np.array([0.0, 0.0031308, 0.01, 0.18, 0.5, 1.0])
    np.testing.assert_allclose(
        srgb_encoded(linear), [0.0, 0.04045, 0.099853, 0.461356, 0.735357, 1.0], atol=1e-5
    )
    levels = [int(developed(Imaging(), flat(v))[0, 0, 0]) for v in linear]
    assert levels == [0, 10, 25, 118, 188, 255]
    assert developed(Imaging(gamma=2.2), flat(0.18))[0, 0, 0] == round(255 * 0.18 ** (1 / 2.2))
    # Every step of the curve is the nearest of the 256, and none is left out.
    ramp = np.linspace(0, 1, 4096, dtype=np.float32)[None, :, None].repeat(3, axis=2)
    exact = 255 * srgb_encoded(ramp.astype(float))
    assert np.abs(developed(Imaging(), ramp) - exact).max() < 0.5 + 255 * 12.92 / 65535
    assert len(np.unique(developed(Imaging(), ramp))) > 250


def test_automatic_exposure():
    """A bright lamp or the sky alone would set the exposure, or other units give a black image."""
    radiance = np.zeros((100, 100, 3), np.float32)
    radiance[:90] = 2000.0
    radiance[90:] = 1e6
    for scale in (1.0, 1e-4):
        exposure = automatic_exposure(radiance * np.float32(scale), percentile=80, level=0.5)
        assert exposure * 2000.0 * scale == pytest.approx(0.5, rel=1e-5)
    own = Imaging(metered_percentile=80, metered_level=0.5).exposure_for(radiance)
    assert own == pytest.approx(0.5 / 2000.0)
    assert Imaging(exposure=3.0).exposure_for(radiance) == 3.0
    assert automatic_exposure(np.zeros((10, 10, 3), np.float32), percentile=90, level=0.5) == 1.0
    # A lamp in the dark is not as bright as it happens to be in the units of the scene.
    night = np.zeros((100, 100, 3), np.float32)
    night[40:50, 40:50] = 5000.0
    assert automatic_exposure(night, percentile=95, level=0.8) == pytest.approx(0.8 / 5000)
    assert Imaging(metered_percentile=80, metered_level=3.0).exposure_for(radiance) == pytest.approx(3 / 2000)


def test_falloff():
    """The corners would not darken by the fourth power of the cosine, or a polynomial use a wrong angle."""
    angle = np.array([0.0, 0.3, 0.6, 1.2])
    np.testing.assert_allclose(
        falloff(np.cos(angle), exponent=4.0, coefficients=(0, 0, 0)), np.cos(angle) ** 4
    )
    polynomial = falloff(np.cos(angle), exponent=0.0, coefficients=(-0.1, 0.02, -0.003))
    np.testing.assert_allclose(polynomial, 1 - 0.1 * angle**2 + 0.02 * angle**4 - 0.003 * angle**6)
    # Behind a fisheye there is no light by the law of the cosine, and no number outside its circle is none.
    np.testing.assert_array_equal(falloff(np.array([-0.5]), exponent=4.0, coefficients=(0, 0, 0)), [0.0])
    assert np.isfinite(falloff(np.array([np.nan]), exponent=4.0, coefficients=(-0.1, 0, 0))).all()
    picture = developed(
        Imaging(falloff_exponent=4.0, gamma=1.0), flat(1.0, (1, 4, 3)), cosine=np.cos(angle)[None]
    )
    np.testing.assert_array_equal(picture[0, :, 1], np.round(255 * np.cos(angle) ** 4))


def test_noise_has_its_variance():
    """Shot noise would not grow with the root of the light, or read noise be absent in the dark."""
    samples = np.random.default_rng(5).standard_normal((200, 200, 3)).astype(np.float32)
    for light in (0.2, 0.5):
        noisy = sensed(flat(light, samples.shape), full_well=1000.0, read_noise=0.02, samples=samples)
        sigma = math.sqrt(light / 1000 + 0.02**2)
        # The standard error of a standard deviation of n numbers is sigma / sqrt(2 n); five of them.
        assert abs(noisy.std() / sigma - 1) < 5 / math.sqrt(2 * samples.size)
        assert abs(noisy.mean() - light) < 5 * sigma / math.sqrt(samples.size)
    dark = sensed(flat(0.0, samples.shape), full_well=math.inf, read_noise=0.02, samples=samples)
    # Half of it is cut off at black.
    assert abs(dark.mean() - 0.02 / math.sqrt(2 * math.pi)) < 5 * 0.02 / math.sqrt(samples.size)
    clean = sensed(flat(0.3), full_well=math.inf, read_noise=0.0, samples=samples[:40, :50])
    assert np.array_equal(clean, flat(0.3))


def test_saturation_and_white_balance():
    """Overexposed pixels would wrap to black, or a saturated one turn pink."""
    assert (developed(Imaging(), flat(7.0)) == 255).all()
    assert (developed(Imaging(), flat(1e30)) == 255).all()
    balanced = developed(Imaging(white_balance=(2.0, 1.0, 1.5), gamma=1.0), flat(0.31))[0, 0]
    assert balanced.tolist() == [158, 79, 119]
    assert (developed(Imaging(white_balance=(2.0, 1.0, 1.5)), flat(5.0)) == 255).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"exposure": 0.0}, "exposure = 0.0: must be above 0"),
        ({"metered_percentile": 101.0}, "at most 100"),
        ({"metered_level": 0.0}, "metered_level = 0.0: must be above 0"),
        ({"full_well": -1.0}, "full_well"),
        ({"read_noise": 1.0}, "below 1"),
        ({"white_balance": (1.0, 0.0, 1.0)}, "three numbers above 0"),
        ({"vignetting": (0.0, math.nan, 0.0)}, "three finite numbers"),
    ],
)
def test_bad_parameters(parameters, message):
    """A mistake would give a black or white image without an error."""
    with pytest.raises(ConfigError, match=message):
        Imaging(**parameters)
