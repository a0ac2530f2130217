"""Tests of imports: floors of the package, third-party packages, circles of modules, names of test files."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_imports_keep_to_the_contracts():
    """A package would import from a higher floor, or a third-party package be imported outside its edge."""
    pytest.importorskip("importlinter")
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as f; f()",
        "--no-cache",
    ]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout
    assert "0 broken" in ended.stdout


def circles(imports):
    """Return the modules that are in circles of imports, or between two: {module: what it imports}."""
    left = {module: set(used) & set(imports) for module, used in imports.items()}
    while ends := {module for module, used in left.items() if not used}:
        left = {module: used - ends for module, used in left.items() if module not in ends}
    while ends := set(left) - {used for each in left.values() for used in each}:
        left = {module: used for module, used in left.items() if module not in ends}
    return sorted(left)


def test_no_module_needs_a_module_that_needs_it():
    """Modules could only be understood together: each needs the other, in a function or for types."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("pegasus", exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 600
    assert circles(imports) == []


def test_a_circle_is_found():
    """The test above would pass whatever is imported."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == ["b", "c"]


def test_no_two_test_files_have_one_name():
    """Pytest would refuse to run the whole suite, while each file runs alone."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
