"""Notices: one line per kind, however many prims it is about."""

from pegasus.scene.notices import Notices


def test_the_same_message_is_one_line() -> None:
    """A world of a thousand moving crates would print a thousand lines."""
    notices = Notices()
    for k in range(4):
        notices.add("joint ignored", f"/J{k}")
    notices.add("joint ignored", "/J0")
    notices.add("no collider")
    notices.add("left out", "/Rope")
    assert notices.lines() == ["/J0 and 3 more: joint ignored", "no collider", "/Rope: left out"]
