"""Every error a caller can meet.

CloverError
├── InputError              the request is wrong; nothing was computed (CLI exit code 2)
│   ├── MaterialError       empty material, wrong type, not UTF-8
│   ├── QuestionError       a question or the set of questions is not askable
│   ├── RuleError           a rule between questions cannot be read, or the rules cannot hold together
│   ├── FormatError         a file or payload could not be read (JSON, YAML, CSV, packs)
│   └── LimitError          a documented limit would be exceeded; nothing is ever truncated
├── ModelError              the model cannot be loaded or does not fit what is asked of it
│   └── MissingExtraError   an optional dependency is not installed
├── ResultError             a decision cannot be turned into what was asked (say, a pydantic class)
└── ServiceError            a service cannot be reached, or does not answer
    └── RefusedError        it refuses: no key, too many requests, an unknown model
"""

from __future__ import annotations

from typing import Any


class CloverError(Exception):
    """Base of the hierarchy: what is wrong, where, what was given and what would be accepted.

    Args:
        problem: one clause saying what is wrong and why it matters.
        path: dotted path of the offending field, such as `questions.deposit.options`.
        given: the offending value; shown shortened.
        accepted: what would be accepted instead.
    """

    def __init__(self, problem: str, *, path: str = "", given: Any = None, accepted: str = "") -> None:
        self.problem, self.path, self.given, self.accepted = problem, path, given, accepted
        super().__init__(self._message())

    def _message(self) -> str:
        text = f"{self.path}: {self.problem}" if self.path else self.problem
        if self.given is not None:
            shown = _shown(self.given)
            text += f"; given {shown if len(shown) <= 80 else shown[:77] + '...'}"
        return f"{text}; accepted: {self.accepted}" if self.accepted else text

    def at(self, prefix: str) -> CloverError:
        """The same error, located one level further out."""
        path = f"{prefix}.{self.path}" if self.path else prefix
        return type(self)(self.problem, path=path, given=self.given, accepted=self.accepted)

    def as_dict(self) -> dict[str, Any]:
        """JSON form used by the CLI and in batch rows."""
        given = None if self.given is None else _shown(self.given)[:200]
        return {
            "error": type(self).__name__,
            "path": self.path,
            "problem": self.problem,
            "given": given,
            "accepted": self.accepted,
        }


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too large to be shown"


class InputError(CloverError):
    """The request is wrong."""


class MaterialError(InputError):
    """The material is empty or not something that can be read."""


class QuestionError(InputError):
    """A question, or the set of them, cannot be asked."""


class RuleError(InputError):
    """A rule between questions cannot be read, or the rules contradict each other."""


class FormatError(InputError):
    """A file or payload is malformed."""


class LimitError(InputError):
    """A documented limit would be exceeded."""


class ModelError(CloverError):
    """The model cannot be loaded, or cannot do what is asked."""


class MissingExtraError(ModelError):
    """An optional dependency is missing; the message names the extra."""


class ResultError(CloverError):
    """A decision cannot be converted as asked."""


class ServiceError(CloverError):
    """A service cannot be reached or does not answer."""


class RefusedError(ServiceError):
    """A service refuses the request."""
