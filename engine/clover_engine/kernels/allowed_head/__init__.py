"""Logits of the allowed tokens only."""
