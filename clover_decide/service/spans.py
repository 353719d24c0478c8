"""OpenTelemetry spans, where the extra is installed; nothing where it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from clover_decide.errors import MissingExtraError

try:
    from opentelemetry import trace
except ImportError:
    trace = None


@contextmanager
def span(name: str, attributes: Mapping[str, Any]) -> Iterator[Any]:
    """A span around the block; None where there is no OpenTelemetry."""
    if trace is None:
        yield None
        return
    with trace.get_tracer("clover-decide").start_as_current_span(name, attributes=dict(attributes)) as current:
        yield current


def export() -> None:
    """Send spans as the OTEL_ variables of the environment say.

    Raises:
        MissingExtraError: the packages for it are not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # pyright: ignore[reportMissingImports] - the extra otel
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtraError(f"spans need {error.name}", path="otel", accepted="pip install 'clover-decide[otel]'") from None
    assert trace is not None
    provider = TracerProvider(resource=Resource.create({"service.name": "clover-decide"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
