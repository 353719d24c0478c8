"""The page at / in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_decide import Decider, load_pack
from clover_decide.service.keys import add_key
from tests.service.browser import CHROMIUM, browsing
from tests.service.serving import serving

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
SUBMIT = "document.getElementById('form').requestSubmit(), true"
ROWS = "[...document.querySelectorAll('#answers tbody tr')].map(row => [...row.cells].map(cell => cell.innerText.split(/\\s/)[0]))"


def test_a_pack_is_tried_in_both_modes(tiny: Decider, tmp_path: Path) -> None:
    pack = load_pack("contract")
    with serving(tiny) as url, browsing(url, tmp_path) as page:
        assert page.until("[...document.getElementById('pack').options].map(o => o.value).join()") == "alert,contract,dispatch,triage"
        page.value("pack.value = 'contract', pack.dispatchEvent(new Event('change'))")
        assert page.value("material.value") == pack.example.strip()
        page.value(SUBMIT)
        page.until("!answers.hidden")
        expected = tiny.decide(pack.example.strip(), pack.questions, independent=True)
        shown = {True: "yes", False: "no"}
        for row, (key, answer) in zip(page.value(ROWS), expected.answers.items(), strict=True):
            assert answer.independent is not None
            values = [shown.get(v, str(v)) if isinstance(v, bool) else str(v) for v in (answer.value, answer.independent.value)]
            assert row == [key, *values]
        assert page.value("document.querySelectorAll('#facts li').length") == len(expected.facts)
        assert not page.errors


def test_what_is_wrong_is_shown(tiny: Decider, tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.yaml", "ours")
    with serving(tiny, keys=tmp_path / "keys.yaml") as url, browsing(url, tmp_path / "profile") as page:
        assert "a key is needed" in page.until("document.querySelector('#state.error')?.innerText")
        page.value(f"document.getElementById('key').value = '{key}', document.getElementById('key').dispatchEvent(new Event('change'))")
        page.until("document.getElementById('pack').options.length")
        page.value("material.value = '<b>&nbsp;</b>' + 'word '.repeat(9000)")
        page.value(SUBMIT)
        assert "accepted: at most 8192 tokens" in page.until("document.querySelector('#state.error')?.innerText")
