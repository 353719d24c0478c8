"""`clover-decide models`: what can be loaded."""

from __future__ import annotations

import json

from clover_decide.cli.options import JsonOption
from clover_engine.folder import shipped_models


def models(as_json: JsonOption = False) -> None:
    """List the models that ship with this installation."""
    found = shipped_models()
    if as_json:
        print(json.dumps(found))
        return
    for model in found:
        print(
            f"{model['name']}  {model['family']}, {model['layers']} layers, context {model['context']}, "
            f"{model['megabytes']} MB, fingerprint {model['fingerprint']}\n  {model['path']}"
        )
    if not found:
        print("none: give a model folder with --model")
