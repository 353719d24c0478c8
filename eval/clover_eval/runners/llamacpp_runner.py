"""A GGUF model in llama.cpp, constrained by a grammar made of a JSON Schema."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clover_decide.errors import ModelError
from clover_eval.datasets import LabelledGroup
from clover_eval.runners.base import Reply, RunnerError, need
from clover_eval.runners.prompted import PROMPT_SHA, messages, read_reply, schema


class LlamaCppRunner:
    """Greedy decoding of a whole group's answers as one JSON object.

    Args:
        model: a GGUF file.
        most: new tokens at most.
        context: tokens of prompt and reply.
    """

    def __init__(self, model: str, most: int = 320, context: int = 4096) -> None:
        llama_cpp = need("llama_cpp", "llamacpp")
        path = Path(model)
        if not path.is_file():
            raise ModelError("no such file", path="runner", given=model, accepted="a GGUF file")
        self._llama: Any = llama_cpp.Llama(model_path=model, n_ctx=context, n_threads=os.cpu_count(), seed=0, verbose=False)
        self._most = most
        self.name = f"AR llama.cpp {path.name}"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        self.identity: Mapping[str, Any] = {"model": digest, "prompt": PROMPT_SHA, "most": most, "llama_cpp": llama_cpp.__version__}

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        """Nothing to do: each group has a schema of its own."""

    def answer(self, group: LabelledGroup) -> Reply:
        try:
            made = self._llama.create_chat_completion(
                messages=messages(group),
                response_format={"type": "json_object", "schema": schema(group)},
                temperature=0.0,
                max_tokens=self._most,
            )
        except ValueError as error:
            # The prompt is longer than the context, or the schema has no grammar.
            raise RunnerError(str(error), path=self.name, accepted="a shorter material or a larger context") from None
        return read_reply(group, made["choices"][0]["message"]["content"], self.name)
