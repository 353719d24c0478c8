"""The OpenAPI document: shipped, with examples that are answered, and true of what the service answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from clover_decide.service.app import openapi
from tests.conftest import ROOT

DOCUMENT = openapi()
SHIPPED = ROOT / "schemas" / "openapi.json"
REQUESTS = [(path, example) for path, methods in DOCUMENT["paths"].items() if "post" in methods
            for schema in DOCUMENT["components"]["schemas"].items() for example in schema[1].get("examples", ())
            if schema[0] in json.dumps(methods["post"]["requestBody"])]  # fmt: skip
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method"
EXAMPLES = 5
"""Random cases an operation, besides those that cover the document."""


def test_the_shipped_document_is_that_of_the_service() -> None:
    """`python -m tests.service.test_openapi` writes it."""
    assert json.loads(SHIPPED.read_text()) == json.loads(json.dumps(DOCUMENT))
    assert DOCUMENT["openapi"].startswith("3.1")


def test_every_post_has_an_example() -> None:
    assert {path for path, _ in REQUESTS} == {path for path, methods in DOCUMENT["paths"].items() if "post" in methods}


@pytest.mark.parametrize(("path", "example"), REQUESTS, ids=lambda case: str(case)[:40])
def test_every_example_is_answered(http: httpx.Client, path: str, example: Any) -> None:
    answer = http.post(path, json=example)
    assert answer.status_code == 200, answer.text


def test_every_answer_is_one_that_the_document_has(url: str, tmp_path: Path) -> None:
    """schemathesis: no 5xx but those of overload; no status, media type or body that is not documented; 405 for other methods."""
    words = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json", "--checks", CHECKS]
    words += ["--max-examples", str(EXAMPLES), "--generation-deterministic", "--suppress-health-check", "all", "--no-color"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    generated = re.search(r"(\d+) generated", done.stdout)
    assert generated and int(generated.group(1)) > 500 and "Tested: 11" in done.stdout, done.stdout


if __name__ == "__main__":
    SHIPPED.write_text(json.dumps(DOCUMENT, indent=1, ensure_ascii=False) + "\n")
