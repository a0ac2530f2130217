"""Tests of deferred scenes: data is read when it is needed, once, and nothing else."""

import threading

import pytest

from pegasus.core.assembly import placed_world, world_of
from pegasus.scene import deferred, translate, translation
from pegasus.scene.deferred import DeferredScene
from tests.waits import wait_until


@pytest.fixture
def file():
    """Return the file of a small world with labels, and a mesh in parts of several materials."""
    return placed_world(*world_of("courtyard")).usd


@pytest.fixture
def calls(monkeypatch):
    """Record whether each translation reads geometry."""
    made = []

    def noted(source, *, geometry, progress):
        made.append(geometry)
        return translate(source, geometry=geometry, progress=progress)

    monkeypatch.setattr(deferred, "translate", noted)
    return made


def test_nothing_is_read_before_it_is_asked_for(file, calls):
    """A large world would be read whenever it is loaded."""
    scene = DeferredScene(str(file), lambda: file)
    assert scene.source == str(file)
    assert not scene.is_whole
    assert calls == []
    assert len(scene.entities) > 10
    assert scene.has_outline
    assert not scene.is_whole
    assert len(scene.geometries) > 10
    assert scene.is_whole
    assert scene.colliders
    assert calls == [False, True]
    with pytest.raises(AttributeError, match="no attribute 'walls'"):
        print(scene.walls)


def test_labels_and_materials_come_without_geometry(file, monkeypatch):
    """Isaac Sim's segmentation ids would differ from Embree's, or need the geometry."""
    whole = translate(file)

    def refuse(*_):
        raise AssertionError("the arrays of a mesh were read")

    monkeypatch.setattr(translation, "read_polygons", refuse)
    outline = translate(file, geometry=False)
    assert outline.geometries == {}
    assert outline.colliders == []
    assert list(outline.entities) == list(whole.entities)
    for mine, theirs in zip(outline.entities.values(), whole.entities.values(), strict=True):
        assert mine.labels == theirs.labels
        assert (mine.transform == theirs.transform).all()
    assert outline.materials == whole.materials
    assert [(i.path, i.material, i.entity) for i in outline.instances] == [
        (i.path, i.material, i.entity) for i in whole.instances
    ]


def test_progress_is_told(file):
    """The progress would not advance during a long translation."""
    shares = []
    told = translate(file, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert 0.9 < shares[-1] < 1.0
    assert len(told.instances) == len(translate(file).instances)


def test_it_is_read_in_a_thread_of_its_own(file, monkeypatch):
    """Kit's window would freeze during the translation."""
    may_go, threads = threading.Event(), []

    def slow(source, *, geometry, progress):
        threads.append(threading.current_thread())
        progress(0.25)
        assert may_go.wait(30)
        return translate(source, geometry=geometry)

    monkeypatch.setattr(deferred, "translate", slow)
    asked = []
    scene = DeferredScene(str(file), lambda: asked.append(threading.current_thread()) or file)
    scene.begin(whole=True)
    scene.begin(whole=True)
    wait_until(lambda: scene.progress == 0.25)
    assert not scene.is_whole
    may_go.set()
    # A caller meanwhile waits for that thread.
    assert scene.geometries
    wait_until(lambda: scene.progress is None)
    scene.begin(whole=True)
    assert asked == [threading.current_thread()]
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


def test_what_fails_in_the_background_is_told_to_who_asks(tmp_path, caplog):
    """An error in the thread would be lost, and the progress never end."""
    scene = DeferredScene("gone.usda", lambda: tmp_path / "gone.usda")
    scene.begin()
    wait_until(lambda: scene.progress is None and "no such USD file" in caplog.text)
    assert not scene.has_outline
    with pytest.raises(Exception, match="no such USD file"):
        print(scene.entities)
