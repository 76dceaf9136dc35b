"""Mitigations in front of the prompt: prefixes, instructions, instructions that a search found."""
