"""A GGUF model in llama.cpp, constrained by a grammar made of a JSON Schema."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clover_decide.errors import ModelError
from clover_eval.datasets import LabelledGroup
from clover_eval.runners.base import Reply, RunnerError, files_sha, need
from clover_eval.runners.prompted import PROMPT_SHA, messages, read_reply, schema


class LlamaCppRunner:
    """Greedy decoding of a whole group's answers as one JSON object. Calls run one after another.

    Args:
        model: a GGUF file.
        most: new tokens at most.
        context: tokens of prompt and reply.
    """

    def __init__(self, model: str, most: int = 320, context: int = 4096) -> None:
        path = Path(model)
        if not path.is_file():
            raise ModelError("no such file", path="runner", given=model, accepted="a GGUF file")
        self._package: Any = need("llama_cpp", "llamacpp")
        self._llama: Any = self._package.Llama(model_path=model, n_ctx=context, n_threads=os.cpu_count(), seed=0, verbose=False)
        self._most, self._lock = most, threading.Lock()
        self.name = f"AR llama.cpp {path.name}"
        self.identity: Mapping[str, Any] = {
            "model": files_sha([path]),
            "prompt": PROMPT_SHA,
            "most": most,
            "context": context,
            "llama_cpp": self._package.__version__,
        }

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        """Nothing to do: each group has a schema of its own."""

    def answer(self, group: LabelledGroup) -> Reply:
        with self._lock:
            try:
                grammar = self._package.LlamaGrammar.from_json_schema(json.dumps(schema(group)), verbose=False)
            except Exception as error:
                # Left to itself the library would go on without the schema.
                raise RunnerError(f"the schema has no grammar: {error}", path=self.name, accepted="a schema llama.cpp knows") from None
            # Nothing of an earlier prompt is reused.
            self._llama.reset()
            try:
                made = self._llama.create_chat_completion(messages=messages(group), grammar=grammar, temperature=0.0, max_tokens=self._most)
            except ValueError as error:
                raise RunnerError(str(error), path=self.name, accepted="a shorter material or a larger context") from None
        return read_reply(group, made["choices"][0]["message"]["content"], self.name)
