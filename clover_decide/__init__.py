"""clover-decide: typed questions about one material, answered jointly by a block-diffusion language model."""

from clover_decide.abstain import Abstain
from clover_decide.calibration import Calibration
from clover_decide.client import AsyncClient, Client
from clover_decide.decider import Decider
from clover_decide.decision import Abstained, Alternative, Answer, Decision, Dependence
from clover_decide.errors import (
    CloverError,
    FormatError,
    InputError,
    LimitError,
    MaterialError,
    MissingExtraError,
    ModelError,
    QuestionError,
    RefusedError,
    ResultError,
    RuleError,
    ServiceError,
)
from clover_decide.facts import Fact, derive_facts
from clover_decide.oneshot import adecide, decide, decide_many
from clover_decide.packs import load_pack, pack_names
from clover_decide.question_base import Option
from clover_decide.question_set import QuestionSet, read_questions
from clover_decide.questions import (
    Boolean,
    Choice,
    Date,
    Integer,
    MultiChoice,
    Number,
    Quote,
    Score,
    Text,
)

__version__ = "0.13.0"

__all__ = [
    "Abstain",
    "Abstained",
    "Alternative",
    "Answer",
    "AsyncClient",
    "Boolean",
    "Calibration",
    "Choice",
    "Client",
    "CloverError",
    "Date",
    "Decider",
    "Decision",
    "Dependence",
    "Fact",
    "FormatError",
    "InputError",
    "Integer",
    "LimitError",
    "MaterialError",
    "MissingExtraError",
    "ModelError",
    "MultiChoice",
    "Number",
    "Option",
    "QuestionError",
    "QuestionSet",
    "Quote",
    "RefusedError",
    "ResultError",
    "RuleError",
    "Score",
    "ServiceError",
    "Text",
    "adecide",
    "decide",
    "decide_many",
    "derive_facts",
    "load_pack",
    "pack_names",
    "read_questions",
]
