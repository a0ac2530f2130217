"""Tests of the turbulence of the military standards against their spectra, figures and tables."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.signal import welch

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Real, Vec3, Word
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.base.tracing.launches import program_of
from pegasus.environment import ConstantWind, DrydenWind, LogWind, SumWind, VonKarmanWind
from pegasus.environment import von_karman as rational
from pegasus.environment.turbulence import (
    Filters,
    Passage,
    TurbulenceParameters,
    inverse_fifth_root,
    roll_intensity,
    scales,
)
from pegasus.environment.turbulent_wind import Turbulence

FOOT = 0.3048
SPAN = 0.8
STATES = [f"filters.gust_{k}" for k in range(10)]
OUTPUTS = ["gust_velocity", "gust_rate"]


LAWS = {"dryden": DrydenWind, "von_karman": VonKarmanWind}


def columns_of(count: int, velocity: tuple[float, float, float]) -> dict:
    """Return the columns of turbulence at copies that move through the air."""
    return {
        "through_air": np.tile(np.array(velocity, dtype=float), (count, 1)),
        "count": np.zeros(count, dtype=np.int32),
        "key": np.full(count, 99, dtype=np.uint64),
        "copy": np.arange(count, dtype=np.int32),
        **{name: np.zeros((count, 3)) for name in (*STATES, *OUTPUTS)},
    }


def parameters(model: str) -> TurbulenceParameters:
    """Return those of turbulence in a wind of 15.4 m/s."""
    turbulence = LAWS[model](wind_at_20_ft=15.4, exceedance=1e-3)
    return turbulence.gust_parameters(turbulence)


def advance(
    law: Callable[..., tuple[Filters, Vec3, Vec3]],
    p: TurbulenceParameters,
    height: Real,
    dt: Real,
    filters: Filters,
    key: Word,
    copy: int,
    count: int,
    through_air: Vec3,
) -> dict:
    """Return the columns of the turbulence of a vehicle after a step."""
    filters, gust, rate = law(p, filters, Passage(key, copy, count, SPAN, height, through_air, dt))
    return {"filters": filters, "gust_velocity": gust, "gust_rate": rate, "count": count + 1}


def launched(model: str, columns: dict, height: float, dt: float) -> Callable[[], None]:
    """Return the launch of the turbulence over columns."""
    kinds = {"filters": Filters, "key": Word, "copy": int, "count": int, "through_air": Vec3}
    given = [uniform("p", parameters(model)), uniform("height", height), uniform("dt", dt)]
    inputs = (column(name, kind) for name, kind in kinds.items())
    numbers = {name: values for a in given for name, values in uniform_values(a).items()}
    program = program_of(advance, LAWS[model].gust_law, *given, *inputs)
    return program.launch(columns | numbers, len(columns["key"]))


def record(model: str, *, count: int, steps: int, height: float, speed: float, dt: float) -> np.ndarray:
    """Return u, v, w, p, q, r of copies that fly east over time, shape (steps, 6, count)."""
    columns = columns_of(count, (speed, 0.0, 0.0))
    launch = launched(model, columns, height, dt)
    out = np.empty((steps, 6, count))
    for k in range(steps):
        launch()
        out[k, :3] = columns["gust_velocity"].T
        out[k, 3:] = columns["gust_rate"].T
    return out


def figures(model: str, height: float) -> tuple[float, float, float, float]:
    """Return horizontal and vertical scale length [m], horizontal and vertical intensity [m/s]."""
    h = height / FOOT
    if h <= 1000:
        base = 0.177 + 0.000823 * h
        return height / base**1.2, height, 0.1 * 15.4 / base**0.4, 0.1 * 15.4
    length = (1750 if model == "dryden" else 2500) * FOOT
    sigma = FOOT * float(np.interp(h, [1750, 3750, 7500], [9.6, 10.6, 10.1]))
    return length, length, sigma, sigma


def lorentz(w: np.ndarray) -> np.ndarray:
    """Return the spectrum of a process of the first order, by unit variance and rate."""
    return 2 / np.pi / (1 + w**2)


def lateral(w: np.ndarray) -> np.ndarray:
    """Return Dryden's spectrum across the motion, by unit variance and time constant."""
    return (1 + 3 * w**2) / (1 + w**2) ** 2 / np.pi


