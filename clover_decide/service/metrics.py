"""What the service counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from clover_decide.decision import Decision

SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
CALLS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


class Metrics:
    """Counters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        made = {"registry": self.registry, "namespace": "clover"}
        self.requests = Counter("requests_total", "Requests by route, and how they ended.", ["route", "status"], **made)
        self.latency = Histogram("request_seconds", "Seconds from a request's arrival to its answer.", ["route"], buckets=SECONDS, **made)
        self.waiting = Gauge("waiting_requests", "Requests that wait for their turn.", **made)
        self.running = Gauge("running_requests", "Requests that are being answered.", **made)
        self.passes = Counter("passes_total", "Passes of the model.", **made)
        self.pass_seconds = Counter("pass_seconds_total", "Seconds that passes took.", **made)
        self.pass_tokens = Counter("pass_tokens_total", "Tokens that went through the model.", **made)
        self.batch = Histogram("pass_calls", "Requests that share a pass.", buckets=CALLS, **made)
        self.decisions = Counter("decisions_total", "Decisions by mode and effort.", ["mode", "effort"], **made)
        self.steps = Counter("denoising_steps_total", "Denoising steps of all decisions.", **made)
        self.answers = Counter("answers_total", "Answers by type.", ["type"], **made)
        self.abstained = Counter("abstentions_total", "Answers withheld, by reason.", ["reason"], **made)
        self.reviews = Counter("reviews_total", "Decisions that people should look at.", **made)

    def passed(self, calls: int, tokens: int, seconds: float) -> None:
        """A pass of the model."""
        self.passes.inc()
        self.pass_seconds.inc(seconds)
        self.pass_tokens.inc(tokens)
        self.batch.observe(calls)

    def decided(self, decision: Decision) -> None:
        """A decision that was made."""
        self.decisions.labels(decision.mode, decision.effort).inc()
        self.steps.inc(decision.usage.passes)
        for answer in decision.answers.values():
            self.answers.labels(answer.type).inc()
            if answer.abstained is not None:
                self.abstained.labels(answer.abstained.reason).inc()
        if decision.needs_review:
            self.reviews.inc()

    def text(self) -> bytes:
        """Everything, in the text format."""
        return generate_latest(self.registry)
