"""Tests that every use of OpenUSD and Warp exists in Isaac Sim's versions, with valid arguments."""

from importlib.metadata import version

import pytest

from tests.isaac.library_names import DISTRIBUTIONS, PACKAGE, VERSIONS, faults, installed, recorded, uses

CASES = sorted({(library, versions[library]) for versions in VERSIONS.values() for library in DISTRIBUTIONS})
HOW = "; record names by `python -m tests.isaac.library_names` in each environment of .ci/environment"


@pytest.fixture(scope="module")
def found():
    """Return every use of the libraries in the package."""
    return uses(PACKAGE)


@pytest.mark.parametrize(("library", "release"), CASES)
def test_every_use_is_in_the_versions_of_isaac_sim(found, library, release):
    """A name that Isaac Sim's OpenUSD or Warp lacks would raise an AttributeError there."""
    wrong = faults(found, library, recorded()[library][release])
    assert not wrong, "\n".join(wrong) + HOW


@pytest.mark.parametrize("library", DISTRIBUTIONS)
def test_every_use_is_in_the_installed_version(found, library):
    """The recorded names would differ from the installed libraries."""
    names = installed(found, library)
    assert faults(found, library, names) == []
    if (here := version(DISTRIBUTIONS[library])) in recorded()[library]:
        assert recorded()[library][here] == names, HOW


@pytest.mark.parametrize("release", VERSIONS)
def test_the_environments_are_made_of_these_versions(release):
    """The test environments would have other versions than Isaac Sim."""
    text = (PACKAGE.parent / ".ci" / f"isaac-{release}.txt").read_text(encoding="utf-8")
    pins = dict(line.split("==") for line in text.splitlines() if not line.startswith("#"))
    assert {library: pins[each] for library, each in DISTRIBUTIONS.items()} == VERSIONS[release]


RIGHT = """
import warp as wp
from pxr import Tf, Usd, UsdGeom

stage = Usd.Stage.Open("a.usda")
prim = stage.GetPrimAtPath("/a")
if hasattr(wp.config, "log_level"):
    wp.config.log_level = wp.LOG_WARNING
else:
    wp.config.quiet = True
values = wp.array([1.0], dtype=wp.vec3f, device="cpu", copy=False)
"""
WRONG = [
    ("with Tf.DiagnosticTrap() as trap: pass", "pxr", "there is no pxr.Tf.DiagnosticTrap"),
    ("from pxr import UsdNothing", "pxr", "there is no pxr.UsdNothing"),
    ("UsdGeom.Mesh.Defined(stage, '/a')", "pxr", "there is no pxr.UsdGeom.Mesh.Defined"),
    ("stage.GetPrimsOfTheFuture()", "pxr", "there is no .GetPrimsOfTheFuture"),
    ("stage.GetPrimAtPath('/a').GetNothing().Get()", "pxr", "there is no .GetNothing"),
    ("def f(stage: Usd.Stages): pass", "pxr", "there is no pxr.Usd.Stages"),
    ("wp.config.log_level = 1", "warp", "there is no warp.config.log_level"),
    ("wp.config.log_level = wp.config.log_level", "warp", "there is no warp.config.log_level"),
    (
        "if hasattr(wp.config, 'quiet'):\n    wp.config.log_level = 1",
        "warp",
        "there is no warp.config.log_level",
    ),
    ("wp.load_module(wp, devices='cpu')", "warp", "unexpected keyword argument 'devices'"),
    ("wp.load_module(wp, block_dim=1)", "warp", "unexpected keyword argument 'block_dim'"),
    ("wp.array([1.0], kind=wp.vec3f)", "warp", "unexpected keyword argument 'kind'"),
    ("wp.launch()", "warp", "missing a required argument"),
]


def planted(tmp_path, text):
    (tmp_path / "planted.py").write_text(RIGHT + text + "\n", encoding="utf-8")
    return uses(tmp_path)


@pytest.mark.parametrize(("text", "library", "said"), [*WRONG, ("", "pxr", None), ("", "warp", None)])
def test_the_check_finds_what_is_wrong(tmp_path, text, library, said):
    """The check would miss a planted fault, or reject valid code."""
    wrong = faults(planted(tmp_path, text), library, recorded()[library][VERSIONS["5.1.0"][library]])
    if said is None:
        assert wrong == []
    else:
        assert wrong
        assert all(said in line for line in wrong)


MUTATIONS = [
    ("scene/stage.py", "UsdUtils.CoalescingDiagnosticDelegate()", "Tf.DiagnosticTrap()", "pxr"),
    ("scene/stage.py", "delegate.TakeUncoalescedDiagnostics()", "delegate.TakeDiagnostics()", "pxr"),
    ("base/compiler.py", 'if hasattr(wp.config, "log_level"):', "if True:", "warp"),
    ("render/embree/warp_runtime.py", 'device="cpu")', 'device="cpu", block_dim=1)', "warp"),
    ("render/embree/library.py", "copy=False", "copied=False", "warp"),
]


@pytest.mark.parametrize(("file", "before", "after", "library"), MUTATIONS)
def test_a_fault_in_the_package_is_found(tmp_path, file, before, after, library):
    """A name of a newer version would pass the check."""
    source = (PACKAGE / file).read_text(encoding="utf-8")
    assert source.count(before) == 1, f"{before!r} must stand once in {file}: plant it elsewhere"
    (tmp_path / "planted.py").write_text(source.replace(before, after), encoding="utf-8")
    names = recorded()[library][VERSIONS["5.1.0"][library]]
    assert len(faults(uses(tmp_path), library, names)) >= 1


def test_a_question_opens_the_branch_of_its_version_only(tmp_path):
    """A branch behind hasattr would be checked against the wrong version."""
    text = "if hasattr(wp, 'new'):\n    wp.newer()\nelse:\n    wp.older()\n"
    found = planted(tmp_path, text)
    have = recorded()["warp"]["1.13.0"]
    assert [line.split("no ")[1].split(",")[0] for line in faults(found, "warp", have)] == ["warp.older"]
    have = have | {"warp.new": None}
    assert [line.split("no ")[1].split(",")[0] for line in faults(found, "warp", have)] == ["warp.newer"]
