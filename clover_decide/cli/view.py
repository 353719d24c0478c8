"""The human view of a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clover_decide.decision import Answer, Decision, shown
from clover_decide.explain import dependence_lines, evidence_lines

if TYPE_CHECKING:
    from rich.table import Table

BAR = 10


def print_decision(decision: Decision, title: str = "", *, explain: bool = False) -> None:
    """Print the table of answers and a line about how they came about; with `explain`, all of it."""
    from rich.console import Console

    console = Console()
    if title:
        console.print(title, style="bold", highlight=False, markup=False)
    console.print(_table(decision))
    console.print(_summary(decision), style="dim", highlight=False, markup=False)
    for number, fact in enumerate(decision.facts, 1):
        console.print(f"  F{number} {fact.text}", style="dim", highlight=False, markup=False)
    for line in [] if explain else [*evidence_lines(decision), *dependence_lines(decision)]:
        console.print(line, style="dim", highlight=False, markup=False)
    for text in decision.violations:
        console.print(f"breaks the rule: {text}", style="red", highlight=False, markup=False)
    if explain:
        console.print(f"\n{decision.explain()}", highlight=False, markup=False)


def _table(decision: Decision) -> Table:
    from rich.table import Table
    from rich.text import Text

    compared = any(answer.independent for answer in decision.answers.values())
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in ["question", "answer", "probability", "confidence", *(["asked alone"] if compared else [])]:
        table.add_column(header, justify="right" if header == "confidence" else "left", vertical="top")
    for key, answer in decision.answers.items():
        question = Text(key).append(f"\n{decision.questions.questions[key].text}", style="dim")
        row = [
            question,
            Text(_shown(answer), style="bold"),
            Text(f"{_bar(answer.probability)} {answer.probability:.2f}", style=_colour(answer.probability)),
            Text(f"{answer.confidence:.2f}"),
        ]
        if compared and answer.independent:
            solo = answer.independent
            same = solo.value == answer.value
            label = shown(solo.value, solo.label)
            row.append(Text(f"{'=' if same else '≠'} {label} {solo.probability:.2f}", style="dim" if same else "yellow"))
        table.add_row(*row)
    return table


def _shown(answer: Answer) -> str:
    told = answer.abstained
    if told is None:
        return shown(answer.value, answer.label)
    # As many digits as tell the two apart.
    digits = next((n for n in range(2, 8) if round(told.measured, n) != round(told.limit, n)), 8)
    return f"withheld ({told.reason} {told.measured:.{digits}f}, limit {told.limit:.{digits}f})"


def _bar(probability: float) -> str:
    full = round(probability * BAR)
    return "█" * full + "░" * (BAR - full)


def _colour(probability: float) -> str:
    return "green" if probability >= 0.9 else "yellow" if probability >= 0.6 else "red"


def _summary(decision: Decision) -> str:
    timing, made = decision.timing, decision.usage.passes
    passes = f"{made} pass{'' if made == 1 else 'es'}"
    text = (
        f"{decision.mode}, all answers together {decision.probability:.2f} · {decision.model} {decision.fingerprint} · "
        f"{passes}, {decision.usage.input_tokens}+{decision.usage.output_tokens} tokens, "
        f"{timing.answering:.2f} s"
    )
    return text + (f"; alone {timing.comparing:.2f} s more" if timing.comparing else "")
