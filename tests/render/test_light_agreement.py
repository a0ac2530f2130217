"""Test of the fast renderer's light against the path tracer in whole worlds."""

import importlib.util
import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pegasus.contracts.renderer import Renderer
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.render.photo.renderer import MitsubaRenderer

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "rendering.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rendering_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def renderers() -> Iterator[tuple[Renderer, Renderer]]:
    fast, traced = EmbreeRenderer(threads=2), MitsubaRenderer()
    yield fast, traced
    fast.close()
    traced.close()


@pytest.mark.photo
@pytest.mark.parametrize("name", ["flat", "box_room"])
def test_fast_and_path_traced_light_agree(
    benchmark: ModuleType, renderers: tuple[Renderer, Renderer], name: str
) -> None:
    """Without occlusion and bounces a room is 13 % too bright and 14 degrees too blue."""
    brighter, turned, _ = benchmark.light_difference(name, *renderers)
    assert abs(brighter) < 0.1
    assert abs(math.degrees(turned)) < 10.0
