"""Models of SDF files: links, joints, plugins and frames of a model and of those that it includes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import inverse_transform
from pegasus.design.gazebo.files import file_of, find_model, read_model, search_path
from pegasus.design.gazebo.nodes import Node
from pegasus.design.mass_properties import Part, combined

_MODEL_FRAME = "__model__"


@dataclass(frozen=True)
class _Frame:
    parent: str
    """Frame that the pose is relative to; that of the file has none."""
    pose: Array
    attached_to: str
    """Frame with which it moves."""
    placement: str | None = None
    """Frame within that has the pose, in place of this one."""


@dataclass(frozen=True)
class Joint:
    """Joint of a model."""

    name: str
    kind: str
    parent: str
    """Name of the link that carries it."""
    child: str
    """Name of the link that it carries."""
    node: Node
    position: Array
    """A point of its axis in the frame of the base link [m], shape (3,)."""
    axis: Array
    """Direction of its axis there, shape (3,)."""

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest angle [rad], infinite where there is none."""
        low = self.node.number("axis", "limit", "lower", default=-np.inf)
        high = self.node.number("axis", "limit", "upper", default=np.inf)
        return (low if low > -1e3 else -np.inf), (high if high < 1e3 else np.inf)


@dataclass
class Model:
    """Model of an SDF file with all that it includes, in the frame of its base link."""

    name: str
    file: Path
    base: str = ""
    """Name of the base link, the canonical one."""
    links: dict[str, Node] = field(default_factory=dict)
    plugins: list[tuple[str, Node]] = field(default_factory=list)
    """Plugins with the prefix of the names in them."""
    notes: list[str] = field(default_factory=list)
    """What is not carried over."""
    _joints: dict[str, tuple[str, str, Node, bool]] = field(default_factory=dict)
    _frames: dict[str, _Frame] = field(default_factory=dict)
    _models: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Model frame and canonical link of nested models by name."""

    def pose(self, name: str) -> Array:
        """Return the pose of a link, joint or frame in the frame of the base link, shape (4, 4)."""
        made: Array = inverse_transform(self._in_file(self.base)) @ self._in_file(name)
        return made

    @cached_property
    def joints(self) -> dict[str, Joint]:
        """Joints between links, by name."""
        made = {}
        for name, (prefix, frame, node, of_model) in self._joints.items():
            ends = []
            for tag in ("parent", "child"):
                end = node.child(tag)
                if end is None:
                    raise node.error(f"has no <{tag}>")
                words = end.text("link") or end.words
                ends.append(
                    "world" if words == "world" else self._link_of(self._full(words, prefix, frame), end)
                )
            if "world" in ends:
                self.notes.append(f"joint {name}: what is fixed to the world flies freely here")
                continue
            pose, axis = self.pose(name), node.child("axis")
            direction = np.array([0.0, 0.0, 1.0])
            if axis is not None:
                direction = axis.vector("xyz", default=(0.0, 0.0, 1.0))
                length = float(np.linalg.norm(direction))
                xyz = axis.child("xyz")
                if not length > 1e-9:
                    raise (xyz or axis).error("must not be zero", "give the direction of the axis")
                direction = direction / length
                expressed = "" if xyz is None else xyz.attributes.get("expressed_in", "")
                if of_model and axis.flag("use_parent_model_frame"):
                    expressed = _MODEL_FRAME
                turned = self.pose(self._full(expressed, prefix, frame)) if expressed else pose
                direction = turned[:3, :3] @ direction
            kind = node.attributes.get("type", "")
            made[name] = Joint(name, kind, ends[0], ends[1], node, pose[:3, 3], direction)
        return made

    @cached_property
    def attached(self) -> list[str]:
        """Links that joints connect to the base link, which is the first."""
        found, rest = [self.base], list(self.joints.values())
        while True:
            more = [j for j in rest if (j.parent in found) != (j.child in found)]
            if not more:
                break
            for joint in more:
                found += [link for link in (joint.parent, joint.child) if link not in found]
        for link in self.links:
            if link not in found:
                self.notes.append(f"link {link}: no joint connects it to {self.base}")
        return found

    def carriers(self, link: str) -> Iterator[Joint]:
        """Yield the joints from a link towards the base."""
        seen = {link}
        while True:
            joint = next((j for j in self.joints.values() if j.child == link and j.parent not in seen), None)
            if joint is None:
                return
            yield joint
            link = joint.parent
            seen.add(link)

    def part(self, link: str) -> Part:
        """Return the mass properties of a link in the frame of the base link."""
        node = self.links[link].child("inertial")
        if node is None:
            self.notes.append(f"link {link}: no <inertial>, so that it has 1 kg and 1 kg m^2 as in Gazebo")
        elif node.attributes.get("auto", "false").lower() in ("1", "true"):
            raise node.error(
                "auto is not understood", "write the mass and the inertia, as gz sdf --print does"
            )
        place, mass, tensor = self.pose(link), 1.0, np.eye(3)
        if node is not None:
            mass = node.number("mass", default=1.0)
            if not mass >= 0:
                raise (node.child("mass") or node).error("must be at least 0 kg")
            place = place @ node.pose()
            x, y, z = (node.number("inertia", f"i{a}{a}", default=1.0) for a in "xyz")
            xy, xz, yz = (node.number("inertia", f"i{a}", default=0.0) for a in ("xy", "xz", "yz"))
            tensor = np.array([[x, xy, xz], [xy, y, yz], [xz, yz, z]])
        turn = place[:3, :3]
        return Part(link, mass, place[:3, 3], turn @ tensor @ turn.T)

    def whole(self) -> Part:
        """Return the mass properties of all attached links together."""
        parts = [self.part(link) for link in self.attached]
        if not sum(part.mass for part in parts) > 0:
            raise ConfigError(f"model {self.name} has no mass", file=self.file, remedy="give <inertial>")
        return combined(parts)

    def named(self, words: str, prefix: str, known: Sequence[str], node: Node) -> str:
        """Return the full name of a link or joint that a plugin names.

        Args:
            words: The name.
            prefix: Prefix of the names of its model.
            known: Names of what there is.
            node: The plugin.
        """
        for name in (prefix + words, words, words.rpartition("::")[2]):
            if name in known:
                return name
        raise node.error(f"names {words!r}, which the model does not have; it has {', '.join(known)}")

    def add(self, node: Node, version: tuple[int, int], prefix: str, frame: str, open_files: list[Path],
            search: Sequence[Path]) -> str:  # fmt: skip
        """Add the content of a model, and return its canonical link.

        Args:
            node: The model.
            version: Version of its file.
            prefix: Prefix of its names.
            frame: Name of its frame.
            open_files: Files that include it, and its own.
            search: Folders of models.
        """
        canonical = node.attributes.get("canonical_link", "")
        first = prefix + canonical if canonical else ""
        later = ""
        for part in node.nodes:
            inner, merges = "", part.attributes.get("merge", "false").lower() in ("1", "true")
            if part.tag == "link":
                inner = self._new(part, prefix)
                self.links[inner] = part
                self._place(inner, part, prefix, frame, inner)
            elif part.tag == "model":
                inner = self._nested(part, part, version, prefix, frame, open_files, search)
            elif part.tag == "include":
                inner = self._include(part, prefix, frame, open_files, search)
            if part.tag == "link" or merges:
                first = first or inner
            later = later or inner
        first = first or later
        for own in node.every("frame"):
            attached = own.attributes.get("attached_to", "")
            attached = self._full(attached, prefix, frame) if attached else frame
            self._place(self._new(own, prefix), own, prefix, frame, attached, default=attached)
        for joint in node.every("joint"):
            name, child = self._new(joint, prefix), joint.text("child")
            self._place(name, joint, prefix, frame, name, default=self._full(child, prefix, frame))
            self._joints[name] = (prefix, frame, joint, version < (1, 7))
        self.plugins += [(prefix, plugin) for plugin in node.every("plugin")]
        if first and first not in self.links:
            raise node.error(f"has no link {canonical!r}", "correct canonical_link")
        return first

    def _include(self, include: Node, prefix: str, frame: str, open_files: list[Path],
                 search: Sequence[Path]) -> str:  # fmt: skip
        """Add what an element includes; return its canonical link."""
        uri = include.child("uri")
        if uri is None:
            raise include.error("has no <uri>", "give the model, such as model://airspeed")
        path = find_model(uri.words, uri, search)
        if path.resolve() in open_files:
            raise uri.error("includes a file that includes it", "remove one of them")
        inside, version = read_model(path)
        self.plugins += [(prefix, plugin) for plugin in include.every("plugin")]
        return self._nested(include, inside, version, prefix, frame, [*open_files, path.resolve()], search)

    def _nested(self, outer: Node, inner: Node, version: tuple[int, int], prefix: str, frame: str,
                open_files: list[Path], search: Sequence[Path]) -> str:  # fmt: skip
        """Add a nested model, or what an element includes; return its canonical link."""
        name = outer.text("name") or outer.attributes.get("name", "") or inner.attributes.get("name", "")
        merges = outer.attributes.get("merge", "false").lower() in ("1", "true")
        inside = prefix if merges else f"{prefix}{name}::"
        own = f"{prefix}{name}::{_MODEL_FRAME}"
        if own in self._frames:
            raise outer.error(f"is the second model named {name!r}", "rename one by <name>")
        placement = outer.text("placement_frame") or inner.attributes.get("placement_frame", "")
        posed = outer if outer.child("pose") is not None else inner
        within = self._full(placement, inside, own) if placement else None
        # The pose of an included model is in the frame of the model that includes it.
        self._place(own, posed, prefix, frame, own, placement=within)
        canonical = self.add(inner, version, inside, own, open_files, search)
        self._models[f"{prefix}{name}"] = self._models[own] = (own, canonical)
        return canonical

    def _place(self, name: str, node: Node, prefix: str, frame: str, attached_to: str, *,
               default: str = "", placement: str | None = None) -> None:  # fmt: skip
        pose = node.child("pose")
        relative = "" if pose is None else pose.attributes.get("relative_to", "")
        parent = self._full(relative, prefix, frame) if relative else default or frame
        made = np.eye(4) if pose is None else pose.transform()
        self._frames[name] = _Frame(parent, made, attached_to, placement)

    def _new(self, node: Node, prefix: str) -> str:
        name = prefix + node.attributes.get("name", "")
        if name == prefix:
            raise node.error("has no name")
        if name in self._frames:
            raise node.error(f"is the second element named {name!r}", "rename one")
        return name

    @staticmethod
    def _full(name: str, prefix: str, frame: str) -> str:
        return frame if name == _MODEL_FRAME else prefix + name

    def _link_of(self, name: str, node: Node) -> str:
        """Return the link with which a frame moves."""
        for _ in range(len(self._frames) + 1):
            if name in self.links:
                return name
            if name in self._models:
                name = self._models[name][1]
            elif name in self._joints:
                prefix, frame, joint, _ = self._joints[name]
                name = self._full(joint.text("child"), prefix, frame)
            elif name in self._frames and name != _MODEL_FRAME:
                name = self._frames[name].attached_to
            elif name == _MODEL_FRAME:
                return self.base
            else:
                break
        raise node.error(f"is no link of model {self.name}", f"there are {', '.join(self.links)}")

    def _in_file(self, name: str, stop: str = _MODEL_FRAME, seen: tuple[str, ...] = ()) -> Array:
        name = self._models[name][0] if name in self._models else name
        if name == stop:
            return np.eye(4)
        frame = self._frames.get(name)
        if frame is None or name in seen:
            problem = (
                f"has no frame {name!r}" if frame is None else f"has a frame {name!r} relative to itself"
            )
            raise ConfigError(f"model {self.name} {problem}", file=self.file, remedy="correct relative_to")
        made = self._in_file(frame.parent, stop, (*seen, name)) @ frame.pose
        if frame.placement is not None:
            made = made @ inverse_transform(self._in_file(frame.placement, name))
        return made


def load_model(path: Path, search: Sequence[Path]) -> Model:
    """Return the model of an SDF file.

    Args:
        path: The file, or the folder of the model.
        search: Folders of the models that it includes, before those of GZ_SIM_RESOURCE_PATH and the one that
            holds its own folder.

    Raises:
        ConfigError: If a file cannot be read, is no SDF from 1.5 to 1.11, or has a wrong value.
    """
    file = file_of(path) if path.is_dir() else path
    folders = search_path(file, search)
    node, version = read_model(file)
    model = Model(node.attributes.get("name", file.stem), file)
    model.base = model.add(node, version, "", _MODEL_FRAME, [file.resolve()], folders)
    if not model.base:
        raise node.error("has no link", "give the file of a vehicle")
    return model
