"""Mitigations that change decoding: rules that combine next-token distributions, and the steered models."""
