"""Tests of values that are entered before a button uses them."""

from pegasus.panel.fields import Draft, Picked


def test_what_is_entered_gives_way_to_another_source():
    """Numbers of the last world would be set in the next one, or typed ones be lost during a run."""
    source = [1.0]
    draft = Draft(lambda: source[0])
    assert draft.get() == 1.0
    draft.set(5.0)
    assert draft.get() == 5.0
    source[0] = 2.0
    assert draft.get() == 2.0
    source[0] = 3.0
    draft.set(7.0)
    assert draft.get() == 7.0


def test_a_name_that_is_gone_is_not_picked():
    """A button would act on a sensor or fault that was removed."""
    names = ["lidar", "camera"]
    picked = Picked(lambda: names)
    assert picked.get() == "lidar"
    picked.set("camera")
    assert picked.get() == "camera"
    names.remove("camera")
    assert picked.get() == "lidar"
