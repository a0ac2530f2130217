"""Tests of the placement of objects outdoors."""

import numpy as np

from pegasus.worlds.landscape import distance_to_line, scattered


def test_scattered_places_keep_apart_and_off_what_is_taken() -> None:
    """Trunks would overlap."""
    taken = np.array([[0.0, 0.0], [5.0, 5.0]])
    places = scattered(np.random.default_rng(1), 150, (20.0, 15.0), 1.7, taken=taken)
    assert len(places) == 150
    assert (np.abs(places) <= (20.0, 15.0)).all()
    every = np.concatenate([places, taken])
    apart = np.hypot(*(every[:, None] - every[None]).transpose(2, 0, 1))
    assert apart[~np.eye(len(every), dtype=bool)].min() >= 1.7


def test_places_stay_where_they_are_free() -> None:
    """Trees would stand on the path."""

    def free(places: np.ndarray) -> np.ndarray:
        return (places[:, 0] > 3.0).astype(np.float64)

    places = scattered(np.random.default_rng(2), 50, (10.0, 10.0), 0.5, free=free)
    assert len(places) == 50
    assert (places[:, 0] > 3.0).all()


def test_distances_to_a_line() -> None:
    """Paths would be cleared at the wrong place."""
    line = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]])
    places = np.array([[2.0, 1.5], [-3.0, 4.0], [5.0, 2.0], [4.0, 4.0]])
    np.testing.assert_allclose(distance_to_line(places, line), [1.5, 5.0, 1.0, 1.0])
