"""`clover-decide serve` and `clover-decide keys`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from clover_decide.errors import MissingExtraError

keys = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="API keys of a service, in a file that has their hashes."
)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (8000).", min=0, max=65535)] = None,
    workers: Annotated[int | None, typer.Option(help="Processes (1); each loads the model.", min=1, max=64)] = None,
    model: Annotated[str | None, typer.Option(help="A shipped model's name or a model folder (clover-mini).")] = None,
    dtype: Annotated[str | None, typer.Option(help="int8, bfloat16 or float32 (auto: the fastest here).")] = None,
    batch: Annotated[int | None, typer.Option(help="Requests answered side by side (8).", min=1, max=64)] = None,
    queue: Annotated[int | None, typer.Option(help="Requests that may wait (64).", min=0)] = None,
    key_file: Annotated[Path | None, typer.Option("--keys", help="A file of API keys; without one no key is needed.")] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of settings; docs/service.md lists them.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Load everything, answer one question, and end.")] = False,
) -> int:
    """Answer over HTTP until SIGTERM, then finish what was accepted.

    Every setting can also be given in the environment, as CLOVER_ and its name: CLOVER_PORT=9000.

    clover-decide serve --port 9000

    clover-decide serve --keys keys.yaml --check
    """
    # Threads that wait for work in a loop would take the processor from those that have some.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    given = {
        "host": host,
        "port": port,
        "workers": workers,
        "model": model,
        "dtype": dtype,
        "batch": batch,
        "queue": queue,
        "keys": key_file,
    }
    if config is not None:
        os.environ["CLOVER_CONFIG"] = str(config)
    # Workers are processes of their own, which read the environment again.
    os.environ.update({f"CLOVER_{name.upper()}": str(value) for name, value in given.items() if value is not None})
    try:
        import uvicorn

        from clover_decide.service.app import create_app, from_environment
        from clover_decide.service.settings import read_settings
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("clover_"):
            raise
        raise MissingExtraError(f"serving needs {error.name}", path="serve", accepted="pip install 'clover-decide[serve]'") from None
    settings = read_settings()
    if check:
        return _check(create_app(settings), settings)
    app: Any = from_environment() if settings.workers == 1 else "clover_decide.service.app:from_environment"
    uvicorn.run(
        app,
        factory=settings.workers > 1,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        timeout_graceful_shutdown=settings.drain,
        server_header=False,
        access_log=False,
        log_config=None,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
    )
    return 0


def _check(app: Any, settings: Any) -> int:
    from clover_decide.questions import Boolean

    decider = app.state.context.decider
    decision = decider.decide("The service is being checked.", {"checked": Boolean("Is the service being checked?")})
    told = {
        "model": f"{decider.model} {decider.fingerprint}, {decider.dtype}",
        "answers": f"one in {decision.timing.total:.2f} s",
        "listens on": f"http://{settings.host}:{settings.port}, {settings.workers} process(es)",
        "takes": f"{settings.batch} requests side by side, {settings.queue} waiting, {settings.deadline:g} s each",
        "keys": "none are needed" if settings.keys is None else f"of {settings.keys}",
    }
    for name, text in told.items():
        print(f"{name:12}{text}")
    return 0


@keys.command("add")
def add(
    file: Annotated[Path, typer.Argument(help="The file of keys; made if there is none.")],
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    per_minute: Annotated[int | None, typer.Option(help="Requests a minute that it may make.", min=1)] = None,
) -> int:
    """Make a key and print it. Only its hash is kept, so it cannot be printed again."""
    from clover_decide.service.keys import add_key

    print(add_key(file, name, per_minute))
    print(f"{name} added to {file}; running services take it at once", file=sys.stderr)
    return 0


@keys.command("revoke")
def revoke(
    file: Annotated[Path, typer.Argument(help="The file of keys.")], name: Annotated[str, typer.Argument(help="Whose key it is.")]
) -> int:
    """Revoke a key; running services refuse it from the next request on."""
    from clover_decide.service.keys import revoke_key

    revoke_key(file, name)
    print(f"{name} revoked in {file}", file=sys.stderr)
    return 0


@keys.command("list")
def listed(file: Annotated[Path, typer.Argument(help="The file of keys.")]) -> int:
    """Names of keys, their limits, and whether they were revoked."""
    from clover_decide.service.keys import read_keys

    for key in read_keys(file):
        limit = f"{key.per_minute} a minute" if key.per_minute else "the service's limit"
        print(f"{key.name}\t{limit}\t{'revoked' if key.revoked else 'valid'}")
    return 0
