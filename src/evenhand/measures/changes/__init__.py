"""Measures on changes: paired differences between runs, the consistency protocol."""
