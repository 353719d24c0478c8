"""Any transformers checkpoint, constrained by outlines to a JSON Schema."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clover_decide.errors import ModelError
from clover_eval.datasets import LabelledGroup
from clover_eval.runners.base import Reply, files_sha, need
from clover_eval.runners.prompted import PROMPT_SHA, messages, read_reply, schema


class OutlinesRunner:
    """Greedy decoding of a whole group's answers as one JSON object. Calls run one after another.

    Args:
        model: a folder of a transformers checkpoint, a hub name that transformers can load, or a GGUF file.
        most: new tokens at most.
    """

    def __init__(self, model: str, most: int = 320) -> None:
        outlines, transformers = need("outlines", "ar"), need("transformers", "ar")
        path = Path(model)
        place, extra = (str(path.parent), {"gguf_file": path.name}) if path.suffix == ".gguf" else (model, {})
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(place, **extra)
            loaded: Any = transformers.AutoModelForCausalLM.from_pretrained(place, **extra)
        except Exception as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise ModelError(f"cannot be loaded: {first}", path="runner", given=model, accepted="a transformers checkpoint") from error
        self._model = outlines.from_transformers(loaded.eval(), self._tokenizer)
        self._outlines: Any = outlines
        self._most, self._lock = most, threading.Lock()
        files = [path] if path.is_file() else [f for f in path.glob("*") if f.is_file()] if path.is_dir() else []
        self.name = f"AR outlines {path.name}"
        version = {"outlines": getattr(outlines, "__version__", ""), "transformers": transformers.__version__}
        self.identity: Mapping[str, Any] = {"model": files_sha(files) if files else model, "prompt": PROMPT_SHA, "most": most, **version}

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        """Nothing to do: each group has a schema of its own."""

    def answer(self, group: LabelledGroup) -> Reply:
        prompt = self._tokenizer.apply_chat_template(messages(group), tokenize=False, add_generation_prompt=True)
        form = self._outlines.json_schema(json.dumps(schema(group)))
        with self._lock:
            text = self._model(prompt, form, max_new_tokens=self._most, do_sample=False)
        return read_reply(group, text, self.name)
