"""Shards as the library webdataset reads them."""

import numpy as np
import pytest
from test_formats import frame_at, written

webdataset = pytest.importorskip("webdataset", reason="needs webdataset: pip install pegasus-multirotor[dev]")


def test_the_library_reads_every_sample(tmp_path):
    """A training script would miss samples, mix up their files, or fail to decode one."""
    frames = {index: frame_at(index % 5) for index in (0, 1, 2, 99, 100, 101)}
    written("webdataset", tmp_path, frames.items())
    shards = sorted(map(str, (tmp_path / "shards").glob("*.tar")))
    assert len(shards) == 2
    read = webdataset.WebDataset(shards, shardshuffle=False).decode("rgb8")
    samples = {int(sample["__key__"].split("/")[-1]): sample for sample in read}
    assert sorted(samples) == sorted(frames)
    for index, frame in frames.items():
        sample = samples[index]
        assert {key for key in sample if not key.startswith("__")} == {
            "png",
            "semantic.png",
            "depth.npy",
            "json",
        }
        np.testing.assert_array_equal(sample["png"], frame.rgb)
        expected = frame.images.distance * frame.directions[..., 2]
        np.testing.assert_allclose(sample["depth.npy"], expected, rtol=1e-6)
        assert [item["class"] for item in sample["json"]["objects"]] == ["box", "ball"]
        # The library decodes all images alike: the classes are repeated over three channels.
        ids = sample["semantic.png"]
        assert set(np.unique(ids)) <= {0, 1, 2, 3}
        assert (ids[frame.images.entity == 0] == 3).all()
        assert (ids[frame.images.entity == 1] == 2).all()


def test_the_library_reads_tuples(tmp_path):
    """The usual pipeline, images beside their labels in batches, would not run."""
    written("webdataset", tmp_path, [(k, frame_at(k)) for k in range(4)])
    shards = sorted(map(str, (tmp_path / "shards").glob("*.tar")))
    pipeline = webdataset.WebDataset(shards, shardshuffle=False).decode("rgb8").to_tuple("png", "json")
    batches = list(pipeline.batched(2))
    assert [len(images) for images, _ in batches] == [2, 2]
    assert batches[0][0][0].shape == (120, 160, 3)
