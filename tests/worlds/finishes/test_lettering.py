"""Tests of lettering: position, size and shape."""

import numpy as np
import pytest

from pegasus.worlds.finishes.drawing import grid
from pegasus.worlds.finishes.lettering import lettering, line_width


def test_a_word_fills_the_place_that_is_said():
    """Names would extend beyond their boards."""
    x, y = grid(800, 2.0)
    text = "HOUSE PLANT"
    size = 0.14
    ink = lettering(text, x - 0.3, y - 1.0, size=size) > 0.5
    rows, columns = np.nonzero(ink)
    dot = size / 7
    assert x[0, columns.min()] == pytest.approx(0.3, abs=0.3 * dot)
    assert x[0, columns.max()] == pytest.approx(0.3 + line_width(text, size), abs=0.3 * dot)
    assert y[rows.max(), 0] == pytest.approx(1.0, abs=0.3 * dot)
    assert y[rows.min(), 0] == pytest.approx(1.0 + size, abs=0.3 * dot)


def test_letters_are_upright_and_not_mirrored():
    """Signs would read backwards or upside down."""
    x, y = grid(140, 1.4)
    ink = lettering("F", x - 0.2, y - 0.2, size=1.0) > 0.5
    stem = ink[25:118, 20:34]
    assert stem.mean() > 0.8
    # The arms of an F: at its top and middle, none at its foot.
    arms = ink[:, 60:80].mean(axis=1)
    assert arms[22:32].max() == 1.0
    assert arms[90:].max() == 0.0


def test_words_differ_and_unknown_letters_are_refused():
    """A sign with a letter that cannot be drawn would have a gap."""
    x, y = grid(64, 1.0)
    assert (lettering("CAFE", x, y, size=0.2) != lettering("BOOK", x, y, size=0.2)).any()
    with pytest.raises(KeyError):
        lettering("Ω", x, y, size=0.2)
