"""Measuring decisions on labelled groups."""
