"""Load on a service: many clients at once, each of whose requests carries a word that must come back."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from clover_decide.packs import Pack, load_pack

SLEEP = 0.05
"""Seconds that a refused client waits at most before it comes again."""


@dataclass
class Load:
    """What came of it. `seconds` of every answered request; `refused` are answers of an overloaded service, `failed` all others but 200."""

    clients: int
    wall: float = 0.0
    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    mixed_up: int = 0

    @property
    def throughput(self) -> float:
        """Answered requests a second."""
        return len(self.seconds) / self.wall if self.wall else 0.0

    def percentile(self, share: float) -> float | None:
        """Seconds within which this share of the answered requests was answered; None if none was."""
        ranked = sorted(self.seconds)
        return round(ranked[min(len(ranked) - 1, int(share * len(ranked)))], 3) if ranked else None

    def row(self) -> dict[str, Any]:
        """The figures."""
        latency = {f"p{round(100 * share)}": self.percentile(share) for share in (0.5, 0.95, 0.99)}
        counts = {"answered": len(self.seconds), "refused": self.refused, "failed": dict(self.failed), "mixed_up": self.mixed_up}
        return {"clients": self.clients, "wall": round(self.wall, 1), "per_second": round(self.throughput, 2), **latency, **counts}


async def put_load(
    url: str, *, clients: int, seconds: float, key: str | None = None, mode: str = "joint", pack: str = "contract", seed: int = 0
) -> Load:
    """Ask a pack about texts that are all different, from so many clients for so long; then wait for what is under way."""
    load, end = Load(clients), time.monotonic() + seconds
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    start = time.monotonic()
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=120, limits=limits) as http:
        await asyncio.gather(
            *(_client(http, load, end, load_pack(pack), mode, random.Random(f"{seed}-{number}")) for number in range(clients))
        )
    load.wall = time.monotonic() - start
    return load


async def _client(http: httpx.AsyncClient, load: Load, end: float, pack: Pack, mode: str, rng: random.Random) -> None:
    asked = {key: question.model_dump(mode="json") for key, question in pack.questions.questions.items()}
    while time.monotonic() < end:
        word = f"W{rng.randrange(10**9)}"
        nonce = {"type": "choice", "text": "Which case is it?", "options": [word, "another"]}
        body = {"material": f"Case {word}. {pack.example}", "questions": {**asked, word: nonce}, "mode": mode}
        begun = time.monotonic()
        try:
            answer = await http.post("/v1/decide", json=body)
        except httpx.TransportError as error:
            load.failed[type(error).__name__] += 1
            continue
        if answer.status_code in (503, 529):
            load.refused += 1
            await asyncio.sleep(rng.uniform(0.0, SLEEP))
        elif answer.status_code != 200:
            load.failed[str(answer.status_code)] += 1
        else:
            load.seconds.append(time.monotonic() - begun)
            answers = answer.json()["answers"]
            load.mixed_up += set(answers) != {*asked, word} or set(answers[word]["probabilities"]) != {word, "another"}
