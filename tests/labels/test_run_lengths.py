"""Tests of run-length masks against the COCO API and by hand."""

import numpy as np
import pytest
from pycocotools import mask as coco_mask

from pegasus.labels.segmentation import compressed_counts, encoded, run_lengths

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def random_masks():
    rng = np.random.default_rng(11)
    for density in (0.0, 0.02, 0.5, 0.98, 1.0):
        yield rng.random((37, 53)) < density
    blob = np.zeros((300, 400), bool)
    blob[20:250, 30:380] = True
    yield blob


def test_runs_go_down_the_columns_and_begin_with_zeros():
    """Masks would come out transposed or inverted."""
    mask = np.array([[1, 0, 0], [1, 1, 0]], bool)
    assert run_lengths(mask).tolist() == [0, 2, 1, 1, 2]
    assert run_lengths(~mask).tolist() == [2, 1, 1, 2]


@pytest.mark.parametrize("mask", list(random_masks()))
def test_the_coco_api_writes_the_same_string(mask):
    """The COCO API would decode another mask, or none."""
    reference = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert compressed_counts(run_lengths(mask)) == reference["counts"].decode()


@pytest.mark.parametrize("place", [(0, 0), (7, 3), (20, 12), (0, 12), (20, 0)])
@pytest.mark.parametrize("density", [0.5, 1.0])
def test_a_part_of_an_image_is_decoded_at_its_place(place, density):
    """A mask would be shifted, or grow when it touches a border of the image."""
    left, top = place
    part = np.random.default_rng(2).random((8, 10)) < density
    whole = np.zeros((20, 30), bool)
    whole[top : top + 8, left : left + 10] = part
    encoding = encoded(part, (left, top, 30, 20))
    assert encoding["size"] == [20, 30]
    np.testing.assert_array_equal(coco_mask.decode([encoding])[..., 0], whole)
    reference = coco_mask.encode(np.asfortranarray(whole.astype(np.uint8)))
    assert encoding["counts"] == reference["counts"].decode()
