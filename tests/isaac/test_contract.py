"""Contract test: every call of pegasus/isaac into Isaac Sim exists there with these arguments."""

import ast
import json
import re
from pathlib import Path

import pytest

import pegasus
from tests.isaac.calls import Checker
from tests.isaac.contract import ADDED, ALL_VERSIONS, FOLDER, VERSIONS, is_kit, load

EXAMPLES = FOLDER.parents[1] / "examples" / "isaac"
PACKAGE = Path(pegasus.__file__).parent / "isaac"
# Classes for one major version only; all other code must fit all versions.
ONLY = {"_IsaacSim60": "6", "_IsaacSim51": "5", "RtxScanner": "6"}


def faults_of(tmp_path, version, **files):
    """Return the faults of a package made of some files, as file:line: text."""
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    checker = Checker(tmp_path, "package", load(version), only=ONLY)
    return [f"{Path(fault.file).stem}:{fault.line}: {fault.text}" for fault in checker.faults()]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_pegasus_keeps_to_the_contract(version):
    """A wrong call into Isaac Sim would only fail on a user's machine."""
    checker = Checker(PACKAGE, "pegasus.isaac", load(version), only=ONLY)
    faults = checker.faults()
    assert not faults, "\n".join(map(str, faults))
    assert checker.call_count > 20


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_the_examples_keep_to_the_contract(version):
    """A wrong call of an example into Isaac Sim or Isaac Lab would only fail on a user's machine."""
    faults = Checker(EXAMPLES, "examples", load(version), only=ONLY).faults()
    assert not faults, "\n".join(map(str, faults))


# The rest of Pegasus calls few objects of Isaac Sim; the extension itself is checked for all versions.
@pytest.mark.parametrize("version", VERSIONS)
def test_the_rest_of_pegasus_keeps_to_the_contract(version):
    """Calls on objects passed on by the extension would not be checked."""
    checker = Checker(PACKAGE.parent, "pegasus", load(version), only=ONLY)
    # These files import classes by user-given names at their first use.
    named = ("/pegasus/base/components.py", "/pegasus/base/registry.py")
    faults = [fault for fault in checker.faults(passes=3) if not fault.file.endswith(named)]
    assert not faults, "\n".join(map(str, faults))


