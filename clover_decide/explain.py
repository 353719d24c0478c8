"""A decision told in words."""

from __future__ import annotations

from clover_decide.decision import Alternative, Decision, shown


def explain(decision: Decision) -> str:
    """The steps, the comparison, the rules, the runners-up and the dependence of a decision, one fact a line."""
    sections = [_steps(decision), _shown_by(decision), _compared(decision), _ruled(decision), _likely(decision), dependence_lines(decision)]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _steps(decision: Decision) -> list[str]:
    """What each pass settled, piece by piece, with the probability of the piece at that moment."""
    lines = ["Settled, pass by pass:"]
    several = len(decision.groups) > 1 and decision.mode == "joint"
    for block, step in dict.fromkeys((t.block, t.step) for t in decision.trace):
        pieces: dict[str, list[tuple[str, float]]] = {}
        for piece in decision.trace:
            if (piece.block, piece.step) == (block, step):
                pieces.setdefault(piece.question, []).append((piece.text, piece.confidence))
        told = ", ".join(
            f"{key} {''.join(text for text, _ in found).strip() or '(end)'} ({min(p for _, p in found):.2f})"
            for key, found in pieces.items()
        )
        where = f"block {block + 1}, pass {step}" if several or decision.mode == "independent" else f"pass {step}"
        lines.append(f"  {where}: {told}")
    return lines


def evidence_lines(decision: Decision) -> list[str]:
    """A line for each sentence that shows an answer, where that was asked for."""
    return [
        f'  {key}: "{" ".join(s.quote.split())}" ({s.probability:.2f})' for key, answer in decision.answers.items() for s in answer.evidence
    ]


def _shown_by(decision: Decision) -> list[str]:
    lines = evidence_lines(decision)
    return ["Shown by:", *lines] if lines else []


def _compared(decision: Decision) -> list[str]:
    lines: list[str] = []
    for key, answer in decision.answers.items():
        if alone := answer.independent:
            same = alone.value == answer.value
            verb = "the same alone" if same else f"alone it would be {shown(alone.value, alone.label)}"
            lines.append(f"  {key}: {shown(answer.value, answer.label)} ({answer.probability:.2f}), {verb} ({alone.probability:.2f})")
    return ["Together and alone:", *lines] if lines else []


def _ruled(decision: Decision) -> list[str]:
    if decision.violations:
        return ["Rules that these answers break:", *(f"  {text}" for text in decision.violations)]
    if decision.rules_probability is None:
        return []
    how = "" if decision.exact else ", estimated"
    doubt = "" if decision.rules_probability >= 0.5 else "; the model disagrees with the rules, so have a look at both"
    return [f"Rules: kept. Before they were imposed they would have held with probability {decision.rules_probability:.2f}{how}{doubt}."]


def _likely(decision: Decision) -> list[str]:
    if decision.effort in ("standard", "fast") or decision.mode == "independent":
        return []
    known = (
        "all assignments were read"
        if decision.exact
        else "no other assignment is likelier"
        if decision.optimal
        else "not known to be the likeliest"
    )
    lines = [f"All answers together: {decision.probability:.2f} ({known})."]
    return lines + [f"  instead {_changes(decision, other)}: {other.probability:.3f}" for other in decision.alternatives]


def _changes(decision: Decision, other: Alternative) -> str:
    values = decision.values()
    return ", ".join(f"{key} {value!r}" for key, value in other.values.items() if value != values[key])


def dependence_lines(decision: Decision) -> list[str]:
    """How much each pair of answers depends on each other, where that was asked for."""
    if not decision.dependence:
        return []
    lines = [f"  {pair.first} and {pair.second}: {pair.information:.3f} nats, gap {pair.gap:.3f}" for pair in decision.dependence]
    return ["How much pairs of answers depend on each other (mutual information; gap between the two ways to read a pair):", *lines]
