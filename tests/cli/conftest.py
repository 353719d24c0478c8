"""One model for all calls of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest

from clover_decide import decider


@pytest.fixture(autouse=True, scope="package")
def loaded_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decider, "load_model", lru_cache(maxsize=4)(decider.load_model))
        yield