def test_names_of_isaac_sim_are_imported_in_one_place_only():
    """A module that imports omni or isaacsim elsewhere would not load without Kit."""
    for path in PACKAGE.parent.rglob("*.py"):
        if PACKAGE in path.parents:
            continue
        text = path.read_text(encoding="utf-8")
        if not re.search(
            r"import .*\b(omni|isaacsim|carb|usdrt|Phys\w+)\b|from (omni|isaacsim|carb|usdrt)", text
        ):
            continue
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = (
                    [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "pxr" else []
                )
                names.append(node.module or "")
            assert not any(map(is_kit, names)), f"{path}:{node.lineno}"


IMPORTS = """
import omni.timeline
import isaacsim.core.experimental.utils.backend as backend_utils
from isaacsim.core.experimental.prims import RigidPrim
from isaacsim.core.simulation_manager import SimulationManager
"""
WRONG = [
    ("SimulationManager.step(step=1)", "6.2.0", "unexpected keyword argument 'step'"),
    ("SimulationManager.step(steps=1)", "5.1.0", "unexpected keyword argument 'steps'"),
    ("SimulationManager.register_callback(print, 1, 2)", "6.2.0", "too many positional arguments"),
    ("SimulationManager.set_device('cpu')", "5.1.0", "has no set_device"),
    ("RigidPrim('/a', max_contact_count=3)", "5.1.0", "unexpected keyword argument 'max_contact_count'"),
    ("RigidPrim('/a').apply(1)", "6.2.0", "RigidPrim has no apply"),
    ("RigidPrim('/a').get_world_poses([0])", "6.2.0", "too many positional arguments"),
    ("RigidPrim('/a').set_visibilities(wrong=1)", "6.2.0", "missing a required argument"),
    ("omni.timeline.get_timeline_interface().begin()", "6.2.0", "has no begin"),
    ("omni.timeline.TimelineEventType.HALT", "6.2.0", "has no HALT"),
    ("omni.timelines.play()", "6.2.0", "omni has no timelines"),
    ("with backend_utils.use_backend('tensor', raise_on_error=True): pass", "6.2.0", "raise_on_error"),
    ("view = RigidPrim('/a')\nview.apply(1)", "6.2.0", "RigidPrim has no apply"),
    ("for scene in SimulationManager.get_physics_scenes(): scene.set_rate(1)", "6.2.0", "has no set_rate"),
    ("SimulationManager.get_physics_simulation_view().anything()", "6.2.0", "does not say what that is"),
    ("getattr(SimulationManager, 'st' + 'ep')()", "6.2.0", "hides a call"),
    ("getattr(SimulationManager, 'stop')()", "6.2.0", "has no stop"),
    ("RigidPrim(*['/a'])", "6.2.0", "by * cannot be held against"),
    ("from isaacsim.core.simulation_manager import SimulationEvent", "5.1.0", "has no SimulationEvent"),
    ("import isaacsim.core.rendering_manager", "5.1.0", "is not in the contract"),
    ("from omni.isaac.core import World", "6.2.0", "omni.isaac.core has no World"),
    ("import importlib\nimportlib.import_module('omni.timeline')", "6.2.0", "import_module hides"),
    ("import importlib\nimportlib.import_module(name)", "6.2.0", "import_module hides"),
    ("from pxr import PhysxSchema", "6.2.0", "pxr.PhysxSchema is not in the contract"),
]


@pytest.mark.parametrize(("text", "version", "said"), WRONG)
def test_the_checker_finds_what_is_wrong(tmp_path, text, version, said):
    """The checker would miss a planted fault."""
    faults = faults_of(tmp_path, version, planted=IMPORTS + text)
    assert len(faults) == 1, faults
    assert said in faults[0]


RIGHT = """
def views(paths):
    view = RigidPrim(paths, resolve_paths=False)
    with backend_utils.use_backend("tensor", raise_on_fallback=True):
        positions, orientations = view.get_world_poses(indices=[0])
    return positions.numpy(), view.paths, view.valid


class Clock:
    def __init__(self):
        self.timeline = omni.timeline.get_timeline_interface()
        self.subscription = self.timeline.get_timeline_event_stream().create_subscription_to_pop_by_type(
            int(omni.timeline.TimelineEventType.STOP), lambda event: None
        )

    def play(self):
        self.timeline.play()
        self.timeline.commit()
"""


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_the_checker_lets_pass_what_is_right(tmp_path, version):
    """The checker would report valid code."""
    assert faults_of(tmp_path, version, planted=IMPORTS + RIGHT) == []


HIDDEN = {
    "an attribute of self": """
class Clock:
    def __init__(self):
        self.timeline = omni.timeline.get_timeline_interface()

    def play(self):
        self.timeline.start()
""",
    "what a function returns": """
def timeline():
    return omni.timeline.get_timeline_interface()


def play():
    timeline().start()
""",
    "what a function is given": """
def play(timeline):
    timeline.start()


def run():
    play(omni.timeline.get_timeline_interface())
""",
    "an annotation": """
def play(timeline: "omni.timeline.Timeline"):
    timeline.start()
""",
    "a property": """
class Clock:
    @property
    def timeline(self):
        return omni.timeline.get_timeline_interface()

    def play(self):
        self.timeline.start()
""",
    "a list": """
def play():
    for timeline in [omni.timeline.get_timeline_interface()]:
        timeline.start()
""",
    "an object of our own": """
class Clock:
    def timeline(self):
        return omni.timeline.get_timeline_interface()


def play():
    clock = Clock()
    clock.timeline().start()
""",
    "a lambda": """
play = lambda: omni.timeline.get_timeline_interface().start()
""",
    "a callback": """
def keep(event):
    event.timeline()


def subscribe():
    stream = omni.timeline.get_timeline_interface().get_timeline_event_stream()
    return stream.create_subscription_to_pop(keep, name="play")
""",
    "a subclass": """
import omni.ext


class Extension(omni.ext.IExt):
    def on_startup(self, ext_id):
        self.timeline = omni.timeline.get_timeline_interface()
        self.timeline.start()
""",
}


@pytest.mark.parametrize("where", HIDDEN)
def test_the_checker_follows_values(tmp_path, where):
    """A fault one assignment after its import would be missed."""
    faults = faults_of(tmp_path, "6.2.0", planted=IMPORTS + HIDDEN[where])
    assert len(faults) == 1, faults
    assert ("IEvent has no timeline" if where == "a callback" else "Timeline has no start") in faults[0]


def test_the_checker_follows_values_from_file_to_file(tmp_path):
    """A fault behind an import from Pegasus would be missed."""
    made = IMPORTS + "def timeline():\n    return omni.timeline.get_timeline_interface()\n"
    used = "from package.one import timeline\n\n\ndef play():\n    timeline().start()\n"
    faults = faults_of(tmp_path, "6.2.0", one=made, two=used)
    assert faults == ["two:5: omni.timeline:Timeline has no start [6.2.0]"]


@pytest.mark.parametrize(("version", "count"), [("6.2.0", 0), ("5.1.0", 1)])
def test_a_class_of_compat_counts_for_its_version(tmp_path, version, count):
    """Version-specific code of compat would be checked against the wrong version."""
    text = IMPORTS + (
        "class _IsaacSim51:\n    def step(self):\n        SimulationManager.step(steps=1)\n"
        "class _IsaacSim60:\n    def step(self):\n        SimulationManager.step(steps=1)\n"
    )
    assert len(faults_of(tmp_path, version, planted=text)) == count


@pytest.mark.parametrize(("version", "count"), [("6.0.1", 1), ("6.1.0", 0), ("6.2.0", 0)])
def test_a_change_counts_from_its_version_on(tmp_path, version, count):
    """A keyword of a later version would pass for an earlier one, or be lost in the one after."""
    text = (
        "from isaacsim.storage.native import get_assets_root_path\n"
        "get_assets_root_path(accept_unsupported=True)"
    )
    assert len(faults_of(tmp_path, version, planted=text)) == count


@pytest.mark.parametrize("file", ADDED)
def test_what_the_contract_adds_names_its_source(file):
    """An added signature would have no source."""
    entries = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    for key, entry in entries.items():
        assert key in ("about", "shorthand") or entry["source"].startswith("https://"), key
