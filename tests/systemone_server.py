"""A minimal System One server over a Decider, for trying the suites of others. For tests only: no limits, no keys, one request at a time.

python -m tests.systemone_server --port 8123 [--mode joint]
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from clover_decide import Answer, CloverError, Decider
from clover_decide.errors import QuestionError
from clover_decide.questions import AnyQuestion, Boolean, Choice, Score

NAME = "clover-mini"


def read_question(key: str, asked: Any) -> AnyQuestion:
    """One question of a request.

    Raises:
        CloverError: it cannot be asked.
    """
    if not isinstance(asked, dict):
        raise QuestionError("is no object", path=key, given=asked, accepted="a question")
    text, criteria = said(asked.get("instructions")) or "Does this hold?", asked.get("criteria")
    match asked.get("type"):
        case "noul":
            sides = criteria if isinstance(criteria, dict) else {}
            told = [f"{word} if {said(sides[side])}" for side, word in (("true", "yes"), ("false", "no")) if sides.get(side)]
            return Boolean(f"{text} ({'; '.join(told)})" if told else text)
        case "choice" if isinstance(criteria, dict) and criteria:
            return Choice(text, options={name: said(described) or None for name, described in criteria.items()})
        case "score" if isinstance(criteria, list) and all(criteria):
            return Score(text, levels=[{"value": str(i), "description": said(level)} for i, level in enumerate(criteria)])
        case _:
            accepted = "noul, choice with criteria, or score with a list of levels"
            raise QuestionError("cannot be asked", path=key, given=asked.get("type"), accepted=accepted)


def said(value: Any) -> str:
    return "" if value is None else value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def wire_answer(question: AnyQuestion, asked: Any, answer: Answer) -> dict[str, Any]:
    """An answer as the format has it."""
    p = dict(answer.probabilities)
    if isinstance(question, Boolean):
        return {"type": "noul", "noul": p["true"]}
    if isinstance(question, Choice):
        return {"type": "choice", "choice": answer.value, "probabilities": p, "confidence": answer.confidence}
    levels = {str(i): p[str(i)] for i in range(len(asked["criteria"]))}
    mean = sum(int(i) * share for i, share in levels.items())
    legend = {str(i): said(level) for i, level in enumerate(asked["criteria"])}
    return {"type": "score", "score": mean, "legend": legend, "probabilities": levels, "confidence": answer.confidence}


def respond(decider: Decider, body: Any, mode: str) -> dict[str, Any]:
    """The response to a request.

    Raises:
        CloverError: the request cannot be answered.
    """
    if not isinstance(body, dict) or not isinstance(body.get("questions"), dict) or not body["questions"]:
        raise QuestionError("no questions", path="body.questions", accepted="an object of questions")
    questions = {key: read_question(key, asked) for key, asked in body["questions"].items()}
    decision = decider.decide(body.get("state"), questions, mode=body.get("mode", mode))
    answers = {key: wire_answer(q, body["questions"][key], decision[key]) for key, q in questions.items()}
    usage = {"input_tokens": decision.usage.input_tokens, "output_tokens": decision.usage.output_tokens}
    return {"model": NAME, "answers": answers, "usage": usage}


def make_server(decider: Decider, port: int, mode: str = "independent") -> ThreadingHTTPServer:
    """A server on 127.0.0.1, not yet running."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                self._send(200, respond(decider, json.loads(raw), mode))
            except (CloverError, ValueError) as error:
                self._send(422, {"detail": [{"loc": ["body"], "msg": str(error), "type": type(error).__name__}]})

        def do_GET(self) -> None:
            self._send(200, {"models": [{"name": NAME, "description": "clover-mini", "release_date": "2026-11-29"}]})

        def _send(self, status: int, content: Any) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--mode", choices=["independent", "joint"], default="independent")
    parser.add_argument("--dtype", default="bfloat16")
    args = parser.parse_args()
    server = make_server(Decider(NAME, dtype=args.dtype), args.port, args.mode)
    print(f"http://127.0.0.1:{args.port}/v1/systemone", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
