"""Tests of the folders of runs."""

import re
from pathlib import Path

import pytest

from pegasus.base.errors import ConfigError
from pegasus.recording import make_run_folder


def test_folders_are_new_and_named_after_the_scenario(tmp_path: Path) -> None:
    """A run could overwrite the files of another that began in the same second."""
    folders = [make_run_folder(tmp_path / "a" / "runs", "first_flight") for _ in range(5)]
    assert len(set(folders)) == 5
    for folder in folders:
        assert folder.is_dir()
        assert folder.parent == tmp_path / "a" / "runs"
        assert re.fullmatch(r"first_flight-\d{8}-\d{6}(-\d)?", folder.name)


def test_runs_are_kept_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results would be written to an unexpected folder."""
    monkeypatch.chdir(tmp_path)
    folder = make_run_folder(None, "square")
    assert folder.parent == Path("runs")
    assert (tmp_path / folder).is_dir()


@pytest.mark.parametrize("name", ["../../etc/passwd", "a b/c: d", "...", "x" * 500, "å flight"])
def test_any_name_makes_one_folder(tmp_path: Path, name: str) -> None:
    """A scenario's name could lead out of the folder of runs, or be refused."""
    folder = make_run_folder(tmp_path, name)
    assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == [folder]
    assert re.match(r"[\w-]", folder.name)


def test_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    """A wrong `--out` would end in a traceback, or leave an incomplete folder."""
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "runs", Path("/proc/none")):
        with pytest.raises(ConfigError, match="cannot be used as a folder for runs") as error:
            make_run_folder(out, "square")
        assert str(out) in str(error.value)
        assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
