"""Measures on the styles of replies: generation bias, style clusters, offensiveness."""
