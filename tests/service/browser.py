"""A page in a headless Chromium, driven over its debugging protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


class Page:
    """One open page."""

    def __init__(self, line: ClientConnection) -> None:
        self._line, self._numbers = line, count(1)
        self.errors: list[str] = []
        self.call("Runtime.enable")
        self.call("Log.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command; errors that the page has meanwhile are kept."""
        number = next(self._numbers)
        self._line.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            told = json.loads(self._line.recv(timeout=30))
            if told.get("method") == "Runtime.exceptionThrown":
                self.errors.append(told["params"]["exceptionDetails"]["text"])
            if told.get("method") == "Log.entryAdded" and told["params"]["entry"]["level"] == "error":
                self.errors.append(told["params"]["entry"]["text"])
            if told.get("id") == number:
                assert "error" not in told, told
                return told["result"]

    def value(self, script: str) -> Any:
        """What an expression comes to."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)["result"].get("value")

    def until(self, script: str, seconds: float = 30.0) -> Any:
        """The first true value of an expression."""
        end = time.monotonic() + seconds
        while not (value := self.value(script)):
            assert time.monotonic() < end, f"{script} did not become true; {self.value('document.body.innerText')}; {self.errors}"
            time.sleep(0.05)
        return value

    def picture(self, path: Path) -> None:
        """A PNG of what is seen."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))


@contextmanager
def browsing(url: str, profile: Path) -> Iterator[Page]:
    """A page that shows an address."""
    assert CHROMIUM is not None
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={profile}", url]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        told, end = profile / "DevToolsActivePort", time.monotonic() + 60
        while not told.is_file() or not told.read_text().strip():
            assert time.monotonic() < end, "the browser did not start"
            time.sleep(0.05)
        port = told.read_text().split()[0]
        pages: list[dict[str, Any]] = []
        while not pages:
            pages = [page for page in httpx.get(f"http://127.0.0.1:{port}/json").json() if page["type"] == "page"]
        with connect(pages[0]["webSocketDebuggerUrl"], max_size=None) as line:
            yield Page(line)
    finally:
        process.terminate()
        process.wait(30)