ALONG = [(getattr(rational, f"ALONG_{k}"), getattr(rational, f"ALONG_SHARE_{k}")) for k in range(4)]
ACROSS = [(getattr(rational, f"ACROSS_{k}"), getattr(rational, f"ACROSS_SHARE_{k}")) for k in range(4)]


def filtered(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the spectra of the filters of von Karman along and across, over the frequency by V / L."""
    along = sum(share**2 / c * lorentz(w / c) for c, share in ALONG)
    (first, share_0), *others = ACROSS
    across = share_0**2 / first * lateral(w / first)
    return along, across + sum(share**2 / c * lorentz(w / c) for c, share in others)


def karman(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return von Karman's spectra along and across, over the frequency by V / L."""
    square = (1.339 * w) ** 2
    return (
        2 / np.pi * (1 + square) ** (-5 / 6),
        (1 + 8 / 3 * square) * (1 + square) ** (-11 / 6) / np.pi,
    )


def spectra(model: str, w: np.ndarray, height: float, speed: float) -> list[np.ndarray]:
    """Return the spectra of u, v, w, p, q, r over the angular frequency, one-sided; von Karman's filtered."""
    length_u, length_w, sigma_u, sigma_w = figures(model, height)
    a, b = length_u * w / speed, length_w * w / speed
    shapes = (lorentz(a), lateral(a), lateral(b))
    if model == "von_karman":
        shapes = (*filtered(a), filtered(b)[1])
    u, v = (sigma_u**2 * length_u / speed * shape for shape in shapes[:2])
    up = sigma_w**2 * length_w / speed * shapes[2]
    pitch, yaw = 4 * SPAN * w / (np.pi * speed), 3 * SPAN * w / (np.pi * speed)
    roll = sigma_w**2 / (speed * length_w) * 0.8 * (np.pi * length_w / (4 * SPAN)) ** (1 / 3) / (1 + pitch**2)
    return [u, v, up, roll, (w / speed) ** 2 / (1 + pitch**2) * up, (w / speed) ** 2 / (1 + yaw**2) * v]


@pytest.mark.parametrize("model", ["dryden", "von_karman"])
@pytest.mark.parametrize(("height", "speed", "dt"), [(30.0, 6.0, 0.02), (1200.0, 20.0, 0.02)])
def test_spectra_are_those_of_the_standard(model: str, height: float, speed: float, dt: float) -> None:
    """A component would have a wrong intensity, scale, corner or slope at low or at medium altitude.

    The density of the samples is that of the continuous process folded at their rate. Averages of
    periodograms over independent copies and bands are compared within five of their standard errors.
    """
    count, steps = 200, 4096
    signal = record(model, count=count, steps=steps, height=height, speed=speed, dt=dt)
    taper = np.hanning(steps)[:, None]
    w = 2 * np.pi * np.fft.rfftfreq(steps, dt)
    edges = np.geomspace(20, steps // 2, 9).astype(int)
    folds = [spectra(model, np.abs(w + 2 * np.pi * fold / dt), height, speed) for fold in range(-100, 101)]
    for k in range(6):
        power = np.abs(np.fft.rfft(signal[:, k] * taper, axis=0)) ** 2 * dt / (np.pi * (taper**2).sum())
        for first, last in pairwise(edges.tolist()):
            band = w[first:last]
            # Pitch and yaw are exact for gusts linear within a step only.
            if k > 3 and band[-1] * dt > 0.5:
                continue
            folded = sum(densities[k][first:last] for densities in folds)
            ratio = (power[first:last] / folded[:, None]).mean(axis=0)
            error = ratio.std(ddof=1) / math.sqrt(count)
            assert error < 0.035
            assert abs(ratio.mean() - 1) < 5 * error + (0.02 if k > 3 else 0.004), (k, band[0], ratio.mean())


def test_first_state_is_stationary() -> None:
    """A flight would start in calmer or stronger air than it goes on in."""
    for model in LAWS:
        signal = record(model, count=4000, steps=400, height=30.0, speed=6.0, dt=0.25)
        for k in range(4):
            first, last = signal[0, k].std(), signal[-1, k].std()
            # The standard error of each is 1.1 %.
            assert first == pytest.approx(last, rel=0.06)


def test_filters_of_von_karman_have_his_spectra() -> None:
    """A pole or a share would be mistyped, or the stated distance from the true spectrum be wrong."""
    w = np.geomspace(1e-4, 5e3, 2000)
    for found, expected in zip(filtered(w), karman(w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.053)
    for shares in (ALONG, ACROSS):
        assert sum(share**2 for _, share in shares) == pytest.approx(1.0, abs=0.004)


def test_power_up_to_five_hertz_is_that_of_von_karman() -> None:
    """Vibration of the airframe and controllers by gusts would be too weak: a third of the power at 5 Hz."""
    height, speed, dt = 30.0, 8.0, 0.004
    signal = record("von_karman", count=100, steps=4096, height=height, speed=speed, dt=dt)
    frequency, power = welch(signal[:, :3], fs=1 / dt, nperseg=2048, axis=0)
    length_u, length_w, sigma_u, sigma_w = figures("von_karman", height)
    w = 2 * np.pi * frequency
    (u, v), (_, up) = karman(w * length_u / speed), karman(w * length_w / speed)
    expected = (
        sigma_u**2 * length_u / speed * u,
        sigma_u**2 * length_u / speed * v,
        sigma_w**2 * length_w / speed * up,
    )
    for k in range(3):
        for low, high in ((0.4, 1.0), (1.0, 2.0), (2.0, 3.5), (3.5, 5.2)):
            band = (frequency >= low) & (frequency < high)
            # The density over the frequency is 2 pi times that over the angular frequency.
            ratio = power[band, k].mean(axis=1).sum() / (2 * np.pi * expected[k][band]).sum()
            assert ratio == pytest.approx(1.0, abs=0.1), ("uvw"[k], low)


@pytest.mark.parametrize(
    ("feet", "expected"),
    [
        # MIL-F-8785C, fig. 10 and 11 as closed forms; below 10 ft the values of 10 ft.
        (20, (20 / 0.19346**1.2, 20, 0.1 / 0.19346**0.4, 0.1)),
        (500, (500 / 0.5885**1.2, 500, 0.1 / 0.5885**0.4, 0.1)),
        (1000, (1000, 1000, 0.1, 0.1)),
        (2, (10 / 0.18523**1.2, 10, 0.1 / 0.18523**0.4, 0.1)),
    ],
)
def test_scales_at_low_altitude(feet: float, expected: tuple[float, ...]) -> None:
    """Scale length or intensity would not be those of the figures, or units be mixed."""
    turbulence = DrydenWind(wind_at_20_ft=10.0)
    got = scales(turbulence.gust_parameters(turbulence), feet * FOOT)
    lengths = tuple(FOOT * value for value in expected[:2])
    np.testing.assert_allclose(got, (*lengths, *(10.0 * value for value in expected[2:])), rtol=1e-12)


def test_fifth_root_of_the_scales() -> None:
    """Turbulence would depend on the height otherwise than by the power of the figures."""
    for x in np.linspace(0.18, 1.0, 501).tolist():
        assert inverse_fifth_root(x) == pytest.approx(x**-0.2, rel=1e-15)


@pytest.mark.parametrize(("length", "span"), [(3.0, 0.3), (60.0, 0.8), (533.0, 5.0)])
def test_intensity_of_the_roll_rate(length: float, span: float) -> None:
    """A vehicle would be rolled by other gusts than those of the standard."""
    slowest, fastest = 1e-9, 1e6
    rates = np.geomspace(slowest, fastest, 20001)
    spectrum = 4.0 / length * 0.8 * (math.pi * length / (4 * span)) ** (1 / 3)
    spectrum = spectrum / (1 + (4 * span * rates / math.pi) ** 2)
    variance = trapezoid(spectrum * rates, np.log(rates))
    assert roll_intensity(2.0, length, span) == pytest.approx(math.sqrt(variance), rel=1e-5)


def test_scales_above_the_lowest_layer() -> None:
    """Medium and high altitude would not follow the table, or there would be a jump between the layers."""
    turbulence = VonKarmanWind(wind_at_20_ft=10.0, exceedance=1e-5)
    p = turbulence.gust_parameters(turbulence)
    for feet, intensity in ((3750, 23.0), (5625, 23.3), (80000, 5.1), (99000, 5.1)):
        np.testing.assert_allclose(
            scales(p, feet * FOOT), (2500 * FOOT, 2500 * FOOT, intensity * FOOT, intensity * FOOT)
        )
    middle, top = np.array(scales(p, 1500 * FOOT)), np.array(scales(p, 2000 * FOOT))
    np.testing.assert_allclose(middle, (top + np.array(scales(p, 1000 * FOOT))) / 2, rtol=1e-12)
    between = DrydenWind(exceedance=10**-4.5)
    p = between.gust_parameters(between)
    assert scales(p, 3750 * FOOT)[2] == pytest.approx((16.0 + 23.0) / 2 * FOOT, rel=1e-12)


def test_low_turbulence_follows_the_mean_wind() -> None:
    """Turbulence in a sum would not know the wind 20 ft above the ground."""
    turbulence = DrydenWind()
    wind = SumWind([LogWind(mean_velocity=(3.0, 4.0, 0.0), roughness_length=0.1), turbulence])
    speed = 5.0 * math.log(20 * FOOT / 0.1) / math.log(10.0 / 0.1)
    assert turbulence.gust_parameters(wind).wind_at_20_ft == pytest.approx(speed, rel=1e-12)
    alone = DrydenWind(mean_velocity=(3.0, 4.0, 0.0))
    assert alone.gust_parameters(alone).wind_at_20_ft == pytest.approx(5.0)
    assert DrydenWind(wind_at_20_ft=7.0).gust_parameters(wind).wind_at_20_ft == 7.0


def test_axes_turn_with_the_motion_but_not_the_air() -> None:
    """The gusts at a vehicle that turns, hovers or reverses would jump, or change their intensity."""
    count = 3000
    for model in LAWS:
        columns = columns_of(count, (0.0, 0.0, 0.0))
        launch = launched(model, columns, 30.0, 1e-12)
        sigma = scales(parameters(model), 30.0)[2]
        launch()
        before = columns["gust_velocity"].copy()
        deviation = []
        for angle in np.linspace(0.0, math.tau, 100):
            for speed in (1e-6, 0.5):
                columns["through_air"][:, 0] = speed * math.cos(angle)
                columns["through_air"][:, 1] = speed * math.sin(angle)
                launch()
                deviation.append(columns["gust_velocity"][:, :2].std() / sigma)
                if speed == 1e-6:
                    # The motion is too slow to matter.
                    np.testing.assert_allclose(columns["gust_velocity"], before, atol=2e-4)
        # The standard error is 0.9 %.
        assert min(deviation) > 0.94
        assert max(deviation) < 1.05


@pytest.mark.parametrize("model", ["dryden", "von_karman"])
def test_python_and_compiled_code_give_the_same_bits(model: str) -> None:
    """Debugging in Python would fly through other turbulence."""
    columns = columns_of(7, (4.0, -3.0, 1.0))
    rows = list(zip(*(columns[n].tolist() for n in ("key", "copy", "through_air")), strict=True))
    launch, law = launched(model, columns, 400.0, 0.004), LAWS[model].gust_law
    states = [Filters(*(Vec3(0.0, 0.0, 0.0) for _ in STATES)) for _ in rows]
    for count in range(20):
        launch()
        for i, (key, copy, through_air) in enumerate(rows):
            moved = Word(key), copy, count, Vec3(*through_air)
            found = advance(law, parameters(model), 400.0, 0.004, states[i], *moved)
            states[i] = found["filters"]
            for k, name in enumerate(STATES):
                assert columns[name][i].tolist() == list(getattr(states[i], f"gust_{k}")), name
            for name in OUTPUTS:
                assert columns[name][i].tolist() == list(found[name]), name
    assert np.ptp(columns["gust_velocity"][:, 0]) > 0.1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"exceedance": 0.5}, "exceedance = 0.5: must be from 1e-06 to 0.2"),
        ({"exceedance": 1e-7}, "exceedance"),
        ({"wind_at_20_ft": -1.0}, "wind_at_20_ft = -1.0: must be at least 0 m/s"),
        ({"least_airspeed": 0.0}, "least_airspeed"),
        ({"ground": math.nan}, "ground"),
        ({"mean_velocity": (1.0, 2.0)}, "mean_velocity"),
    ],
)
@pytest.mark.parametrize("kind", [DrydenWind, VonKarmanWind])
def test_bad_turbulence_is_refused(kind: type[Turbulence], parameters: dict, message: str) -> None:
    """An invalid parameter would be accepted, or the error not name it."""
    with pytest.raises(ConfigError, match=message):
        kind(**parameters)


def test_two_turbulences_are_refused() -> None:
    """The second turbulence of a sum would be left out silently."""
    with pytest.raises(ConfigError, match="parts 0, 2 are turbulence"):
        SumWind([DrydenWind(), ConstantWind((1.0, 0.0, 0.0)), VonKarmanWind()])
