"""Tests of reading XML files."""

import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.xml_files import read_xml


def test_elements_have_their_lines(tmp_path):
    """An error would name the wrong line, or text be lost."""
    path = tmp_path / "a.xml"
    path.write_text('<a>\n <b x="1">two <!-- no --> words</b>\n <c><b/></c></a>')
    root = read_xml(path)
    assert [(found.line, found.text, found.attributes) for found in root.every("b")] == [
        (2, "two  words", {"x": "1"}), (3, "", {}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "line 1: declares the entity b; entities are not read"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "/etc/passwd">]><a>&b;</a>', "declares the entity b"),
        ("<a>" * 200 + "</a>" * 200, "line 1: <a> is nested deeper than 100 elements; flatten the file"),
        ("<a>", "line 1: is not XML: no element found"),
    ],
    ids=["entity", "file", "depth", "unfinished"],
)
def test_refusals(tmp_path, text, message):
    """A file that expands without bound, or reads another one, would be read."""
    path = tmp_path / "a.xml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_xml(path)
