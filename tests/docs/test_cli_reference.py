"""docs/cli.md is what --help says."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.docs.cli_reference import reference


def test_the_cli_reference_is_current() -> None:
    assert (ROOT / "docs" / "cli.md").read_text() == reference(), "renew it: python -m tests.docs.cli_reference > docs/cli.md"
