"""XML files with the line of each element."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from pegasus.base.errors import ConfigError

_DEEPEST = 100
"""Largest number of elements within each other."""


@dataclass
class Element:
    """Element of an XML file."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: "list[Element]" = field(default_factory=list)

    def every(self, tag: str) -> "Iterator[Element]":
        """Yield all elements within this one that have a tag."""
        for child in self.children:
            if child.tag == tag:
                yield child
            yield from child.every(tag)


def read_xml(path: Path) -> Element:
    """Return the root of an XML file.

    Args:
        path: The file.

    Raises:
        ConfigError: If the file cannot be read, is not XML, declares entities, or nests elements too deeply.
    """
    parser = expat.ParserCreate()
    document = Element("document", {}, 0)
    open_elements = [document]

    def refused(problem: str, remedy: str) -> ConfigError:
        return ConfigError(f"line {parser.CurrentLineNumber}: {problem}", file=path, remedy=remedy)

    def entity(name: str, *_: object) -> None:
        # Entities expand without bound, or read other files.
        raise refused(f"declares the entity {name}; entities are not read", "write their text in their place")

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > _DEEPEST:
            raise refused(f"<{tag}> is nested deeper than {_DEEPEST} elements", "flatten the file")
        made = Element(tag, attributes, parser.CurrentLineNumber)
        open_elements[-1].children.append(made)
        open_elements.append(made)

    def end(_: str) -> None:
        open_elements.pop()

    def content(text: str) -> None:
        open_elements[-1].text += text

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = content, entity
    try:
        parser.Parse(path.read_bytes(), True)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from None
    except expat.ExpatError as error:
        problem = f"line {error.lineno}: is not XML: {expat.ErrorString(error.code)}"
        raise ConfigError(problem, file=path) from None
    return document.children[0]
