"""`clover-decide load`: what a running service carries."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import typer

from clover_eval.load import put_load


def load(
    url: Annotated[str, typer.Argument(help="Where the service listens.")] = "http://127.0.0.1:8000",
    clients: Annotated[int, typer.Option(help="Clients at once.", min=1)] = 32,
    seconds: Annotated[float, typer.Option(help="How long they go on asking.", min=0.1)] = 60.0,
    mode: Annotated[str, typer.Option(help="joint or independent.")] = "joint",
    pack: Annotated[str, typer.Option(help="The pack to ask, about its own example: contract, or alert, which is shorter.")] = "contract",
    key: Annotated[str | None, typer.Option(help="An API key, where one is needed.", envvar="CLOVER_KEY")] = None,
    seed: Annotated[int, typer.Option(help="Of the texts.")] = 0,
) -> int:
    """Put load on a service and tell what it carried, as JSON. Exit code 1 if an answer was mixed up or a request failed.

    clover-decide load http://127.0.0.1:8000 --clients 32 --seconds 60
    """
    done = asyncio.run(put_load(url, clients=clients, seconds=seconds, key=key, mode=mode, pack=pack, seed=seed))
    print(json.dumps(done.row()))
    return 1 if done.mixed_up or done.failed or not done.seconds else 0
