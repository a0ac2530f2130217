"""Tests of the frame writer: a frame is complete in its folder or absent."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.dataset.writer import FrameFolder, checked_cameras, npy, png

FILES = {"labels/a_0003.json": b"{}", "rgb_0003.png": b"picture"}


def listing(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_frame_counts_when_all_of_it_is_there(tmp_path):
    """Complete frames would be rendered again, or incomplete ones be counted."""
    folder = FrameFolder(tmp_path / "out", resume=False)
    assert folder.written() == frozenset()
    folder.commit(3, FILES, {"seed": 5})
    folder.commit(1, {"rgb_0001.png": b"x"}, {"seed": 6})
    assert folder.written() == {1, 3}
    assert folder.records() == [
        {"frame": 1, "seed": 6, "files": {"rgb_0001.png": 1}},
        {"frame": 3, "seed": 5, "files": {"labels/a_0003.json": 2, "rgb_0003.png": 7}},
    ]
    expected = [
        ".frames/000001.json",
        ".frames/000003.json",
        "labels/a_0003.json",
        "rgb_0001.png",
        "rgb_0003.png",
    ]
    assert listing(tmp_path / "out") == expected


@pytest.mark.parametrize("fails_at", range(6))
def test_an_interrupted_frame_does_not_count(tmp_path, monkeypatch, fails_at):
    """A run killed between two files would leave a frame that counts without all of them."""
    folder = FrameFolder(tmp_path, resume=False)
    calls = []
    for name in ("write_bytes", "replace"):
        real = getattr(Path, name)

        def step(self, argument, real=real):
            if len(calls) == fails_at:
                raise KeyboardInterrupt
            calls.append(self)
            return real(self, argument)

        monkeypatch.setattr(Path, name, step)
    with pytest.raises(KeyboardInterrupt):
        folder.commit(3, FILES, {})
    monkeypatch.undo()
    again = FrameFolder(tmp_path, resume=True)
    assert again.written() == frozenset()
    assert not list(tmp_path.rglob("*.part"))
    again.commit(3, FILES, {})
    assert again.written() == {3}
    assert listing(tmp_path) == [".frames/000003.json", *sorted(FILES)]


def test_a_frame_that_lost_a_file_does_not_count(tmp_path):
    """After a power cut, empty files would be counted as images."""
    folder = FrameFolder(tmp_path, resume=False)
    for index in range(4):
        folder.commit(index, {f"rgb_{index}.png": b"picture"}, {})
    (tmp_path / "rgb_0.png").write_bytes(b"")
    (tmp_path / "rgb_1.png").unlink()
    (tmp_path / ".frames/000002.json").write_bytes(b"")
    assert folder.written() == {3}
    assert [record["frame"] for record in folder.records()] == [3]


@pytest.mark.parametrize("swept", [False, True])
def test_two_runs_may_write_the_same_frame(tmp_path, monkeypatch, swept):
    """A second run in the folder would use the first one's temporary files."""
    folder = FrameFolder(tmp_path, resume=False)
    real = Path.replace

    def late(part, target):
        # The other process cleans the folder and writes the frame before this one's first file appears.
        monkeypatch.setattr(Path, "replace", real)
        with monkeypatch.context() as other:
            other.setattr(os, "getpid", lambda: 2**40)
            if swept:
                folder.remove_partial_files()
            folder.commit(3, FILES, {"run": 2})
        return real(part, target)

    monkeypatch.setattr(Path, "replace", late)
    folder.commit(3, FILES, {"run": 1})
    assert folder.records()[0]["run"] == 1
    assert listing(tmp_path) == [".frames/000003.json", *sorted(FILES)]


def test_full_disk_is_one_line_and_the_frame_does_not_count(tmp_path):
    """A full disk would end in a traceback, or leave pieces that look like a frame."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    folder = FrameFolder(tmp_path, resume=False)
    (tmp_path / f".rgb_0003.png.{os.getpid()}.part").symlink_to("/dev/full")
    with pytest.raises(ConfigError) as caught:
        folder.commit(3, FILES, {})
    message = str(caught.value)
    assert "the disk is full, frame 3 is not counted; make room and resume" in message
    assert "\n" not in message
    assert folder.written() == frozenset()
    assert listing(tmp_path) == []


def test_other_failures_name_the_frame_and_the_reason(tmp_path):
    """The error would not name the frame and the reason."""
    folder = FrameFolder(tmp_path, resume=False)
    (tmp_path / "labels").write_text("a file where a folder should be")
    with pytest.raises(ConfigError, match=r"cannot be written \(.*\), frame 3 is not counted; give a folder"):
        folder.commit(3, FILES, {})
    with pytest.raises(ConfigError, match=r"labels/x.json is not written"):
        folder.write("labels/x.json", b"")


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    """A dataset would be mixed into another one."""
    (tmp_path / "old").touch()
    with pytest.raises(ConfigError, match=r"out = .*: the folder is not empty; give a new one, or resume"):
        FrameFolder(tmp_path, resume=False)
    FrameFolder(tmp_path, resume=True)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    """A wrong path would only show after the first frame is rendered."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"out = .*file.* cannot be written"):
        FrameFolder(tmp_path / "file" / "out", resume=False)


def test_full_disk_is_told_by_any_of_its_errors(tmp_path):
    """An exhausted quota would be reported as a missing permission."""
    folder = FrameFolder(tmp_path, resume=False)
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        assert "make room" in str(folder._failure(OSError(number, "full"), "x"))


def test_pictures_and_arrays_come_back(tmp_path):
    """Files would differ from the written data."""
    picture = np.random.default_rng(1).integers(0, 256, (5, 7, 4)).astype(np.uint8)
    (tmp_path / "a.png").write_bytes(png(picture))
    np.testing.assert_array_equal(Image.open(tmp_path / "a.png"), picture)
    (tmp_path / "a.npy").write_bytes(npy(picture[::2]))
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), picture[::2])


@pytest.mark.parametrize("cameras", [(), ("a", "a"), ("a", "b", "c"), "front"])
def test_cameras_are_checked(cameras):
    """Two cameras with one name would overwrite each other's files."""
    with pytest.raises(ConfigError, match="cameras"):
        checked_cameras(cameras, most=2)
