"""Contract test: the stand-ins have the signatures of Isaac Sim, in each version."""

import inspect
import json

import pytest

from tests.isaac.contract import ADDED, ALL_VERSIONS, FOLDER, load
from tests.isaac.fakes import modules


def alike(fake, contract):
    """Return whether a fake has exactly the contract's signature."""
    ours = [p for p in fake.parameters.values() if p.name not in ("self", "cls")]
    theirs = list(contract.parameters.values())
    if [(p.name, p.kind) for p in ours] != [(p.name, p.kind) for p in theirs]:
        return False
    for mine, said in zip(ours, theirs, strict=True):
        if (mine.default is inspect.Parameter.empty) != (said.default is inspect.Parameter.empty):
            return False
        # The contract stores defaults that are not literals as source text.
        if mine.default != said.default and not (isinstance(said.default, str) and "." in said.default):
            return False
    return True


def public(fake):
    """Return the public names that a class defines itself."""
    common = set(dir(object)) | (set(dir(int)) if issubclass(fake, int) else set())
    return [name for name in dir(fake) if not name.startswith("_") and name not in common | {"name", "value"}]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_every_fake_is_called_as_the_contract_says(version):
    """A fake would accept a call that Isaac Sim rejects."""
    contract = load(version)
    classes = dict(modules.objects(version))
    for module, content in modules.members(version).items():
        assert contract.has_module(module), module
        for name, fake in content.items():
            if inspect.isclass(fake):
                classes[f"{module}:{name}"] = fake
                continue
            member = contract.modules[module].get(name)
            assert member is not None, f"{module}.{name}"
            if member.signature is None:
                continue
            made = inspect.signature(fake)
            assert alike(made, member.signature), f"{module}.{name}{made} is not {member.signature}"
    for key, fake in classes.items():
        assert key in contract.classes, key
        for part in public(fake):
            member = contract.member(key, part)
            assert member is not None, f"{key}.{part}"
            if member.signature is not None:
                made = inspect.signature(getattr(fake, part))
                assert alike(made, member.signature), f"{key}.{part}{made} is not {member.signature}"
        if (start := contract.classes[key].get("__init__")) is not None:
            made = inspect.signature(fake.__init__)
            if [p.name for p in made.parameters.values()] == ["self", "args", "kwargs"]:
                continue  # Binds to the contract itself.
            assert alike(made, start.signature), f"{key}{made} is not {start.signature}"


@pytest.mark.parametrize("file", ADDED)
def test_what_the_contract_adds_names_its_source(file):
    """An added signature would have no source."""
    entries = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    for key, entry in entries.items():
        assert key in ("about", "shorthand") or entry["source"].startswith("https://"), key
