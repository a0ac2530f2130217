"""Where tests keep what is made once."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of this run's own: nothing of the user's is read or written."""
    before = os.environ.get("PEGASUS_CACHE_DIR")
    os.environ["PEGASUS_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["PEGASUS_CACHE_DIR"]
    else:
        os.environ["PEGASUS_CACHE_DIR"] = before
