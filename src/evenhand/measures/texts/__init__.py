"""Measures on what was written: quality, distinct n-grams, parroting, refusals."""
