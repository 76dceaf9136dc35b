"""Measures on pairs of sentences: CrowS-Pairs, StereoSet, and what they share."""
