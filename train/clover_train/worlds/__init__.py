"""Worlds: typed facts and rules from which gold answers follow by execution."""
