"""Services on ports of their own, in this process or in one of theirs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from clover_decide import Decider
from clover_decide.service.app import create_app
from clover_decide.service.logs import configure
from clover_decide.service.settings import Settings

# Not on stdout, whichever tests run together.
configure("error")


@contextmanager
def serving(decider: Decider, **settings: Any) -> Iterator[str]:
    """The address of a service over a model, in a thread of this process."""
    app = create_app(Settings(**settings), decider)
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=10)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive() and time.monotonic() < deadline, "the service did not start"
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
