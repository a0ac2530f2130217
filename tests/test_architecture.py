"""Tests of the import contracts in pyproject.toml: floors of the package, and third-party packages."""

import subprocess
import sys
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
