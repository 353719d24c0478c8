"""Every code block in README and docs is executed; printed output must match what is shown.

python: run as a program in the repository root. A `text` block right after it is its output. sh: every clover-decide
command is run; set-up and training commands are checked without running them (`make -n`, `--help`, extras that exist).
yaml, json: must parse. Numbers in outputs may differ by 0.03, since floating point differs between machines; words may not.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

import pytest
import yaml

from clover_decide import Decider
from tests.conftest import ROOT
from tests.service.serving import serving

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "train" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+")
TOLERANCE = 0.03
ADDRESS = "http://127.0.0.1:8000"
"""Where pages have the service listen."""


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    code: str
    output: str | None


def blocks() -> list[Block]:
    found: list[Block] = []
    for page in PAGES:
        text = page.read_text()
        matches = list(FENCE.finditer(text))
        for i, match in enumerate(matches):
            following = matches[i + 1] if i + 1 < len(matches) else None
            adjacent = following and following.group(1) == "text" and not text[match.end() : following.start()].strip()
            output = following.group(2) if following and adjacent else None
            line = text[: match.start()].count("\n") + 1
            found.append(Block(page, line, match.group(1), match.group(2), output))
    return found


def name(block: Block) -> str:
    return f"{block.page.relative_to(ROOT)}:{block.line}"


def of(*languages: str) -> list[Block]:
    return [block for block in blocks() if block.language in languages]


def same(shown: str, real: str) -> bool:
    """Equal words in equal order; decimals within TOLERANCE; spaces, bar characters and seconds do not count."""

    def words(text: str) -> list[str]:
        flat = " ".join(re.sub(r"[█░]+", " ", text).split())
        return re.sub(r"\d+\.\d+ s\b", "# s", flat).split()

    a, b = words(shown), words(real)
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if NUMBER.sub("#", x) != NUMBER.sub("#", y):
            return False
        if any(abs(float(p) - float(q)) > TOLERANCE for p, q in zip(NUMBER.findall(x), NUMBER.findall(y), strict=True)):
            return False
    return True


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "110"}


def execute(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, cwd=cwd, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def program(code: CodeType, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a program prints, run in this process as if it were the only one: a model that another has loaded need not be loaded again."""
    monkeypatch.chdir(ROOT)
    # A class of its own finds the annotations of its module here.
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(code, module.__dict__)
    return printed.getvalue()


def test_every_block_has_a_language_that_is_checked() -> None:
    assert {block.language for block in blocks()} <= {"python", "text", "sh", "yaml", "json"}
    fences = sum(page.read_text().count("\n```") for page in PAGES)
    assert fences == 2 * len(blocks()), "a fence without a language, or unbalanced"


@pytest.fixture(scope="session")
def service(mini: Decider) -> Iterator[str]:
    with serving(mini) as url:
        yield url


@pytest.fixture
def addressed(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Code with the address of a running service in place of the one that pages have."""
    return lambda code: code.replace(ADDRESS, request.getfixturevalue("service")) if ADDRESS in code else code


@pytest.mark.parametrize("block", of("python"), ids=name)
def test_python(block: Block, addressed: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    real = program(compile(addressed(block.code), name(block), "exec"), monkeypatch)
    if block.output is not None:
        assert same(block.output, real), f"shown:\n{block.output}\nreal:\n{real}"


@pytest.mark.parametrize("block", of("sh"), ids=name)
def test_shell(block: Block, addressed: Callable[[str], str], tmp_path: Path) -> None:
    real = ""
    for line in commands(addressed(block.code)):
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "make":
            execute(["make", "-n", *words[1:]], ROOT)
        elif words[0] in ("pip", "git", "cd"):
            check_setup(words)
        elif words[:2] == ["python", "-m"] and words[2].startswith(("clover_train", "clover_linked", "tests.")):
            execute([sys.executable, "-m", words[2], "--help"], ROOT)
        elif words[:2] == ["clover-decide", "serve"]:
            execute([*words, "--check"], tmp_path)
        elif words[:2] == ["clover-decide", "keys"]:
            execute(words, tmp_path)
        elif words[0] == "curl":
            assert "detail" not in json.loads(execute(words, ROOT)), line
        elif words[0] == "clover-decide":
            real += execute(["bash", "-c", line], ROOT)
        else:
            assert words[0] == "python" and words[1].startswith("examples/"), line
            real += execute([sys.executable, words[1]], ROOT)
    if block.output is not None:
        assert same(block.output, real), f"shown:\n{block.output}\nreal:\n{real}"


def commands(code: str) -> Iterator[str]:
    """Lines of a shell block; one that ends with a backslash, or within quotes, goes on in the next."""
    line = ""
    for part in code.splitlines():
        line = f"{line}\n{part}" if line else part
        if line.endswith("\\"):
            line = line[:-1]
        elif line.count("'") % 2 == 0:
            yield line
            line = ""
    assert not line, line


def check_setup(words: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for word in words:
        for group in re.findall(r"\[([\w,]+)\]", word):
            assert set(group.split(",")) <= set(extras), word
    if "-c" in words:
        assert (ROOT / words[words.index("-c") + 1]).is_file()


@pytest.mark.parametrize("block", of("yaml", "json"), ids=name)
def test_data(block: Block) -> None:
    assert yaml.safe_load(block.code) if block.language == "yaml" else json.loads(block.code)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_programs_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program(compile(path.read_text(), str(path), "exec"), monkeypatch).strip()


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page}: {target}"
