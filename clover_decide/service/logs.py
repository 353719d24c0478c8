"""Log lines: one JSON object each, on stderr."""

from __future__ import annotations

import logging
import sys

import structlog


def configure(level: str) -> None:
    """Log from this level on, lines of the server itself among them. All go through one handler, so that none is torn apart."""
    steps = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(),
    ]
    number = logging.getLevelNamesMapping()[level.upper()]
    handler = logging.StreamHandler(sys.__stderr__)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=steps,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()],
        )
    )
    logging.basicConfig(level=number, handlers=[handler], force=True)
    structlog.configure(
        processors=[*steps, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
