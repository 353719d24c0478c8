"""A service over a tiny random model, which answers as fast as a service can, and one over clover-mini."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from clover_decide import Decider
from clover_engine.tokenizer import Tokenizer
from tests.conftest import make_engine
from tests.service.serving import serving


@pytest.fixture(scope="session")
def tiny(tokenizer: Tokenizer) -> Decider:
    return Decider.from_engine(make_engine(tokenizer, context=8192), "clover-mini", batch=4)


@pytest.fixture(scope="session")
def url(tiny: Decider) -> Iterator[str]:
    with serving(tiny) as address:
        yield address


@pytest.fixture(scope="session")
def http(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=60) as client:
        yield client
