"""Rows of short blocks attending one shared prefix."""
