"""Tests that the trials find faults planted in pegasus/isaac."""

import importlib
import sys
from types import ModuleType

import pytest

from tests.isaac.calls import Checker
from tests.isaac.contract import load
from tests.isaac.mutations import MUTATIONS
from tests.isaac.test_contract import ONLY, PACKAGE


def planted(mutation):
    """Return the source of a module with the fault."""
    source = (PACKAGE / f"{mutation.module}.py").read_text(encoding="utf-8")
    times = source.count(mutation.before)
    assert times == 1, f"{mutation.before!r} stands {times} times in {mutation.module}: plant it elsewhere"
    return source.replace(mutation.before, mutation.after)


def put_in_place(mutation):
    """Install the module with the fault for all importers."""
    name = f"pegasus.isaac.{mutation.module}"
    for known in [known for known in sys.modules if known.startswith("pegasus.isaac.")]:
        del sys.modules[known]
    package = importlib.import_module("pegasus.isaac")
    module = ModuleType(name)
    module.__dict__.update(__file__=f"{mutation.module}.py", __package__="pegasus.isaac")
    sys.modules[name] = module
    exec(compile(planted(mutation), f"{mutation.module}.py", "exec"), module.__dict__)
    setattr(package, mutation.module, module)


@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.trial], ids=lambda m: m.name)
def test_a_fault_does_not_get_through_its_trial(isaac, mutation):
    """A trial would pass in spite of its fault."""
    kit = isaac(mutation.version, exact=True)
    put_in_place(mutation)
    with pytest.raises(Exception):  # noqa: B017, PT011
        mutation.trial(kit)
    kit.log.clear()


@pytest.mark.parametrize("trial", sorted({m.trial for m in MUTATIONS if m.trial}, key=lambda t: t.__name__))
def test_without_a_fault_the_trials_pass(isaac, trial):
    """A trial that always fails would seem to find every fault."""
    trial(isaac(exact=True))


@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if not m.trial], ids=lambda m: m.name)
def test_the_contract_knows_a_fault(tmp_path, mutation):
    """A call that Isaac Sim lacks would pass the contract."""
    for path in PACKAGE.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / f"{mutation.module}.py").write_text(planted(mutation), encoding="utf-8")
    checker = Checker(tmp_path, "pegasus.isaac", load(mutation.version), only=ONLY)
    assert len(checker.faults()) == 1
